"""The few operations on files that writers of sessions need, behind one seam.

Tests pass another `FileOps` to count writes and syncs and to fail the Nth operation; the real one
is thin enough to be seen to be right. Nothing here follows a symbolic link in its last component.
"""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if os.name == "posix":
    import fcntl

if TYPE_CHECKING:
    from filelock import FileLock

__all__ = ["FileOps", "Held", "RealFiles"]

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_PIECE = 1024 * 1024


class Held(Protocol):
    """A lock that is held until released."""

    def release(self) -> None:
        """Let go of it."""
        ...

    def abandon(self) -> None:
        """In a forked child: forget it, and leave it to the parent."""
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

    def is_linked(self, fd: int, path: Path) -> bool:
        """Whether `path` still names the open file."""
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
        """Take an exclusive lock without waiting, on a file that is made where it is missing.

        BlockingIOError when another process has it; FileNotFoundError when the folder is not there,
        or goes away meanwhile.
        """
        ...

    def is_locked(self, path: Path) -> bool:
        """Whether some process holds the lock now."""
        ...

    def replace_text(self, path: Path, text: str) -> None:
        """Put short text into an existing file, in place."""
        ...

    def write_text(self, path: Path, text: str) -> None:
        """A whole file for the owner only, on the disk under that name or not at all."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move a folder within a file system; an empty folder may stand at the target."""
        ...

    def link(self, source: Path, target: Path) -> None:
        """A second name for a file; FileExistsError when the name is taken."""
        ...

    def copy(self, source: Path, target: Path) -> None:
        """A copy of a file for the owner only, synced; FileExistsError when the name is taken."""
        ...

    def remove(self, path: Path) -> None:
        """Remove a file, or an empty folder."""
        ...

    def remove_tree(self, path: Path) -> None:
        """Remove a folder with all that is in it, never what a link in it leads to."""
        ...

    def touch(self, path: Path) -> None:
        """Set the modification time to now."""
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

    def is_linked(self, fd: int, path: Path) -> bool:
        """Compares device and inode."""
        opened = os.fstat(fd)
        try:
            named = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - for each append
        except (FileNotFoundError, NotADirectoryError):
            return False
        return (opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)

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
        """`flock`, and on Windows a `filelock` lock; neither is tied to a thread."""
        return _flock(path) if os.name == "posix" else _file_lock(path)

    def is_locked(self, path: Path) -> bool:
        """Tries a shared lock for a moment, which no holder notices."""
        try:
            if os.name == "posix":
                _look(path)
            else:
                _file_lock(path).release()
        except BlockingIOError:
            return True
        return False

    def replace_text(self, path: Path, text: str) -> None:
        """Truncates, then writes: a reader may see nothing for a moment."""
        fd = os.open(path, os.O_WRONLY | _SAFE)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def write_text(self, path: Path, text: str) -> None:
        """Written aside, synced, renamed."""
        aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        aside.unlink(missing_ok=True)
        try:
            with open(self.create(aside), "wb") as file:  # noqa: PTH123 - a descriptor, no path
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except OSError:
            aside.unlink(missing_ok=True)
            raise
        self.sync_folder(path.parent)

    def rename(self, source: Path, target: Path) -> None:
        """One call, and on Windows another before it, which cannot replace an empty folder."""
        if os.name == "nt" and target.is_dir():
            target.rmdir()
        source.rename(target)

    def link(self, source: Path, target: Path) -> None:
        """One call; a link is not followed."""
        os.link(source, target, follow_symlinks=False)

    def copy(self, source: Path, target: Path) -> None:
        """In pieces."""
        with (
            open(os.open(source, os.O_RDONLY | _SAFE), "rb") as file,  # noqa: PTH123
            open(self.create(target), "wb") as copied,  # noqa: PTH123
        ):
            while part := file.read(_PIECE):
                copied.write(part)
            copied.flush()
            os.fsync(copied.fileno())

    def remove(self, path: Path) -> None:
        """One call."""
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()

    def remove_tree(self, path: Path) -> None:
        """The standard library's, which is safe from links."""
        import shutil

        shutil.rmtree(path)

    def touch(self, path: Path) -> None:
        """One call."""
        os.utime(path)


@dataclass(frozen=True, slots=True)
class _Flock:
    fd: int

    def release(self) -> None:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        finally:
            os.close(self.fd)

    def abandon(self) -> None:
        os.close(self.fd)  # without unlocking: the lock is shared with the parent


@dataclass(frozen=True, slots=True)
class _Foreign:
    lock: FileLock

    def release(self) -> None:
        self.lock.release()

    def abandon(self) -> None:
        """Nothing to do: where these are used no process forks."""


def _look(path: Path) -> None:
    """Nothing is done between locking and letting go: who wants to write must not wait for it."""
    fd = os.open(path, os.O_RDONLY | _SAFE)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(fd)


def _flock(path: Path) -> Held:
    """Made here, not by `filelock`, which would make a folder that is gone anew."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | _SAFE, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not RealFiles().is_linked(fd, path):
            raise FileNotFoundError(errno.ENOENT, "moved away meanwhile", str(path))
    except OSError:
        os.close(fd)
        raise
    return _Flock(fd)


def _file_lock(path: Path) -> Held:
    # Imported here: it costs 60 ms, and most kernels never write a session.
    from filelock import FileLock, Timeout

    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    held = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False)
    try:
        held.acquire(blocking=False)
    except Timeout as error:
        raise BlockingIOError(0, "held by another process", str(path)) from error
    return _Foreign(held)
