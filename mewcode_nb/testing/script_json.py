"""Scripts as JSON, for the command line and for demos that are kept in files.

A script is a list, or an object with `script`, `default` and `server` (options of `FakeServer`). An
entry is a string (a text reply) or an object; docs/testing.md lists the keys.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields
from typing import Any

from mewcode_nb.testing.script import (
    Fault,
    Part,
    Reply,
    Rule,
    Text,
    Thinking,
    ToolUse,
    reply,
)

__all__ = ["Scene", "load_scene"]

_REPLY_KEYS = {f.name for f in fields(Reply)} - {"parts", "fault", "expect", "usage"}
_FAULT_KEYS = {f.name for f in fields(Fault)}
_ENTRY_KEYS = _REPLY_KEYS | {"text", "blocks", "fault", "status", "expect", "usage"}
_RULE_KEYS = {"when", "times"}


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole script file."""

    script: tuple[Reply | Rule, ...]
    default: str | None = None
    server: dict[str, Any] = field(default_factory=dict)


def load_scene(text: str) -> Scene:
    """Read a script; `ValueError` names the entry and the key that cannot be used."""
    data = json.loads(text)
    if isinstance(data, list):
        data = {"script": data}
    _only(data, {"script", "default", "server"}, "script file")
    entries = data.get("script", [])
    return Scene(
        tuple(_entry(f"entry {number}", entry) for number, entry in enumerate(entries, 1)),
        data.get("default"),
        data.get("server", {}),
    )


def _entry(where: str, entry: object) -> Reply | Rule:
    if isinstance(entry, str):
        return reply(entry)
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: neither a string nor an object")
    _only(entry, _ENTRY_KEYS | _RULE_KEYS, where)
    answer = _reply(where, entry)
    if "when" not in entry:
        return answer
    match = entry["when"]
    pattern = re.compile(match["regex"]) if isinstance(match, dict) else match
    return Rule(pattern, answer, entry.get("times", 0))


def _reply(where: str, entry: dict[str, Any]) -> Reply:
    parts: list[Part] = [Text(entry["text"])] if "text" in entry else []
    parts += [_part(where, block) for block in entry.get("blocks", [])]
    options = {key: entry[key] for key in _REPLY_KEYS if key in entry}
    fault = _fault(where, entry)
    expect = entry.get("expect", ())
    return reply(*parts, fault=fault, expect=expect, usage=entry.get("usage"), **options)


def _part(where: str, block: dict[str, Any]) -> Part:
    match block.get("type"):
        case "text":
            _only(block, {"type", "text", "template"}, where)
            return Text(block.get("text", ""), block.get("template", ""))
        case "thinking" | "redacted_thinking" as kind:
            _only(block, {"type", "thinking"}, where)
            return Thinking(block["thinking"], kind == "redacted_thinking")
        case "tool_use":
            _only(block, {"type", "name", "input", "id", "_raw_json"}, where)
            raw = block.get("_raw_json")
            return ToolUse(block["name"], block.get("input", {}), block.get("id", ""), raw)
        case kind:
            raise ValueError(f"{where}: unknown block type {kind!r}")


def _fault(where: str, entry: dict[str, Any]) -> Fault | None:
    given = entry.get("fault")
    if "status" in entry:
        given = {"kind": "status", "status": entry["status"], **(given or {})}
    if given is None:
        return None
    _only(given, _FAULT_KEYS, where)
    headers = tuple(dict(given.get("headers", {})).items())
    return Fault(**{**given, "headers": headers, "omit": tuple(given.get("omit", ()))})


def _only(given: dict[str, Any], known: set[str], where: str) -> None:
    strange = sorted(set(given) - known)
    if strange:
        raise ValueError(f"{where}: unknown key {strange[0]!r}; known: {', '.join(sorted(known))}")
