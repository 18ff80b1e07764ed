"""Reasons to look twice at code, in words for the approval card.

Hints only: they are found by looking at the text, which nobody can do reliably for a shell or for
Python, so no decision rests on them.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.base import ToolContext
from mewcode_nb.tools.roots import resolve

__all__ = ["python_hints", "shell_hints"]

_MOST_WORDS = 200
_LOOKED_AT = 20_000
"""Characters of a text that are looked at: the loop waits for it, and every pattern is bounded."""
_SHELL = (
    (
        "deletes files",
        re.compile(r"\b(?:rm|rmdir|unlink|shred|truncate)\b|\bfind\b.{0,200}?-delete\b"),
    ),
    ("asks for more rights", re.compile(r"\b(?:sudo|su|doas|pkexec)\b")),
    (
        "uses the network",
        re.compile(r"\b(?:curl|wget|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp)\b|https?://|/dev/tcp/"),
    ),
    (
        "installs software",
        re.compile(
            r"\b(?:pip3?|uv|conda|mamba|npm|yarn|apt|apt-get|brew|dnf|yum|cargo) .{0,200}?\b"
            r"(?:install|add|i)\b"
        ),
    ),
    (
        "rewrites git history or the work tree",
        re.compile(
            r"\bgit\b.{0,200}?\b(?:push|reset|clean|rebase|checkout|restore|stash|filter-branch)\b"
        ),
    ),
    ("runs text as a program", re.compile(r"\b(?:eval|source)\b|\|\s*(?:ba|z|da)?sh\b")),
    ("changes rights or owners", re.compile(r"\b(?:chmod|chown|chgrp|setfacl)\b")),
    ("writes to a disk device", re.compile(r"\b(?:mkfs\S*|dd)\b|>\s*/dev/(?:sd|nvme|disk)")),
    ("ends processes", re.compile(r"\b(?:kill|killall|pkill)\b")),
    (
        "starts something that goes on in the background",
        re.compile(r"[^&>]&\s*$|[^&>]& |\bnohup\b|\bsetsid\b"),
    ),
)
_PYTHON = (
    (
        "deletes files",
        re.compile(r"\b(?:rmtree|unlink|rmdir|removedirs)\s*\(|\bos\.remove\s*\("),
    ),
    (
        "starts other programs",
        re.compile(
            r"\bsubprocess\b|\bos\.(?:system|popen|exec\w*|spawn\w*|fork)\b|^[ \t]*[!%]", re.M
        ),
    ),
    (
        "uses the network",
        re.compile(
            r"\b(?:requests|urllib|httpx|aiohttp|socket|ftplib|smtplib|paramiko)\b|https?://"
        ),
    ),
    (
        "writes files",
        re.compile(
            r"\bopen\s{0,9}\([^)]{0,200}['\"][wax]b?\+?['\"]|\.(?:write_text|write_bytes|to_\w+)\s*\("
        ),
    ),
    ("runs text as a program", re.compile(r"\b(?:eval|exec|compile|__import__)\s*\(")),
    ("reads the environment", re.compile(r"\bos\.(?:environ|getenv)\b")),
)


def shell_hints(command: str, context: ToolContext) -> tuple[str, ...]:
    """What a command seems to do that deserves a second look, and the paths it seems to name."""
    hints = _found(command, _SHELL)
    for word in _words(command[:_LOOKED_AT]):
        hints += _path_hints(word, context)
    return tuple(dict.fromkeys(hints))


def python_hints(code: str) -> tuple[str, ...]:
    """What code seems to do that deserves a second look."""
    return tuple(_found(code, _PYTHON))


def _found(text: str, table: Sequence[tuple[str, re.Pattern[str]]]) -> list[str]:
    head = text[:_LOOKED_AT]
    hints = [hint for hint, pattern in table if pattern.search(head)]
    if len(text) > len(head):
        hints.insert(0, f"long: only its first {_LOOKED_AT:,} characters were checked for risks")
    return hints


def _words(command: str) -> list[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        return list(lexer)[:_MOST_WORDS]
    except ValueError:
        return command.split()[:_MOST_WORDS]


def _path_hints(word: str, context: ToolContext) -> list[str]:
    looks_like_path = "/" in word or word.startswith((".", "~")) or word.endswith(".md")
    if not looks_like_path or "://" in word:
        return []
    try:
        path = resolve(word.rpartition("=")[2], context)
    except ToolError:
        return []
    if reason := context.protected(path):
        return [f"names a protected file: {reason}"]
    outside = not path.is_relative_to(context.root) and not _is_program(path)
    return [f"names a path outside the project: {path}"] if outside else []


def _is_program(path: Path) -> bool:
    return path == Path(os.devnull) or path.parent.name in {"bin", "sbin"}
