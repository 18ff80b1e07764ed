"""Walking a folder as git would see it: ignore files respected, links never followed out.

The listing and the fallback of the search share this walk; its order is that of the sorted names,
so that equal trees give equal answers.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec

from mewcode_nb.errors import ToolError

__all__ = ["ALWAYS_SKIPPED", "Ignores", "Walk", "matcher"]

ALWAYS_SKIPPED = frozenset({".git", ".mewcode"})
"""Folders that are never entered: git's own, and our sessions and memory."""
_LARGEST_IGNORE_FILE = 1024 * 1024
_MOST_BRACES = 64
_BRACES = re.compile(r"\{([^{}]*)\}")
_MOST_STARS = 3
"""Stars in one name of a pattern, and `**` in all of it. Each more multiplies the time a name of
255 characters can take, which nothing can interrupt: three cost 25 ms, five over two minutes."""


class Ignores:
    """The ignore files from a top folder down to where one stands."""

    def __init__(self, rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()) -> None:
        self._rules = rules

    @classmethod
    def down_to(cls, folder: Path, root: Path) -> Ignores:
        """The rules in force in a folder; those above it count from the project root on."""
        ignores = cls()
        if folder.is_relative_to(root):
            between = (
                root / "/".join(parts) for parts in _prefixes(folder.relative_to(root).parts)
            )
            for above in between:
                ignores = ignores.entering(str(above))
            return ignores
        return ignores.entering(str(folder))

    def entering(self, folder: str) -> Ignores:
        """The rules with those of the folder's own ignore file."""
        spec = _read_rules(Path(folder, ".gitignore"))
        return self if spec is None else Ignores((*self._rules, (folder, spec)))

    def ignore(self, path: str, *, folder: bool = False) -> bool:
        """Whether git would ignore this path; the nearest rule decides."""
        for base, spec in reversed(self._rules):
            relative = path[len(base) :].lstrip("/") + ("/" if folder else "")
            include = spec.check_file(relative).include
            if include is not None:
                return include
        return False

    def ignore_tree(self, path: Path, root: Path) -> bool:
        """Whether a path or any folder above it, below the root, is ignored."""
        if not path.is_relative_to(root):
            return False
        chain = [path, *path.parents]
        below = [part for part in chain if part != root and part.is_relative_to(root)]
        return any(self.ignore(str(part), folder=part != path or part.is_dir()) for part in below)


@dataclass(slots=True)
class Walk:
    """One bounded walk over the files of a folder."""

    base: Path
    root: Path
    most: int = 200_000
    """Entries looked at before it stops."""
    seconds: float = 15.0
    links: bool = True
    """Whether linked files that stay inside count as files."""
    clock: Callable[[], float] = time.monotonic
    stopped: str = ""
    """Why it ended early; empty when it saw everything."""
    unread: int = 0
    """Folders that could not be opened."""
    _seen: int = field(default=0, init=False)

    def files(self) -> Iterator[str]:
        """Paths of files relative to the base, in order of their names."""
        ignores = Ignores.down_to(self.base, self.root)
        if ignores.ignore_tree(self.base, self.root):
            ignores = Ignores()
        deadline = self.clock() + self.seconds
        yield from self._below("", ignores, deadline)

    def _below(self, prefix: str, ignores: Ignores, deadline: float) -> Iterator[str]:
        stack: list[tuple[Iterator[os.DirEntry[str]], Ignores]] = [(self._entries(prefix), ignores)]
        while stack and not self._over(deadline):
            entries, rules = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            relative = entry.path[len(str(self.base)) :].lstrip(os.sep)
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in ALWAYS_SKIPPED and not rules.ignore(entry.path, folder=True):
                    stack.append((self._entries(relative), rules.entering(entry.path)))
            elif not rules.ignore(entry.path) and self._lists(entry):
                yield relative.replace(os.sep, "/")

    def _entries(self, relative: str) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(self.base / relative) as found:
                entries = list(itertools.islice(found, self.most + 1))
        except OSError:
            self.unread += 1
            return iter(())
        return iter(sorted(entries, key=lambda entry: entry.name))

    def _lists(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return entry.is_file(follow_symlinks=False)
        if not self.links:
            return False
        real = Path(os.path.realpath(entry.path))
        return real.is_file() and (real.is_relative_to(self.root) or real.is_relative_to(self.base))

    def _over(self, deadline: float) -> bool:
        self._seen += 1
        if self._seen > self.most:
            self.stopped = f"stopped after {self.most:,} entries"
        elif self.clock() > deadline:
            self.stopped = f"stopped after {self.seconds:g} s"
        return bool(self.stopped)


def matcher(pattern: str) -> Callable[[str], bool]:
    """A test for relative paths: `*`, `?`, `[...]`, `**`, `{a,b}`, as in an ignore file.

    Without a slash the pattern is for names at any depth; a leading `!` turns it around.
    """
    turned = pattern.startswith("!")
    if _takes_too_long(pattern):
        raise ToolError(f"bad file pattern {pattern!r}: more than {_MOST_STARS} stars; use fewer")
    try:
        spec = GitIgnoreSpec.from_lines(_without_braces(pattern.removeprefix("!")))
    except ValueError as error:
        raise ToolError(f"bad file pattern {pattern!r}: {error}") from None
    return lambda path: spec.match_file(path) is not turned


def _without_braces(pattern: str) -> Sequence[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(waiting) + len(done) > _MOST_BRACES:
            raise ToolError(f"the pattern has more than {_MOST_BRACES} alternatives; use fewer")
        current = waiting.pop(0)
        match = _BRACES.search(current)
        if match is None:
            done.append(current)
            continue
        head, tail = current[: match.start()], current[match.end() :]
        waiting += [head + choice + tail for choice in match.group(1).split(",")]
    return done


def _read_rules(path: Path) -> GitIgnoreSpec | None:
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_IGNORE_FILE:
            return None
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return None
    return GitIgnoreSpec.from_lines(line for line in lines if _is_rule(line))


def _takes_too_long(pattern: str) -> bool:
    parts = pattern.split("/")
    return parts.count("**") > _MOST_STARS or any(
        len(re.findall(r"\*+", part)) > _MOST_STARS for part in parts if part != "**"
    )


def _is_rule(line: str) -> bool:
    if _takes_too_long(line):
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _prefixes(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (parts[:length] for length in range(len(parts) + 1))
