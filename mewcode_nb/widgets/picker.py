"""The session picker: its rows as plain data, the widget, and a strict ear for what comes back.

All rows travel to the page once and are filtered and sorted there. Everything in them comes from
files that may be hostile: it is cut short, control characters are made visible, and the page shows
it as text. A message from the page counts when it names the picker's nonce, is of a known kind and
speaks of a session that was shown. Imported only when a picker is about to be shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import traitlets

from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.turns import Turn
from mewcode_nb.widgets.cards import Bundle, size_words
from mewcode_nb.widgets.html import clip, prose, visible
from mewcode_nb.widgets.live import LiveWidget, live_script
from mewcode_nb.widgets.picker_words import picker_words
from mewcode_nb.widgets.session_table import age_words, count_words

__all__ = [
    "PickerMessage",
    "SessionPicker",
    "found_row",
    "parse_message",
    "picker_rows",
    "preview_turns",
]

Row: TypeAlias = "dict[str, object]"

TITLE_LENGTH = 200
QUERY_LENGTH = 200
SNIPPET_LENGTH = 300
_ID_LENGTH = 200
_NAME_LENGTH = 120
_REASON_LENGTH = 200
_PREVIEW_TURNS = 5
_PREVIEW_LENGTH = 2_000
_SCOPES = ("notebook", "folder", "project")


def picker_rows(infos: Iterable[SessionInfo], now: float, language: str) -> list[Row]:
    """One row for each session, what is empty left out; `now` in seconds since 1970.

    `age`, `tokens` and `size` are in words, `active` and `created` seconds, `bytes` and `turns`
    numbers to sort by. All text is on one line, with control characters visible.
    """
    return [_row(info, now, language) for info in infos]


def found_row(info: SessionInfo, snippet: str, now: float, language: str) -> Row:
    """The row of a session in which something was found, and the words around it."""
    return {**_row(info, now, language), "snippet": _flat(snippet, SNIPPET_LENGTH)}


def _row(info: SessionInfo, now: float, language: str) -> Row:
    usage = info.usage
    row: Row = {
        "id": info.id,
        "title": _flat(info.title, TITLE_LENGTH),
        "prompt": _flat(info.first_prompt, TITLE_LENGTH),
        "age": age_words(now - info.active, language) if info.active else "",
        "active": info.active,
        "created": info.created,
        "turns": info.turns,
        "tokens": count_words(usage.total_input + usage.output_tokens),
        "bytes": info.size,
        "size": size_words(info.size),
        "model": _flat(info.model, _NAME_LENGTH),
        "notebook": _flat(info.notebook.replace("\\", "/").rpartition("/")[2], _NAME_LENGTH),
        "branch": _flat(info.branch, _NAME_LENGTH),
        "pinned": info.pinned,
        "live": info.live,
        "fork": _flat(info.parent.id, _ID_LENGTH) if info.parent else "",
        "damage": _flat(info.damage, _REASON_LENGTH),
        "unreadable": not info.readable,
    }
    return {key: value for key, value in row.items() if value}


def _flat(text: str, length: int) -> str:
    # Cut first: a hostile file may hold megabytes where a branch's name should be.
    return visible(" ".join(text[:length].split()))


def preview_turns(turns: Sequence[Turn]) -> list[dict[str, object]]:
    """The last five turns for the page: number, prompt, answer, calls."""
    return [
        {
            "number": turn.number,
            "prompt": _words_of(turn.prompt),
            "answer": _words_of(turn.answer),
            "calls": sum(1 for _ in turn.calls()),
        }
        for turn in turns[-_PREVIEW_TURNS:]
    ]


def _words_of(text: str) -> str:
    kept, left = clip(text.strip(), lines=40, characters=_PREVIEW_LENGTH)
    return prose(kept) + (" …" if left else "")


@dataclass(frozen=True, slots=True)
class PickerMessage:
    """What the page asks for.

    `kind` is rendered, active, close, rows, preview, search, resume, rename, pin, delete or
    restore; `text` a scope, query or title; `on` a pin or a fork; `number` counts searches.
    """

    kind: str
    id: str = ""
    text: str = ""
    on: bool = False
    number: int = 0


def parse_message(
    content: object, *, nonce: str, known: Callable[[str], bool]
) -> PickerMessage | None:
    """The `PickerMessage`, or None for anything that this picker could not have sent."""
    if not isinstance(content, dict) or content.get("nonce") != nonce:
        return None
    kind, identity = content.get("kind"), content.get("id", "")
    if not isinstance(kind, str) or not isinstance(identity, str):
        return None
    match kind:
        case "rendered" | "active" | "close":
            return PickerMessage(kind)
        case "rows":
            scope = content.get("scope")
            return PickerMessage(kind, text=str(scope)) if scope in _SCOPES else None
        case "search":
            return _search(content)
        case "preview" | "delete" | "restore" | "resume" | "rename" | "pin" if known(identity):
            return _about_a_session(kind, identity, content)
        case _:
            return None


def _search(content: dict[str, object]) -> PickerMessage | None:
    query, number = content.get("query"), content.get("number")
    if not isinstance(query, str) or len(query) > QUERY_LENGTH:
        return None
    if type(number) is not int or not 0 <= number < 2**31:
        return None
    return PickerMessage("search", text=query.strip(), number=number)


def _about_a_session(kind: str, identity: str, content: dict[str, object]) -> PickerMessage | None:
    if kind == "rename":
        title = content.get("title")
        if not isinstance(title, str) or len(title) > TITLE_LENGTH:
            return None
        return PickerMessage(kind, identity, text=_flat(title, TITLE_LENGTH))
    if kind in {"resume", "pin"}:
        on = content.get("on")
        return PickerMessage(kind, identity, on=on) if isinstance(on, bool) else None
    return PickerMessage(kind, identity)


class SessionPicker(LiveWidget):
    """The picker on the page; `on_message` may be called on any thread.

    `view` holds words, nonce, scope and rows; `seen` is set once a page has drawn it, so that a
    page that is loaded again does not take the focus.
    """

    _esm = live_script("picker.js")
    _css = Path(__file__).parent / "static" / "picker.css"
    view = traitlets.Dict().tag(sync=True)
    seen = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, rows: Sequence[Row], on_message: Callable[[PickerMessage], None], **view: object
    ) -> None:
        """`view` is language, scope and nonce."""
        self._nonce = str(view["nonce"])
        self._on_message = on_message
        self._ids: set[str] = set()
        self._offer(rows)
        words = dict(picker_words(str(view["language"])))
        limits = {"title_length": TITLE_LENGTH, "query_length": QUERY_LENGTH}
        super().__init__(view={**view, **limits, "words": words, "rows": list(rows)})
        self.on_msg(self._receive)

    def tell(self, kind: str, **content: object) -> None:
        """Send the page something: rows, a preview, search results, a line."""
        rows = content.get("rows") or content.get("row") or ()
        self._offer([rows] if isinstance(rows, dict) else rows)
        self.send({"kind": kind, **content})
        self.unpin()

    def drawn(self) -> None:
        """A page has drawn it."""
        self.seen = True
        self.unpin()

    def settle(self, bundle: Bundle) -> None:
        """Give way for good, and keep next to nothing in memory."""
        super().settle(bundle)
        self._ids.clear()
        self.view = {"nonce": self._nonce, "rows": [], "words": {}}

    def _offer(self, rows: object) -> None:
        if isinstance(rows, (list, tuple)):
            self._ids.update(str(row["id"]) for row in rows)

    def _receive(self, widget: object, content: object, buffers: object) -> None:
        message = parse_message(content, nonce=self._nonce, known=self._ids.__contains__)
        if message is not None and not self.settled:
            self._on_message(message)
