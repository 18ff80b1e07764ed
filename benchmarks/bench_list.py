"""Listing sessions: with the index, just after it was deleted, and all; beside their floors."""

from __future__ import annotations

import itertools
import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Budget, Report, main, ratio
from mewcode_nb.session.folder_store import FolderStore

COUNTS = (1_000, 10_000)
ROUNDS = 11
SHOWN = 20
START = 1_700_000_000
SPACING = 600
COLUMNS = "id, active, size, mtime_ns, open, info"

INDEXED, BARE_INDEX = "newest 20, index", "bare index read, newest 20"
FIRST = "newest 20, index, first list of a process"
BARE, SCAN = "newest 20, index just deleted", "readdir + stat each log"
ALL, BARE_ALL, NAMES = "all rows, index", "bare index read, all rows", "readdir only"
SAVER, SAVER_ALL = "SqliteSaver.list, newest 20", "SqliteSaver.list, all"


def measure() -> Report:
    """Each way in rotated order, after one round that is not counted; page cache warm."""
    times: dict[int, dict[str, float]] = {}
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as folder:
            times[count] = _measure(Path(folder) / ".mewcode" / "sessions", count)
    return _report(times)


def _measure(sessions: Path, count: int) -> dict[str, float]:
    _make_sessions(sessions, count)
    store = _store(sessions)
    store.reindex()
    index = sessions.parent / "cache" / "sessions.sqlite"
    aside = index.with_name("aside")
    ways: dict[str, Callable[[], int]] = {
        INDEXED: lambda: len(store.list(SHOWN)),
        FIRST: lambda: len(_store(sessions).list(SHOWN)),
        BARE_INDEX: lambda: _read_index(index, SHOWN),
        ALL: lambda: len(store.list()),
        BARE_ALL: lambda: _read_index(index, -1),
        NAMES: lambda: len(list(os.scandir(sessions))),
        SCAN: lambda: _scan(sessions),
        BARE: lambda: len(store.list(SHOWN)),
        **_savers(sessions.parent / "savers.sqlite", count),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(ROUNDS + 1):
        for name in _rotated(list(ways), turn):
            if name == BARE:
                index.rename(aside)
            start = time.perf_counter()
            found = ways[name]()
            taken[name].append(time.perf_counter() - start)
            assert found in {SHOWN, count}, (name, found)
            if name == BARE:
                aside.rename(index)
    return {name: min(seconds[1:]) for name, seconds in taken.items()}


def _store(sessions: Path) -> FolderStore:
    return FolderStore(sessions, clock=time.time, random=random.Random(1))


def _rotated(names: list[str], turn: int) -> list[str]:
    at = turn % len(names)
    return names[at:] + names[:at]


def _make_sessions(sessions: Path, count: int) -> None:
    """Sessions of 21 KB, ten minutes apart, and a folder that has not changed for an hour."""
    sessions.mkdir(parents=True)
    for number in range(count):
        ts = START + SPACING * number
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(ts))
        folder = sessions / f"{stamp}-{number & 0xFFFF:04x}"
        folder.mkdir()
        path = folder / "conversation.jsonl"
        path.write_bytes(_session(folder.name, ts))
        os.utime(path, (ts + 9, ts + 9))
    then = time.time() - 3600
    os.utime(sessions, (then, then))


def _session(identity: str, ts: float) -> bytes:
    header = {"type": "session", "ts": ts, "id": identity, "v": 1}
    header |= {"notebook": "/home/ada/churn/analysis.ipynb", "project": "/home/ada/churn"}
    lines = [header | {"model": "claude-sonnet-5-5"}]
    for number in range(20):
        user = number % 2 == 0
        lines.append(
            {
                "type": "message",
                "ts": ts + number / 10,
                "id": f"m{number}",
                "role": "user" if user else "assistant",
                "content": [{"type": "text", "text": f"{number} " + "so many words " * 62}],
                "origin": "user" if user else "assistant",
                "turn": number // 2 + 1,
            }
            | ({"cell": {"id": f"cell{number}", "sha256": "0" * 64}} if user else {})
        )
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def _read_index(path: Path, limit: int) -> int:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    order = "order by active desc, id desc limit ?"
    rows = connection.execute(f"select {COLUMNS} from session {order}", (limit,)).fetchall()
    connection.close()
    return len(rows)


def _scan(sessions: Path) -> int:
    with os.scandir(sessions) as entries:
        return len([os.stat(f"{entry.path}/conversation.jsonl") for entry in entries])  # noqa: PTH116


def _savers(path: Path, count: int) -> dict[str, Callable[[], int]]:
    """LangGraph's, with one checkpoint for each thread, where it is installed."""
    try:
        from langgraph.checkpoint.base import empty_checkpoint
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError:
        return {}

    saver = SqliteSaver(sqlite3.connect(path, check_same_thread=False))
    for number in range(count):
        where = {"configurable": {"thread_id": str(number), "checkpoint_ns": ""}}
        values = {"messages": ["so many words " * 62] * 20}
        checkpoint = {**empty_checkpoint(), "channel_values": values}
        saver.put(where, checkpoint, {"source": "loop", "step": 0}, {})
    return {
        SAVER: lambda: len(list(itertools.islice(saver.list(None, limit=SHOWN), SHOWN))),
        SAVER_ALL: lambda: len(list(saver.list(None))),
    }


def _report(times: dict[int, dict[str, float]]) -> Report:
    few, many = (times[count] for count in COUNTS)
    rows = tuple(
        (
            name,
            f"{few[name] * 1e3:.2f}",
            f"{many[name] * 1e3:.2f}",
            ratio(many[name], many[BARE_INDEX]),
            ratio(many[name], many[SCAN]),
        )
        for name in many
    )
    saver = "in the table" if SAVER in many else "not measured: it is not installed"
    return Report(
        "Listing sessions of 21 KB",
        ("what", "1,000: ms", "10,000: ms", "vs bare index read", "vs readdir + stat"),
        rows,
        (
            Budget("newest 20 of 10,000 vs bare index read", many[INDEXED] / many[BARE_INDEX], 3),
            Budget("all 1,000, index, vs bare read of all", few[ALL] / few[BARE_ALL], 12),
            Budget("index just deleted vs readdir + stat", many[BARE] / many[SCAN], 1.5),
        ),
        (
            f"Least of {ROUNDS} rounds in rotated order in one process, page cache warm.",
            "The bare read opens the file, fetches the rows as they are and closes it.",
            "Ours also looks whether sessions came or went and each shown one has changed.",
            "Rows of a list that was made before in the process are not parsed again.",
            f"LangGraph's SqliteSaver.list: {saver}.",
        ),
    )


if __name__ == "__main__":
    main(measure)
