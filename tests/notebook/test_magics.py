from __future__ import annotations

import pytest

VERBATIM = "{v:k for k,v in d.items()} $HOME {{x}} {In[1]}"


@pytest.mark.parametrize(
    ("cell", "sent"),
    [
        (f"%%mewcode\n{VERBATIM}", VERBATIM),
        (f"%mewcode ask {VERBATIM}", VERBATIM),
        (f"x = %mewcode ask {VERBATIM}", VERBATIM),
        ("%%mewcode\nWhat is x?", "What is x?"),
        ("%mewcode ask what is x?", "what is x?"),
        ("%%mewcode\n>>> 1\n... 2\nIn [1]: x", ">>> 1\n... 2\nIn [1]: x"),
        ("%%mewcode\n!ls\n%%mewcode\n%time 'a\\n'", "!ls\n%%mewcode\n%time 'a\\n'"),
        ("%%mewcode\n  indented\n\nlast", "  indented\n\nlast"),
        ("%%mewcode\n数一数\x0c🐈", "数一数\x0c🐈"),
    ],
)
def test_n_01_the_prompt_is_sent_word_for_word(loaded, cell, sent):
    loaded.shell.user_ns.update(x=1, d={})
    assert loaded.run(cell).success
    assert loaded.sent() == [sent]


@pytest.mark.parametrize("body", ["", "\n", "  \n\t\n"])
def test_l_02_an_empty_body_shows_short_help_and_sends_nothing(loaded, capsys, body):
    assert loaded.run("%%mewcode\n" + body).success
    assert "--max-steps" in capsys.readouterr().out
    assert loaded.sent() == []


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        ("%%mewcode --bogus\nhi", "'--bogus'"),
        ("%%mewcode hello\nhi", "'hello'"),
        ("%mewcode hello there", "'hello'"),
        ("%%mewcode -o 1x\nhi", "'1x'"),
    ],
)
def test_l_02_unknown_words_show_help_and_one_line_and_send_nothing(loaded, capsys, cell, named):
    assert not loaded.run(cell).success
    shown = capsys.readouterr().out
    assert "%mewcode" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("UsageError")]
    assert named in line
    assert "Traceback" not in shown
    assert loaded.sent() == []


@pytest.mark.parametrize("cell", ["%%mewcode --help\nhi", "%mewcode", "%mewcode help"])
def test_help_is_an_answer_and_not_an_exit(loaded, capsys, cell):
    assert loaded.run(cell).success
    assert "%mewcode" in capsys.readouterr().out
    assert loaded.sent() == []


def test_o_binds_the_result_of_the_turn(loaded):
    loaded.server.add("forty-two")
    assert loaded.run("%%mewcode -o answer -m chosen-model\nhi").success
    answer = loaded.shell.user_ns["answer"]
    assert (answer.text, answer.turn, answer.model) == ("forty-two", 1, "chosen-model")
    assert loaded.server.requests[0].body["model"] == "chosen-model"


def test_an_assignment_gets_the_result_without_being_awaited(loaded):
    loaded.server.add("assigned")
    assert loaded.run("x = %mewcode ask hi").success
    assert loaded.shell.user_ns["x"].text == "assigned"


def test_a_turn_puts_nothing_into_out_and_history_keeps_the_magic(loaded):
    loaded.run("%%mewcode\nhi")
    loaded.run("1")
    assert list(loaded.shell.user_ns["Out"].values()) == [1]
    assert loaded.shell.user_ns["_i"] == "%%mewcode\nhi"


@pytest.mark.parametrize(
    "cell",
    [
        "%%capture out\n%%mewcode\nhi",
        "get_ipython().run_cell('%%mewcode\\nhi')",
        "for _ in range(1):\n    %mewcode ask hi",
        "def f():\n    %mewcode ask hi\nf()",
        "import asyncio\nawait asyncio.sleep(0)\nget_ipython().run_cell('%%mewcode\\nhi')",
        "get_ipython().run_cell_magic('mewcode', '', 'hi')",
    ],
)
def test_a_turn_runs_wherever_the_magic_is_called_from(loaded, cell):
    assert loaded.run(cell).success
    assert loaded.sent() == ["hi"]
    assert loaded.run("%%mewcode\nagain").success
    assert loaded.sent() == ["hi", "again"]
    assert len(loaded.server.requests[1].body["messages"]) == 3


def test_a_turn_runs_with_autoawait_off(loaded):
    loaded.shell.autoawait = False
    assert loaded.run("%%mewcode\nhi").success
    assert loaded.run("%mewcode ask again").success
    assert loaded.sent() == ["hi", "again"]


def test_the_conversation_goes_on_and_new_begins_another(loaded):
    for cell in ("%%mewcode\none", "%%mewcode\ntwo", "%%mewcode --new\nthree"):
        assert loaded.run(cell).success
    assert [len(log.body["messages"]) for log in loaded.server.requests] == [1, 3, 1]
    sessions = loaded.project.notebooks / ".mewcode" / "sessions"
    assert len(list(sessions.glob("*/conversation.jsonl"))) == 2
    loaded.run("%mewcode new")
    loaded.run("%%mewcode\nfour")
    assert len(loaded.server.requests[-1].body["messages"]) == 1


def test_a_failed_turn_is_one_line_fails_the_cell_and_the_next_goes_on(loaded, capsys):
    from mewcode_nb.testing import fail

    loaded.server.add(fail(400, message="no such thing"), "better")
    assert not loaded.run("%%mewcode\nfirst").success
    shown = capsys.readouterr().out
    assert len([line for line in shown.splitlines() if "no such thing" in line]) == 1
    assert "Traceback" not in shown
    assert loaded.run("%%mewcode -o answer\nsecond").success
    assert loaded.shell.user_ns["answer"].text == "better"


def test_without_a_key_the_line_names_the_variable_and_a_key_set_later_is_used(
    loaded, capsys, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    assert not loaded.run("%%mewcode\nhi").success
    assert "ANTHROPIC_API_KEY" in capsys.readouterr().out
    assert loaded.sent() == []
    assert not (loaded.project.notebooks / ".mewcode").exists()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    assert loaded.run("%%mewcode\nagain").success
    assert loaded.sent() == ["again"]


def test_l_04_where_no_session_can_be_stored_the_answer_is_shown_and_the_user_is_told(
    loaded, capsys
):
    (loaded.project.notebooks / ".mewcode").write_text("a file in the way", encoding="utf-8")
    loaded.server.add("an answer all the same")
    assert loaded.run("%%mewcode\nhi").success
    shown = capsys.readouterr().out
    assert "an answer all the same" in shown
    assert shown.count("kept in memory only") == 1
    assert loaded.run("%%mewcode\nagain").success
    assert "kept in memory only" not in capsys.readouterr().out
    assert len(loaded.server.requests[1].body["messages"]) == 3
    loaded.run("%mewcode status")
    assert "in memory only" in capsys.readouterr().out


def test_ipython_configuration_chooses_settings(loaded):
    loaded.run("%config MewcodeMagics.model = 'chosen-model'")
    loaded.run("%%mewcode\nhi")
    assert loaded.server.requests[0].body["model"] == "chosen-model"


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        ("%mewcode mode open", "changing mode is not possible from a running turn"),
        ("%mewcode model other", "changing model is not possible"),
        ("%mewcode config max_steps 9", "changing max_steps is not possible"),
        ("%mewcode new", "a new session is not possible"),
        ("%mewcode tutorial on", "the tutorial is not possible"),
        ("%%mewcode\nagain", "a turn is not possible"),
        ("%config MewcodeMagics.mode = 'open'", ""),  # IPython logs the refusal and goes on
    ],
)
def test_code_that_the_agent_runs_cannot_change_mode_or_settings(loaded, attempt, told):
    from mewcode_nb.testing import reply, tool_use

    code = f"get_ipython().run_cell({attempt!r}).raise_error()"
    loaded.server.add(reply(tool_use("run_python", code=code)), "tried")
    assert loaded.run("%%mewcode --mode open\ngo").success
    assert len(loaded.server.requests) == 2
    (result,) = loaded.server.requests[1].body["messages"][-1]["content"]
    assert told in str(result)
    project = loaded.runtime.project()
    assert (project.settings.mode, project.settings.model) == ("ask", "claude-sonnet-5-5")
    assert not loaded.runtime.in_tutorial
    assert loaded.run("%mewcode mode edit").success
