"""Paths that the model gives, made safe: what they really are, and opening only that.

A path is resolved once, links and all, and the policy judges what came out. `run` then opens
exactly that path, walking from the top folder by folder without following links, so that a folder
swapped for a link after the judgement leads nowhere. New files replace old ones by a rename inside
the folder that the walk opened.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mewcode_nb.errors import ToolError
from mewcode_nb.messages import clean_text
from mewcode_nb.tools.base import ToolContext

__all__ = [
    "Folder",
    "Target",
    "check_new_names",
    "explain",
    "open_folder",
    "open_regular",
    "replace_file",
    "resolve",
    "shown",
    "target_of",
]

_LONGEST_NAME = 255
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"]
)
_AT = os.open in os.supports_dir_fd
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_REASONS = {
    errno.ENOENT: "no such file or folder",
    errno.EACCES: "permission denied",
    errno.EPERM: "not permitted",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "part of the path is not a folder, or became a link after it was checked",
    errno.ELOOP: "it became a link after it was checked, or the links lead in a circle",
    errno.ENAMETOOLONG: "the path is too long; use shorter names",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EEXIST: "it exists already",
    errno.ENXIO: "it is not a regular file",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A path as judged."""

    path: Path
    """Real and absolute."""
    shown: str
    """As the model may write it."""
    outside: bool
    protected: str
    """Why it is always asked about; empty when it is not."""

    @property
    def risks(self) -> tuple[str, ...]:
        """Reasons to look twice, in words."""
        outside = ("outside the project",) if self.outside else ()
        return outside + ((f"protected: {self.protected}",) if self.protected else ())


def resolve(given: str, context: ToolContext) -> Path:
    """The real path of what the model wrote, relative to the working folder. May not exist."""
    if not given.strip():
        raise ToolError("the path is empty")
    if "\x00" in given:
        raise ToolError("the path holds a NUL character")
    home = context.environment.get("HOME", "")
    if home and (given == "~" or given.startswith("~/")):
        given = home + given[1:]
    try:
        return Path(os.path.realpath(context.cwd / given))
    except OSError as error:
        raise explain(error, given) from None
    except ValueError:
        raise ToolError(f"the path cannot be encoded: {given!a}") from None


def target_of(given: str, context: ToolContext, *, judged: bool = False) -> Target:
    """Where a path leads. With `judged`, what it led to when it was proposed, if it was."""
    known = context.judged.get(given) if judged else None
    path = Path(known) if known else resolve(given, context)
    if not judged:
        context.judged[given] = str(path)
    outside = not path.is_relative_to(context.root)
    return Target(path, shown(path, context), outside, context.protected(path))


def shown(path: Path, context: ToolContext) -> str:
    """The path as the model may write it: relative inside the working folder, else absolute.

    A name that is no text is shown with U+FFFD, so that the words can be sent.
    """
    near = path.relative_to(context.cwd) if path.is_relative_to(context.cwd) else path
    return clean_text(near.as_posix())


def check_new_names(path: Path) -> None:
    """Refuse to create names that some system cannot hold; looks at what does not exist yet."""
    for part in (path, *path.parents):
        if part.name and not _exists(part):
            _check_name(part.name)


def explain(error: OSError, what: str) -> ToolError:
    """The error in words for the model."""
    reason = _REASONS.get(error.errno or 0, error.strerror or type(error).__name__)
    return ToolError(f"{what}: {reason}")


class Folder:
    """An open folder: names in it are reached through it, whatever its path becomes meanwhile."""

    def __init__(self, path: Path, fd: int | None) -> None:
        self.path = path
        self.fd = fd

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file here without following a link; the caller closes it."""
        return os.open(self._at(name), flags | _SAFE | _BINARY, mode, dir_fd=self.fd)

    def unlink(self, name: str) -> None:
        """Remove a file here."""
        os.unlink(self._at(name), dir_fd=self.fd)

    def rename(self, old: str, new: str) -> None:
        """Put one file of this folder in the place of another."""
        os.replace(self._at(old), self._at(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def sync(self) -> None:
        """Make names durable where folders can be synced."""
        if self.fd is None:
            return
        fd = os.open(".", os.O_RDONLY, dir_fd=self.fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def _at(self, name: str) -> str:
        return name if self.fd is not None else str(self.path / name)


@contextmanager
def open_folder(path: Path, *, create: bool = False) -> Iterator[Folder]:
    """Open a real path's folder by walking to it; a link on the way is an `OSError`."""
    if not _AT:
        if create:
            path.mkdir(parents=True, exist_ok=True)
        yield Folder(path, None)
        return
    fd = os.open(path.anchor, _FOLDER | _SAFE)
    try:
        for part in path.parts[1:]:
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=fd)
            deeper = os.open(part, _FOLDER | _SAFE, dir_fd=fd)
            os.close(fd)
            fd = deeper
        yield Folder(path, fd)
    finally:
        os.close(fd)


def open_regular(path: Path) -> int:
    """Open a regular file of a real path for reading; never waits on a pipe or a device."""
    with open_folder(path.parent) as folder:
        fd = folder.open(path.name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode):
        return fd
    os.close(fd)
    raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.ENXIO, "not a regular file")


def replace_file(folder: Folder, name: str, data: bytes, mode: int | None) -> os.stat_result:
    """Write a file whole or not at all, durably; `mode` is that of the file it replaces.

    A new file gets the rights that the user's umask gives. Hard links to the old file keep the old
    content. Raises `OSError`.
    """
    temporary = f".mewcode-{secrets.token_hex(8)}.tmp"
    create = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    fd = folder.open(temporary, create, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
            stream.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
            state = os.fstat(stream.fileno())
        folder.rename(temporary, name)
    except BaseException:
        with suppress(OSError):
            folder.unlink(temporary)
        raise
    folder.sync()
    return state


def _check_name(name: str) -> None:
    size = len(os.fsencode(name))
    if size > _LONGEST_NAME:
        raise ToolError(f"a name of {size} bytes is too long (at most {_LONGEST_NAME}); shorten it")
    if name.partition(".")[0].rstrip(" ").casefold() in _RESERVED:
        raise ToolError(f"{name!r} is a reserved device name on Windows; choose another name")
    if name != name.rstrip(". "):
        raise ToolError(f"{name!r} ends with a dot or a space, which Windows drops; leave it out")
    if any(ord(char) < 0x20 for char in name):
        raise ToolError(f"{name!r} holds control characters; choose another name")


def _exists(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True
