"""From a scripted reply to what travels: the message, its events, and the steps of sending them.

Pure: the steps are values, so a test can read what a fault does without opening a socket; the
server only carries them out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mewcode_nb.testing.script import Ask, Body, Part, Reply, Text, Thinking
from mewcode_nb.testing.signing import redacted_data, sign

__all__ = [
    "Answer",
    "End",
    "Event",
    "Pause",
    "Pings",
    "Reset",
    "Send",
    "Stall",
    "Step",
    "encode",
    "events_of",
    "render",
]


@dataclass(frozen=True, slots=True)
class Send:
    """Bytes in one TCP write."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, then go on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Silence until the client or the server goes away."""


@dataclass(frozen=True, slots=True)
class Pings:
    """Signs of life and nothing else until the client or the server goes away."""

    data: bytes
    every: float


@dataclass(frozen=True, slots=True)
class Reset:
    """Drop the connection hard."""


@dataclass(frozen=True, slots=True)
class End:
    """Finish; a body that is not `clean` lacks its end."""

    clean: bool = True


Step: TypeAlias = Send | Pause | Stall | Pings | Reset | End


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; `data` is JSON text, or what a fault puts in its place."""

    name: str
    data: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply rendered for one request: the API's message, and tool inputs as streamed text."""

    message: Body
    inputs: tuple[str, ...]
    """One per content block; empty for other blocks."""


def render(reply: Reply, ask: Ask, head: Body, new_id: Callable[[], str]) -> Answer:
    """The message; `head` holds id, model and usage, `new_id` makes ids of tool calls."""
    made = [_block(part, ask, new_id) for part in reply.parts]
    calls = any(block["type"] == "tool_use" for block, _ in made)
    message: Body = {
        "type": "message",
        "role": "assistant",
        "content": [block for block, _ in made],
        "stop_reason": reply.stop_reason or ("tool_use" if calls else "end_turn"),
        "stop_sequence": reply.stop_sequence or None,
        **head,
    }
    if message["stop_reason"] == "refusal":
        message["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
    return Answer(message, tuple(text for _, text in made))


def events_of(answer: Answer, reply: Reply) -> list[Event]:
    """The whole stream of a good answer, in order."""
    message = answer.message
    usage = message["usage"]
    start = {
        **message,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": {**usage, "output_tokens": min(1, usage["output_tokens"])},
    }
    events = [_event("message_start", message=start)]
    events += [_event("ping")] * reply.pings
    for index, block in enumerate(message["content"]):
        events += _block_events(index, block, answer.inputs[index], reply.delta_chars)
    ends = ("stop_reason", "stop_sequence", "stop_details")
    delta = {name: message[name] for name in ends if name in message}
    final = {k: v for k, v in usage.items() if k not in ("service_tier", "cache_creation")}
    if "cache_creation_input_tokens" not in usage:
        final = {"output_tokens": usage["output_tokens"]}
    events.append(_event("message_delta", delta=delta, usage=final))
    events.append(_event("message_stop"))
    return events


def encode(events: Sequence[Event], newline: str = "\n") -> list[bytes]:
    """Each event as bytes on the wire."""
    return [
        f"event: {event.name}{newline}data: {event.data}{newline}{newline}".encode()
        for event in events
    ]


def _block(part: Part, ask: Ask, new_id: Callable[[], str]) -> tuple[Body, str]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.words(ask)}, ""
    if isinstance(part, Thinking):
        if part.redacted:
            return {"type": "redacted_thinking", "data": redacted_data(part.text)}, ""
        return {"type": "thinking", "thinking": part.text, "signature": sign(part.text)}, ""
    given = part.input(ask) if callable(part.input) else part.input
    text = json.dumps(given, ensure_ascii=False) if part.raw_json is None else part.raw_json
    block: Body = {"type": "tool_use", "id": part.id or new_id(), "name": part.name, "input": given}
    if part.raw_json is not None:
        block["input"] = _lenient(part.raw_json)
    return block, text


def _lenient(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _block_events(index: int, block: Body, text: str, size: int) -> Iterator[Event]:
    empties: dict[str, Body] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    empty = empties.get(block["type"], {})
    yield _event("content_block_start", index=index, content_block={**block, **empty})
    for delta in _deltas(block, text, size):
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _deltas(block: Body, text: str, size: int) -> Iterator[Body]:
    match block["type"]:
        case "text":
            for piece in _cut(block["text"], size):
                yield {"type": "text_delta", "text": piece}
        case "thinking":
            for piece in _cut(block["thinking"], size):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": block["signature"]}
        case "tool_use":
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in _cut(text, size):
                yield {"type": "input_json_delta", "partial_json": piece}


def _cut(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _event(kind: str, **fields: object) -> Event:
    return Event(kind, json.dumps({"type": kind, **fields}, ensure_ascii=False))
