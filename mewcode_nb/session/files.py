"""The few operations on files that a session's writer needs, behind one seam.

Tests pass another `FileOps` to count writes and syncs and to fail the Nth operation; the real one
is thin enough to be seen to be right. Nothing here follows a symbolic link in its last component.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

__all__ = ["FileOps", "Held", "RealFiles"]

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Held(Protocol):
    """A lock that is held until released."""

    def release(self) -> None:
        """Let go of it."""
        ...


class FileOps(Protocol):
    """Every operation raises OSError as the system gives it."""

    def make_folder(self, path: Path) -> None:
        """Make one folder for the owner only; FileExistsError when the name is taken."""
        ...

    def create(self, path: Path) -> int:
        """Create a file for the owner only, for appending; FileExistsError when it is there."""
        ...

    def open(self, path: Path) -> int:
        """Open an existing regular file for reading and appending."""
        ...

    def ends_open(self, fd: int) -> bool:
        """Whether the file's last line lacks its newline."""
        ...

    def is_linked(self, fd: int) -> bool:
        """Whether the open file still has a name."""
        ...

    def write(self, fd: int, data: memoryview) -> int:
        """Write once; how many bytes were taken."""
        ...

    def sync(self, fd: int) -> None:
        """Bring the file's content to the disk."""
        ...

    def sync_folder(self, path: Path) -> None:
        """Bring a folder's names to the disk, where folders can be synced."""
        ...

    def close(self, fd: int) -> None:
        """Close the file."""
        ...

    def lock(self, path: Path) -> Held:
        """Take an exclusive lock without waiting; BlockingIOError when another process has it."""
        ...

    def replace_text(self, path: Path, text: str) -> None:
        """Put short text into an existing file, in place."""
        ...


@dataclass(frozen=True, slots=True)
class RealFiles:
    """The operating system's own."""

    def make_folder(self, path: Path) -> None:
        """Mode 0700, whatever the umask lets others have."""
        path.mkdir(mode=0o700)

    def create(self, path: Path) -> int:
        """Mode 0600, never through a link."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | _SAFE, 0o600)

    def open(self, path: Path) -> int:
        """Never through a link; anything but a regular file is an OSError."""
        fd = os.open(path, os.O_RDWR | os.O_APPEND | _SAFE)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(0, "not a regular file", str(path))
        return fd

    def ends_open(self, fd: int) -> bool:
        """Reads one byte, the last."""
        size = os.lseek(fd, 0, os.SEEK_END)
        if size == 0:
            return False
        os.lseek(fd, size - 1, os.SEEK_SET)
        return os.read(fd, 1) != b"\n"

    def is_linked(self, fd: int) -> bool:
        """Looks at the number of names."""
        return os.fstat(fd).st_nlink > 0

    def write(self, fd: int, data: memoryview) -> int:
        """One call."""
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        """`fdatasync`, or `fsync` where the system has no other."""
        getattr(os, "fdatasync", os.fsync)(fd)

    def sync_folder(self, path: Path) -> None:
        """`fsync` of the folder."""
        if os.name == "nt":  # folders cannot be opened there
            return
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def close(self, fd: int) -> None:
        """One call."""
        os.close(fd)

    def lock(self, path: Path) -> Held:
        """A `filelock` lock, not tied to a thread."""
        # Imported here: it costs 60 ms, and most kernels never write a session.
        from filelock import FileLock, Timeout

        held = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
        try:
            held.acquire(blocking=False)
        except Timeout as error:
            raise BlockingIOError(0, "held by another process", str(path)) from error
        return held

    def replace_text(self, path: Path, text: str) -> None:
        """Truncates, then writes: a reader may see nothing for a moment."""
        fd = os.open(path, os.O_WRONLY | _SAFE)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, text.encode())
        finally:
            os.close(fd)
