"""How a fault changes an answer on its way: pure functions from a reply to the steps of sending."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from mewcode_nb.testing.limits import ERROR_TYPES
from mewcode_nb.testing.script import Body, Fault, Reply, Text, Thinking, ToolUse
from mewcode_nb.testing.wire import (
    End,
    Event,
    Pause,
    Pings,
    Reset,
    Send,
    Stall,
    Step,
    encode,
)

__all__ = ["HTML_PAGE", "error_body", "plain_steps", "spoil", "stream_steps"]

HTML_PAGE = "<!doctype html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
_PING_SECONDS = 5.0
_CUTS = ("stream_reset", "eof", "truncate", "half_event", "stall", "pings")


def error_body(status: int, error: str = "", message: str = "", request_id: str = "") -> Body:
    """The service's error envelope."""
    kind = error or ERROR_TYPES.get(status, "api_error")
    detail = {"type": kind, "message": message or kind.replace("_", " ").capitalize()}
    return {"type": "error", "error": detail, "request_id": request_id or None}


def spoil(reply: Reply) -> Reply:
    """The reply as its fault leaves it: an input replaced or cut, the last part cut short."""
    fault = reply.fault
    if fault is None or fault.kind not in ("tool_json", "tool_cut", "max_tokens"):
        return reply
    parts = list(reply.parts)
    if fault.kind == "max_tokens" and parts:
        parts[-1] = _half(parts[-1])
        return replace(reply, parts=tuple(parts), stop_reason="max_tokens")
    for index, part in enumerate(parts):
        if isinstance(part, ToolUse) and fault.kind == "tool_cut":
            parts[index] = _half(part)
        elif isinstance(part, ToolUse):
            parts[index] = replace(part, raw_json=fault.body or "")
    return replace(reply, parts=tuple(parts))


def stream_steps(events: Sequence[Event], reply: Reply) -> tuple[Step, ...]:
    """What is sent, in order, for a streamed answer."""
    fault = reply.fault
    if fault is None:
        return (*_sends(events, reply), End())
    events = _edit(events, fault)
    cut = len(events) if fault.kind not in _STRIKES else _place(events, fault.after)
    if fault.kind == "no_events":
        cut = 0
    before = _sends(events[:cut], reply)
    if fault.after_bytes is not None and fault.kind in _STRIKES:
        before = [Send(b"".join(encode(events, reply.newline))[: fault.after_bytes])]
    return (*before, *_strike(fault, events[cut:], reply.newline))


def plain_steps(body: bytes, fault: Fault | None) -> tuple[Step, ...]:
    """What is sent for an answer in one piece; only faults of the transport apply."""
    if fault is None or fault.kind not in (*_CUTS, "garbage"):
        return (Send(body), End())
    if fault.kind == "garbage":
        return (Send(b"<" + body[1:]), End())
    end: dict[str, Step] = {"stream_reset": Reset(), "stall": Stall(), "pings": Stall()}
    return (Send(body[: len(body) // 2]), end.get(fault.kind, End(clean=False)))


def _half(part: Text | Thinking | ToolUse) -> Text | Thinking | ToolUse:
    if isinstance(part, ToolUse):
        given = part.input if isinstance(part.input, dict) else {}
        text = part.raw_json or json.dumps(given, ensure_ascii=False)
        return replace(part, raw_json=text[: max(1, len(text) // 2)])
    if isinstance(part, Thinking):
        return replace(part, text=part.text[: len(part.text) // 2])
    words = part.text if isinstance(part.text, str) else part.template
    return Text(words[: max(1, len(words) // 2)])


def _edit(events: Sequence[Event], fault: Fault) -> list[Event]:
    if fault.kind == "omit":
        return [event for event in events if event.name not in fault.omit]
    if fault.kind == "unknown_events":
        strange = Event("weather_report", '{"type": "weather_report", "sky": "clear"}')
        return [strange, *(copy for event in events for copy in (event, strange))]
    return list(events)


def _place(events: Sequence[Event], after: int | str) -> int:
    if isinstance(after, int):
        return min(after, len(events))
    names = [event.name for event in events]
    starts = [i for i, name in enumerate(names) if name == "content_block_start"]
    match after:
        case "start":
            return 0
        case "open":
            return starts[0] + 1 if starts else 1
        case "end":
            return names.index("message_delta")
    deltas = [i for i, n in enumerate(names) if n == "content_block_delta" and i > starts[-1]]
    return deltas[(len(deltas) - 1) // 2] + 1 if deltas else (starts[-1] + 1 if starts else 1)


def _sends(events: Sequence[Event], reply: Reply) -> list[Step]:
    steps: list[Step] = []
    for event, data in zip(events, encode(events, reply.newline), strict=True):
        if reply.delay and event.name == "content_block_delta":
            steps.append(Pause(reply.delay))
        size = reply.chunk_bytes or len(data)
        steps += [Send(data[i : i + size]) for i in range(0, len(data), size)]
    return steps


def _error_event(fault: Fault, rest: Sequence[Event], newline: str) -> tuple[Step, ...]:
    kind = fault.error or "overloaded_error"
    body = error_body(500, kind, fault.message)
    return _one(Event("error", json.dumps(body)), newline)


def _server_error(fault: Fault, rest: Sequence[Event], newline: str) -> tuple[Step, ...]:
    message = fault.message or "the model has stopped"
    body = {"code": 500, "message": message, "type": "server_error"}
    return _one(Event("error", json.dumps(body)), newline)


def _garbage(fault: Fault, rest: Sequence[Event], newline: str) -> tuple[Step, ...]:
    return _one(Event("content_block_delta", fault.body or "<oops> not json"), newline)


def _half_event(fault: Fault, rest: Sequence[Event], newline: str) -> tuple[Step, ...]:
    data = encode(rest[:1], newline)[0] if rest else b"event: mess"
    return (Send(data[: len(data) // 2]), End())


def _pings(fault: Fault, rest: Sequence[Event], newline: str) -> tuple[Step, ...]:
    comment = f": ping{newline}{newline}".encode()
    data = comment if fault.comment else encode([Event("ping", '{"type": "ping"}')], newline)[0]
    return (Pings(data, fault.seconds or _PING_SECONDS),)


def _one(event: Event, newline: str) -> tuple[Step, ...]:
    return (Send(encode([event], newline)[0]), End())


_STRIKES = {
    "error_event": _error_event,
    "server_error_event": _server_error,
    "garbage": _garbage,
    "half_event": _half_event,
    "pings": _pings,
    "stream_reset": lambda *_: (Reset(),),
    "eof": lambda *_: (End(clean=False),),
    "truncate": lambda *_: (End(),),
    "stall": lambda *_: (Stall(),),
}


def _strike(fault: Fault, rest: Sequence[Event], newline: str) -> tuple[Step, ...]:
    make = _STRIKES.get(fault.kind)
    return make(fault, rest, newline) if make else (End(),)
