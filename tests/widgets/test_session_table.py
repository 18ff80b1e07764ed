from __future__ import annotations

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.records import Parent
from mewcode_nb.widgets.columns import display_width
from mewcode_nb.widgets.session_table import (
    age_words,
    count_words,
    session_marks,
    session_table,
    session_text,
    trash_table,
)

NOW = 1_773_480_413.0
PLAIN = SessionInfo(
    "20260314-092653-1f0a",
    title="为什么客户流失",
    active=NOW - 3 * 3_600,
    model="claude-x",
    turns=4,
    usage=Usage(10_000, 2_000, 300, 45),
    size=48_211,
    notebook="/home/ada/churn/analysis.ipynb",
)
ODD = SessionInfo(
    "20260313-170211-9c3e",
    first_prompt="look \x1b[31m\nhere",
    active=NOW - 40,
    pinned=True,
    live=True,
    parent=Parent("20260313-170211-0000", "m3"),
    damage="2 damaged lines",
)


def test_a_row_says_what_tells_sessions_apart():
    table = session_table([PLAIN], now=NOW, language="en", notebook_column=True)
    assert table == [
        ("session", "last used", "turns", "tokens", "size", "model", "notebook", "id", "notes"),
        (
            "为什么客户流失",
            "3 h ago",
            "4",
            "12.3k",
            "48.2 KB",
            "claude-x",
            "analysis.ipynb",
            "20260314-092653-1f0a",
            "",
        ),
    ]


def test_the_notebook_column_is_left_out_within_one_notebook():
    table = session_table([PLAIN], now=NOW, language="zh", notebook_column=False)
    assert table[0] == ("会话", "最近使用", "轮数", "令牌", "大小", "模型", "编号", "备注")
    assert table[1][1] == "3 小时前"
    assert "analysis.ipynb" not in table[1]


def test_marks_name_pins_holders_forks_and_damage():
    assert session_marks(ODD, "en") == (
        "pinned",
        "in use",
        "fork of 20260313-170211-0000",
        "damaged: 2 damaged lines",
    )
    gone = SessionInfo("x", damage="0 bytes", readable=False)
    assert session_marks(gone, "zh") == ("无法读取：0 bytes",)


def test_l_05_a_hostile_prompt_stays_one_visible_line():
    row = session_table([ODD], now=NOW, language="en", notebook_column=True)[1]
    assert row[0] == "look ␛[31m here"
    assert all("\n" not in cell and "\x1b" not in cell for cell in row)


def test_l_01_the_whole_id_is_shown():
    row = session_table([PLAIN], now=NOW, language="en", notebook_column=False)[1]
    assert PLAIN.id in row


def test_the_text_form_is_even_with_chinese_titles():
    rows = session_table([PLAIN, ODD], now=NOW, language="en", notebook_column=True)
    lines = session_text(rows).split("\n")
    starts = [
        display_width(line[: line.index(word)])
        for line, word in zip(lines[1:], (PLAIN.id, ODD.id), strict=True)
    ]
    assert starts[0] == starts[1]


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (-5, "just now", "刚刚"),
        (59, "just now", "刚刚"),
        (60, "1 min ago", "1 分钟前"),
        (7_200, "2 h ago", "2 小时前"),
        (86_400 * 2.9, "2 d ago", "2 天前"),
        (86_400 * 61, "2 mo ago", "2 个月前"),
        (86_400 * 800, "2 y ago", "2 年前"),
    ],
)
def test_ages_use_the_largest_unit(seconds, english, chinese):
    assert age_words(seconds, "en") == english
    assert age_words(seconds, "zh") == chinese


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (999_949, "999.9k"), (999_950, "1.0M")],
)
def test_token_counts_are_short(count, shown):
    assert count_words(count) == shown


def test_the_trash_says_why_and_until_when():
    items = [
        TrashedSession(PLAIN, "removed by you", NOW - 86_400, NOW + 29.5 * 86_400),
        TrashedSession(ODD, "unused for 30 days", NOW - 60, 0.0),
    ]
    table = trash_table(items, now=NOW, language="en")
    assert table[0] == ("session", "removed", "goes for good", "size", "id", "why")
    assert table[1][1:3] == ("1 d ago", "in 29 d")
    assert table[2][2] == "never by itself"
    assert table[1][5] == "removed by you"
