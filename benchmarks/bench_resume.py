"""Resuming a session of 5, 50 and 200 MB, beside a backward seek that parses the live tail."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Budget, Report, main, middle, ratio
from mewcode_nb.events import Usage
from mewcode_nb.session.load import load, load_whole
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    Section,
    SessionRecord,
    to_line,
)

SIZES = (5, 50, 200)
"""Megabytes."""
ROUNDS = 31
SPAN = 1_000_000
"""Bytes between two compactions."""
KEPT, TAIL = 8, 120
"""Messages that a compaction keeps, and that follow the last one: about 140 KB."""
BLOCK = 64 * 1024
MARK = b'\n{"type":"compact"'
FILES_READ = 30
MEASURED = Usage(40, 500, 90_000, 300)

OURS, FLOOR, WHOLE = "resume (`load`)", "backward seek, json of the tail", "all of the file (ours)"


def measure() -> Report:
    """Each way in rotated order, after one round that is not counted; page cache warm."""
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folders = {size: Path(name, str(size)) for size in SIZES}
        for size, folder in folders.items():
            folder.mkdir()
            write_session(folder / "conversation.jsonl", size * 1_000_000)
        ways: dict[str, Callable[[], int]] = {}
        for size, folder in folders.items():
            ways[f"{OURS} {size}"] = lambda folder=folder: len(load(folder).records)
            ways[f"{FLOOR} {size}"] = lambda folder=folder: _floor(folder / "conversation.jsonl")
        names = list(ways)
        for turn in range(ROUNDS + 1):
            for way in names[turn % len(names) :] + names[: turn % len(names)]:
                start = time.perf_counter()
                found = ways[way]()
                times.setdefault(way, []).append(time.perf_counter() - start)
                assert found >= TAIL + KEPT, (way, found)
        small = folders[SIZES[0]]
        start = time.perf_counter()
        assert load_whole(small).messages == load(small).messages
        whole = time.perf_counter() - start
    return _report({way: middle(taken[1:]) for way, taken in times.items()}, whole)


def write_session(path: Path, size: int) -> None:
    """A session of about so many bytes: a compaction every `SPAN`, a tail after the last."""
    source, number, places = random.Random(1), 0, []
    with path.open("wb") as file:
        file.write(to_line(SessionRecord(1.0, "s", model="claude-sonnet-5-5")))
        while file.tell() < size - SPAN // 2:
            end = min(file.tell() + SPAN, size)
            while file.tell() < end:
                places.append(file.tell())
                file.write(to_line(_message(source, number)))
                number += 1
            keep = range(number - KEPT, number)
            file.write(to_line(_compaction(number, tuple(f"m{n}" for n in keep), places[-KEPT])))
        for more in range(TAIL):
            file.write(to_line(_message(source, number + more)))


def _message(source: random.Random, number: int) -> MessageRecord:
    words = " ".join(source.choices(("churn", "model", "rows", "mean", "plot", "fit"), k=210))
    text = ({"type": "text", "text": words},)
    turn = number // 2 + 1
    if number % 2 == 0:
        return MessageRecord(1.0 + number, f"m{number}", "user", text, "user", turn)
    return MessageRecord(
        1.0 + number,
        f"m{number}",
        "assistant",
        text,
        "assistant",
        turn,
        usage=MEASURED,
        message_id=f"msg_{number}",
        model="claude-sonnet-5-5",
    )


def _compaction(count: int, keep: tuple[str, ...], offset: int) -> CompactRecord:
    """With a summary of 9 KB, and what the messages before add up to."""
    answers = count // 2
    usage = {name: getattr(MEASURED, name) * answers for name in MEASURED.__slots__}
    reads = [
        {"ts": 1.0, "path": f"/home/ada/churn/{n}.py", "sha256": "0" * 64, "bytes": 1804}
        for n in range(FILES_READ)
    ]
    sections = tuple(Section(f"{n}. Part", "what was done " * 70) for n in range(9))
    checkpoint = {"usage": usage, "turns": count // 2, "reads": reads, "meta": {"title": "Churn"}}
    return CompactRecord(
        1.0 + count,
        f"c{count}",
        "auto",
        sections,
        keep=keep,
        checkpoint=checkpoint,
        offset=offset,
    )


def _floor(path: Path) -> int:
    """The last compaction from the end, then plain JSON from its first kept message on."""
    with path.open("rb") as file:
        end, data = file.seek(0, 2), b""
        while (found := data.rfind(MARK)) < 0 and end > 0:
            start = max(end - BLOCK, 0)
            file.seek(start)
            data = file.read(end - start) + data
            end = start
        line = data[found + 1 : data.index(b"\n", found + 1)]
        file.seek(json.loads(line)["offset"])
        return len([json.loads(item) for item in file.read().splitlines()])


def _report(times: dict[str, float], whole: float) -> Report:
    small, big = SIZES[0], SIZES[-1]
    rows = [
        (
            f"{size} MB",
            f"{times[f'{OURS} {size}'] * 1e3:.2f}",
            f"{times[f'{FLOOR} {size}'] * 1e3:.2f}",
            ratio(times[f"{OURS} {size}"], times[f"{FLOOR} {size}"]),
        )
        for size in SIZES
    ]
    rows.append((f"{small} MB, {WHOLE}", f"{whole * 1e3:.2f}", "", ""))
    ours, floor = times[f"{OURS} {big}"], times[f"{FLOOR} {big}"]
    return Report(
        "Resuming a session with compactions",
        ("session", f"{OURS}: ms", f"{FLOOR}: ms", "ratio"),
        tuple(rows),
        (
            Budget(f"{big} MB vs backward seek and json of its tail", ours / floor, 2),
            Budget(f"{big} MB vs {small} MB", ours / times[f"{OURS} {small}"], 1.5),
        ),
        (
            f"Median of {ROUNDS} rounds in rotated order in one process, page cache warm.",
            f"A compaction every {SPAN // 1_000_000} MB keeps {KEPT} messages; {TAIL} follow.",
            "The floor checks nothing: no damage, no types, no double keys, no totals.",
        ),
    )


if __name__ == "__main__":
    main(measure)
