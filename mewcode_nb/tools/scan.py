"""Search files for a regular expression, as a program of its own that can be killed.

Python's regular expressions may take longer than the universe lasts, and only a process can be
stopped then. It needs nothing but the standard library, reads one JSON request from its input, and
writes the events of ripgrep's JSON output, so that one reader serves both.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["events"]

_LARGEST = 8 * 1024 * 1024
_LONGEST = 4_000


def events(request: dict[str, object]) -> Iterator[dict[str, object]]:
    """The events for `base`, `files`, `pattern`, `ignore_case` and `context` of a request."""
    flags = re.IGNORECASE if request["ignore_case"] else 0
    pattern = re.compile(str(request["pattern"]), flags)
    files = request["files"]
    around = request["context"]
    if not isinstance(files, list) or not isinstance(around, int):
        raise TypeError("files is a list, context a number")
    for name in files:
        lines = _lines(Path(str(request["base"]), str(name)))
        yield from _matches(str(name), lines, pattern, around)


def _lines(path: Path) -> list[str]:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        raw = path.read_bytes()
    except OSError:
        return []
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace").splitlines()
    if b"\x00" in raw:
        return []
    text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def _matches(
    name: str, lines: list[str], pattern: re.Pattern[str], around: int
) -> Iterator[dict[str, object]]:
    hits = [number for number, line in enumerate(lines) if pattern.search(line)]
    wanted: dict[int, str] = {}
    for hit in hits:
        for number in range(max(0, hit - around), min(len(lines), hit + around + 1)):
            wanted.setdefault(number, "context")
    wanted.update(dict.fromkeys(hits, "match"))
    for number in sorted(wanted):
        data = {
            "path": {"text": name},
            "line_number": number + 1,
            "lines": {"text": lines[number][:_LONGEST]},
        }
        yield {"type": wanted[number], "data": data}


def _main() -> int:
    request = json.loads(sys.stdin.buffer.read())
    try:
        for event in events(request):
            sys.stdout.write(json.dumps(event) + "\n")
            sys.stdout.flush()
    except re.error as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
