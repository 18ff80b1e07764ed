"""Going on with a session in another kernel: what a real one, killed or alive, leaves and finds."""

from __future__ import annotations

import json

import pytest

from mewcode_nb.testing import Fault, reply, tool_use

pytestmark = pytest.mark.kernel

FRAME = "frame = {'rows': 40}"
MAKE = "made = [frame['rows']] * 3\nspare = 1"


def killed_in_a_turn(begin, server, in_project):
    """A kernel that reads a file and makes variables, and dies while the answer is on its way."""
    in_project.write("notebooks/data.csv", "a,b\n1,2\n")
    server.add(reply(tool_use("read_file", path="data.csv"), tool_use("run_python", code=MAKE)))
    server.add(reply("never seen", fault=Fault("late", seconds=60)))
    first = begin()
    first.cell(FRAME, "cell-frame")
    first.start("%%mewcode\nlook at the data first", "cell-ask")
    server.wait_for_request(2, timeout=30)
    first.kill()


def test_a_kernel_killed_in_a_turn_loses_no_word_and_the_next_one_is_told_what_is_gone(
    begin, server, in_project, stored
):
    killed_in_a_turn(begin, server, in_project)
    in_project.write("notebooks/data.csv", "a,b\n3,4\n")
    second = begin()
    shown = second.cell("%resume last").text
    assert "data.csv" in shown
    assert "made" in shown
    server.add("done")
    second.cell("%%mewcode\ngo on", "cell-two")
    sent = second.sent()
    assert "look at the data first" in sent[0]
    assert any("1,2" in text for text in sent)
    (told,) = second.reminders()
    assert "Files changed since you read them" in told
    assert "data.csv" in told
    assert "made (list 3, made by cell cell-ask In [3])" in told
    assert "frame (dict 1, made by cell cell-frame In [2])" in told
    assert sent.index(told) < next(n for n, text in enumerate(sent) if text == "go on")
    (state,) = stored().values()
    assert [record.origin for record in state.records[-3:]] == ["reminder", "user", "assistant"]
    assert state.turns == 2


def test_a_change_is_told_once_however_often_the_session_is_resumed(
    begin, server, in_project, stored
):
    killed_in_a_turn(begin, server, in_project)
    in_project.write("notebooks/data.csv", "a,b\n3,4\n")
    idle = begin()
    idle.cell("%resume last")
    idle.cell("%resume last")
    idle.kill()
    second = begin()
    second.cell("%resume last")
    second.cell("%resume last")
    server.add("one")
    second.cell("%%mewcode\nsecond prompt")
    assert len(second.reminders()) == 1
    server.add("two")
    second.cell("%%mewcode\nthird prompt")
    assert len(second.reminders()) == 1
    second.kill()
    third = begin()
    third.cell("%resume last")
    server.add("three")
    third.cell("%%mewcode\nfourth prompt")
    assert len(third.reminders()) == 1
    (state,) = stored().values()
    assert [r.origin for r in state.records].count("reminder") == 1


def test_what_a_later_kernel_made_and_lost_is_told_again(begin, server, in_project):
    killed_in_a_turn(begin, server, in_project)
    second = begin()
    second.cell("%resume last")
    server.add(reply(tool_use("run_python", code="made = [7]")), "made again")
    second.cell("%%mewcode\nmake it again")
    second.kill()
    third = begin()
    third.cell("%resume last")
    server.add("fine")
    third.cell("%%mewcode\nonce more")
    first, again = third.reminders()
    assert "frame" in first
    assert "made (list 1" in again
    assert "frame" not in again


def test_a_second_kernel_on_a_live_session_is_told_and_forks(begin, server, stored):
    server.add("first answer")
    first = begin()
    first.cell("%%mewcode\nfirst words")
    second = begin()
    shown = second.cell("%resume last").text
    (held, fork) = stored()
    assert "fork" in shown
    assert held in shown
    server.add("in the fork", "in the original")
    second.cell("%%mewcode\nforked words")
    assert second.sent()[0] == "first words"
    first.cell("%%mewcode\nfurther words")
    assert "forked words" not in first.sent()
    states = stored()
    assert states[fork].header.parent.id == held
    assert states[fork].usage == states[fork].records[-1].usage
    assert len(states[held].records) == len(states[fork].records) == 4


def test_the_session_of_a_dead_kernel_is_free_at_once(begin, server, stored):
    server.add("first answer")
    first = begin()
    first.cell("%%mewcode\nfirst words")
    first.kill()
    second = begin()
    second.cell("%resume last")
    server.add("second answer")
    second.cell("%%mewcode\nsecond words")
    assert len(stored()) == 1
    assert second.value("get_ipython().meta['mewcode_runtime'].last.turn") == "2"


def test_a_session_of_the_go_program_goes_on(begin, server, in_project, stored):
    folder = in_project.notebooks / ".mewcode" / "sessions" / "1773480440-a1b2c3d4"
    folder.mkdir(parents=True)
    call = {"id": "t1", "name": "list_files", "input": {"path": "."}}
    entries = [
        {"role": "user", "content": "list the files", "ts": 1773480440, "model": "go-model"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [call], "ts": 1773480441},
        {"role": "tool", "tool_results": [{"tool_call_id": "t1", "content": "a.go"}]},
        {"role": "assistant", "content": "One file.", "ts": 1773480442},
    ]
    log = folder / "conversation.jsonl"
    log.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    before = log.read_bytes()
    talk = begin()
    talk.cell("%resume last")
    server.add("it is Go")
    talk.cell("%%mewcode\nwhich language is it?")
    sent = talk.sent()
    assert sent[0] == "list the files"
    assert any("a.go" in text for text in sent)
    (told,) = talk.reminders()
    assert "days ago" in told
    assert log.read_bytes().startswith(before)
    (state,) = stored().values()
    assert [record.turn for record in state.records] == [1, 1, 1, 1, 2, 2, 2]
    assert state.damage == ()


def test_a_rewind_and_its_undoing_are_what_the_next_kernel_goes_on_from(begin, server, stored):
    server.add("one", "two", "instead", "four")
    first = begin()
    first.cell("%%mewcode\nfirst")
    first.cell("%%mewcode\nsecond")
    first.cell("%mewcode rewind 2")
    first.cell("%%mewcode\nthird")
    assert first.said() == ["first", "one", "third"]
    first.cell("%mewcode rewind 2")
    first.cell("%mewcode rewind --undo")
    first.kill()
    second = begin()
    second.cell("%resume last")
    second.cell("%%mewcode\nfourth")
    assert second.said() == ["first", "one", "third", "instead", "fourth"]
    (state,) = stored().values()
    assert state.damage == ()


def test_a_fork_at_a_message_leaves_the_rest_and_the_original_alone(begin, server, stored):
    server.add("one", "two", "three")
    first = begin()
    first.cell("%%mewcode\nfirst")
    first.cell("%%mewcode\nsecond")
    (parent,) = stored()
    first.kill()
    second = begin()
    second.cell(f"%resume {parent} --at 2 --fork")
    second.cell("%%mewcode\nanother second")
    assert second.said() == ["first", "one", "another second"]
    states = stored()
    assert [len(state.records) for state in states.values()] == [4, 4]
    assert {state.header.parent.id for state in states.values() if state.header.parent} == {parent}
    assert sum('kind="mode"' in text for text in second.sent()) == 1


def test_files_that_were_read_may_be_edited_in_the_next_kernel(begin, server, in_project):
    path = in_project.write("notebooks/plan.txt", "draft\n")
    server.add(reply(tool_use("read_file", path="plan.txt")), "read")
    first = begin()
    first.cell("%%mewcode\nread it")
    first.kill()
    second = begin()
    second.cell("%resume last")
    edit = tool_use("edit_file", path="plan.txt", old="draft", new="final")
    server.add(reply(edit), "edited")
    second.cell("%%mewcode\nedit it")
    assert path.read_text() == "final\n", second.sent()


def test_a_variable_of_other_content_is_named_and_an_equal_one_is_not(begin, server):
    server.add(reply(tool_use("run_python", code="total = rows[0] + rows[1]")), "added")
    first = begin()
    first.cell("rows = [1, 2]\nother = 'x'")
    first.cell("%%mewcode\nadd")
    first.kill()
    second = begin()
    second.cell("rows = [1, 5]\ntotal = 3")
    second.cell("%resume last")
    server.add("fine")
    second.cell("%%mewcode\ngo on")
    (told,) = second.reminders()
    assert "rows: list 2 of other content" in told
    assert "total" not in told
    assert "other" not in told.replace("other content", "")


def test_a_session_that_nearly_fills_the_window_says_so_with_numbers(begin, mewcode_server):
    small = mewcode_server(window=8_500, default="fine")
    first = begin(service=small, MEWCODE_MAX_TOKENS="64")
    first.cell(f"%%mewcode\n{'count these words ' * 1100}")
    first.kill()
    second = begin(service=small, MEWCODE_MAX_TOKENS="64")
    second.cell("%resume last")
    shown = second.cell("%%mewcode\ngo on").text
    assert "of 8,500 tokens" in shown
    assert "of 8,500 tokens" not in second.cell("%%mewcode\nand on").text


def test_after_more_than_six_hours_the_time_and_the_moved_repository_are_told(
    begin, server, in_project, stored
):
    git = in_project.root / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("a" * 40 + "\n")
    server.add("one", "two", "three")
    first = begin()
    first.cell("%%mewcode\nfirst")
    first.kill()
    (log,) = in_project.notebooks.glob(".mewcode/sessions/*/conversation.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    aged = [{**line, "ts": line["ts"] - 7 * 3600} for line in lines]
    log.write_text("".join(json.dumps(line) + "\n" for line in aged))
    second = begin()
    second.cell("%resume last")
    second.cell("%%mewcode\nsecond")
    (told,) = second.reminders()
    assert "last used 7 hours ago" in told
    assert "Repository moved" not in told
    (git / "refs" / "heads" / "main").write_text("b" * 40 + "\n")
    second.kill()
    third = begin()
    third.cell("%resume last")
    third.cell("%%mewcode\nthird")
    (_told, moved) = third.reminders()
    assert "commit aaaaaaaaaaaa -> bbbbbbbbbbbb" in moved
    (state,) = stored().values()
    assert [record.origin for record in state.records].count("reminder") == 2


def test_a_commit_made_during_the_talk_is_no_news_to_the_next_kernel(
    begin, server, in_project, stored
):
    git = in_project.root / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text("a" * 40 + "\n")
    server.add("one", "two", "three")
    first = begin()
    first.cell("%%mewcode\nfirst")
    (git / "refs" / "heads" / "main").write_text("b" * 40 + "\n")
    first.cell("%%mewcode\nsecond")
    first.kill()
    second = begin()
    second.cell("%resume last")
    second.cell("%%mewcode\nthird")
    (state,) = stored().values()
    assert state.meta["git"] == {"branch": "main", "head": "b" * 40}
    assert "reminder" not in [record.origin for record in state.records]


def test_a_rewind_tells_of_what_the_abandoned_turns_changed(begin, server, in_project):
    path = in_project.write("notebooks/plan.txt", "draft\n")
    server.add(reply(tool_use("read_file", path="plan.txt")), "read")
    talk = begin()
    talk.cell("%%mewcode\nread it")
    edit = tool_use("edit_file", path="plan.txt", old="draft", new="final")
    server.add(reply(edit), "edited", "I know")
    talk.cell("%%mewcode\nedit it")
    assert path.read_text() == "final\n"
    talk.cell("%mewcode rewind 4")
    talk.cell("%%mewcode\nwhat does it say?")
    (told,) = talk.reminders()
    assert "Files changed since you read them" in told
    assert "plan.txt" in told
