from __future__ import annotations

import json
import time

import pytest

from mewcode_nb.testing import reply, tool_use

VIEW = "application/vnd.jupyter.widget-view+json"
LOAD = "%load_ext mewcode_nb"
MAKE = tool_use("run_python", code="import pathlib\ntotals = [3, 1, 2]")


@pytest.fixture
def server(mewcode_server):
    return mewcode_server(default="fine", models=("claude-sonnet-5-5",))


@pytest.fixture
def kernel(start_kernel, server):
    started = start_kernel(server)
    started.run(LOAD)
    return started


def sessions(in_project):
    return in_project.notebooks / ".mewcode" / "sessions"


def talk(kernel, server, *lines):
    for line in lines:
        server.add(reply(f"answer to {line}"))
        assert kernel.run(f"%%mewcode --mode open\n{line}").status == "ok"


def last_words(server):
    messages = server.requests[-1].body["messages"]
    return [b["text"] for m in messages for b in m["content"] if b["type"] == "text"]


def shown(ran):
    return [m["content"]["data"] for m in ran.messages if m["msg_type"] == "display_data"]


def test_nothing_to_choose_from_is_one_line_even_where_a_picker_could_live(kernel):
    ran = kernel.run("%resume", allow_stdin=True)
    (data,) = shown(ran)
    assert VIEW not in data
    assert data["text/plain"].startswith("No sessions yet.")


def test_a_picker_where_it_can_live_and_a_table_where_not(kernel, server):
    talk(kernel, server, "first words")
    (table,) = shown(kernel.run("%resume"))
    assert VIEW not in table
    assert "first words" in table["text/plain"]
    (picker,) = shown(kernel.run("%resume", allow_stdin=True))
    assert VIEW in picker
    assert "first words" in picker["text/plain"]


def test_after_a_restart_card_and_model_are_told_of_what_is_gone(
    kernel, server, start_kernel, in_project
):
    data = in_project.notebooks / "data.csv"
    data.write_text("1\n", encoding="utf-8")
    server.add(reply(tool_use("read_file", path="data.csv")), reply(MAKE), reply("made"))
    kernel.run("%%mewcode --mode open\nmake the totals")
    kernel.manager.shutdown_kernel(now=True)
    data.write_text("1\n2\n", encoding="utf-8")
    again = start_kernel(server)
    again.run(LOAD)
    card = again.run("%resume last").text
    assert "Files changed since they were read: " in card
    assert "data.csv" in card
    assert "Variables this kernel lacks: pathlib (module); totals (list 3)" in card
    assert "the model is told so with your next prompt" in card
    again.run("%%mewcode\ngo on")
    told = "\n".join(last_words(server))
    assert 'kind="resume"' in told
    assert "data.csv" in told.partition('kind="resume"')[2]
    assert "made" in last_words(server)


def test_a_session_that_another_kernel_holds_is_forked_and_said(
    kernel, server, start_kernel, in_project
):
    talk(kernel, server, "held here")
    (held,) = sessions(in_project).iterdir()
    other = start_kernel(server)
    other.run(LOAD)
    card = other.run(f"%resume {held.name}").text
    assert "Resumed a copy of “held here”" in card
    assert f"This is a fork of {held.name}" in card
    talk(other, server, "mine")
    talk(kernel, server, "and mine")
    assert len(list(sessions(in_project).iterdir())) == 2
    assert "mine" not in {*last_words(server)}


REFUSED = """
from IPython import get_ipython
try:
    get_ipython().run_line_magic("resume", {line!r})
except Exception as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("line", ["", "last", "last --delete", "--list", "--pin"])
def test_code_that_the_agent_runs_may_not_resume(kernel, server, in_project, line):
    talk(kernel, server, "one")
    kernel.run("%mewcode new")
    server.add(reply(tool_use("run_python", code=REFUSED.format(line=line))), reply("done"))
    ran = kernel.run("%%mewcode --mode open\nrun it")
    assert "UsageError %resume is not possible from a running turn" in ran.text
    assert len(list(sessions(in_project).iterdir())) == 2


def test_more_than_a_page_of_sessions_and_a_damaged_one(kernel, server, in_project):
    talk(kernel, server, "a sound one")
    broken = sessions(in_project) / "20250101-000000-aaaa"
    broken.mkdir()
    (broken / "conversation.jsonl").write_bytes(b"\0" * 100)
    assert "cannot be read" in kernel.run("%resume --list").text
    ran = kernel.run(f"%resume {broken.name}")
    assert ran.ename == "SessionError"
    assert f"session {broken.name} cannot be read" in ran.evalue
    assert "doctor" in ran.evalue


def test_what_a_damaged_file_still_holds_goes_on_and_the_card_says_so(kernel, server, in_project):
    talk(kernel, server, "before", "after")
    kernel.run("%mewcode new")
    (log,) = sessions(in_project).glob("*/conversation.jsonl")
    first, second, *rest = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([first, second, b"{ half eaten\n", *rest]))
    card = kernel.run("%resume last").text
    assert "2 turns" in card
    assert "Its file is damaged in part (1 line is damaged" in card
    assert "half eaten" in log.read_text(encoding="utf-8")
    talk(kernel, server, "more")
    assert {"answer to before", "answer to after"} <= {*last_words(server)}


def test_near_the_limit_is_said(kernel, server):
    usage = {"input_tokens": 995_000, "output_tokens": 10}
    server.add(reply("long", usage=usage))
    kernel.run("%%mewcode\nlong talk")
    assert "100% of the model's window is taken" in kernel.run("%resume last").text


def test_after_six_hours_the_card_says_that_the_model_is_told_of_the_time(
    kernel, server, start_kernel, in_project
):
    talk(kernel, server, "long ago")
    kernel.manager.shutdown_kernel(now=True)
    (log,) = sessions(in_project).glob("*/conversation.jsonl")
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    old = [{**row, "ts": time.time() - 7 * 3600} for row in rows]
    log.write_text("".join(json.dumps(row) + "\n" for row in old), encoding="utf-8")
    again = start_kernel(server)
    again.run(LOAD)
    card = again.run("%resume last").text
    assert "7 h ago" in card
    assert "The model is told with your next prompt how much time has passed" in card
