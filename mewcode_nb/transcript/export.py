"""A session as bytes of a format, and as a new file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast, get_args

from mewcode_nb.errors import SessionError, UsageError
from mewcode_nb.messages import Block, Json, JsonObject, clean_text
from mewcode_nb.redact import Redactor
from mewcode_nb.session.records import MessageRecord
from mewcode_nb.session.replay import SessionState
from mewcode_nb.transcript.headings import Headings

__all__ = ["KINDS", "SUFFIXES", "Kind", "export", "kind_of", "write_export"]

Kind = Literal["md", "html", "ipynb", "jsonl"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SUFFIXES = {
    ".md": "md",
    ".markdown": "md",
    ".html": "html",
    ".htm": "html",
    ".ipynb": "ipynb",
    ".jsonl": "jsonl",
}


def export(state: SessionState, kind: Kind, language: str, *, thinking: bool = False) -> bytes:
    """The live conversation in UTF-8; thinking is left out unless asked for.

    `jsonl` always holds all of it, and no words of ours. What looks like a key is masked: logs of
    other programs were not when they were written. Raises UsageError for an unknown kind.
    """
    headings, state = Headings(language), _masked(state)
    if kind == "md":
        from mewcode_nb.transcript.markdown import markdown_text

        text = markdown_text(state, headings, thinking=thinking)
    elif kind == "html":
        from mewcode_nb.transcript.html import html_text

        text = html_text(state, headings, thinking=thinking)
    elif kind == "ipynb":
        from mewcode_nb.transcript.notebook import notebook_text

        text = notebook_text(state, headings, thinking=thinking)
    elif kind == "jsonl":
        from mewcode_nb.transcript.lines import lines_text

        text = lines_text(state)
    else:
        raise _unknown(str(kind))
    return clean_text(text).encode()


def _masked(state: SessionState) -> SessionState:
    """Before anything is rendered: an escaped key would no longer look like one."""
    redactor = Redactor()
    said = (
        replace(record, content=tuple(cast("list[Block]", redactor.mask_json(_json(record)))))
        for record in state.records
    )
    facts = cast("JsonObject", redactor.mask_json(dict(state.meta)))
    return replace(state, records=tuple(said), meta=facts)


def _json(record: MessageRecord) -> list[Json]:
    return cast("list[Json]", list(record.content))


def kind_of(path: Path) -> Kind:
    """The format a file's suffix names; raises UsageError."""
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise _unknown(path.suffix or path.name)
    return cast("Kind", kind)


def write_export(
    state: SessionState,
    path: Path,
    kind: Kind | None = None,
    force: bool = False,
    *,
    language: str = "en",
    thinking: bool = False,
) -> Path:
    """Write the export to `path`, for the owner only; the format is the suffix's where not given.

    Written aside and then named, so that no half file is ever seen. An existing file stays unless
    `force`. Raises UsageError, or SessionError when the file cannot be written.
    """
    data = export(state, kind or kind_of(path), language, thinking=thinking)
    aside = path.with_name(f".{path.name[:100]}.{os.getpid()}.tmp")
    try:
        _write(aside, data)
        if force:
            aside.replace(path)
        else:
            _name_once(aside, path)
    except FileExistsError as error:
        raise SessionError(
            f"{path} is there already", remedy="choose another name, or --force to replace it"
        ) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise SessionError(
            f"cannot write {path}: {reason}", remedy="choose a folder that can be written"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
    return path


def _write(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)  # of an earlier process with this number that was killed
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _name_once(aside: Path, path: Path) -> None:
    """Give the file its name unless that is taken; FileExistsError."""
    try:
        os.link(aside, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: the moment between look and rename stays
        if os.path.lexists(path):
            raise FileExistsError(0, "there already", str(path)) from None
        aside.rename(path)


def _unknown(named: str) -> UsageError:
    return UsageError(
        f"no export format {named!r}", remedy=f"one of: {', '.join(KINDS)} (or such a suffix)"
    )
