"""The fake service without the network: a request in, a response of steps out.

It judges requests (`validate`), counts and caches them, plays the script and keeps the log. The
HTTP server around it only moves bytes, so everything here can be tested without a socket.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from mewcode_nb.testing.cache import PromptCache
from mewcode_nb.testing.dialect import (
    Dialect,
    error,
    make_id,
    model_record,
    too_long,
    usage_of,
)
from mewcode_nb.testing.faults import HTML_PAGE, plain_steps, spoil, stream_steps
from mewcode_nb.testing.history import history_digest
from mewcode_nb.testing.limits import Limits, Violation
from mewcode_nb.testing.log import RequestLog, Traffic
from mewcode_nb.testing.player import Player
from mewcode_nb.testing.prompt import Item, conversation_of, prompt_items
from mewcode_nb.testing.script import Ask, Body, Fault, Reply
from mewcode_nb.testing.signing import Issued
from mewcode_nb.testing.tokens import count_value
from mewcode_nb.testing.validate import parse, validate
from mewcode_nb.testing.wire import Answer, End, Reset, Send, Step, events_of, render

__all__ = ["Behaviour", "Response", "Service"]

_VERSIONS = ("2023-06-01", "2026-10-21")


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the service differs from its defaults."""

    dialect: Dialect = "anthropic"
    api_key: str = ""
    """The key that must be presented; empty for any or none."""
    models: tuple[str, ...] = ("claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5")
    """Listed ones; others are answered when their name begins with `claude-`."""
    limits: Limits = field(default_factory=Limits)
    token_scale: float = 1.0
    count_tokens: bool = True
    """False: the endpoint does not exist, as with some local servers."""
    seed: str = ""
    """Goes into every id; random when empty, so that two servers never repeat an id."""


@dataclass(frozen=True, slots=True)
class Response:
    """What to send; `delay` seconds before the headers, no headers at all for status 0."""

    status: int
    steps: tuple[Step, ...]
    headers: tuple[tuple[str, str], ...] = ()
    length: int | None = None
    """Bytes of the body where known; None for a chunked stream."""
    delay: float = 0.0
    entry: RequestLog | None = None


class Service:
    """State and rules of one fake service; safe to call from many threads."""

    def __init__(self, player: Player, behaviour: Behaviour, clock: Callable[[], float]) -> None:
        self.player = player
        self.behaviour = behaviour
        self.traffic = Traffic()
        self._clock = clock
        self._cache = PromptCache(clock, behaviour.limits.min_cache)
        self._issued = Issued()
        self._seed = behaviour.seed or secrets.token_hex(4)
        self._numbers = {"message": 0, "call": 0, "request": 0}
        self._lock = threading.Lock()

    def handle(self, method: str, path: str, headers: Mapping[str, str], raw: bytes) -> Response:
        """Answer any request; header names in lower case."""
        route = path.partition("?")[0].rstrip("/")
        with self._lock:
            refusal = self._check_key(headers)
            if refusal is not None:
                return refusal
            if method == "GET" and route.startswith("/v1/models"):
                return self._models(route.removeprefix("/v1/models").lstrip("/"))
            if method == "POST" and route == "/v1/messages":
                return self._messages(route, headers, raw)
            counting = route == "/v1/messages/count_tokens" and self.behaviour.count_tokens
            if method == "POST" and counting:
                return self._messages(route, headers, raw, counting=True)
            return self._error(404, "Not Found")

    def refuse_size(self, path: str, headers: Mapping[str, str]) -> Response:
        """The answer to a body that is too large to be read."""
        with self._lock:
            violation = Violation("Request exceeds the maximum size", 413)
            return self._refuse(self._enter(path, headers, b""), [violation])

    def note_failure(self, text: str) -> None:
        """Keep a problem for `FakeServer.check`."""
        with self._lock:
            self.player.failures.append(text)

    def _check_key(self, headers: Mapping[str, str]) -> Response | None:
        key = self.behaviour.api_key
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if not key or key in (bearer, headers.get("x-api-key")):
            return None
        return self._error(401, "invalid x-api-key")

    def _models(self, name: str) -> Response:
        dialect, limits = self.behaviour.dialect, self.behaviour.limits
        if not name:
            known = self.behaviour.models if dialect == "anthropic" else ("",)
            data = [model_record(dialect, model, limits) for model in known]
            ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]} if data else {}
            return _json(200, {"data": data, "has_more": False, **ends})
        if dialect == "llama":
            return self._error(404, "File Not Found")
        if not self._knows(name):
            return self._error(404, f"model: {name}")
        return _json(200, model_record(dialect, name, limits))

    def _knows(self, name: object) -> bool:
        listed = name in self.behaviour.models or self.behaviour.dialect == "llama"
        return listed or str(name).startswith("claude-")

    def _messages(
        self, path: str, headers: Mapping[str, str], raw: bytes, *, counting: bool = False
    ) -> Response:
        entry = self._enter(path, headers, raw, kind="count" if counting else "")
        body = parse(raw)
        if isinstance(body, Violation):
            return self._refuse(entry, [body])
        entry.body = body
        violations = self._judge(headers, body, counting)
        if violations:
            return self._refuse(entry, violations)
        items = prompt_items(body, self.behaviour.token_scale)
        total = sum(item.tokens for item in items)
        if counting:
            entry.status = 200
            return self._logged(entry, _json(200, {"input_tokens": total}))
        return self._check_window(entry, total) or self._play(entry, items)

    def _judge(self, headers: Mapping[str, str], body: Body, counting: bool) -> list[Violation]:
        limits = self.behaviour.limits
        if self.behaviour.dialect == "llama":
            return [] if body.get("messages") else [Violation("'messages' is required", 500)]
        if headers.get("anthropic-version") not in _VERSIONS:
            return [Violation("anthropic-version: header is required")]
        found = validate(body, limits, self._issued, counting=counting)
        if not found and not self._knows(body["model"]):
            found.append(Violation(f"model: {body['model']}", 404))
        return found

    def _check_window(self, entry: RequestLog, total: int) -> Response | None:
        limits = self.behaviour.limits
        most = entry.body.get("max_tokens") or 0
        if total > limits.window:
            body = too_long(self.behaviour.dialect, total, limits, self._next("request"))
            message = str(body["error"]["message"])
            return self._refuse(entry, [Violation(message)], body)
        if total + most > limits.window and self.behaviour.dialect == "anthropic":
            message = (
                f"input length and `max_tokens` exceed context limit: {total} + {most} > "
                f"{limits.window}, decrease input length or `max_tokens` and try again"
            )
            return self._refuse(entry, [Violation(message)])
        return None

    def _play(self, entry: RequestLog, items: Sequence[Item]) -> Response:
        ask = Ask(entry.body, entry.number)
        self.traffic.compare(entry, conversation_of(entry.body), items)
        reply = self.player.next(ask)
        fault = reply.fault
        entry.kind = f"fault:{fault.kind}" if fault else _kind(reply)
        if fault and fault.kind == "status":
            entry.status = fault.status
            return self._logged(entry, self._status(fault))
        if fault and fault.kind == "reset":
            return self._logged(entry, Response(0, (Reset(),)))
        entry.status = 200
        if fault and fault.kind in ("html", "empty_body"):
            return self._logged(entry, _foreign(fault, bool(entry.body.get("stream"))))
        return self._logged(entry, self._answer(entry, items, spoil(reply), ask))

    def _answer(self, entry: RequestLog, items: Sequence[Item], reply: Reply, ask: Ask) -> Response:
        use = self._cache.use(str(entry.body.get("model")), items)
        head = {"id": self._next("message"), "model": self._model_name(entry.body)}
        answer = render(reply, ask, head, lambda: self._next("call"))
        content = answer.message["content"]
        scale = self.behaviour.token_scale
        thinking = sum(count_value(b, scale) for b in content if "thinking" in b["type"])
        output = sum(count_value(block, scale) for block in content)
        usage = usage_of(self.behaviour.dialect, use, max(1, output), thinking, reply)
        answer.message["usage"] = usage
        entry.usage = {k: v for k, v in usage.items() if isinstance(v, int)}
        self._issued.add(content, history_digest(entry.messages))
        delay = reply.fault.seconds if reply.fault and reply.fault.kind == "late" else 0.0
        return self._travel(answer, reply, streaming=bool(entry.body.get("stream")), delay=delay)

    def _travel(self, answer: Answer, reply: Reply, *, streaming: bool, delay: float) -> Response:
        headers = (("request-id", self._next("request")),)
        if streaming:
            kind = ("content-type", "text/event-stream; charset=utf-8")
            steps = stream_steps(events_of(answer, reply), reply)
            return Response(200, steps, (*headers, kind), delay=delay)
        body = json.dumps(answer.message, ensure_ascii=False).encode()
        kind = ("content-type", "application/json")
        return Response(200, plain_steps(body, reply.fault), (*headers, kind), len(body), delay)

    def _model_name(self, body: Body) -> str:
        if self.behaviour.dialect == "llama":
            return str(model_record("llama", "", self.behaviour.limits)["id"])
        return str(body["model"])

    def _status(self, fault: Fault) -> Response:
        request_id = self._next("request")
        headers = (("request-id", request_id), *fault.headers)
        if fault.body is not None:
            kind = "text/html" if fault.body.lstrip().startswith("<") else "application/json"
            return _whole(fault.status, fault.body.encode(), kind, headers)
        body = error(
            self.behaviour.dialect,
            fault.status,
            fault.message,
            kind=fault.error,
            request_id=request_id,
        )
        return _json(fault.status, body, headers)

    def _error(self, status: int, message: str) -> Response:
        request_id = self._next("request")
        body = error(self.behaviour.dialect, status, message, request_id=request_id)
        return _json(status, body, (("request-id", request_id),))

    def _refuse(
        self, entry: RequestLog, violations: Sequence[Violation], body: Body | None = None
    ) -> Response:
        entry.violations = tuple(violations)
        entry.kind = entry.kind or "refused"
        entry.status = violations[0].status
        first = violations[0]
        if body is None:
            return self._logged(entry, self._error(first.status, first.message))
        return self._logged(entry, _json(first.status, body))

    def _enter(
        self, path: str, headers: Mapping[str, str], raw: bytes, kind: str = ""
    ) -> RequestLog:
        if kind != "count":
            self._numbers["entry"] = self._numbers.get("entry", 0) + 1
        number = self._numbers.get("entry", 0)
        return RequestLog(number, self._clock(), path, raw, dict(headers), kind=kind)

    def _logged(self, entry: RequestLog, response: Response) -> Response:
        self.traffic.add(entry)
        return Response(
            response.status,
            response.steps,
            response.headers,
            response.length,
            response.delay,
            entry,
        )

    def _next(self, kind: str) -> str:
        self._numbers[kind] += 1
        number = self._numbers[kind]
        if kind == "request":
            return f"req_{self._seed}{number:016d}"
        if kind == "message":
            return make_id(self.behaviour.dialect, "message", self._seed, number)
        return make_id(self.behaviour.dialect, "call", self._seed, number)


def _kind(reply: Reply) -> str:
    names = {type(part).__name__ for part in reply.parts}
    for name, kind in (("ToolUse", "tool_use"), ("Text", "text"), ("Thinking", "thinking")):
        if name in names:
            return kind
    return "empty"


def _foreign(fault: Fault, streaming: bool) -> Response:
    if fault.kind == "html":
        return _whole(200, (fault.body or HTML_PAGE).encode(), "text/html; charset=utf-8")
    return _whole(200, b"", "text/event-stream" if streaming else "application/json")


def _json(status: int, body: Body, headers: Sequence[tuple[str, str]] = ()) -> Response:
    data = json.dumps(body, ensure_ascii=False).encode()
    return _whole(status, data, "application/json", headers)


def _whole(
    status: int, data: bytes, kind: str, headers: Sequence[tuple[str, str]] = ()
) -> Response:
    return Response(
        status, (Send(data), End()), (*headers, ("content-type", kind)), length=len(data)
    )
