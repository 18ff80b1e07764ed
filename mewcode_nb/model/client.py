"""The way to a Messages API: the only module that touches the SDK, and it does so lazily.

Importing this file is cheap; the SDK (2 CPU seconds, 3,500 modules) is imported at the first
request, on a thread, or ahead of time by `preload`. A request goes out through the SDK's client
(address, authentication, transport) and its events are read raw, as plain JSON: the SDK's `stream`
helper parses a tool's input again at every piece, and its classes would have to be turned back.
Retries, waits and the watchdog on silence are ours: the SDK obeys any `retry-after`, does not
retry errors inside a stream, and takes pings for progress.

What the SDK would read by itself: key, token and address are always passed, so its environment
variables, `ANTHROPIC_PROFILE` and the profile files under `ANTHROPIC_CONFIG_DIR` are not consulted;
its OpenTelemetry spans are off. `ANTHROPIC_CUSTOM_HEADERS` and `ANTHROPIC_LOG`, and the usual proxy
and certificate variables, still count: they belong to the user's environment, never to a project.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import quote
from weakref import WeakKeyDictionary

from mewcode_nb.errors import AuthenticationFailed
from mewcode_nb.events import Retrying, SdkLoading
from mewcode_nb.messages import Json, JsonObject
from mewcode_nb.model.accumulate import (
    CONTENT_EVENTS,
    Accumulator,
    Delta,
    StreamDamaged,
    parse_event,
)
from mewcode_nb.model.faults import (
    STALLED,
    UNREACHABLE,
    Fault,
    Verdict,
    broken_off,
    gave_up,
    judge,
    read_fault,
)
from mewcode_nb.model.limits import choose_limits, listed_window, read_count, read_record
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.payload import count_body, request_body
from mewcode_nb.model.protocol import Completion, ModelEvent, ModelLimits, Request
from mewcode_nb.model.recover import recover
from mewcode_nb.model.retry import GiveUp, plan_retry
from mewcode_nb.model.sse import EventReader, ServerEvent
from mewcode_nb.model.watch import Stalled, Watch

if TYPE_CHECKING:
    import httpx2
    from anthropic import AsyncAnthropic, AsyncStream

T = TypeVar("T")

__all__ = ["AnthropicModel", "preload", "sdk_ready"]

_DRAIN_SECONDS = 0.25
"""How long the end of a body is waited for after the answer is whole, to keep the connection."""
_LIMITS_SECONDS = 5.0
"""The longest wait for a model's record: it is useful, not needed."""
_COUNT_SECONDS = 15.0
"""The longest wait for a count: the estimate stands in for it."""
_ASK_AGAIN_SECONDS = 60.0
_NOTHING_THERE = frozenset({400, 404, 405, 501})
"""Statuses by which a server says for good that it keeps no such record."""


class _StreamError(Exception):
    """An `error` event inside a stream, or a body that is no event stream at all."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def sdk_ready() -> bool:
    """Whether the SDK is already imported, and not just in the middle of it."""
    spec = getattr(sys.modules.get("anthropic"), "__spec__", None)
    # The import system's own mark: a module stands in `sys.modules` before it has finished.
    return spec is not None and not getattr(spec, "_initializing", False)


def preload() -> threading.Thread:
    """Import the SDK on a background thread, so that the first turn does not wait for it."""
    thread = threading.Thread(target=_import_sdk, name="mewcode-preload", daemon=True)
    thread.start()
    return thread


def _import_sdk() -> None:
    import anthropic  # noqa: F401
    import httpx2  # noqa: F401


class AnthropicModel:
    """A `Model` over any server that speaks the Messages API.

    `now` gives seconds since the epoch (for a `retry-after` date), `jitter` a number from 0 to 1.
    Connections belong to the event loop that made them: `close` on each loop that was used.
    """

    def __init__(
        self,
        options: ModelOptions,
        *,
        now: Callable[[], float] = time.time,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.options = options
        self._now = now
        self._jitter = jitter
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncAnthropic]
        self._clients = WeakKeyDictionary()
        self._limits: dict[str, tuple[ModelLimits, float]] = {}
        # With the time until which they hold, in seconds since the epoch.

    async def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Send the request: deltas as they come, one `Completion` last.

        Raises one `ModelError`. A failure that may pass is tried again as long as nothing has been
        shown, at most `max_retries` times; after that it is a `StreamBroken` with the words so far.
        """
        self.options.require_credentials()
        async for loading in self._load_sdk():
            yield loading
        failed = stalls = 0
        while True:
            answer = Accumulator(input_includes_cache=self.options.input_includes_cache)
            shown = False
            try:
                async with aclosing(self._attempt(request, answer)) as events:
                    async for event in events:
                        shown = True
                        yield event
                return
            except _caught() as error:
                failure = error
            failed += 1
            stalls += isinstance(failure, Stalled)
            verdict = judge(self._fault(failure), now=self._now())
            # A service's own error may quote the key, so it does not go along as the cause.
            cause = failure if isinstance(failure, ValueError) else None
            if shown:
                raise broken_off(verdict.error, answer.partial()) from cause
            # A second silence is not bad luck: five of them would be ten minutes.
            if not verdict.retryable or stalls > 1:
                raise verdict.error from cause
            retrying = self._next_attempt(verdict, failed)
            yield retrying
            await asyncio.sleep(retrying.delay)

    async def limits(self, model: str) -> ModelLimits:
        """The model's window and output limit. Never raises for a model or server it cannot ask.

        The server is asked once per model, and again after a minute if it did not answer. While
        the SDK is not loaded, what is known of the model or set by the user is enough: loading
        belongs to `stream`, which shows it.
        """
        if (kept := self._limits.get(model)) is not None and self._now() < kept[1]:
            return kept[0]
        fallback = choose_limits(model, (0, 0), self.options.context_window)
        if not sdk_ready() and fallback.source != "default":
            return fallback
        try:
            self.options.require_credentials()
            await asyncio.to_thread(_import_sdk)
            record = await self._record(model)
        except AuthenticationFailed:
            return fallback
        except _Unasked:
            self._limits[model] = (fallback, self._now() + _ASK_AGAIN_SECONDS)
            return fallback
        limits = choose_limits(model, record, self.options.context_window)
        self._limits[model] = (limits, math.inf)
        return limits

    async def count(self, request: Request) -> int | None:
        """The service's own count of the request; None where it keeps none, or cannot be asked."""
        try:
            self.options.require_credentials()
            await asyncio.to_thread(_import_sdk)
            async with asyncio.timeout(_COUNT_SECONDS):
                counted = await self._json_of(self._post_count(request))
        except (AuthenticationFailed, _Unasked, TimeoutError):
            return None
        return read_count(counted)

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    async def _load_sdk(self) -> AsyncIterator[SdkLoading]:
        if sdk_ready():
            return
        yield SdkLoading(done=False)
        started = time.perf_counter()
        await asyncio.to_thread(_import_sdk)
        yield SdkLoading(done=True, seconds=time.perf_counter() - started)

    async def _attempt(
        self, request: Request, answer: Accumulator
    ) -> AsyncGenerator[Delta | Completion, None]:
        watch = Watch(self.options.stall_seconds)
        body = request_body(request, local=self.options.local)
        stream = await watch.limit(self._post(body))
        response, reader = stream.response, EventReader()
        try:
            await watch.limit(self._check_type(response))
            async with aclosing(response.aiter_bytes()) as chunks:
                while not answer.ended:
                    chunk = await watch.limit(anext(chunks, None))
                    if chunk is None:
                        break
                    worked = False
                    for event in reader.feed(chunk):
                        data = self._data(event, response)
                        worked = worked or data.get("type") in CONTENT_EVENTS
                        if (delta := answer.add(data)) is not None:
                            yield delta
                    # After the yields: time the consumer takes is no silence of the model.
                    if worked:
                        watch.feed()
                completion = answer.completion(response.headers.get("request-id"))
                await _drain(chunks)
        finally:
            await stream.close()
        if self.options.local and request.tools:
            names = [name for tool in request.tools if isinstance(name := tool.get("name"), str)]
            completion = recover(completion, names)
        yield completion

    def _data(self, event: ServerEvent, response: httpx2.Response) -> Mapping[str, Json]:
        """The event's JSON; empty for pings and the like. Raises what the event reports."""
        if event.name == "ping" or not event.data or event.data == b"[DONE]":
            return {}
        data = parse_event(event.data)
        if event.name == "error" or data.get("type") == "error":
            raise _StreamError(self._answered(response, data))
        return data

    async def _post(self, body: JsonObject) -> AsyncStream[object]:
        from anthropic import AsyncStream

        return await self._client().post(
            "/v1/messages",
            content=_encoded(body),
            cast_to=object,
            stream=True,
            stream_cls=AsyncStream[object],
        )

    async def _post_count(self, request: Request) -> object:
        content = _encoded(count_body(request, local=self.options.local))
        path = "/v1/messages/count_tokens"
        return await self._client().post(path, content=content, cast_to=object)

    def _client(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, Timeout

        loop = asyncio.get_running_loop()
        if (client := self._clients.get(loop)) is None:
            options = self.options
            # A little later than our own watchdog, which knows content from pings.
            read = options.stall_seconds + 5
            client = AsyncAnthropic(
                api_key=options.api_key or None,
                auth_token=None if options.api_key else options.auth_token,
                base_url=options.url,
                max_retries=0,
                timeout=Timeout(read, connect=options.connect_seconds),
                open_telemetry=False,
                # llama.cpp closes a kept connection without a word at its third request, and a new
                # one on loopback costs nothing.
                default_headers={"Connection": "close"} if options.local else None,
            )
            self._clients[loop] = client
        return client

    async def _check_type(self, response: httpx2.Response) -> None:
        """Raise for a body that is a page or one JSON object, and so no stream of events."""
        kind = response.headers.get("content-type", "")
        if "text/html" not in kind and "application/json" not in kind:
            return
        body = await response.aread()
        if not body.strip():
            raise StreamDamaged("the answer was empty")
        page = "text/html" in kind
        raise _StreamError(self._answered(response, "<html>" if page else parse_event(body)))

    async def _record(self, model: str) -> tuple[int, int]:
        """The model's window and output as the server tells them, 0 where it does not."""
        try:
            async with asyncio.timeout(_LIMITS_SECONDS):
                found = read_record(await self._get(f"/v1/models/{quote(model, safe='')}"))
                if found[0]:
                    return found
                return listed_window(await self._get("/v1/models"), model), found[1]
        except TimeoutError as error:
            raise _Unasked from error

    async def _get(self, path: str) -> Json:
        return await self._json_of(self._client().get(path, cast_to=object))

    async def _json_of(self, asked: Awaitable[object]) -> Json:
        """The answer's JSON; None when the server has nothing there. Raises `_Unasked`."""
        from anthropic import APIError, APIStatusError

        try:
            return cast(Json, await asked)
        except APIStatusError as error:
            if error.status_code in _NOTHING_THERE:
                return None
            raise _Unasked from error
        except (APIError, ValueError) as error:
            raise _Unasked from error

    def _next_attempt(self, verdict: Verdict, failed: int) -> Retrying:
        policy = self.options.retry
        plan = plan_retry(policy, failed=failed, asked=verdict.wait, jitter=self._jitter())
        if isinstance(plan, GiveUp):
            raise gave_up(verdict.error, failed, plan.asked, policy.max_wait)
        return Retrying(failed + 1, policy.max_retries + 1, plan.seconds, verdict.error.message)

    def _answered(self, response: httpx2.Response, body: object) -> Fault:
        fault = read_fault(self.options.host, response.status_code, body, response.headers)
        return replace(fault, message=self.options.masked(fault.message))

    def _fault(self, error: Exception) -> Fault:
        from anthropic import APIConnectionError, APIStatusError, APITimeoutError

        host = self.options.host
        if isinstance(error, _StreamError):
            return error.fault
        if isinstance(error, APIStatusError):
            return self._answered(error.response, error.body)
        if isinstance(error, Stalled | APITimeoutError):
            seconds = f"nothing for {self.options.stall_seconds:g} s"
            return Fault(host, kind=STALLED, message=seconds)
        if isinstance(error, APIConnectionError):
            cause = self.options.masked(str(error.__cause__ or error))
            return Fault(host, kind=UNREACHABLE, message=cause)
        if isinstance(error, UnicodeEncodeError):
            text = "the conversation holds text that is not valid Unicode"
            return Fault(host, status=400, kind="invalid_request_error", message=text)
        text = self.options.masked(str(error)) or "the connection was lost"
        return Fault(host, kind="broken_stream", message=text)


class _Unasked(Exception):
    """The server could not be asked for a model's record."""


def _caught() -> tuple[type[Exception], ...]:
    """What a request may raise; known only once the SDK is imported."""
    import httpx2
    from anthropic import APIError

    return (APIError, httpx2.HTTPError, httpx2.StreamError, ValueError, _StreamError, Stalled)


def _encoded(body: JsonObject) -> bytes:
    # As bytes: the SDK would copy the whole conversation, value by value, before encoding it.
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Read what is left of the body, so that the connection can serve the next request."""
    import httpx2

    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except (TimeoutError, httpx2.HTTPError, ValueError):
        # The answer is already whole; the connection is closed instead of kept.
        return
