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


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended."""

    code: int | None
    """Exit code, negative for a signal; `None` when it could not be learned."""
    output: str
    total: int
    """Bytes of output, kept or not."""
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
    sink, mark, started = HeadTail(keep), secrets.token_hex(8), time.monotonic()
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
        timed_out,
        tuple(_survivors(process.pid, mark)),
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
    if Path("/proc/self/stat").exists():
        return any(True for _ in _members(group))
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _survivors(group: int, mark: str) -> Iterator[str]:
    """What still runs of the command: its group, and those that left it but kept the mark."""
    inside = dict(_members(group))
    sought = f"{_MARK}={mark}".encode()
    for entry in _processes():
        pid = int(entry.name)
        if pid in inside:
            yield f"{pid} {inside[pid]}"
            continue
        with suppress(OSError):
            if sought in (entry / "environ").read_bytes().split(b"\x00"):
                yield f"{pid} {(entry / 'comm').read_text('utf-8', 'replace').strip()}"


def _members(group: int) -> Iterator[tuple[int, str]]:
    """Pid and name of the living processes of a group; zombies do not count."""
    for entry in _processes():
        with suppress(OSError):
            line = (entry / "stat").read_text("utf-8", "replace")
            name = line[line.index("(") + 1 : line.rindex(")")]
            state, _, owner = line[line.rindex(")") + 2 :].split()[:3]
            if int(owner) == group and state not in "ZX":
                yield int(entry.name), name


def _processes() -> list[Path]:
    try:
        return [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return []
