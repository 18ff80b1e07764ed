"""Running a command as a process group that can be ended whole, with bounded output.

Output comes through one pipe, so that it stays in order, and is read as fast as it comes into a
buffer of fixed size. The command is over when its first process ends: a child that keeps the pipe
open holds nobody up. After a time limit or an interrupt the whole group gets TERM and then KILL.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.cut import HeadTail

__all__ = ["Finished", "run_group"]

_CHUNK = 1 << 20
_POLL = 0.02
_TERM_SECONDS = 1.0
_INTERRUPT_SECONDS = 0.2
_REAP_SECONDS = 1.0
_DRAIN_SECONDS = 0.2
_MARK = "MEWCODE_COMMAND"
_PROC = Path("/proc/self")
_CLOCK_SLACK = 0.1


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int | None
    """Exit code, negative for a signal; `None` when it could not be learned."""
    output: str
    total: int
    """Bytes of output, kept or not."""
    dropped: int
    """Bytes of output that were not kept."""
    timed_out: bool
    survivors: tuple[str, ...]
    """Processes the command left running, as `pid name`; complete on Linux only."""
    seconds: float


async def run_group(
    argv: tuple[str, ...], *, cwd: Path, environment: Mapping[str, str], seconds: float, keep: int
) -> Finished:
    """Run a command for at most `seconds`, keeping about `keep` bytes of its output.

    Raises `ToolError` when it cannot be started. A cancellation ends the group before it passes on.
    """
    sink, mark = HeadTail(keep), secrets.token_hex(8)
    started, booted = time.monotonic(), _since_boot()
    reader, writer = os.pipe()
    try:
        try:
            process = await _start(argv, writer, cwd, {**environment, _MARK: mark})
        finally:
            os.close(writer)
        with _reading(reader, sink):
            timed_out = await _wait(process, seconds)
            await _drain(reader, sink)
    finally:
        os.close(reader)
    return Finished(
        process.returncode,
        sink.text(),
        sink.total,
        sink.dropped,
        timed_out,
        tuple(_survivors(process.pid, mark, booted)),
        time.monotonic() - started,
    )


async def _start(
    argv: tuple[str, ...], output: int, cwd: Path, environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
    except NotImplementedError:
        raise ToolError("this platform's event loop cannot run commands; use run_python") from None
    except ValueError as error:
        raise ToolError(f"the command cannot be started: {error}") from None
    except OSError as error:
        raise ToolError(f"the command cannot be started: {error.strerror}") from None


async def _wait(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Wait for the first process; whether the time limit ended it."""
    try:
        await asyncio.wait_for(process.wait(), seconds)
    except TimeoutError:
        await _end(process, _TERM_SECONDS)
        return True
    except asyncio.CancelledError:
        await _end(process, _INTERRUPT_SECONDS)
        raise
    return False


async def _end(process: asyncio.subprocess.Process, patience: float) -> None:
    """End the whole group: TERM, a little patience, KILL; KILL at once when cancelled meanwhile."""
    gone = False
    try:
        _signal(process.pid, signal.SIGTERM)
        gone = await _gone(process.pid, patience)
    finally:
        if not gone:
            _signal(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _REAP_SECONDS)
    await _gone(process.pid, _REAP_SECONDS)


async def _gone(group: int, patience: float) -> bool:
    deadline = time.monotonic() + patience
    while _alive(group):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(_POLL)
    return True


@contextmanager
def _reading(fd: int, sink: HeadTail) -> Iterator[None]:
    """Take what comes through the pipe while the block runs."""
    loop = asyncio.get_running_loop()
    os.set_blocking(fd, False)

    def take() -> None:
        if not _take(fd, sink):
            loop.remove_reader(fd)

    loop.add_reader(fd, take)
    try:
        yield
    finally:
        loop.remove_reader(fd)


async def _drain(fd: int, sink: HeadTail) -> None:
    """Take what is still in the pipe; a child that writes for ever gets only a moment."""
    deadline = time.monotonic() + _DRAIN_SECONDS
    before = -1
    while sink.total != before and time.monotonic() < deadline:
        before = sink.total
        if not _take(fd, sink):
            return
        await asyncio.sleep(0)


def _take(fd: int, sink: HeadTail) -> bool:
    """Read once; false at the end of the output."""
    try:
        data = os.read(fd, _CHUNK)
    except BlockingIOError:
        return True
    sink.add(data)
    return bool(data)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _alive(group: int) -> bool:
    """Whether a process of the group still runs; one that only waits to be reaped does not."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return not (_PROC / "stat").exists() or any(one.group == group for one in _running())


def _survivors(group: int, mark: str, since: float) -> Iterator[str]:
    """What still runs of the command: its group, and those that left it but kept the mark."""
    sought = f"{_MARK}={mark}".encode()
    for one in _running():
        if one.started < since - _CLOCK_SLACK:
            continue
        if one.group == group or sought in _environment(one.pid):
            yield f"{one.pid} {one.name}"


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    name: str
    group: int
    started: float
    """Seconds since boot."""


def _running() -> Iterator[_Process]:
    """The living processes, where the system shows them under `/proc`."""
    try:
        names = [entry.name for entry in _PROC.parent.iterdir() if entry.name.isdigit()]
    except OSError:
        return
    ticks = os.sysconf("SC_CLK_TCK")
    for name in names:
        with suppress(OSError, ValueError):
            line = (_PROC.parent / name / "stat").read_text("utf-8", "replace")
            fields = line[line.rindex(")") + 2 :].split()
            if fields[0] not in "ZX":
                command = line[line.index("(") + 1 : line.rindex(")")]
                yield _Process(int(name), command, int(fields[2]), int(fields[19]) / ticks)


def _environment(pid: int) -> list[bytes]:
    try:
        return (_PROC.parent / str(pid) / "environ").read_bytes().split(b"\x00")
    except OSError:
        return []


def _since_boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else 0.0
