"""What a scripted reply is made of: parts, faults, expectations and rules, as plain values.

A script is a list of `Reply` values played one per request, and of `Rule` values that answer any
request they match. Nothing here knows HTTP or SSE: the same script drives the server and
`ScriptedModel`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

__all__ = [
    "Ask",
    "Body",
    "Expectation",
    "Fault",
    "FaultKind",
    "Part",
    "Place",
    "Reply",
    "Rule",
    "Script",
    "Text",
    "Thinking",
    "ToolUse",
    "fail",
    "reply",
    "thinking",
    "tool_use",
    "when",
]

Body: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request as a script sees it: the body and the parts of it that replies are chosen by."""

    body: Body
    number: int = 1
    """Which accepted or failed request this is, counted from 1."""

    @property
    def last_text(self) -> str:
        """The words of the last user message, blocks joined by newlines; no tool results."""
        return "\n".join(
            block["text"] for block in self._last_blocks() if block.get("type") == "text"
        )

    @property
    def results(self) -> tuple[str, ...]:
        """The text of each tool result in the last user message, in order."""
        return tuple(
            "\n".join(strings(block.get("content", "")))
            for block in self._last_blocks()
            if block.get("type") == "tool_result"
        )

    @property
    def text(self) -> str:
        """Every string of the request, one per line: what expectations search in."""
        return "\n".join(strings(self.body))

    def _last_blocks(self) -> list[Body]:
        messages = self.body.get("messages") or [{}]
        content = messages[-1].get("content", "")
        return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


@dataclass(frozen=True, slots=True)
class Text:
    """Words; a callable is asked for them with the request. `{result}` in `template` likewise."""

    text: str | Callable[[Ask], str] = ""
    template: str = ""

    def words(self, ask: Ask) -> str:
        """The words for this request; `{result}` stands for the last tool results."""
        if self.template:
            return self.template.replace("{result}", "\n".join(ask.results))
        return self.text if isinstance(self.text, str) else self.text(ask)


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning, signed by the server; `redacted` sends the encrypted form instead."""

    text: str
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call. `raw_json`, where given, is streamed as the input's text, valid or not."""

    name: str
    input: Body | Callable[[Ask], Body]
    id: str = ""
    """Made by the server when empty."""
    raw_json: str | None = None


Part: TypeAlias = Text | Thinking | ToolUse
Place = Literal["start", "open", "middle", "end"]
FaultKind = Literal[
    "status",
    "error_event",
    "reset",
    "late",
    "stream_reset",
    "eof",
    "truncate",
    "half_event",
    "stall",
    "pings",
    "omit",
    "no_events",
    "garbage",
    "html",
    "empty_body",
    "unknown_events",
    "tool_json",
    "tool_cut",
    "max_tokens",
    "server_error_event",
]


@dataclass(frozen=True, slots=True)
class Fault:
    """One way for an answer to go wrong; see docs/testing.md for the table of kinds."""

    kind: FaultKind
    status: int = 0
    """HTTP status for `status`."""
    error: str = ""
    """The error's `type`; the service's own for the status when empty."""
    message: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: str | None = None
    """Replaces the error body of `status`, the page of `html`, the input of `tool_json`."""
    after: int | Place = "middle"
    """Events sent before it strikes, or a place: `start` none, `open` the first block has begun,
    `middle` half of the last block's deltas, `end` all blocks closed but no `message_delta`."""
    after_bytes: int | None = None
    """Bytes of the stream sent before it strikes; outranks `after`."""
    seconds: float = 0.0
    """How late the headers are, or the pause between pings."""
    omit: tuple[str, ...] = ()
    """Names of events left out, for `omit`."""
    comment: bool = False
    """Pings as SSE comments, for `pings`."""


Expectation: TypeAlias = str | Callable[[Ask], object]
"""A string the request must hold, or a check that returns False or raises AssertionError."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of the model, and how it travels."""

    parts: tuple[Part, ...] = ()
    stop_reason: str = ""
    """`tool_use` when a part is a call, else `end_turn`, when empty."""
    fault: Fault | None = None
    expect: tuple[Expectation, ...] = ()
    delay: float = 0.0
    """Seconds between deltas."""
    delta_chars: int = 24
    """Characters of text, thinking or tool input in one delta."""
    chunk_bytes: int = 0
    """Bytes in one TCP write; 0 for one event in one write."""
    newline: str = "\n"
    """Line end of the event stream; the standard allows CRLF too."""
    pings: int = 0
    """Ping events after `message_start`."""
    usage: tuple[tuple[str, int], ...] = ()
    """Usage fields that replace the computed ones."""
    stop_sequence: str = ""

    def with_fault(self, fault: Fault) -> Reply:
        """The same answer going wrong."""
        return replace(self, fault=fault)


@dataclass(frozen=True, slots=True)
class Rule:
    """Answers every request it matches, before the list is looked at; at most `times` times."""

    match: str | re.Pattern[str] | Callable[[Ask], bool]
    """A substring or pattern of the last user text, or a predicate of the request."""
    answer: Reply | Callable[[Ask], Reply]
    times: int = 0
    """0 for no limit."""

    def matches(self, ask: Ask) -> bool:
        """Whether the rule is for this request."""
        if isinstance(self.match, str):
            return self.match in ask.last_text
        if isinstance(self.match, re.Pattern):
            return self.match.search(ask.last_text) is not None
        return bool(self.match(ask))


Script: TypeAlias = "Sequence[Reply | Rule | str]"


def reply(
    *parts: str | Part | Callable[[Ask], str],
    expect: Expectation | Sequence[Expectation] = (),
    usage: dict[str, int] | None = None,
    **options: Any,  # noqa: ANN401 -- the remaining fields of Reply, checked by its constructor
) -> Reply:
    """A `Reply` from parts; a string or a callable is a text part. Options are `Reply`'s fields."""
    made = tuple(map(_part, parts))
    expectations = (expect,) if isinstance(expect, str) or callable(expect) else tuple(expect)
    return Reply(
        parts=made,
        expect=expectations,
        usage=tuple((usage or {}).items()),
        **options,
    )


def tool_use(
    name: str,
    input: Body | Callable[[Ask], Body] | None = None,  # noqa: A002 -- the API's own word
    *,
    id: str = "",  # noqa: A002
    raw_json: str | None = None,
    **fields: object,
) -> ToolUse:
    """A call of tool `name`; the input as a dict or as keywords."""
    return ToolUse(name, fields if input is None else input, id, raw_json)


def thinking(text: str, *, redacted: bool = False) -> Thinking:
    """A reasoning part."""
    return Thinking(text, redacted)


def when(
    match: str | re.Pattern[str] | Callable[[Ask], bool],
    answer: Reply | str | Callable[[Ask], Reply],
    *,
    times: int = 0,
) -> Rule:
    """A rule; see `Rule`."""
    return Rule(match, reply(answer) if isinstance(answer, str) else answer, times)


def fail(status: int, *, expect: Expectation | Sequence[Expectation] = (), **fields: Any) -> Reply:  # noqa: ANN401
    """A reply that is an HTTP error; fields are those of `Fault`, headers may be a dict."""
    headers = fields.pop("headers", ())
    pairs = tuple(headers.items()) if isinstance(headers, dict) else tuple(headers)
    return reply(expect=expect, fault=Fault("status", status=status, headers=pairs, **fields))


def strings(value: object) -> Iterator[str]:
    """Every string inside a JSON value, in order; keys are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def _part(part: str | Part | Callable[[Ask], str]) -> Part:
    return part if isinstance(part, Text | Thinking | ToolUse) else Text(part)
