"""The HTTP shell of the fake service: loopback only, one thread per connection, ends at once.

It carries out the steps a `Service` decided on. Silence and pauses wait on the server's stop event
and notice a client that has gone, so that no test waits for a fault to run its course.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from mewcode_nb.testing.limits import Limits
from mewcode_nb.testing.log import RequestLog, Summary
from mewcode_nb.testing.player import Player
from mewcode_nb.testing.script import Reply, Rule, Script
from mewcode_nb.testing.service import Behaviour, Response, Service
from mewcode_nb.testing.wire import End, Pause, Pings, Reset, Send, Stall, Step

__all__ = ["FakeServer"]

_POLL_SECONDS = 0.02
_JOIN_SECONDS = 5.0
_DRAIN_BYTES = 256 * 1024 * 1024


class FakeServer:
    """A strict Messages API on 127.0.0.1, for as long as its `with` block runs.

    `script` is played in order, its rules first. `window` and `max_output` in tokens; an output
    limit not given is an eighth of the window, at most 128,000. Further keywords are fields of
    `Behaviour` (`dialect`, `token_scale`, `api_key`, `models`, `count_tokens`, `seed`) and of
    `Limits`.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        default: str | Reply | None = None,
        port: int = 0,
        window: int = 1_000_000,
        clock: Callable[[], float] = time.monotonic,
        **options: object,
    ) -> None:
        names = set(Limits.__dataclass_fields__)
        sizes = {name: options.pop(name) for name in list(options) if name in names}
        sizes.setdefault("max_output", min(128_000, max(1, window // 8)))
        limits = replace(Limits(window=window), **sizes)  # type: ignore[arg-type]
        behaviour = replace(Behaviour(limits=limits), **options)  # type: ignore[arg-type]
        self.service = Service(Player(script, default=default), behaviour, clock)
        self._stopping = threading.Event()
        self._http = _HttpServer(port, self.service, self._stopping)
        self._thread = threading.Thread(
            target=self._http.serve_forever, args=(_POLL_SECONDS,), daemon=True
        )
        self._thread.name = "fake-messages-api"
        self.allow_invalid = False
        """Let `check` pass although requests were refused."""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Self:
        """Begin to answer; the port is bound since construction."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End every answer, stalled ones too, and let go of the port. May be called twice."""
        self._stopping.set()
        if self._thread.is_alive():
            self._http.shutdown()
            self._thread.join(_JOIN_SECONDS)
        self._http.close_all()

    @property
    def base_url(self) -> str:
        """What a client takes as its base URL; no `/v1` at the end."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def api_key(self) -> str:
        """A key the server accepts."""
        return self.service.behaviour.api_key or "test-key"

    @property
    def requests(self) -> list[RequestLog]:
        """Requests for messages so far, refused ones included; not those for `count_tokens`."""
        return self.service.traffic.entries

    @property
    def unplayed(self) -> int:
        """Replies of the script that nobody has asked for."""
        return self.service.player.left

    def add(self, *entries: Reply | Rule | str) -> None:
        """Append to the script while it runs."""
        self.service.player.add(*entries)

    def wait_for_request(self, count: int = 1, timeout: float = 10.0) -> RequestLog:
        """The `count`th request, as soon as its answer was decided; raises `TimeoutError`."""
        return self.service.traffic.wait(count, timeout)

    def summary(self) -> Summary:
        """Counts over all requests; `summary().invalid == []` is what most tests assert."""
        return self.service.traffic.summary()

    def check(self) -> None:
        """Raise `AssertionError` for failed expectations, and for refused requests."""
        problems = list(self.service.player.failures)
        if not self.allow_invalid:
            problems += self.summary().invalid
        if problems:
            raise AssertionError("\n".join(problems))


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, service: Service, stopping: threading.Event) -> None:
        self.service = service
        self.stopping = stopping
        self._workers: list[tuple[threading.Thread, socket.socket]] = []
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: object, client_address: object) -> None:
        """Serve one connection on a thread of its own that `close_all` can end."""
        assert isinstance(request, socket.socket)
        self._workers = [pair for pair in self._workers if pair[0].is_alive()]
        worker = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), daemon=True
        )
        self._workers.append((worker, request))
        worker.start()

    def close_all(self) -> None:
        """Close the port and every connection, and wait for their threads."""
        self.server_close()
        for _, connection in self._workers:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for worker, _ in self._workers:
            worker.join(_JOIN_SECONDS)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up; a script's own exception fails the check."""
        error = sys.exception()
        if not isinstance(error, OSError):
            self.service.note_failure(f"the script raised {error!r}")
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _HttpServer

    def do_GET(self) -> None:
        """Model records."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Messages and counts."""
        self._answer("POST")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base's name
        """Nothing: the log is `FakeServer.requests`."""

    def _answer(self, method: str) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        service = self.server.service
        size = int(headers.get("content-length") or 0)
        if size > service.behaviour.limits.body_bytes:
            self._drain(size)
            response = service.refuse_size(self.path, headers)
        else:
            response = service.handle(method, self.path, headers, self.rfile.read(size))
        try:
            self._send(response)
        except OSError:
            self.close_connection = True
            _mark_aborted(response)

    def _drain(self, size: int) -> None:
        left = min(size, _DRAIN_BYTES)
        while left > 0 and (data := self.rfile.read(min(left, 1 << 20))):
            left -= len(data)
        self.close_connection = size > _DRAIN_BYTES

    def _send(self, response: Response) -> None:
        if response.delay and not self._wait(response.delay):
            self.close_connection = True
            _mark_aborted(response)
            return
        if response.status:
            self._send_head(response)
        for step in response.steps:
            if not self._carry_out(step, chunked=response.length is None):
                _mark_aborted(response)
                break

    def _send_head(self, response: Response) -> None:
        self.send_response_only(response.status)
        for name, value in response.headers:
            self.send_header(name, value)
        if response.length is None:
            self.send_header("transfer-encoding", "chunked")
        else:
            self.send_header("content-length", str(response.length))
        self.end_headers()

    def _carry_out(self, step: Step, *, chunked: bool) -> bool:
        """Whether there is anything left to send to."""
        match step:
            case Send(data):
                self._write(data, chunked=chunked)
            case Pause(seconds):
                return self._wait(seconds)
            case Stall():
                self._wait(None)
                self.close_connection = True
                return False
            case Pings(data, every):
                while self._wait(every):
                    self._write(data, chunked=chunked)
                self.close_connection = True
                return False
            case Reset():
                self._reset()
            case End(clean):
                if chunked and clean:
                    self.wfile.write(b"0\r\n\r\n")
                self.close_connection = self.close_connection or not clean
        return True

    def _write(self, data: bytes, *, chunked: bool) -> None:
        if not data:
            return
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)

    def _wait(self, seconds: float | None) -> bool:
        """Wait so long, or for ever; False as soon as the server stops or the client is gone."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            left = _POLL_SECONDS if end is None else min(_POLL_SECONDS, end - time.monotonic())
            if left <= 0:
                return True
            if self.server.stopping.wait(left) or _is_gone(self.connection):
                return False

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        os.close(self.connection.detach())
        self.close_connection = True


def _is_gone(connection: socket.socket) -> bool:
    readable, _, _ = select.select([connection], [], [], 0)
    return bool(readable) and not connection.recv(1, socket.MSG_PEEK)


def _mark_aborted(response: Response) -> None:
    if response.entry is not None:
        response.entry.aborted = True
