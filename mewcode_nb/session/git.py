"""Where the repository stood when a session began, read from git's own files without running git.

A project's files are not trusted: nothing but a branch name and a commit id ever comes out, and
only names of branches are followed.
"""

from __future__ import annotations

import re
from pathlib import Path

from mewcode_nb.paths import read_inside
from mewcode_nb.session.records import Git

__all__ = ["read_git"]

_BRANCH = re.compile(r"ref: (refs/heads/([\w./+@=#,%!&'()$-]{1,200}))")
"""What people put in names of branches, ticket numbers too; nothing that could end an element."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE_BYTES = 8 * 1024 * 1024
"""Packed references of a big repository are a few megabytes."""


def read_git(root: Path) -> Git | None:
    """Branch and commit of the repository whose top folder is `root`; None where there is none.

    An empty branch for a detached head, an empty head for a branch without a commit. Work trees
    whose `.git` is a file count as no repository. Raises nothing.
    """
    folder = root / ".git"
    head = _text(folder, "HEAD")
    if _COMMIT.fullmatch(head):
        return Git(head=head)
    found = _BRANCH.fullmatch(head)
    if found is None or ".." in found[1]:
        return None
    commit = _text(folder, found[1]) or _packed(folder, found[1])
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
