"""What each setting may be, and what a project may say about it. Pure.

A project's file comes with the project, from anyone. It may choose how the agent works (language,
model, thinking) and may lower what a turn may cost; it can neither redirect the service, nor touch
approval, nor let this program import or run anything, nor make the user's sessions leave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal
from urllib.parse import urlsplit

from mewcode_nb.config.price_list import read_prices

__all__ = [
    "CREDENTIAL_KEYS",
    "RULES",
    "Rule",
    "Value",
    "host_of",
    "is_loopback",
    "read_value",
    "shown_address",
]

Value = str | int | float | bool
_ProjectUse = Literal["free", "lower", "never"]
"""What a project's file may do: choose freely, only lower the value in force, or nothing."""

CREDENTIAL_KEYS = ("api_key", "auth_token")
"""Keys of the user's own file that are no settings: they are never shown and never stored here."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_WORD_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Rule:
    """What a value must be."""

    kind: type[str | int | float | bool]
    project: _ProjectUse = "never"
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 0
    check: Literal["", "word", "url", "prices"] = ""

    @property
    def allowed(self) -> str:
        """The allowed values, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.kind is bool:
            return "true or false"
        if self.check == "url":
            return "an http:// or https:// address without a name or password in it"
        if self.check == "word":
            return "a name without spaces or quotes"
        if self.check == "prices":
            return "MODEL=INPUT/OUTPUT or MODEL=INPUT/OUTPUT/CACHED, several with commas between"
        number = "a whole number" if self.kind is int else "a number"
        return f"{number} from {self.least:,.15g} to {self.most:,.15g}"

    @property
    def words(self) -> tuple[str, ...]:
        """The allowed values where they are few enough to be listed, else empty."""
        return ("true", "false") if self.kind is bool else self.choices


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "model": Rule(str, "free", check="word"),
        "mode": Rule(str, choices=("plan", "ask", "edit", "open")),
        "base_url": Rule(str, check="url"),
        "max_tokens": Rule(int, "lower", least=1, most=1_000_000),
        "context_window": Rule(int, least=0, most=100_000_000),
        "max_steps": Rule(int, "lower", least=1, most=10_000),
        "max_retries": Rule(int, "lower", least=0, most=100),
        "max_wait": Rule(float, least=0, most=86_400),
        "stall_seconds": Rule(float, least=1, most=86_400),
        "connect_seconds": Rule(float, least=0.1, most=3_600),
        "cache_ttl": Rule(str, "free", choices=("5m", "1h")),
        "thinking": Rule(str, "free", choices=("off", "adaptive")),
        "approval": Rule(str, choices=("auto", "buttons", "input", "deny")),
        "approval_seconds": Rule(float, least=1, most=604_800),
        "language": Rule(str, "free", choices=("auto", "en", "zh")),
        "preload": Rule(bool),
        "instructions_fallback": Rule(bool, "free"),
        "rerun": Rule(str, "free", choices=("stored", "fresh")),
        "retention_days": Rule(int, least=0, most=36_500),
        "keep_last": Rule(int, least=0, most=1_000_000),
        "sessions_quota_mb": Rule(int, least=0, most=100_000_000),
        "trash_days": Rule(int, least=1, most=36_500),
        "count_tokens": Rule(str, choices=("off", "on")),
        "prices": Rule(str, check="prices"),
        "local": Rule(bool),
    }
)


def read_value(rule: Rule, raw: object, *, words: bool = False) -> Value:
    """The raw value in the rule's type; `ValueError` where it is none of the allowed ones.

    Args:
        rule: What the value must be.
        raw: The value as its source gave it.
        words: The source may give text for numbers and truth (environment, command line).
    """
    if words and isinstance(raw, str) and rule.kind is not str:
        raw = _spelled(rule, raw.strip())
    kinds = (int, float) if rule.kind is float else (rule.kind,)
    if not isinstance(raw, kinds) or (isinstance(raw, bool) and rule.kind is not bool):
        raise ValueError(rule.allowed)
    if isinstance(raw, str):
        return _checked_text(rule, str(raw))
    if rule.kind is not bool and not rule.least <= raw <= rule.most:
        raise ValueError(rule.allowed)
    return rule.kind(raw)


def host_of(url: str) -> str:
    """The host and port of an address; empty where it has none."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.hostname}{port}" if parts.hostname else ""


def shown_address(url: str) -> str:
    """The address without what may be secret: user, password, query, fragment; empty without host.

    A path with an `@` in it is left out as well: it may be a password with a slash.
    """
    host = host_of(url)
    if not host:
        return ""
    parts = urlsplit(url)
    if ":" in (parts.hostname or ""):
        host = f"[{parts.hostname}]{host.removeprefix(str(parts.hostname))}"
    return f"{parts.scheme}://{host}{'' if '@' in parts.path else parts.path}"


def is_loopback(url: str) -> bool:
    """Whether the address names this machine itself."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or bool(re.fullmatch(r"127(\.\d{1,3}){3}", host))


def _spelled(rule: Rule, raw: str) -> object:
    if rule.kind is bool:
        word = raw.lower()
        return True if word in _TRUE else False if word in _FALSE else raw
    try:
        return int(raw) if rule.kind is int else float(raw)
    except ValueError:
        return raw


def _checked_text(rule: Rule, value: str) -> str:
    if rule.choices and value not in rule.choices:
        raise ValueError(rule.allowed)
    if rule.check == "word" and not _is_word(value):
        raise ValueError(rule.allowed)
    if rule.check == "url" and value and not _is_address(value):
        raise ValueError(rule.allowed)
    if rule.check == "prices" and not _are_prices(value):
        raise ValueError(rule.allowed)
    return value


def _is_word(value: str) -> bool:
    printable = value.isprintable() and not any(character.isspace() for character in value)
    return 0 < len(value) <= _WORD_CHARACTERS and printable and not set(value) & {"'", '"'}


def _are_prices(value: str) -> bool:
    try:
        read_prices(value)
    except ValueError:
        return False
    return True


def _is_address(value: str) -> bool:
    if not value.isprintable() or " " in value:
        return False
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host_of(value)) and "@" not in parts.netloc
