from __future__ import annotations

import json

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.records import MessageRecord, Parent
from mewcode_nb.session.turns import turns
from mewcode_nb.widgets.picker import (
    PickerMessage,
    SessionPicker,
    found_row,
    parse_message,
    picker_rows,
    preview_turns,
)
from mewcode_nb.widgets.picker_words import picker_words

NOW = 1_000_000.0
INFO = SessionInfo(
    id="s1",
    title="Rain\x1b[31m\nfall",
    first_prompt="plot <b>\u202e",
    created=NOW - 90_000,
    active=NOW - 7_200,
    model="claude-sonnet-5-5",
    turns=3,
    usage=Usage(input_tokens=1_500, output_tokens=500),
    size=2_048,
    notebook="/home/ada/a b.ipynb",
    branch="main",
    pinned=True,
    live=True,
    parent=Parent("s0", "m4"),
    damage="1 damaged line\x00",
    readable=False,
)


def test_t_06_a_row_says_everything_in_visible_words_on_one_line():
    assert picker_rows([INFO], NOW, "en") == [
        {
            "id": "s1",
            "title": "Rain␛[31m fall",
            "prompt": "plot <b>\\u202E",
            "age": "2 h ago",
            "active": NOW - 7_200,
            "created": NOW - 90_000,
            "turns": 3,
            "tokens": "2.0k",
            "bytes": 2_048,
            "size": "2.05 KB",
            "model": "claude-sonnet-5-5",
            "notebook": "a b.ipynb",
            "branch": "main",
            "pinned": True,
            "live": True,
            "fork": "s0",
            "damage": "1 damaged line␀",
            "unreadable": True,
        }
    ]


def test_what_is_empty_does_not_travel_and_a_thousand_rows_stay_small():
    assert picker_rows([SessionInfo(id="s1")], NOW, "zh") == [
        {"id": "s1", "tokens": "0", "size": "0 B"}
    ]
    plain = SessionInfo(id="s" * 36, first_prompt="p" * 100, model="m" * 20, notebook="n.ipynb")
    assert len(json.dumps(picker_rows([plain] * 1_000, NOW, "en"))) < 400_000


def test_megabytes_in_a_hostile_header_are_cut():
    huge = SessionInfo(id="s1", title="t" * 10**6, branch="b" * 10**6, damage="d" * 10**6)
    assert len(json.dumps(picker_rows([huge], NOW, "en"))) < 1_000
    found = found_row(SessionInfo(id="s1"), "… a\x1b\n" + "b" * 10**6, NOW, "en")
    assert len(found["snippet"]) < 310
    assert found["snippet"].startswith("… a␛ b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "rendered"}, PickerMessage("rendered")),
        ({"kind": "active"}, PickerMessage("active")),
        ({"kind": "close"}, PickerMessage("close")),
        ({"kind": "rows", "scope": "project"}, PickerMessage("rows", text="project")),
        ({"kind": "rows", "scope": "/etc"}, None),
        ({"kind": "rows", "scope": ["project"]}, None),
        (
            {"kind": "search", "query": " a ", "number": 2},
            PickerMessage("search", "", "a", False, 2),
        ),
        ({"kind": "search", "query": "a" * 201, "number": 2}, None),
        ({"kind": "search", "query": "a", "number": True}, None),
        ({"kind": "search", "query": "a", "number": -1}, None),
        ({"kind": "search", "query": "a", "number": 2**40}, None),
        ({"kind": "search", "query": None, "number": 1}, None),
        ({"kind": "preview", "id": "s1"}, PickerMessage("preview", "s1")),
        ({"kind": "preview", "id": "s2"}, None),
        ({"kind": "preview", "id": ["s1"]}, None),
        ({"kind": "preview"}, None),
        ({"kind": "delete", "id": "s1"}, PickerMessage("delete", "s1")),
        ({"kind": "delete", "id": "../s1"}, None),
        ({"kind": "restore", "id": "s1"}, PickerMessage("restore", "s1")),
        ({"kind": "resume", "id": "s1", "on": True}, PickerMessage("resume", "s1", on=True)),
        ({"kind": "resume", "id": "s1", "on": 1}, None),
        ({"kind": "resume", "id": "s1"}, None),
        ({"kind": "pin", "id": "s1", "on": False}, PickerMessage("pin", "s1")),
        (
            {"kind": "rename", "id": "s1", "title": " a\x1b\nb "},
            PickerMessage("rename", "s1", "a␛ b"),
        ),
        ({"kind": "rename", "id": "s1", "title": "a" * 201}, None),
        ({"kind": "rename", "id": "s1", "title": 5}, None),
        ({"kind": "rename", "id": "s1"}, None),
        ({"kind": "purge", "id": "s1"}, None),
        ({"kind": ["close"]}, None),
        ({}, None),
    ],
)
def test_w_04_only_what_the_page_of_this_picker_can_ask_counts(content, message):
    known = {"s1"}.__contains__
    assert parse_message({"nonce": "n", **content}, nonce="n", known=known) == message
    assert parse_message({"nonce": "m", **content}, nonce="n", known=known) is None
    assert parse_message(content, nonce="n", known=known) is None


@pytest.mark.parametrize("content", [None, "close", ["close"], 4])
def test_w_04_a_message_that_is_no_object_is_ignored(content):
    assert parse_message(content, nonce="n", known=bool) is None


def message(number, role, *blocks, origin="user", turn=1):
    return MessageRecord(NOW, f"m{number}", role, tuple(blocks), origin, turn)


def test_a_preview_is_the_last_five_turns_in_bounded_visible_words():
    records = []
    for turn in range(1, 8):
        call = {"type": "tool_use", "id": f"c{turn}", "name": "shell", "input": {"command": "ls"}}
        records += [
            message(2 * turn, "user", text_block(f"ask {turn}\x1b"), turn=turn),
            message(
                2 * turn + 1, "assistant", text_block("x" * 5_000), call, origin="model", turn=turn
            ),
        ]
    shown = preview_turns(turns(records))
    assert [turn["number"] for turn in shown] == [3, 4, 5, 6, 7]
    assert shown[-1]["prompt"] == "ask 7␛"
    assert shown[-1]["answer"] == "x" * 2_000 + " …"
    assert shown[-1]["calls"] == 1


def picker(heard, rows=None):
    rows = picker_rows([INFO], NOW, "en") if rows is None else rows
    return SessionPicker(rows, heard.append, language="en", scope="project", nonce="n")


def test_w_04_a_picker_knows_the_sessions_it_was_given_and_those_told_later():
    heard = []
    shown = picker(heard)
    for identity in ("s1", "s9"):
        shown._receive(shown, {"kind": "delete", "nonce": "n", "id": identity}, [])
    shown.tell("rows", scope="project", rows=picker_rows([SessionInfo(id="s9")], NOW, "en"))
    shown._receive(shown, {"kind": "delete", "nonce": "n", "id": "s9"}, [])
    assert heard == [PickerMessage("delete", "s1"), PickerMessage("delete", "s9")]
    shown.close()


def test_a_picker_that_gave_way_is_deaf_and_keeps_no_rows():
    heard = []
    shown = picker(heard)
    shown.settle({"text/plain": "table"})
    shown._receive(shown, {"kind": "close", "nonce": "n"}, [])
    assert heard == []
    assert shown.view["rows"] == []
    assert shown.static == {"text/plain": "table"}
    shown.close()


def test_the_page_script_uses_text_only_and_fetches_nothing():
    script = SessionPicker._esm
    assert "textContent" in script
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "http",
        "import ",
    ):
        assert word not in script, word


def test_both_languages_have_the_same_words_with_the_same_blanks():
    import string

    def blanks(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    english, chinese = picker_words("en"), picker_words("zh")
    assert english.keys() == chinese.keys()
    for key in english:
        assert chinese[key], key
        assert blanks(english[key]) == blanks(chinese[key]), key
        assert key.startswith("key_") or english[key] != chinese[key], key


def test_the_script_uses_every_word_there_is_and_no_other():
    import re

    script = SessionPicker._esm
    used = set(re.findall(r"words\.(\w+)", script))
    by_prefix = ("sort_", "scope_", "key_")
    kernel = {"hint", "more", "closed", "none", "fault", "is_unreadable"}
    named = {key for key in picker_words("en") if not key.startswith(by_prefix)}
    assert used - named == set()
    assert named - used - kernel == set()
