"""A Messages API that answers at once with bytes made beforehand, in a process of its own.

`python -m benchmarks.canned` prints its port. The model's name chooses the answer: `text-N` streams
N text deltas, `tool-N` a tool input of N characters. So what is measured is the client.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["DELTA", "canned_server"]

DELTA = "fifteen letters"
PIECE = 12


@contextmanager
def canned_server() -> Iterator[str]:
    """The address of a running server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.canned"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.wait(10)


@cache
def answer(model: str) -> bytes:
    """The whole event stream for a model's name."""
    kind, _, number = model.partition("-")
    tool = kind == "tool"
    if tool:
        text = json.dumps({"content": "x" * int(number)})
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        block = {"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    else:
        block = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": DELTA}] * int(number)
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    stop = {"stop_reason": "tool_use" if tool else "end_turn", "stop_sequence": None}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": {"output_tokens": len(deltas)}},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._send(404, b"{}", "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        found = re.search(rb'"model": ?"([^"]+)"', body)
        assert found is not None
        self._send(200, answer(found[1].decode()), "text/event-stream")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve()
