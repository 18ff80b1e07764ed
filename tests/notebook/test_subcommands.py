from __future__ import annotations

import pytest

from mewcode_nb.testing import fail, reply, tool_use


def test_status_shows_where_things_are_and_never_the_key(loaded, capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-value-123")
    loaded.run("%mewcode status")
    before = capsys.readouterr().out
    assert "none yet" in before
    assert "environment ANTHROPIC_API_KEY" in before
    assert str(loaded.project.root) in before
    loaded.server.add("the last words")
    loaded.run("%%mewcode\nhi")
    capsys.readouterr()
    loaded.run("%reload_ext mewcode_nb")
    loaded.run("%mewcode status")
    after = capsys.readouterr().out
    assert "the last words" in after
    assert loaded.runtime.conversation.session_id in after
    assert "sk-ant" not in before + after


def test_status_counts_the_tokens_of_turns_that_broke(loaded, capsys):
    call = reply(tool_use("list_files", path="."), usage={"output_tokens": 31})
    loaded.server.add(call, fail(400, message="no such thing"))
    assert not loaded.run("%%mewcode\nhi").success
    capsys.readouterr()
    loaded.run("%mewcode status")
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[-2:] for row in rows if row.startswith("tokens")] == [["31", "out"]]


def test_status_shows_the_last_answer_without_its_escape_sequences(loaded, capsys):
    loaded.server.add("words \x1b]0;title\x07 and \x1b[2J more")
    loaded.run("%%mewcode\nhi")
    loaded.run("%mewcode status")
    shown = capsys.readouterr().out
    assert "\u241b[2J more" in shown
    assert "\x1b" not in shown


def test_an_output_limit_set_in_the_middle_of_a_session_holds_from_the_next_prompt(loaded):
    loaded.run("%%mewcode\nhi")
    loaded.run("%mewcode config max_tokens 4321")
    loaded.run("%%mewcode\nhi")
    assert [log.body["max_tokens"] for log in loaded.server.requests] == [32_000, 4_321]


def test_a_setting_that_waits_for_the_next_session_says_so(loaded, capsys):
    loaded.run("%mewcode config cache_ttl 1h")
    assert "next session" not in capsys.readouterr().out
    loaded.run("%%mewcode\nhi")
    loaded.run("%mewcode config thinking adaptive")
    assert "next session" in capsys.readouterr().out
    loaded.run("%mewcode new\n%%mewcode\nhi")
    loaded.run("%%mewcode\nhi")
    assert "thinking" in loaded.server.requests[-1].body


@pytest.mark.parametrize(
    ("cell", "chinese"),
    [
        ("status", "会话"),
        ("new", "新的会话"),
        ("mode", "来源"),
        ("mode open", "不再询问你"),
        ("model", "模型"),
        ("tutorial on", "不是模型"),
        ("help", "单元格"),
        ("mode --help", "单元格"),
    ],
)
def test_pages_speak_the_language_of_the_settings(loaded, capsys, cell, chinese):
    loaded.run("%mewcode config language zh")
    capsys.readouterr()
    loaded.run(f"%mewcode {cell}")
    assert chinese in capsys.readouterr().out


def test_words_may_be_parted_by_a_tab(loaded):
    assert loaded.run("%mewcode ask\thow are you?").success
    assert loaded.sent() == ["how are you?"]


def test_mode_open_is_said_in_red(loaded):
    published = []
    loaded.shell.display_pub.publish = lambda data, **kwargs: published.append(data)
    loaded.run("%mewcode mode open")
    (bundle,) = published
    assert "WITHOUT asking" in bundle["text/plain"]
    assert "color:var(--jp-error-color1" in bundle["text/html"]
    loaded.run("%mewcode mode ask")
    assert "text/html" not in published[1]


@pytest.mark.parametrize(
    "cell",
    ["status", "new", "model", "mode", "config", "instructions", "tutorial", "help"],
)
def test_every_subcommand_has_a_plain_and_a_markdown_form(loaded, cell):
    published = []
    loaded.shell.display_pub.publish = lambda data, **kwargs: published.append(data)
    assert loaded.run(f"%mewcode {cell}").success
    (bundle,) = published
    assert bundle["text/plain"].strip()
    assert bundle["text/markdown"].strip()
    published.clear()
    assert loaded.run(f"%mewcode {cell} --help").success
    assert "SUBCOMMAND" in published[0]["text/plain"]


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        ("%mewcode mode yolo", "yolo"),
        ("%mewcode config bogus 1", "'bogus'"),
        ("%mewcode config max_steps many", "many"),
        ("%mewcode tutorial maybe", "'maybe'"),
        ("%mewcode new please", "'please'"),
        ("%mewcode status please", "'please'"),
        ("%mewcode help xyzzy", "'xyzzy'"),
        ("%mewcode statsu", "did you mean status?"),
        ("%mewcode help confg", "did you mean config?"),
        ("%mewcode config max_step 3", "did you mean max_steps?"),
        ("%mewcode config max_steps 0", "a whole number from 1"),
        ('%mewcode model ""', "a name without spaces or quotes"),
        ("%mewcode config base_url ftp://x", "ftp://x — allowed: an http:// or https:// address"),
        ("%mewcode config base_url localhost:80", "allowed: an http:// or https:// address"),
        ("%mewcode ask", "nothing to ask"),
    ],
)
def test_an_unfit_word_is_one_line_and_changes_nothing(loaded, capsys, cell, named):
    before = loaded.runtime.project().settings
    assert not loaded.run(cell).success
    lines = [line for line in capsys.readouterr().out.splitlines() if "Error: " in line]
    assert len(lines) == 1
    assert named in lines[0]
    assert loaded.runtime.project().settings == before


def test_choices_in_the_kernel_outrank_the_environment(loaded, monkeypatch, capsys):
    monkeypatch.setenv("MEWCODE_MODEL", "from-environment")
    assert loaded.run("%mewcode model chosen-model").success
    loaded.run("%%mewcode\nhi")
    assert loaded.server.requests[0].body["model"] == "chosen-model"
    assert loaded.run("%mewcode config max_steps 7").success
    assert loaded.runtime.project().settings.max_steps == 7


def test_a_bare_tutorial_names_the_model_in_use_where_there_is_one(loaded, capsys):
    loaded.run("%mewcode tutorial")
    assert "claude-sonnet-5-5 at 127.0.0.1" in capsys.readouterr().out
    assert not loaded.runtime.in_tutorial


def test_the_tutorial_says_that_it_is_no_model_and_answers_without_a_key(
    loaded, capsys, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    loaded.run("%mewcode tutorial")
    assert "NOT a model" in capsys.readouterr().out
    assert loaded.run("%%mewcode -o answer\nhello").success
    assert loaded.shell.user_ns["answer"].model == "recorded-tutorial"
    assert loaded.sent() == []
    loaded.run("%mewcode tutorial off")
    assert not loaded.run("%%mewcode\nhello").success


def test_default_takes_back_what_was_chosen_in_this_kernel(loaded, monkeypatch, capsys):
    monkeypatch.setenv("MEWCODE_MAX_STEPS", "9")
    loaded.run("%mewcode config max_steps 7")
    capsys.readouterr()
    assert loaded.run("%mewcode config max_steps default").success
    (row,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("max_steps")]
    assert row.split() == ["max_steps", "9", "environment", "MEWCODE_MAX_STEPS"]


def test_help_of_one_subcommand_is_its_own(loaded, capsys):
    assert loaded.run("%mewcode help config").success
    shown = capsys.readouterr().out
    assert "%mewcode config [KEY [VALUE|default]]" in shown
    assert "instructions_fallback" in shown
    assert "tutorial" not in shown


def test_config_shows_the_address_without_its_secrets_and_what_is_wrong_with_it(loaded, capsys):
    loaded.run("%mewcode config base_url http://gateway.example:81/api/v1?token=abc#frag")
    shown = capsys.readouterr().out
    row = ["base_url", "http://gateway.example:81/api/v1", "this", "kernel"]
    assert row in [line.split() for line in shown.splitlines()]
    assert "over http: the key can be read on the way — use an https address" in shown
    assert "should not end in /v1: the client adds it — leave /v1 out" in shown
    assert "abc" not in shown
    assert "frag" not in shown


def test_the_first_turn_shows_that_the_key_goes_over_plain_http(loaded, capsys, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://192.0.2.1:9")
    monkeypatch.setenv("MEWCODE_MAX_RETRIES", "0")
    monkeypatch.setenv("MEWCODE_CONNECT_SECONDS", "0.1")
    loaded.run("%%mewcode\nhi")
    assert "over http: the key can be read on the way" in capsys.readouterr().out


def test_status_names_the_session_once_and_an_unknown_notebook_in_one_row(loaded, capsys):
    loaded.run("%%mewcode\nhi")
    capsys.readouterr()
    loaded.run("%mewcode status")
    shown = capsys.readouterr().out
    conversation = loaded.runtime.conversation
    assert shown.count(conversation.session_id) == 1
    assert str(conversation.folder.parent) in shown
    rows = [row for row in shown.splitlines() if "notebook " in row or "stands in" in row]
    place = conversation.project.place.folder
    assert len(rows) == 1
    assert rows[0].split(None, 1)[1] == f"unknown; the working folder {place} stands in"
    assert "found by" not in shown


def test_status_shows_the_last_answer_as_inert_markdown(loaded):
    loaded.server.add("# Title\n\n<b>bold</b>")
    loaded.run("%%mewcode\nhi")
    published = []
    loaded.shell.display_pub.publish = lambda data, **kwargs: published.append(data)
    loaded.run("%mewcode status")
    (bundle,) = published
    assert bundle["text/plain"].endswith("Last answer (turn 1):\n\n# Title\n\n<b>bold</b>")
    below = bundle["text/markdown"].partition("Last answer")[2]
    assert "\n\n# Title\n" in below
    assert "<b>" not in below


def test_status_says_how_a_turn_that_broke_off_ended(loaded, capsys, monkeypatch):
    loaded.server.add("fine", fail(400, message="no such thing"))
    shown = []
    for cell in ("%%mewcode\nhi", "%%mewcode\nagain", "%%mewcode\nand again"):
        loaded.run(cell)
        capsys.readouterr()
        loaded.run("%mewcode status")
        shown.append([r for r in capsys.readouterr().out.splitlines() if r.startswith("last turn")])
    assert [[row.split()[-1] for row in rows] for rows in shown] == [[], ["error"], []]


def test_status_says_that_the_last_turn_was_interrupted(loaded, capsys):
    call = tool_use("run_python", code="import signal; signal.raise_signal(signal.SIGINT)")
    loaded.run("%mewcode mode open")
    loaded.server.add(reply(call))
    assert not loaded.run("%%mewcode\nhi").success
    capsys.readouterr()
    loaded.run("%mewcode status")
    (row,) = [row for row in capsys.readouterr().out.splitlines() if row.startswith("last turn")]
    assert row.split() == ["last", "turn", "interrupted"]
