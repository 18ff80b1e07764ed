"""Read one settings file without ever failing, blocking or leaving its folder."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import TypeAlias

from mewcode_nb.paths import read_inside, real_path

__all__ = ["Table", "read_table", "readable_by_others"]

Table: TypeAlias = dict[str, object]

_FILE_BYTES = 64 * 1024


def read_table(path: Path, *, within: Path | None = None) -> tuple[Table, str]:
    """The file's top-level table and, where it could not be read, why not.

    Args:
        path: The file; one that does not exist is an empty table and no problem.
        within: The folder its real path must lie in; by default wherever a link leads.
    """
    if not os.path.lexists(path):
        return {}, ""
    try:
        data, _ = read_inside(within or real_path(path).parent, path, limit=_FILE_BYTES)
        return dict(tomllib.loads(data.decode("utf-8-sig"))), ""
    except OSError as error:
        return {}, error.strerror or str(error)
    except UnicodeDecodeError:
        return {}, "not UTF-8"
    except tomllib.TOMLDecodeError as error:
        return {}, f"not TOML: {_position(error)}"
    except (ValueError, RecursionError):
        return {}, "not TOML: a value that is too long or too deep"


def readable_by_others(path: Path) -> bool:
    """Whether the mode lets the group or others read the file; False where modes mean nothing."""
    try:
        return os.name == "posix" and bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False


def _position(error: tomllib.TOMLDecodeError) -> str:
    """Where it broke. The parser's own words may quote the file, which may hold a key."""
    _, bracket, place = str(error).rpartition("(at ")
    return place.removesuffix(")") if bracket else "cannot be read"
