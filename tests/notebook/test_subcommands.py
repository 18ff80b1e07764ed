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


USED = {
    "input_tokens": 700,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 50,
    "output_tokens": 30,
}


def test_status_counts_the_tokens_of_turns_that_broke(loaded, capsys):
    call = reply(tool_use("list_files", path="."), usage=USED)
    loaded.server.add(call, fail(400, message="no such thing"))
    assert not loaded.run("%%mewcode\nhi").success
    capsys.readouterr()
    loaded.run("%mewcode status")
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[1:] for row in rows if row.startswith("tokens")] == [
        ["750", "in,", "30", "out"]
    ]


def test_words_may_be_parted_by_a_tab(loaded):
    assert loaded.run("%mewcode ask\thow are you?").success
    assert loaded.sent() == ["how are you?"]


def test_mode_open_is_said_in_red(loaded):
    published = []
    loaded.shell.display_pub.publish = lambda data, **kwargs: published.append(data)
    loaded.run("%mewcode mode open")
    (bundle,) = published
    assert "WITHOUT asking" in bundle["text/plain"]
    assert "color:#b3261e" in bundle["text/html"]
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
