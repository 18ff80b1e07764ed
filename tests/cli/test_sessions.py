from __future__ import annotations

import json
import shutil

import pytest

from mewcode_nb.cli.words import _EN, _ZH
from mewcode_nb.events import Usage
from mewcode_nb.messages import tool_result
from mewcode_nb.session.load import load
from mewcode_nb.session.records import MessageRecord, SessionRecord, SpillRecord, to_line
from mewcode_nb.widgets.columns import display_width


def test_nothing_yet_says_how_to_begin(run):
    assert "%%mewcode" in run("sessions", "list")
    assert "%%mewcode" in run("sessions", "list", "--project")
    assert "delete" in run("sessions", "trash")


def test_looking_at_a_folder_without_sessions_leaves_nothing_there(run, project):
    for words in (["list"], ["list", "--project"], ["search", "x"], ["trash"], ["storage"]):
        run("sessions", *words)
    assert [path.name for path in project.rglob("*")] == ["pyproject.toml"]


def test_a_list_leaves_an_index_for_the_next_one(run, project, new_session):
    new_session()
    first = run("sessions", "list")
    assert (project / ".mewcode" / "cache" / "sessions.sqlite").is_file()
    assert run("sessions", "list") == first


def test_l_01_what_the_list_shows_can_be_typed(run, new_session):
    identity = new_session("Why customers leave")
    other = new_session()
    lines = run("sessions", "list").split("\n")
    assert identity in lines[2]
    assert "Why customers leave" in lines[2]
    for name in (identity, identity[:-1], "Why customers leave"):
        if name == identity[:-1] and other.startswith(name):
            continue
        assert "how many rows?" in run("sessions", "show", name)
    assert other in run("sessions", "show", "last")


def test_l_01_an_ambiguous_start_lists_what_fits_in_one_line(run, new_session):
    first, second = new_session(), new_session()
    output = run("sessions", "show", "2026", status=1)
    assert output.startswith("Error: ")
    assert first in output
    assert second in output
    assert output.count("\n") == 1


def test_l_01_a_wrong_id_is_one_line(run, new_session):
    new_session()
    output = run("sessions", "show", "nothing-like-it", status=1)
    assert output.startswith("Error: ")
    assert output.count("\n") == 1


def test_columns_are_even_under_chinese_titles(run, new_session):
    first, second = new_session("为什么客户会流失"), new_session("plain")
    lines = run("sessions", "list").split("\n")
    starts = {
        display_width(line[: line.index(identity)])
        for line in lines
        for identity in (first, second)
        if identity in line
    }
    assert len(starts) == 1


def test_the_list_is_there_for_programs(run, new_session):
    identity = new_session("title \x1b[31m\u202e")
    output = run("sessions", "list", "--json")
    assert all(line.isprintable() for line in output.split("\n"))
    (row,) = json.loads(output)
    assert row["id"] == identity
    assert row["turns"] == 2
    assert row["usage"]["output_tokens"] == 4
    assert row["title"] == "title \x1b[31m\u202e"


def test_another_folder_s_sessions_are_pointed_at(run, project, new_session):
    folder = project / "sub"
    folder.mkdir()
    identity = new_session(folder=folder)
    assert "--project" in run("sessions", "list")
    assert identity in run("sessions", "list", "--project")
    assert identity in run("sessions", "--folder", "sub", "list")
    assert "answer 1" in run("sessions", "show", identity)


def test_a_conversation_is_shown_with_its_numbers(run, new_session):
    identity = new_session()
    output = run("sessions", "show", identity)
    assert "Turn 2 (messages 3 to 4)" in output
    assert "> and columns?\nanswer 2\n" in output
    short = run("sessions", "show", identity, "--at", "2")
    assert "answer 1" in short
    assert "and columns?" not in short
    assert "4 messages" in run("sessions", "show", identity, "--at", "9", status=1)


def test_search_looks_through_all_sessions(run, project, new_session):
    folder = project / "sub"
    folder.mkdir()
    identity = new_session(prompts=("where is the 流失 rate?",), folder=folder)
    output = run("sessions", "search", "流失")
    assert f"{identity}  --at 1" in output
    assert "where is the 流失 rate?" in output
    (hit,) = json.loads(run("sessions", "search", "流失", "--json"))
    assert (hit["session"], hit["message"], hit["number"]) == (identity, "m1", 1)
    assert "Nothing found in 1 sessions" in run("sessions", "search", "absent")
    assert json.loads(run("sessions", "search", "absent", "--json")) == []


def test_rename_and_pin_show_in_the_list(run, new_session):
    identity = new_session()
    assert "“Churn”" in run("sessions", "rename", identity, " Churn\n")
    run("sessions", "pin", "Churn")
    line = run("sessions", "list").split("\n")[1]
    assert line.startswith("Churn")
    assert line.endswith("pinned")
    run("sessions", "unpin", "Churn")
    run("sessions", "rename", "Churn", "")
    line = run("sessions", "list").split("\n")[1]
    assert line.startswith("how many rows?")
    assert "pinned" not in line


def test_a_deleted_session_comes_back(run, new_session):
    identity = new_session("Mine")
    assert f"restore {identity}" in run("sessions", "delete", "Mine")
    assert "%%mewcode" in run("sessions", "list")
    trash = run("sessions", "trash")
    assert identity in trash
    assert "removed by you" in trash
    run("sessions", "restore", identity[:-2])
    run("sessions", "delete", "Mine")
    assert identity in run("sessions", "restore", "mine")
    assert identity in run("sessions", "list")
    assert "The trash is empty" in run("sessions", "trash")


def test_only_a_trashed_session_can_be_purged_and_only_when_sure(run, new_session):
    identity = new_session("Mine")
    assert "no session" in run("sessions", "purge", identity, status=1)
    run("sessions", "delete", identity)
    assert "for good?" in run("sessions", "purge", identity, input="n\n", status=1)
    assert identity in run("sessions", "trash")
    assert "gone for good" in run("sessions", "purge", identity, "--yes")
    assert "The trash is empty" in run("sessions", "trash")


def test_a_fork_keeps_the_beginning(run, new_session):
    identity = new_session()
    output = run("sessions", "fork", identity, "--at", "2")
    fork = output.split()[0]
    assert fork != identity
    shown = run("sessions", "show", fork)
    assert "answer 1" in shown
    assert "and columns?" not in shown
    assert "answer 2" in run("sessions", "show", identity)
    assert f"fork of {identity}" in run("sessions", "list")


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        ([], "# how many rows?"),
        (["--format", "html"], "<!DOCTYPE html>"),
        (["--format", "jsonl"], "{"),
    ],
)
def test_an_export_is_printed(run, new_session, words, begins):
    assert run("sessions", "export", new_session(), *words).startswith(begins)


def test_an_export_goes_to_a_file_once(run, project, new_session):
    identity = new_session()
    assert "book.ipynb" in run("sessions", "export", identity, "-o", "book.ipynb")
    assert json.loads((project / "book.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4
    assert "--force" in run("sessions", "export", identity, "-o", "book.ipynb", status=1)
    run("sessions", "export", identity, "-o", "book.ipynb", "--force", "--format", "md")
    assert (project / "book.ipynb").read_text(encoding="utf-8").startswith("# how")


def test_an_exported_session_is_imported_again(run, project, new_session):
    identity = new_session("Mine")
    run("sessions", "export", identity, "-o", "mine.jsonl")
    output = run("sessions", "import", "mine.jsonl")
    new = output.split(":")[0]
    assert output.startswith(f"{new}: 4 messages.")
    assert new != identity
    assert "answer 2" in run("sessions", "show", new)
    run("doctor", new)


def test_an_import_costs_nothing_where_its_original_is_listed(run, project, new_session):
    identity = new_session("Mine")
    sessions = project / ".mewcode" / "sessions"
    paid = load(sessions / identity).usage
    assert paid.output_tokens > 0
    run("sessions", "export", identity, "-o", "mine.jsonl")
    beside = run("sessions", "import", "mine.jsonl").split(":")[0]
    assert load(sessions / beside).usage == Usage()
    shutil.rmtree(sessions / identity)
    alone = run("sessions", "import", "mine.jsonl").split(":")[0]
    assert load(sessions / alone).usage == paid


def test_a_session_s_spilled_results_come_with_it(run, project, tmp_path):
    there = tmp_path / "other" / "20260314-120000-aaaa"
    (there / "tool-results").mkdir(parents=True)
    (there / "tool-results" / "t1.txt").write_bytes(b"all of it")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_bytes(b"not of the session")
    (there / "linked").symlink_to(tmp_path / "secret")
    records = [SessionRecord(5.0, there.name), *spilled("t1", "tool-results/t1.txt")]
    records += spilled("t2", "linked/key")
    (there / "conversation.jsonl").write_bytes(b"".join(map(to_line, records)))
    new = run("sessions", "import", str(there / "conversation.jsonl")).split(":")[0]
    folder = project / ".mewcode" / "sessions" / new
    assert (folder / "tool-results" / "t1.txt").read_bytes() == b"all of it"
    assert not (folder / "linked").exists()
    assert [call for call, _ in load(folder).spills] == ["t1"]


def test_an_import_that_fails_leaves_no_session(run, project, new_session):
    import resource

    new_session()
    log = next((project / ".mewcode" / "sessions").glob("*/conversation.jsonl"))
    copy = project / "copy.jsonl"
    copy.write_bytes(log.read_bytes())
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    try:
        run("sessions", "import", str(copy), status=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in log.parent.parent.iterdir()] == [log.parent.name]


def spilled(call, path):
    """A call and its result, which lies in a file."""
    asked = {"type": "tool_use", "id": call, "name": "shell", "input": {}}
    return [
        MessageRecord(6.0, f"a-{call}", "assistant", (asked,), "assistant", turn=1),
        MessageRecord(6.0, f"r-{call}", "user", (tool_result(call, "pre"),), "tool", turn=1),
        SpillRecord(6.0, call, path, 9, "", "pre"),
    ]


def test_a_file_of_the_go_program_is_imported(run, project):
    (project / "old.jsonl").write_text(
        '{"role":"user","content":"hello","ts":5}\n{"role":"assistant","content":"hi"}\n{"ro',
        encoding="utf-8",
    )
    output = run("sessions", "import", "old.jsonl")
    assert ": 2 messages." in output
    assert "line 3: not JSON" in output
    assert "> hello\nhi\n" in run("sessions", "show", "last")


def test_a_transcript_of_claude_code_is_imported(run, project):
    head = {"sessionId": "s", "timestamp": "2026-03-14T09:26:53Z", "isSidechain": False}
    user = {"role": "user", "content": "how many?"}
    text = [{"type": "text", "text": "three"}]
    answer = {"id": "msg_1", "role": "assistant", "model": "claude-x", "content": text}
    lines = [
        {**head, "type": "user", "uuid": "a", "parentUuid": None, "message": user},
        {**head, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": answer},
        {"type": "custom-title", "customTitle": "Counting"},
    ]
    (project / "cc.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    assert ": 2 messages." in run("sessions", "import", "cc.jsonl")
    assert "> how many?\nthree\n" in run("sessions", "show", "Counting")


def test_a_secret_in_a_transcript_does_not_come_with_it(run, project, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "blue-whale-42")
    key = "sk-ant-" + "k" * 30
    head = {"sessionId": "s", "timestamp": "2026-03-14T09:26:53Z", "isSidechain": False}
    user = {"role": "user", "content": f"use {key} and blue-whale-42, not blue-whale"}
    text = [{"type": "text", "text": "done"}]
    answer = {"id": "msg_1", "role": "assistant", "model": "claude-x", "content": text}
    lines = [
        {**head, "type": "user", "uuid": "a", "parentUuid": None, "message": user},
        {**head, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": answer},
        {"type": "custom-title", "customTitle": f"With {key}"},
    ]
    (project / "cc.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    new = run("sessions", "import", "cc.jsonl").split(":")[0]
    stored = (project / ".mewcode" / "sessions" / new / "conversation.jsonl").read_text("utf-8")
    assert key not in stored
    assert "blue-whale-42" not in stored
    assert "> use [masked] and [masked], not blue-whale\ndone\n" in run("sessions", "show", new)
    assert "With [masked]" in run("sessions", "list")


def test_what_is_no_session_is_not_imported(run, project):
    (project / "x.jsonl").write_text("hello\n", encoding="utf-8")
    output = run("sessions", "import", "x.jsonl", status=1)
    assert "holds no messages" in output
    assert output.count("\n") == 1
    assert "%%mewcode" in run("sessions", "list")


def test_storage_adds_up(run, project, new_session):
    folder = project / "sub"
    folder.mkdir()
    kept, gone = new_session(), new_session(folder=folder)
    run("sessions", "delete", gone)
    lines = run("sessions", "storage").split("\n")
    assert [line.split()[1] for line in lines[1:4]] == ["1", "0", "1"]
    assert [line.split()[-3] for line in lines[1:4]] == ["0", "1", "1"]
    assert kept


def test_a_chinese_locale_speaks_chinese(run, new_session, monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert "此文件夹中还没有会话" in run("sessions", "list")
    assert "列出会话" in run("sessions", "--help")
    assert "整个项目的会话" in run("sessions", "list", "--help")
    identity = new_session()
    assert "最近使用" in run("sessions", "list")
    assert "已移入回收站" in run("sessions", "delete", identity)
    assert "List sessions" not in run("sessions", "--help")
    monkeypatch.delenv("LANG")
    assert "List sessions" in run("sessions", "--help")


def test_l_05_a_hostile_session_cannot_move_the_terminal(run, new_session):
    hostile = "x\x1b]0;pwn\x07\x1b[2J\u202e\u2066y"
    identity = new_session(hostile, prompts=(hostile,))
    for words in (["list"], ["show", identity], ["search", "x"], ["trash"], ["storage"]):
        output = run("sessions", *words)
        assert all(line.isprintable() for line in output.split("\n")), words
    output = run("sessions", "rename", identity, hostile)
    assert all(line.isprintable() for line in output.split("\n"))


def test_both_languages_have_the_same_words():
    assert _EN.keys() == _ZH.keys()
