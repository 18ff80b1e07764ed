"""The fake server as a command: `python -m mewcode_nb.testing --script FILE.json --log FILE`.

Prints one JSON line with `base_url` when it is ready, writes each request to the log as one JSON
line, ends on SIGTERM or SIGINT with a JSON line of counts.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from mewcode_nb.testing.log import RequestLog
from mewcode_nb.testing.script_json import Scene, load_scene
from mewcode_nb.testing.server import FakeServer

__all__ = ["main"]

_POLL_SECONDS = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until told to stop; 0 after a clean end, 2 for a script that cannot be read."""
    options = _parser().parse_args(arguments)
    try:
        scene = load_scene(options.script.read_text("utf-8")) if options.script else Scene(())
        server = _server(scene, options)
    except (OSError, TypeError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopped.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    with server:
        _say({"base_url": server.base_url, "api_key": server.api_key})
        if options.log is None:
            _follow(server, None, stopped)
        else:
            with options.log.open("w", encoding="utf-8") as file:
                _follow(server, file, stopped)
    _say(asdict(server.summary()))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m mewcode_nb.testing", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    parser.add_argument("--script", type=Path, help="JSON file of replies")
    parser.add_argument("--log", type=Path, help="file for one JSON line per request")
    parser.add_argument("--default", help="reply text when the script is used up")
    parser.add_argument("--window", type=int, help="context window in tokens")
    parser.add_argument("--api-key", help="the key that must be presented")
    parser.add_argument("--dialect", choices=("anthropic", "llama"))
    return parser


def _server(scene: Scene, options: argparse.Namespace) -> FakeServer:
    given: dict[str, Any] = dict(scene.server)
    for name in ("window", "api_key", "dialect"):
        if getattr(options, name) is not None:
            given[name] = getattr(options, name)
    default = options.default if options.default is not None else scene.default
    return FakeServer(scene.script, default=default, port=options.port, **given)


def _follow(server: FakeServer, file: TextIO | None, stopped: Sequence[int]) -> None:
    written = 0
    while not stopped:
        try:
            server.wait_for_request(written + 1, _POLL_SECONDS)
        except TimeoutError:
            continue
        written += _write(server.requests[written:], file)
    _write(server.requests[written:], file)


def _write(entries: Sequence[RequestLog], file: TextIO | None) -> int:
    for entry in entries:
        line = {
            "number": entry.number,
            "path": entry.path,
            "kind": entry.kind,
            "status": entry.status,
            "violations": [violation.message for violation in entry.violations],
            "prefix_change": entry.prefix_change,
            "conversation": entry.conversation,
            "usage": dict(entry.usage),
            "body": entry.body,
        }
        if file is not None:
            file.write(json.dumps(line) + "\n")
            file.flush()
    return len(entries)


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
