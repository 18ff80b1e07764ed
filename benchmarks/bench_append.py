"""Appending a session of 100 turns: bytes, syncs and time, beside the least that is durable."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Budget, Report, main, middle, ratio
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.session.files import RealFiles
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import MessageRecord, Record, SessionRecord, to_line

TURNS, SEED_TURNS, ROUNDS, CALLS = 100, 40, 5, 3
OURS, FLOOR, EACH = "mewcode_nb", "write + fdatasync per boundary", "write + fdatasync per message"
SEEDS = f"fsync each, history again each turn ({SEED_TURNS} turns)"
SAVER = "LangGraph SqliteSaver, a step a message"
WORDS = "so many words to be said about the table of customers " * 22


class CountedFiles:
    """The real operations, with the syncs of files counted."""

    def __init__(self) -> None:
        self.syncs = 0

    def __getattr__(self, name: str) -> Callable[..., object]:
        self.syncs += name == "sync"
        return getattr(RealFiles(), name)


def measure() -> Report:
    """Whole sessions in rotated order; the wasteful ways once each."""
    batches = [_turn(number) for number in range(1, TURNS + 1)]
    ways = {OURS: _ours, FLOOR: _floor, EACH: _each}
    taken: dict[str, list[list[float]]] = {name: [] for name in ways}
    counts: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for turn in range(ROUNDS):
            names = list(ways)[turn % 3 :] + list(ways)[: turn % 3]
            for name in names:
                place = Path(folder) / f"{turn}-{names.index(name)}"
                times, *counts[name] = ways[name](place, batches)
                taken[name].append(times)
        for name, way, turns in ((SEEDS, _seeds, SEED_TURNS), (SAVER, _saver, TURNS)):
            if found := way(Path(folder) / name[:6], batches[:turns]):
                times, *counts[name] = found
                taken[name] = [times]
        plain = _plain_turn(Path(folder) / "plain")
    return _report(batches, taken, counts, plain)


def _turn(number: int) -> list[list[Record]]:
    """8 messages with 3 rounds of tools, as batches: one for each moment that must be durable."""
    said = [_message(number, 0, "user", [text_block(f"{number} {WORDS}")])]
    batches: list[list[Record]] = [said]
    for call in range(CALLS):
        identity = f"toolu_{number}_{call}"
        asked = {"type": "tool_use", "id": identity, "name": "shell", "input": {"command": "ls"}}
        answered = {"type": "tool_result", "tool_use_id": identity, "content": WORDS}
        batches.append([_message(number, 2 * call + 1, "assistant", [asked])])
        batches.append([_message(number, 2 * call + 2, "user", [answered])])
    batches.append([_message(number, 7, "assistant", [text_block(f"{number} {WORDS}")])])
    return batches


def _message(turn: int, place: int, role: str, content: list) -> MessageRecord:
    answer = {"usage": Usage(30, 0, 4000, 57), "model": "claude-sonnet-5-5", "message_id": "msg"}
    return MessageRecord(
        1.7e9 + turn,
        f"m{turn}-{place}",
        role,
        tuple(content),
        "tool" if role == "user" and place else role,
        turn,
        **(answer if role == "assistant" else {}),
    )


def _ours(folder: Path, turns: Sequence[list[list[Record]]]) -> tuple[list[float], int, int]:
    files = CountedFiles()
    log = SessionLog.create(
        folder, SessionRecord(0.0, ""), clock=time.time, random=random.Random(1), files=files
    )
    files.syncs = 0
    times = [_timed(lambda turn=turn: [log.append(batch) for batch in turn]) for turn in turns]
    log.close()
    return times, log.path.stat().st_size, files.syncs


def _plain_turn(folder: Path) -> int:
    """Syncs of a turn without tools: the prompt, the answer."""
    first, *_, last = _turn(1)
    return _ours(folder, [[first, last]])[2]


def _floor(folder: Path, turns: Sequence[list[list[Record]]]) -> tuple[list[float], int, int]:
    return _written(folder, turns, lambda turn: [b"".join(map(to_line, b)) for b in turn])


def _each(folder: Path, turns: Sequence[list[list[Record]]]) -> tuple[list[float], int, int]:
    return _written(folder, turns, lambda turn: [to_line(r) for b in turn for r in b])


def _written(
    folder: Path,
    turns: Sequence[list[list[Record]]],
    parts: Callable[[list[list[Record]]], list[bytes]],
) -> tuple[list[float], int, int]:
    """Lines made beforehand: what is timed is the system alone."""
    made = [parts(turn) for turn in turns]
    with _opened(folder) as fd:

        def write(turn: list[bytes]) -> None:
            for data in turn:
                os.write(fd, data)
                os.fdatasync(fd)

        times = [_timed(lambda turn=turn: write(turn)) for turn in made]
        return times, os.fstat(fd).st_size, sum(map(len, made))


def _seeds(folder: Path, turns: Sequence[list[list[Record]]]) -> tuple[list[float], int, int]:
    """A marker and the whole history anew after each turn, one sync a line."""
    history: list[bytes] = []
    syncs = 0
    with _opened(folder) as fd:

        def write(turn: list[list[Record]]) -> int:
            fresh = [to_line(record) for batch in turn for record in batch]
            history.extend(fresh)
            lines = [*fresh, b'{"type":"compact"}\n', *history]
            for line in lines:
                os.write(fd, line)
                os.fsync(fd)
            return len(lines)

        times = []
        for turn in turns:
            start = time.perf_counter()
            syncs += write(turn)
            times.append(time.perf_counter() - start)
        return times, os.fstat(fd).st_size, syncs


def _saver(
    folder: Path, turns: Sequence[list[list[Record]]]
) -> tuple[list[float], int, int] | None:
    """A checkpoint of the whole state for each message; None where it is not installed."""
    try:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError:
        return None
    path = folder.with_suffix(".sqlite")
    saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))
    where = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    history: list[object] = []

    def write(turn: list[list[Record]]) -> None:
        for batch in turn:
            history.extend(json.loads(to_line(record)) for record in batch)
            checkpoint = {**empty_checkpoint(), "channel_values": {"messages": history}}
            saver.put(where, checkpoint, {"source": "loop", "step": len(history)}, {})

    times = [_timed(lambda turn=turn: write(turn)) for turn in turns]
    return times, path.stat().st_size, 0


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    folder.mkdir()
    fd = os.open(folder / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _report(
    batches: list[list[list[Record]]],
    taken: dict[str, list[list[float]]],
    counts: dict[str, tuple[int, int]],
    plain: int,
) -> Report:
    records = [record for turn in batches for batch in turn for record in batch]
    lines = sum(len(to_line(record)) for record in records)
    bare = sum(len(_bare(record)) for record in records)
    turns = {name: [t for times in runs for t in times] for name, runs in taken.items()}
    usual = {name: middle(times) for name, times in turns.items()}
    rows = tuple(
        (
            name,
            f"{usual[name] * 1e3:.2f}",
            ratio(usual[name], usual[FLOOR]),
            f"{counts[name][0] / 1e6:.2f}",
            ratio(counts[name][0], lines * len(taken[name][0]) / TURNS),
            _late(taken[name]),
        )
        for name in taken
    )
    size, syncs = counts[OURS]
    early, late = _ends(taken[OURS])
    saver = "in the table" if SAVER in taken else "not measured: it is not installed"
    return Report(
        f"Durable append, {TURNS} turns of 8 messages",
        ("what", "ms a turn", "vs floor", "MB on disk", "vs records", "last 10 turns vs first 10"),
        rows,
        (
            Budget("time vs one fdatasync per boundary", usual[OURS] / usual[FLOOR], 1.1),
            Budget("bytes on disk vs records", size / lines, 1.05),
            Budget("bytes on disk vs bare messages", size / bare, 1.3),
            Budget("syncs of a turn without tools", plain, 2),
            Budget("last 10 turns vs first 10", late / early, 1.1),
        ),
        (
            f"Medians over {ROUNDS} sessions in rotated order; the wasteful ways once each.",
            f"{syncs} syncs for {TURNS} turns of three rounds of tools: 8 moments each.",
            "Bare messages are role and content as JSON, without id, time, turn, usage.",
            f"LangGraph's SqliteSaver: {saver}.",
        ),
    )


def _bare(record: Record) -> str:
    return json.dumps({"role": record.role, "content": record.content}, separators=(",", ":"))


def _ends(runs: list[list[float]]) -> tuple[float, float]:
    """Medians of the first and the last ten turns."""
    return middle([t for r in runs for t in r[:10]]), middle([t for r in runs for t in r[-10:]])


def _late(runs: list[list[float]]) -> str:
    early, late = _ends(runs)
    return ratio(late, early)


if __name__ == "__main__":
    main(measure)
