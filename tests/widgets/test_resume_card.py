from __future__ import annotations

import re
import string
from dataclasses import replace

import pytest

from mewcode_nb.events import Notice
from mewcode_nb.session.changes import Changes, VariableChange
from mewcode_nb.session.records import Git, Variable
from mewcode_nb.widgets.resume_card import MAX_NAMES, ResumedTalk, near_limit, resume_card
from mewcode_nb.widgets.resume_words import resume_card_words

TALK = ResumedTalk(
    session="20261201-101010-abcd",
    name="Rainfall, final",
    age=7_300.0,
    turns=3,
    messages=8,
    model="claude-sonnet-5-5",
    tokens=12_345,
    window=200_000,
    prompt="And by month?",
    answer="Here it is.",
)
CHANGES = Changes(
    hours=30.0,
    changed=("/p/data.csv",),
    gone=("/p/old.py",),
    missing=(
        Variable("df", "DataFrame", (3, 2), cell="c1"),
        Variable("model", "Ridge", cell="c9"),
        Variable("x"),
    ),
    different=(VariableChange(Variable("y", "int"), Variable("y", "list", (4,))),),
    git_then=Git("main", "a" * 40),
    git_now=Git("rain", "b" * 40),
)
CHANGED = replace(TALK, changes=CHANGES, told=True, cells={"c1": (2, "df = read('x')")})
BAD = "<img src=x onerror=alert(1)>\x1b[31m\u202e`$x$` ![a](http://h/i) [l](javascript:1)"


def plain(talk, language="en"):
    return str(resume_card(talk, language)["text/plain"])


def test_where_the_conversation_is():
    assert plain(TALK).splitlines() == [
        "Resumed “Rainfall, final”",
        (
            "20261201-101010-abcd · 2 h ago · 3 turns · 8 messages · claude-sonnet-5-5"
            " · 12.3k tokens in context"
        ),
        "  You: And by month?",
        "  Agent: Here it is.",
        "Its files and variables are as they were.",
        "The next %%mewcode prompt goes on from here.",
    ]


def test_what_changed_names_files_commits_variables_and_the_cells_that_made_them():
    assert plain(CHANGED).splitlines()[4:-1] == [
        "Not as it was; the model is told so with your next prompt:",
        "  - Repository: branch main → rain; commit aaaaaaaaaaaa → bbbbbbbbbbbb",
        "  - Files changed since they were read: /p/data.csv",
        "  - Files that are gone: /p/old.py",
        (
            "  - Variables this kernel lacks: df (DataFrame 3×2) made by cell 2: df = read('x'); "
            "model (Ridge) made by cell c9; x"
        ),
        "  - Variables that are something else now: y was int, is list 4",
    ]


@pytest.mark.parametrize(
    ("changes", "told", "line"),
    [
        (Changes(), False, "Its files and variables are as they were."),
        (Changes(hours=9), True, "The model is told with your next prompt how much time"),
        (Changes(changed=("a",)), True, "the model is told so with your next prompt:"),
        (Changes(changed=("a",)), False, "Not as it was:"),
        (Changes(git_then=Git("m", "a"), git_now=Git()), True, "there is none any more"),
        (Changes(unreadable=("u",), unchecked=("v",)), True, "Files that cannot be read now: u"),
    ],
)
def test_the_user_is_told_what_the_model_will_be_told(changes, told, line):
    assert line in plain(replace(TALK, changes=changes, told=told))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("The **largest** is **3**.", "The largest is 3."),
        ("a**b**c and 2 ** 3 ** 4", "a**b**c and 2 ** 3 ** 4"),
        ("**kwargs, **more", "**kwargs, **more"),
        ("one\n\n- two\tthree", "one - two three"),
    ],
)
def test_the_words_are_plain_and_on_one_line(said, shown):
    assert f"  Agent: {shown}\n" in plain(replace(TALK, answer=said))


def test_only_the_names_stand_in_code():
    page = resume_card(CHANGED, "en")["text/html"]
    assert "<code>df</code> (DataFrame 3×2) made by cell 2: df = read(&#x27;x&#x27;);" in page
    assert "<code>/p/data.csv</code></li>" in page


def test_long_lists_are_counted_and_long_words_cut():
    many = Changes(changed=tuple(f"/p/{n}.csv" for n in range(MAX_NAMES + 5)))
    shown = plain(replace(TALK, changes=many, told=True, prompt="word " * 4_000))
    assert f"/p/{MAX_NAMES - 1}.csv; and 5 more" in shown
    assert f"/p/{MAX_NAMES}.csv" not in shown
    assert len(shown) < 1_200


@pytest.mark.parametrize(
    ("tokens", "window", "near"),
    [
        (191_999, 200_000, False),
        (192_000, 200_000, True),
        (250_000, 200_000, True),
        (992_000, 1_000_000, True),
        (991_999, 1_000_000, False),
        (9_600, 10_000, True),
        (9_599, 10_000, False),
        (0, 200_000, False),
        (5_000, 0, False),
    ],
)
def test_near_the_limit_keeps_8000_tokens_or_their_share_of_a_small_window(tokens, window, near):
    assert near_limit(tokens, window) is near


def test_warnings_stand_before_the_words():
    talk = replace(
        TALK,
        tokens=195_000,
        forked_from="20261130-000000-ffff",
        damage="2 lines are damaged",
        notices=(Notice("held by pid 7", "warning", remedy="close it"),),
    )
    lines = plain(talk).splitlines()
    assert lines[0] == "Resumed a copy of “Rainfall, final”"
    assert lines[2] == "! held by pid 7 — close it"
    assert lines[3] == "! This is a fork of 20261130-000000-ffff, which stays as it is."
    assert lines[4].startswith("! Its file is damaged in part (2 lines are damaged)")
    assert lines[5].startswith("! 98% of the model's window is taken (195,000 of 200,000 tokens)")
    assert lines[6] == "  You: And by month?"


def test_an_empty_session_has_no_words_and_says_what_comes():
    talk = replace(TALK, turns=0, messages=0, prompt="", answer=" ", tokens=0)
    lines = plain(talk).splitlines()
    assert "0 turns · 0 messages" in lines[1]
    assert "tokens" not in lines[1]
    assert lines[-1].endswith("the next %%mewcode prompt is its first.")
    assert not [line for line in lines if line.startswith("  ")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_hostile_text_is_text_in_every_form(language):
    changes = Changes(
        changed=(BAD,),
        missing=(Variable(BAD, BAD, cell="c"),),
        git_then=Git(BAD, ""),
        git_now=Git("x"),
    )
    talk = ResumedTalk(
        BAD,
        BAD,
        1.0,
        1,
        1,
        BAD,
        prompt=BAD,
        answer=BAD,
        changes=changes,
        told=True,
        forked_from=BAD,
        damage=BAD,
        notices=(Notice(BAD, remedy=BAD),),
        cells={"c": (1, BAD)},
    )
    bundle = resume_card(talk, language)
    for text in bundle.values():
        assert "\x1b" not in text
        assert "\u202e" not in text
    tags = {*re.findall(r"</?(\w+)", bundle["text/html"])}
    assert tags <= {"div", "span", "br", "ul", "li", "code"}
    assert "<img" not in bundle["text/markdown"]
    assert "](javascript" not in bundle["text/markdown"]
    assert "![" not in bundle["text/markdown"]


def test_both_languages_have_the_same_words_with_the_same_blanks():
    english, chinese = resume_card_words("en"), resume_card_words("zh")
    assert english.keys() == chinese.keys()
    for key, text in english.items():
        blanks = [
            {n for _, n, _, _ in string.Formatter().parse(t) if n} for t in (text, chinese[key])
        ]
        assert blanks[0] == blanks[1], key


def test_in_chinese():
    shown = plain(CHANGED, "zh")
    assert "已恢复“Rainfall, final”" in shown
    assert "模型会随你的下一条提示得知" in shown
    assert "df (DataFrame 3×2) 来自第 2 个单元格：df = read('x')" in shown
