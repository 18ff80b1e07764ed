from __future__ import annotations

import json

import pytest

from mewcode_nb.notebook.resume_words import RESUME_OPTIONS
from mewcode_nb.testing import reply


@pytest.fixture
def talked(loaded, capsys):
    """Two sessions in this folder, the newer one at hand, and what a line prints."""
    loaded.server.add(reply("the rain answer"), reply("more rain"), reply("the sales answer"))
    loaded.run("%%mewcode\nplot the rainfall")
    loaded.rain = loaded.runtime.conversation.session_id
    loaded.run("%%mewcode\nby month?")
    loaded.run("%%mewcode --new\nsum the sales")
    loaded.sales = loaded.runtime.conversation.session_id
    capsys.readouterr()

    def said(line):
        ran = loaded.run(line)
        assert ran.success, (line, ran.error_in_exec)
        return capsys.readouterr().out

    def refused(line):
        ran = loaded.run(line)
        assert not ran.success, line
        error = str(ran.error_in_exec)
        assert "\n" not in error
        return error

    loaded.said, loaded.refused = said, refused
    loaded.folder = loaded.project.notebooks / ".mewcode" / "sessions"
    return loaded


def words(loaded):
    """The user's and the agent's words of the last request, in order."""
    return [
        block["text"]
        for message in loaded.server.requests[-1].body["messages"]
        for block in message["content"]
        if block["type"] == "text" and "mewcode-reminder" not in block["text"]
    ]


def test_bare_in_a_terminal_is_a_table_with_what_to_type(talked):
    shown = talked.said("%resume")
    assert talked.rain in shown
    assert "plot the rainfall" in shown
    assert "%resume ID" in shown


def test_without_any_session_it_says_how_one_begins(loaded, capsys):
    capsys.readouterr()
    assert loaded.run("%resume").success
    assert "No sessions yet" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["id", "start", "prompt", "title"])
def test_a_session_goes_on_by_any_of_its_names(talked, how):
    talked.said(f"%resume {talked.rain} --rename Rain, by month")
    name = {
        "id": talked.rain,
        "start": talked.rain[:-1],
        "prompt": "plot the rain",
        "title": "rain, BY month",
    }[how]
    card = talked.said(f"%resume {name}")
    assert "Resumed “Rain, by month”" in card
    assert f"{talked.rain} · just now · 2 turns · 4 messages" in card
    assert "You: by month?" in card
    assert "Agent: more rain" in card
    talked.run("%%mewcode\nand by year?")
    assert words(talked) == [
        "plot the rainfall",
        "the rain answer",
        "by month?",
        "more rain",
        "and by year?",
    ]


def test_last_is_the_session_used_last(talked):
    talked.said(f"%resume {talked.rain}")
    assert talked.rain not in talked.said("%resume last").splitlines()[1]
    assert talked.runtime.conversation.session_id == talked.sales


def test_last_after_new_is_the_session_that_was_left(talked):
    talked.said(f"%resume {talked.rain}")  # older than the other one, and used no further
    talked.said("%mewcode new")
    talked.said("%resume last")
    assert talked.runtime.conversation.session_id == talked.rain


def test_at_lets_later_messages_leave_and_fork_keeps_the_original(talked):
    log = talked.folder / talked.rain / "conversation.jsonl"
    before = log.read_bytes()
    card = talked.said(f"%resume {talked.rain} --at 2 --fork")
    assert "Resumed a copy of “plot the rainfall”" in card
    assert f"This is a fork of {talked.rain}" in card
    talked.run("%%mewcode\nby week?")
    assert words(talked) == ["plot the rainfall", "the rain answer", "by week?"]
    assert log.read_bytes() == before
    talked.said(f"%resume {talked.rain} --at 2")
    talked.run("%%mewcode\nby day?")
    assert words(talked) == ["plot the rainfall", "the rain answer", "by day?"]


def test_at_and_fork_without_a_name_are_about_the_session_at_hand(talked):
    card = talked.said("%resume --fork")
    assert f"This is a fork of {talked.sales}" in card
    talked.run("%%mewcode\nnow the costs")
    talked.said("%resume --at 2")
    talked.run("%%mewcode\nagain")
    assert words(talked) == ["sum the sales", "the sales answer", "again"]


def test_list_search_and_turns_show_what_can_be_typed(talked):
    listed = talked.said("%resume --list")
    assert listed.index(talked.sales) < listed.index(talked.rain)
    found = talked.said("%resume --search more rain")
    assert f"{talked.rain} --at 4" in found
    assert "Nothing found in 2 sessions" in talked.said('%resume --search "rain more"')
    turns = talked.said(f"%resume {talked.rain} --list")
    assert [line.split()[0] for line in turns.splitlines() if "?" in line or "plot" in line] == [
        "1-2",
        "3-4",
    ]
    assert f"%resume {talked.rain} --at N" in turns


@pytest.mark.parametrize("own", [True, False])
def test_rename_and_pin_whether_at_hand_or_not(talked, own):
    session = talked.sales if own else talked.rain
    name = "" if own else session
    assert f"{session} is called “Q3 plan” now." in talked.said(f"%resume {name} --rename Q3  plan")
    assert "Q3 plan" in talked.said("%resume --list")
    assert f"{session} is pinned" in talked.said(f"%resume {name} --pin")
    assert "pinned" in talked.said("%resume --list")
    assert "no longer pinned" in talked.said(f"%resume {name} --unpin")
    assert "pinned" not in talked.said("%resume --list")
    assert "no title any more" in talked.said(f'%resume {name} --rename ""')
    lines = (talked.folder / session / "conversation.jsonl").read_text(encoding="utf-8")
    facts = [json.loads(line) for line in lines.splitlines()]
    assert [fact for fact in facts if fact["type"] == "meta"]


def test_a_deleted_session_is_out_of_the_list_and_comes_back_whole(talked):
    before = (talked.folder / talked.rain / "conversation.jsonl").read_bytes()
    assert "in the trash" in talked.said(f"%resume --delete {talked.rain}")
    assert talked.rain not in talked.said("%resume --list")
    assert f"%resume {talked.rain} --restore" in talked.refused(f"%resume {talked.rain}")
    assert talked.rain in talked.said("%resume --restore")
    assert "is back" in talked.said(f"%resume {talked.rain} --restore")
    assert (talked.folder / talked.rain / "conversation.jsonl").read_bytes() == before
    assert "The trash is empty" in talked.said("%resume --restore")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--frok", "did you mean --fork?"),
        ("nonsense", "no session is called 'nonsense' — %resume --list --project"),
        ("last --at 99", "no message 99"),
        ("--delete", "--delete needs a session"),
        ("'a", "close the quotes"),
        ("nonsense --restore", "no session 'nonsense' in the trash"),
        ("--pin --unpin", "--pin and --unpin do not go together"),
    ],
)
def test_a_mistake_is_one_line_with_a_remedy_and_changes_nothing(talked, line, said):
    assert said in talked.refused(f"%resume {line}")
    assert talked.runtime.conversation.session_id == talked.sales


def test_the_session_at_hand_is_not_deleted(talked):
    assert "%mewcode new" in talked.refused(f"%resume {talked.sales} --delete")


def test_fork_without_a_session_names_the_remedy(loaded):
    ran = loaded.run("%resume --fork")
    assert "--fork needs a session — name one" in str(ran.error_in_exec)


def test_a_title_may_end_in_a_question_mark(talked):
    talked.said(f"%resume {talked.rain} --rename why so wet?")
    assert "Resumed “why so wet?”" in talked.said("%resume why so wet?")
    assert talked.rain in talked.said("%resume --search --project wet?")


def test_help_names_every_option(talked):
    shown = talked.said("%resume --help")
    assert [option for option in RESUME_OPTIONS if option not in shown] == ["--help"]
    assert "%resume --help tells the rest" in talked.shell.find_line_magic("resume").__doc__


def test_chinese_words(talked):
    talked.run("%mewcode config language zh")
    assert "已恢复“plot the rainfall”" in talked.said(f"%resume {talked.rain}")
    assert "在选择器中选择会话" in talked.said("%resume --help")
    assert "是否想用 --fork" in talked.refused("%resume --frok")
    assert "已置顶" in talked.said("%resume --pin")
