"""Where the repository stands, read from git's own files without running git.

A project's files are not trusted: nothing but a branch name and a commit id ever comes out, and
only names of branches are followed.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from mewcode_nb.paths import read_inside
from mewcode_nb.session.records import Git

__all__ = ["read_git"]

_BRANCH = re.compile(r"ref: (refs/heads/([\w./+@=#,%!&'()$-]{1,200}))")
"""What people put in names of branches, ticket numbers too; nothing that could end an element."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE_BYTES = 8 * 1024 * 1024
"""Packed references of a big repository are a few megabytes."""
_POINTER_BYTES = 8 * 1024
"""More than any system's longest path."""


def read_git(root: Path) -> Git | None:
    """Branch and commit of the repository that folder `root` lies in; `Git()` where there is none.

    None where there is one and it cannot be told. An empty branch for a detached head, an empty
    head for a branch without a commit. A work tree has its own head. Raises nothing.
    """
    try:
        folder = _git_folder(root)
        return Git() if folder is None else _standing(folder)
    except (OSError, ValueError):  # the latter from paths that no system takes
        return None


def _git_folder(root: Path) -> Path | None:
    """The folder with the HEAD of the nearest repository at or above `root`; raises OSError."""
    for folder in (root, *root.parents):
        entry = folder / ".git"
        try:
            kind = entry.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        return entry if stat.S_ISDIR(kind) else _pointed_at(folder, entry)
    return None


def _pointed_at(folder: Path, entry: Path) -> Path:
    """Where the `.git` file of a work tree or submodule points; raises OSError, ValueError."""
    data, _ = read_inside(folder, entry, limit=_POINTER_BYTES)
    word, _, path = data.decode("utf-8").strip().partition(": ")
    if word != "gitdir" or path.startswith(("//", "\\\\")):  # a network share is never asked
        raise ValueError(path)
    return folder / path


def _standing(folder: Path) -> Git | None:
    head = _text(folder, "HEAD")
    if _COMMIT.fullmatch(head):
        return Git(head=head)
    found = _BRANCH.fullmatch(head)
    if found is None or ".." in found[1] or found[2].startswith("."):
        return None
    shared = folder / (_text(folder, "commondir") or ".")
    commit = _text(folder, found[1]) or _text(shared, found[1]) or _packed(shared, found[1])
    return Git(found[2], commit if _COMMIT.fullmatch(commit) else "")


def _packed(folder: Path, name: str) -> str:
    lines = _text(folder, "packed-refs").split("\n")
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _text(folder: Path, name: str) -> str:
    try:
        data, _ = read_inside(folder, folder / name, limit=_FILE_BYTES)
    except OSError:
        return ""
    return data.decode("utf-8", "replace").strip()
