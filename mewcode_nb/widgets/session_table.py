"""Sessions as rows of text: one wording for the notebook's list and the command line's.

The rows are plain strings without control characters or line ends, fit for a terminal as they are;
HTML and Markdown escape them as any other text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.widgets.cards import size_words
from mewcode_nb.widgets.columns import align, fit
from mewcode_nb.widgets.html import visible

__all__ = [
    "age_words",
    "count_words",
    "session_marks",
    "session_table",
    "session_text",
    "trash_table",
    "trash_text",
]

_NAME_PLACES = 48
_MODEL_PLACES = 24
_NOTEBOOK_PLACES = 32
_REASON_PLACES = 60

_UNITS = (
    (365 * 86_400, "y", "年前"),
    (30 * 86_400, "mo", "个月前"),
    (86_400, "d", "天前"),
    (3_600, "h", "小时前"),
    (60, "min", "分钟前"),
)
_AHEAD = (
    (86_400, "in {} d", "{} 天后"),
    (3_600, "in {} h", "{} 小时后"),
    (60, "in {} min", "{} 分钟后"),
)
_WORDS = {
    "en": {
        "name": "session",
        "age": "last used",
        "turns": "turns",
        "tokens": "tokens",
        "size": "size",
        "model": "model",
        "notebook": "notebook",
        "id": "id",
        "marks": "notes",
        "now": "just now",
        "pinned": "pinned",
        "live": "in use",
        "fork": "fork of {id}",
        "damaged": "damaged: {reason}",
        "unreadable": "cannot be read: {reason}",
        "reason": "why",
        "trashed": "removed",
        "purge": "goes for good",
        "due": "when next cleaned up",
        "stays": "never by itself",
    },
    "zh": {
        "name": "会话",
        "age": "最近使用",
        "turns": "轮数",
        "tokens": "令牌",
        "size": "大小",
        "model": "模型",
        "notebook": "笔记本",
        "id": "编号",
        "marks": "备注",
        "now": "刚刚",
        "pinned": "已置顶",
        "live": "使用中",
        "fork": "分叉自 {id}",
        "damaged": "有损坏：{reason}",
        "unreadable": "无法读取：{reason}",
        "reason": "原因",
        "trashed": "移入时间",
        "purge": "彻底删除",
        "due": "下次清理时",
        "stays": "不会自动删除",
    },
}
_RIGHT = frozenset({2, 3, 4})


def session_table(
    infos: Iterable[SessionInfo], *, now: float, language: str, notebook_column: bool
) -> list[tuple[str, ...]]:
    """A heading and one row for each session, in the order given; `now` in seconds since 1970.

    Columns: name, age, turns, tokens, size, model, notebook (if asked for), id, marks. Ids are
    whole, so that what is shown can be typed.
    """
    words = _words(language)
    keys = ["name", "age", "turns", "tokens", "size", "model", "notebook", "id", "marks"]
    rows = [tuple(words[key] for key in keys)]
    rows += [_row(info, now, language) for info in infos]
    if notebook_column:
        return rows
    return [(*row[:6], *row[7:]) for row in rows]


def session_text(rows: Sequence[Sequence[str]]) -> str:
    """The rows of `session_table` as lines for a terminal, numbers to the right."""
    return align(rows, right=_RIGHT)


def trash_table(
    items: Iterable[TrashedSession], *, now: float, language: str
) -> list[tuple[str, ...]]:
    """A heading and one row for each session in the trash: name, removed, goes, size, id, why."""
    words = _words(language)
    rows = [tuple(words[key] for key in ("name", "trashed", "purge", "size", "id", "reason"))]
    for item in items:
        rows.append(
            (
                _cell(item.info.name, _NAME_PLACES),
                age_words(now - item.trashed, language),
                _ahead_words(item.purge_after, now, language),
                size_words(item.info.size),
                _cell(item.info.id),
                _cell(item.reason, _REASON_PLACES),
            )
        )
    return rows


def trash_text(rows: Sequence[Sequence[str]]) -> str:
    """The rows of `trash_table` as lines for a terminal."""
    return align(rows, right={3})


def session_marks(info: SessionInfo, language: str) -> tuple[str, ...]:
    """What sets a session apart, in words: pinned, in use, a fork, damaged."""
    words = _words(language)
    marks = []
    if info.pinned:
        marks.append(words["pinned"])
    if info.live:
        marks.append(words["live"])
    if info.parent is not None:
        marks.append(words["fork"].format(id=_cell(info.parent.id)))
    if info.damage or not info.readable:
        key = "damaged" if info.readable else "unreadable"
        marks.append(words[key].format(reason=_cell(info.damage or "?", _REASON_PLACES)))
    return tuple(marks)


def age_words(seconds: float, language: str) -> str:
    """How long ago, in the largest unit that fits: `3 h ago`; a time to come counts as now."""
    for length, english, chinese in _UNITS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {chinese}" if language == "zh" else f"{count} {english} ago"
    return _words(language)["now"]


def count_words(count: int) -> str:
    """A number of tokens, short: `950`, `12.3k`, `1.2M`."""
    if count < 1_000:
        return str(count)
    if count < 999_950:
        return f"{count / 1_000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def _row(info: SessionInfo, now: float, language: str) -> tuple[str, ...]:
    return (
        _cell(info.name, _NAME_PLACES),
        age_words(now - info.active, language) if info.active else "",
        str(info.turns),
        count_words(info.usage.total_input + info.usage.output_tokens),
        size_words(info.size),
        _cell(info.model, _MODEL_PLACES),
        _cell(_file_name(info.notebook), _NOTEBOOK_PLACES),
        _cell(info.id),
        ", ".join(session_marks(info, language)),
    )


def _cell(text: str, places: int = 0) -> str:
    flat = " ".join(visible(text).split())
    return fit(flat, places) if places else flat


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _ahead_words(when: float, now: float, language: str) -> str:
    words = _words(language)
    if when <= 0 or when == float("inf"):
        return words["stays"]
    for length, english, chinese in _AHEAD:
        if when - now >= length:
            pattern = chinese if language == "zh" else english
            return pattern.format(int((when - now) // length))
    return words["due"]


def _words(language: str) -> dict[str, str]:
    return _WORDS["zh" if language == "zh" else "en"]
