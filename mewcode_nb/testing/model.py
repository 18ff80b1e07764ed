"""A model without a network: plays a script through the `Model` protocol, as strict as the server.

For tests of the loop above the client. Faults become the errors the client would raise, so the loop
sees the same things in the same order as with the server behind a real client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from mewcode_nb.errors import (
    AuthenticationFailed,
    ContextTooLong,
    MalformedHistory,
    ModelError,
    ModelUnavailable,
    StreamBroken,
)
from mewcode_nb.events import TextDelta, ThinkingDelta, ToolInputDelta, Usage
from mewcode_nb.model.protocol import Completion, ModelEvent, ModelLimits, Request
from mewcode_nb.testing.faults import spoil
from mewcode_nb.testing.history import history_digest
from mewcode_nb.testing.limits import ERROR_TYPES, Limits
from mewcode_nb.testing.player import Player
from mewcode_nb.testing.prompt import prompt_items
from mewcode_nb.testing.script import Ask, Body, Fault, Reply, Rule, Script
from mewcode_nb.testing.signing import Issued
from mewcode_nb.testing.tokens import count_value
from mewcode_nb.testing.validate import validate
from mewcode_nb.testing.wire import Answer, render

__all__ = ["ScriptedModel"]

_BEFORE_ANYTHING = ("reset", "late", "html", "empty_body", "no_events")
_WHOLE = ("unknown_events", "tool_json", "tool_cut", "max_tokens")
_ERRORS: dict[int, type[ModelError]] = {
    400: MalformedHistory,
    401: AuthenticationFailed,
    402: AuthenticationFailed,
    403: AuthenticationFailed,
    413: ContextTooLong,
}


class ScriptedModel:
    """Implements `mewcode_nb.model.protocol.Model`; `requests` and `invalid` are the record."""

    def __init__(
        self,
        script: Script = (),
        *,
        default: str | Reply | None = None,
        window: int = 1_000_000,
        max_output: int = 128_000,
        token_scale: float = 1.0,
        count_tokens: bool = True,
    ) -> None:
        self._player = Player(script, default=default)
        self._limits = Limits(window=window, max_output=max_output)
        self._scale = token_scale
        self._counts = count_tokens
        self._issued = Issued()
        self._calls = 0
        self.requests: list[Request] = []
        self.invalid: list[str] = []
        """`request N: reason` for every request the service would have refused."""
        self.closed = False

    def add(self, *entries: Reply | Rule | str) -> None:
        """Append to the script."""
        self._player.add(*entries)

    def check(self) -> None:
        """Raise `AssertionError` for failed expectations and refused requests."""
        problems = [*self._player.failures, *self.invalid]
        if problems:
            raise AssertionError("\n".join(problems))

    async def limits(self, model: str) -> ModelLimits:
        """The limits given at construction, for any model."""
        return ModelLimits(self._limits.window, self._limits.max_output, "model record")

    async def count(self, request: Request) -> int | None:
        """The tokens an answer to the request would report as its input."""
        items = prompt_items(_body(request), self._scale)
        return sum(item.tokens for item in items) if self._counts else None

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """Play the next reply: deltas, then one completion, or the error its fault stands for."""
        self.requests.append(request)
        body = _body(request)
        used = self._judge(body)
        given = self._player.next(Ask(body, len(self.requests)))
        _raise_early(given.fault)
        reply = spoil(given)
        head = {"id": f"msg_{len(self.requests):024d}", "model": request.model}
        answer = render(reply, Ask(body, len(self.requests)), head, self._next_call)
        content: list[Body] = answer.message["content"]
        deltas = _deltas(answer, reply.delta_chars)
        broken = given.fault is not None and given.fault.kind not in _WHOLE
        for event in deltas[: _kept(given.fault, len(deltas))] if broken else deltas:
            await asyncio.sleep(reply.delay)
            yield event
        if given.fault is not None and broken:
            await _break(given.fault)
        self._issued.add(content, history_digest(body["messages"]))
        yield self._complete(request, answer, used)

    def _judge(self, body: Body) -> int:
        violations = validate(body, self._limits, self._issued)
        if violations:
            self.invalid += [f"request {len(self.requests)}: {v.message}" for v in violations]
            first = violations[0]
            raise MalformedHistory(first.message, status=first.status, kind=first.type)
        used = sum(item.tokens for item in prompt_items(body, self._scale))
        if used > self._limits.window:
            message = f"prompt is too long: {used} tokens > {self._limits.window} maximum"
            self.invalid.append(f"request {len(self.requests)}: {message}")
            error = ContextTooLong(message, status=400, kind="invalid_request_error")
            error.used, error.limit = used, self._limits.window
            raise error
        return used

    def _complete(self, request: Request, answer: Answer, used: int) -> Completion:
        content = answer.message["content"]
        for block in content:
            if block["type"] == "tool_use" and not isinstance(block["input"], dict):
                block["input"] = {}
        output = sum(count_value(block, self._scale) for block in content)
        return Completion(
            content=tuple(content),
            stop_reason=answer.message["stop_reason"],
            usage=Usage(input_tokens=used, output_tokens=max(1, output)),
            model=request.model,
            message_id=answer.message["id"],
            request_id=f"req_{len(self.requests):024d}",
        )

    def _next_call(self) -> str:
        self._calls += 1
        return f"toolu_{self._calls:024d}"


def _body(request: Request) -> Body:
    body: Body = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": list(request.messages),
        "system": list(request.system),
        "tools": list(request.tools),
        "stream": True,
    }
    if request.thinking is not None:
        body["thinking"] = request.thinking
    return body


def _deltas(answer: Answer, size: int) -> list[ModelEvent]:
    events: list[ModelEvent] = []
    for index, block in enumerate(answer.message["content"]):
        match block["type"]:
            case "text":
                events += [TextDelta(piece) for piece in _pieces(block["text"], size)]
            case "thinking":
                events += [ThinkingDelta(piece) for piece in _pieces(block["thinking"], size)]
            case "tool_use":
                sizes = range(size, len(answer.inputs[index]) + size, size)
                whole = len(answer.inputs[index])
                name = block["name"]
                events += [ToolInputDelta(index, name, min(whole, end)) for end in sizes]
    return events


def _pieces(text: str, size: int) -> Sequence[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _raise_early(fault: Fault | None) -> None:
    if fault is None:
        return
    if fault.kind == "status":
        message = fault.message or f"the service answered {fault.status}"
        kind = fault.error or ERROR_TYPES.get(fault.status, "api_error")
        error_class = _ERRORS.get(fault.status, ModelUnavailable)
        if "prompt is too long" in message or "exceeds the available context" in message:
            error_class = ContextTooLong
        raise error_class(message, status=fault.status, kind=kind)
    if fault.kind in _BEFORE_ANYTHING:
        raise ModelUnavailable(f"no answer ({fault.kind})")


def _kept(fault: Fault | None, total: int) -> int:
    if fault is None or fault.after == "end":
        return total
    if isinstance(fault.after, int):
        return min(total, fault.after)
    return total // 2 if fault.after == "middle" else 0


async def _break(fault: Fault) -> None:
    if fault.kind in ("stall", "pings"):
        await asyncio.Event().wait()
    kind = fault.error or ("overloaded_error" if fault.kind == "error_event" else "")
    raise StreamBroken(f"the answer broke off ({fault.kind})", kind=kind)
