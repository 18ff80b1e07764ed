"""Folders and files: which project this is, what lies inside it, and how to open a file safely.

Every question about a path is answered on its real path, part by part, with links resolved; a
common string prefix proves nothing (`/work/proj-evil` is not in `/work/proj`). The home folder and
the environment are arguments, so that nothing here depends on who runs it.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = [
    "INSTRUCTION_NAMES",
    "ROOT_MARKERS",
    "NotRegularFile",
    "OutsideFolder",
    "TooLarge",
    "inside",
    "project_root",
    "protected_reason",
    "read_inside",
    "real_path",
    "sessions_folder",
    "user_home",
    "write_gitignore",
]

INSTRUCTION_NAMES = ("MEWCODE.md", "AGENTS.md", "CLAUDE.md")
"""Files of instructions, the product's own first; the others stand in where it is missing."""

ROOT_MARKERS = (
    "MEWCODE.md",
    ".mewcode/MEWCODE.md",
    ".mewcode/config.toml",
    ".mewcode/memory",
    ".git",
    "pyproject.toml",
)
"""Paths below a folder, with `/`: any of them makes it the root of a project."""

_MEWCODE_FILES = (
    ("config.toml", "settings file"),
    ("settings", "settings file"),
    ("rules.toml", "approval rules"),
)

_FOLDERS = {
    ".git": ".git",
    "git~1": ".git",
    ".githooks": "git hook",
    ".husky": "git hook",
    ".ipython": "IPython startup file",
    ".jupyter": "Jupyter configuration",
    ".ssh": "SSH configuration",
    ".direnv": "shell start-up file",
    ".vscode": "editor settings",
    ".idea": "editor settings",
    ".claude": "another agent's settings",
    ".codex": "another agent's settings",
    ".cursor": "another agent's settings",
    ".gemini": "another agent's settings",
}

_FILES = {
    **{name.casefold(): "instruction file" for name in INSTRUCTION_NAMES},
    **dict.fromkeys((".gitconfig", ".gitmodules", ".gitattributes"), ".git"),
    **dict.fromkeys((".pre-commit-config.yaml", "lefthook.yml", ".huskyrc"), "git hook"),
    **dict.fromkeys(("sitecustomize.py", "usercustomize.py"), "Python start-up file"),
    **dict.fromkeys(
        (
            *(
                ".bashrc",
                ".bash_profile",
                ".bash_login",
                ".bash_logout",
                ".bash_aliases",
                ".profile",
            ),
            *(
                ".zshrc",
                ".zshenv",
                ".zprofile",
                ".zlogin",
                ".zlogout",
                ".kshrc",
                ".cshrc",
                ".tcshrc",
            ),
            *(".login", ".logout", ".inputrc", ".envrc", "config.fish", ".pythonrc", ".xprofile"),
        ),
        "shell start-up file",
    ),
    ".mcp.json": "another agent's settings",
}

_GIT_HOOKS = frozenset(
    {
        *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
        *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
        *("post-merge", "pre-push", "pre-receive", "update", "post-receive", "post-update"),
        *("reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    }
)

_GITIGNORE = """\
# What is derived or private stays out of the repository.
/sessions/
/trash/
/cache/
/queue/
/memory/MEMORY.md
/memory/.trash/
history.jsonl
*.lock
*.tmp
"""


class OutsideFolder(OSError):
    """The real path leaves the folder it was to stay in."""


class NotRegularFile(OSError):
    """A folder, pipe, socket or device stands where a file was expected."""


class TooLarge(OSError):
    """The file is longer than the reader takes."""


def real_path(path: Path) -> Path:
    """The absolute path with every link resolved, as far as the path exists. Raises nothing."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a NUL in the path: no file can have that name
        return path.absolute()


def inside(base: Path, path: Path) -> bool:
    """Whether the real path is `base` or below it, judged on resolved parts."""
    return real_path(path).is_relative_to(real_path(base))


def user_home(environ: Mapping[str, str]) -> Path | None:
    """The home folder the environment names; None where it names none or a relative one."""
    for name in ("HOME", "USERPROFILE"):
        value = environ.get(name, "")
        if value and Path(value).is_absolute():
            return Path(value)
    return None


def project_root(folder: Path, home: Path | None) -> Path:
    """The nearest folder at or above `folder` that marks a project, else `folder` itself.

    The search ends below the home folder and below `/`: neither is ever found as a root. A notebook
    that lies in one of them directly has that folder as its root, as there is no other.
    """
    start = real_path(folder)
    home_real = real_path(home) if home is not None else None
    for candidate in (start, *start.parents):
        if candidate in (candidate.parent, home_real):
            break
        if any(os.path.exists(candidate / marker) for marker in ROOT_MARKERS):  # noqa: PTH110 — never raises
            return candidate
    return start


def protected_reason(path: Path, root: Path, home: Path | None) -> str:
    """Why writing this path is always asked about, in a few words; empty where it is not.

    Judged by names, so that a file that does not exist yet counts as well, without regard to case,
    on the path as given and on its real path. In the home folder every dot file counts, unless the
    project itself lies below that dot folder.
    """
    real = real_path(path)
    for candidate in (path.absolute(), real):
        names = [_folded(part) for part in candidate.parts]
        reason = _reason_by_names(names)
        if reason:
            return reason
    if home is not None and real.is_relative_to(real_path(home)):
        below = real.relative_to(real_path(home)).parts
        dotted = real_path(home) / below[0] if below and below[0].startswith(".") else None
        if dotted is not None and not real_path(root).is_relative_to(dotted):
            return "settings in the home folder"
    return ""


def sessions_folder(notebook_folder: Path) -> Path:
    """Where the sessions of the notebooks in this folder are stored."""
    return notebook_folder / ".mewcode" / "sessions"


def write_gitignore(mewcode_folder: Path) -> bool:
    """Put a `.gitignore` into a `.mewcode` folder that has none; whether one was written.

    An existing file is the user's and stays. Written aside and renamed, so that a crash cannot
    leave an empty one that hides nothing. Raises `OSError`.
    """
    target = mewcode_folder / ".gitignore"
    if os.path.lexists(target):
        return False
    aside = mewcode_folder / f".gitignore.{os.getpid()}.tmp"
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(_GITIGNORE)
        aside.replace(target)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    return True


def read_inside(base: Path, path: Path, *, limit: int) -> tuple[bytes, tuple[int, int]]:
    """The bytes of a regular file whose real path lies in `base`, and its device and inode.

    Each folder on the way is opened without following links, so that a link put there after the
    check leads nowhere, and a pipe or device is never opened. Raises `OutsideFolder`,
    `NotRegularFile`, `TooLarge` (more than `limit` bytes) and any other `OSError`.
    """
    real_base, real = real_path(base), real_path(path)
    if not real.is_relative_to(real_base) or real == real_base:
        if real == real_base:
            raise NotRegularFile("is a folder")
        raise OutsideFolder("outside the folder")
    parts = real.relative_to(real_base).parts
    with _folder_handle(real_base, parts[:-1]) as folder:
        name = parts[-1] if folder is not None else str(real)
        _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False), limit)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(name, flags | getattr(os, "O_BINARY", 0), dir_fd=folder)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        _check_kind(found, limit)
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge("grew while it was read")
    return data, (found.st_dev, found.st_ino)


def _folded(part: str) -> str:
    """A name as a file system that ignores case, invisible characters or trailing dots takes it."""
    visible = (character for character in part if unicodedata.category(character) != "Cf")
    name = unicodedata.normalize("NFC", "".join(visible)).casefold()
    return name.rstrip(" .") or name


def _reason_by_names(names: Sequence[str]) -> str:
    for position, name in enumerate(names):
        if name == ".mewcode":
            return _mewcode_reason(names[position + 1 :])
        if name in _FOLDERS:
            return _FOLDERS[name]
        if name.startswith("profile_") and "startup" in names[position + 1 :]:
            return "IPython startup file"
    return _reason_by_file(names[-1], names[-2] if len(names) > 1 else "")


def _reason_by_file(name: str, folder: str) -> str:
    if name in _FILES:
        return _FILES[name]
    if name.startswith("ipython") and name.endswith(("_config.py", "_config.json")):
        return "IPython startup file"
    if name.startswith("jupyter") and "_config" in name:
        return "Jupyter configuration"
    if folder == "hooks" and name in _GIT_HOOKS:
        return "git hook"
    if folder in ("site-packages", "dist-packages") and name.endswith(".pth"):
        return "Python start-up file"
    return ""


def _mewcode_reason(below: Sequence[str]) -> str:
    if below and below[-1] in _FILES:
        return _FILES[below[-1]]
    for start, reason in _MEWCODE_FILES:
        if below and below[0].startswith(start):
            return reason
    return "the agent's own records"


def _check_kind(found: os.stat_result, limit: int) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, "a link that leads nowhere or in a circle")
    if not stat.S_ISREG(found.st_mode):
        raise NotRegularFile("is a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file")
    if found.st_size > limit:
        raise TooLarge(f"{found.st_size:,} bytes")


@contextmanager
def _folder_handle(base: Path, parts: tuple[str, ...]) -> Iterator[int | None]:
    """A handle of the folder below `base`, reached without following a link; None on Windows."""
    if os.open not in os.supports_dir_fd:
        yield None
        return
    flags = os.O_RDONLY | os.O_DIRECTORY
    handle = os.open(base, flags)
    try:
        for part in parts:
            below = os.open(part, flags | os.O_NOFOLLOW, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)
