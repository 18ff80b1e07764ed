"""What a compaction took that came to nothing: a fact of the session, so that its cost is counted.

Pure. Nothing of it is a message, so no message carries its usage.
"""

from __future__ import annotations

from dataclasses import asdict, fields

from mewcode_nb.messages import JsonObject
from mewcode_nb.usage import Usage

__all__ = ["unmade_fact", "unmade_usage"]

_NAME = "failed_compaction"


def unmade_fact(identity: str, usage: Usage, model: str) -> JsonObject:
    """The fact, for a `MetaRecord`; `identity` makes it count once."""
    return {_NAME: {"id": identity, "usage": asdict(usage), "model": model}}


def unmade_usage(facts: JsonObject) -> dict[str, Usage]:
    """By its identity, what such a fact says was taken; empty where there is none."""
    fact = facts.get(_NAME)
    if not isinstance(fact, dict):
        return {}
    identity, counts = fact.get("id"), fact.get("usage")
    if not isinstance(identity, str) or not isinstance(counts, dict):
        return {}
    known = {item.name for item in fields(Usage)}
    sound = {
        name: value
        for name, value in counts.items()
        if name in known and isinstance(value, int) and not isinstance(value, bool) and value >= 0
    }
    return {identity: Usage(**sound)}
