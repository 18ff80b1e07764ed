"""Appending a session of 100 turns: bytes, syncs and time, beside the least that is durable."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

from benchmarks.report import Budget, Report, main, middle, ratio
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.session.files import FileOps, RealFiles
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import MessageRecord, Record, SessionRecord, to_line

TURNS, SEED_TURNS, ROUNDS, CALLS = 100, 40, 15, 3
ENDS = 10
"""Turns at the beginning and at the end of a session that are compared."""
OURS, FLOOR = "mewcode_nb", "write + fdatasync per boundary"
SEEDS = f"fsync each, history again each turn ({SEED_TURNS} turns)"
SAVER = "LangGraph SqliteSaver, a step a message"
SLOW_SYNC = 3.98e-3
"""Seconds of one append and `fdatasync` on the disk that the budget of 1.1 was written for."""
WORDS = "so many words to be said about the table of customers " * 22

Batches: TypeAlias = list[list[Record]]
Way: TypeAlias = Callable[[Path], AbstractContextManager[Callable[[Batches], object]]]


class Spent(NamedTuple):
    """Seconds of one turn: by the clock, and of the processor."""

    wall: float
    cpu: float


Runs: TypeAlias = list[list[Spent]]
"""Of each session, of each turn."""


class CountedFiles:
    """The real operations, with the syncs of files counted."""

    def __init__(self) -> None:
        self.syncs = 0

    def __getattr__(self, name: str) -> Callable[..., object]:
        self.syncs += name == "sync"
        return getattr(RealFiles(), name)


def measure() -> Report:
    """Turn by turn in alternating order; the wasteful ways once each."""
    turns = [_turn(number) for number in range(1, TURNS + 1)]
    taken: dict[str, Runs] = {OURS: [], FLOOR: []}
    with tempfile.TemporaryDirectory(dir=".") as place:
        folder = Path(place)
        for number in range(ROUNDS):
            for name, times in _beside({OURS: _ours, FLOOR: _floor}, folder, turns, number):
                taken[name].append(times)
        sizes = {name: _size(folder / f"{ROUNDS - 1} {name}") for name in taken}
        for name, way, count in ((SEEDS, _seeds, SEED_TURNS), (SAVER, _saver(), TURNS)):
            if way is not None:
                taken[name] = [times for _, times in _beside({name: way}, folder, turns[:count], 0)]
                sizes[name] = _size(folder / f"0 {name}")
        syncs = (
            _syncs(folder / "plain", [turns[0][:1] + turns[0][-1:]]),
            _syncs(folder / "all", turns),
        )
    return _report(turns, taken, sizes, syncs)


def _beside(
    ways: dict[str, Way], folder: Path, turns: list[Batches], number: int
) -> list[tuple[str, list[Spent]]]:
    """What each turn took in each way; who goes first changes with every turn."""
    times: dict[str, list[Spent]] = {name: [] for name in ways}
    with ExitStack() as stack:
        for name in ways:
            (folder / f"{number} {name}").mkdir()
        writers = [
            (name, stack.enter_context(way(folder / f"{number} {name}")))
            for name, way in ways.items()
        ]
        for turn in turns:
            for name, write in writers:
                start, work = time.perf_counter(), time.process_time()
                write(turn)
                worked = time.process_time() - work
                times[name].append(Spent(time.perf_counter() - start, worked))
            writers.reverse()
    return list(times.items())


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


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


@contextmanager
def _ours(folder: Path, files: FileOps | None = None) -> Iterator[Callable[[Batches], object]]:
    header, source = SessionRecord(0.0, ""), random.Random(1)
    log = SessionLog.create(folder, header, clock=time.time, random=source, files=files)
    yield lambda turn: [log.append(batch) for batch in turn]
    log.close()


def _syncs(folder: Path, turns: list[Batches]) -> int:
    """Syncs of ours for those turns, the making of the session not counted."""
    files = CountedFiles()
    with _ours(folder, cast("FileOps", files)) as write:
        files.syncs = 0
        for turn in turns:
            write(turn)
        return files.syncs


@contextmanager
def _floor(folder: Path) -> Iterator[Callable[[Batches], object]]:
    """Lines made beforehand: what is timed is the system alone."""
    made = {turn: _lines(_turn(turn)) for turn in range(1, TURNS + 1)}
    with _opened(folder) as fd:

        def write(turn: Batches) -> None:
            for data in made[turn[0][0].turn]:
                os.write(fd, data)
                os.fdatasync(fd)

        yield write


def _lines(turn: Batches) -> list[bytes]:
    return [b"".join(map(to_line, batch)) for batch in turn]


@contextmanager
def _seeds(folder: Path) -> Iterator[Callable[[Batches], object]]:
    """A marker and the whole history anew after each turn, one sync a line."""
    history: list[bytes] = []
    with _opened(folder) as fd:

        def write(turn: Batches) -> None:
            fresh = _lines(turn)
            history.extend(fresh)
            for line in (*fresh, b'{"type":"compact"}\n', *history):
                os.write(fd, line)
                os.fsync(fd)

        yield write


def _saver() -> Way | None:
    """A checkpoint of the whole state for each message; None where it is not installed."""
    try:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError:
        return None

    @contextmanager
    def saver(folder: Path) -> Iterator[Callable[[Batches], object]]:
        connection = sqlite3.connect(folder / "saver.sqlite", check_same_thread=False)
        keeper = SqliteSaver(connection)
        where = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
        history: list[object] = []

        def write(turn: Batches) -> None:
            for batch in turn:
                history.extend(json.loads(to_line(record)) for record in batch)
                checkpoint = {**empty_checkpoint(), "channel_values": {"messages": history}}
                keeper.put(where, checkpoint, {"source": "loop", "step": len(history)}, {})

        yield write
        connection.close()

    return saver


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)


def _report(
    batches: list[Batches],
    taken: dict[str, Runs],
    sizes: dict[str, int],
    syncs: tuple[int, int],
) -> Report:
    records = [record for turn in batches for batch in turn for record in batch]
    lines = sum(len(to_line(record)) for record in records)
    bare = sum(len(_bare(record)) for record in records)
    usual = {
        name: middle([t.wall for times in runs for t in times]) for name, runs in taken.items()
    }
    work = {name: middle([t.cpu for times in runs for t in times]) for name, runs in taken.items()}
    rows = tuple(
        (
            name,
            f"{usual[name] * 1e3:.2f}",
            f"{work[name] * 1e3:.2f}",
            ratio(usual[name], usual[FLOOR]),
            f"{sizes[name] / 1e6:.2f}",
            ratio(sizes[name], lines * len(taken[name][0]) / TURNS),
            ratio(*_ends([[t.wall for t in times] for times in taken[name]])),
        )
        for name in taken
    )
    beside = [list(zip(*both, strict=True)) for both in zip(taken[OURS], taken[FLOOR], strict=True)]
    late, early = _ends([[ours.wall / floor.wall for ours, floor in run] for run in beside])
    own_late, own_early = _ends([[ours.cpu - floor.cpu for ours, floor in run] for run in beside])
    saver = "in the table" if SAVER in taken else "not measured: it is not installed"
    own, sync = _each(usual[OURS] - usual[FLOOR]), _each(usual[FLOOR])
    return Report(
        f"Durable append, {TURNS} turns of 8 messages",
        (
            "what",
            "ms a turn",
            "CPU ms",
            "vs floor",
            "MB on disk",
            "vs records",
            f"last {ENDS} turns vs first {ENDS}",
        ),
        rows,
        (
            Budget("our own time and a sync of 3.98 ms vs that sync", 1 + own / SLOW_SYNC, 1.1),
            Budget("bytes on disk vs records", sizes[OURS] / lines, 1.05),
            Budget("bytes on disk vs bare messages", sizes[OURS] / bare, 1.3),
            Budget("syncs of a turn without tools", syncs[0], 2),
            Budget(f"last {ENDS} turns vs first {ENDS}, each vs the floor", late / early, 1.1),
            Budget(f"last {ENDS} turns vs first {ENDS}, our own CPU", own_late / own_early, 1.1),
        ),
        (
            f"Medians over {ROUNDS} sessions, ours and the floor turn by turn, each first in turn.",
            f"{syncs[1]} syncs for {TURNS} turns of three rounds of tools: 8 moments each.",
            "Bare messages are role and content as JSON, without id, time, turn, usage.",
            "Ends are compared by quotients with the floor's same turn: disks have moods.",
            "Our own CPU is a turn's less that of the floor's same turn: lines, checks.",
            f"Our own time: {own * 1e3:.3f} ms a batch; a bare sync here: {sync * 1e3:.3f}.",
            "A batch's own time hardly depends on the disk, so its ratio does: see ADR 8.",
            f"LangGraph's SqliteSaver: {saver}.",
        ),
    )


def _bare(record: Record) -> str:
    return json.dumps({"role": record.role, "content": record.content}, separators=(",", ":"))


def _each(turn: float) -> float:
    """Of a turn's seconds, those of each of its batches."""
    return turn / (2 + 2 * CALLS)


def _ends(runs: list[list[float]]) -> tuple[float, float]:
    """Medians of the last and the first turns."""
    late, early = ([t for run in runs for t in run[part]] for part in (_LAST, _FIRST))
    return middle(late), middle(early)


_LAST, _FIRST = slice(-ENDS, None), slice(ENDS)


if __name__ == "__main__":
    main(measure)
