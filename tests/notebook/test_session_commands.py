from __future__ import annotations

import json
import sys

import pytest

from mewcode_nb.testing import reply


@pytest.fixture
def talked(loaded, capsys):
    """A shell with two turns behind it, and what a line prints."""
    usage = {"input_tokens": 100, "cache_read_input_tokens": 40, "output_tokens": 7}
    loaded.server.add(reply("the first answer", usage=usage), reply("the second", usage=usage))
    loaded.run("%%mewcode\nfirst question")
    loaded.run("%%mewcode\nsecond question")
    capsys.readouterr()

    def said(line):
        assert loaded.run(line).success, line
        return capsys.readouterr().out

    loaded.said = said
    loaded.session = loaded.runtime.conversation.session_id
    loaded.folder = loaded.project.notebooks / ".mewcode" / "sessions" / loaded.session
    return loaded


def error_of(ran):
    return str(ran.error_in_exec)


def test_rewind_lists_turns_with_message_numbers_then_goes_back_and_undoes(talked):
    listed = talked.said("%mewcode rewind")
    rows = [line.split()[0] for line in listed.splitlines() if "question" in line]
    assert rows == ["1-2", "3-4"]
    assert "message 2" in talked.said("%mewcode rewind 2")
    assert len(talked.runtime.conversation.agent.history) == 2
    branches = talked.said("%mewcode rewind").partition("Branches")[2]
    assert "second question" in branches
    assert "first question" not in branches
    assert "4 messages, 2 turns" in talked.said("%mewcode rewind --undo")
    assert [m.turn for m in talked.runtime.conversation.agent.history] == [1, 1, 2, 2]
    talked.run("%%mewcode\nthird question")
    assert len(talked.server.requests[-1].body["messages"]) == 5


def test_rewind_to_nothing_empties_the_conversation_and_a_branch_comes_back_by_its_id(talked):
    last = talked.runtime.conversation.agent.history[-1].id
    assert "empty" in talked.said("%mewcode rewind 0")
    assert "4 messages, 2 turns" in talked.said("%mewcode rewind --undo")
    assert "empty" in talked.said("%mewcode rewind 0")
    talked.run("%%mewcode\nanew")
    assert len(talked.server.requests[-1].body["messages"]) == 1
    talked.said(f"%mewcode rewind {last}")
    talked.run("%%mewcode\nagain")
    assert len(talked.server.requests[-1].body["messages"]) == 5


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rewind 99", "no message 99"),
        ("rewind --und", "did you mean --undo"),
        ("rewind 1 2", "one word"),
        ("rewind --undo", "no rewind to undo"),
        ("fork 99", "no message 99"),
        ("fork 1 2", "one message"),
        ("export a.xyz", "no export format '.xyz'"),
        ("export --frce", "'--frce' is no option"),
        ("export a.md b.md", "one path"),
        ("export --session", "lacks a value"),
        ("export 'a", "close the quotes"),
        ("doctor nonsense", "nonsense"),
        ("doctor --repair", "lacks a value"),
        ("storage all", "takes no words"),
        ("cost all", "takes no words"),
    ],
)
def test_a_mistake_is_one_line(talked, line, words):
    ran = talked.run(f"%mewcode {line}")
    assert not ran.success
    assert words in error_of(ran)
    assert "\n" not in error_of(ran)


@pytest.mark.parametrize("line", ["rewind", "export", "doctor"])
def test_without_a_session_the_remedy_is_named(loaded, line):
    ran = loaded.run(f"%mewcode {line}")
    assert "there is no session at hand" in error_of(ran)
    assert "%resume" in error_of(ran)


def test_fork_goes_on_in_a_session_of_its_own_and_leaves_the_parent_alone(talked):
    log = talked.folder / "conversation.jsonl"
    before = log.read_bytes()
    assert talked.session in talked.said("%mewcode fork 2")
    forked = talked.runtime.conversation.session_id
    assert forked != talked.session
    talked.run("%%mewcode\nelse")
    assert len(talked.server.requests[-1].body["messages"]) == 3
    assert log.read_bytes() == before


def test_export_writes_beside_the_notebook_and_replaces_only_when_told(talked):
    assert f"{talked.session}.md" in talked.said("%mewcode export")
    path = talked.project.notebooks / f"{talked.session}.md"
    assert "the second" in path.read_text(encoding="utf-8")
    refused = talked.run("%mewcode export md")
    assert "--force" in error_of(refused)
    talked.said("%mewcode export md --force")
    talked.said(f"%mewcode export 'my talk.html' --session {talked.session}")
    page = talked.project.notebooks / "my talk.html"
    assert "the first answer" in page.read_text(encoding="utf-8")


def test_doctor_reports_by_line_and_repairs_a_copy_only(talked):
    log = talked.folder / "conversation.jsonl"
    talked.run("%mewcode new")
    with log.open("ab") as file:
        file.write(b"garbage\n")
    before = log.read_bytes()
    line = before.count(b"\n")
    report = talked.said(f"%mewcode doctor {talked.session} --repair fixed")
    assert f"line {line}" in report
    assert log.read_bytes() == before
    assert any((talked.project.notebooks / "fixed").rglob("*.jsonl"))


def test_storage_counts_what_is_kept_and_says_what_leaves(talked):
    page = talked.said("%mewcode storage")
    assert str(talked.project.notebooks) in page
    assert talked.session in page
    assert "nothing leaves" in page
    assert "--delete" in page
    talked.said("%mewcode config retention_days 0")
    assert "no session leaves by itself" in talked.said("%mewcode storage")


def test_cost_counts_tokens_by_turn_and_by_session_and_names_no_price(talked):
    talked.said("%mewcode rewind 2")
    page = talked.said("%mewcode cost")
    rows = [line.split() for line in page.splitlines()]
    spent = f"{talked.runtime.spent.total_input:,}"
    assert ["40", "7", "first", "question"] in [row[2:] for row in rows if row[:1] == ["1"]]
    assert ["all", "responses", spent, "80", "14"] in rows
    assert [talked.session, spent, "80", "14", "first", "question"] in rows
    assert "$" not in page


@pytest.mark.parametrize(
    ("line", "chinese"),
    [
        ("rewind", "提示"),
        ("rewind 2", "撤销"),
        ("fork", "分叉"),
        ("storage", "回收站"),
        ("cost", "输出"),
        ("doctor", "消息"),
    ],
)
def test_pages_speak_chinese(talked, line, chinese):
    talked.said("%mewcode config language zh")
    assert chinese in talked.said(f"%mewcode {line}")


def test_a_terminal_never_replays(talked):
    talked.run("%%mewcode\nfirst question")
    assert len(talked.server.requests) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="files have no limits there")
def test_what_a_full_disk_kept_back_is_stored_when_the_session_ends(talked):
    import resource

    log = talked.folder / "conversation.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, before[1]))
    try:
        assert talked.run("%%mewcode\nthird question").success
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "third question" not in log.read_text(encoding="utf-8")
    talked.said("%mewcode new")
    said = [
        json.loads(line).get("content")
        for line in log.read_text(encoding="utf-8").split("\n")
        if line
    ]
    texts = [content[0]["text"] for content in said if content]
    assert [text for text in texts if "third" in text or text == "fine"] == [
        "third question",
        "fine",
    ]
