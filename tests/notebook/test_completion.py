from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter

from mewcode_nb.notebook.completion import complete_magic, suggestions


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%%mewcode --mo", ["--model", "--mode"]),
        ("%%mewcode --mode ", ["plan", "ask", "edit", "open"]),
        ("%%mewcode --mode=e", ["edit"]),
        ("%%mewcode --mode edit --ne", ["--new"]),
        ("%%mewcode --fr", ["--fresh"]),
        ("%%mewcode --dr", []),
        ("%%mewcode -o ", []),
        ("%mewcode sta", ["status"]),
        ("%mewcode rew", ["rewind"]),
        ("%mewcode rewind ", ["--undo"]),
        ("%mewcode export h", ["html"]),
        ("%mewcode export html --f", ["--force"]),
        ("%mewcode mode p", ["plan"]),
        ("%mewcode tutorial o", ["on", "off"]),
        ("%mewcode config max_s", ["max_steps"]),
        ("%mewcode config mode ", ["plan", "ask", "edit", "open", "default"]),
        ("%mewcode config mode e", ["edit"]),
        ("%mewcode config preload ", ["true", "false", "default"]),
        ("%mewcode config max_steps ", ["default"]),
        ("%mewcode config nonsense ", []),
        ("%mewcode config mode plan ", []),
        ("%mewcode help con", ["config"]),
        ("%resume --s", ["--search"]),
        ("%resume --p", ["--project", "--pin"]),
        ("%resume last --fork --fo", []),
        ("%resume last --at ", []),
        ("%resume --search ", []),
        ("%resume --search x --pr", ["--project"]),
        ("%resume", []),
        ("%resumes --s", []),
        ("%mewcode", []),
        ("x = 1 --mo", []),
        ("%mewcodes --mo", []),
    ],
)
def test_suggestions_fit_what_was_typed(line, words):
    assert suggestions(line) == words


@pytest.mark.parametrize(
    "line",
    [
        "%%mewcode --session 2026",
        "%%mewcode --new --session=2026",
        "%mewcode doctor 2026",
        "%mewcode export md --session 2026",
        "%resume 2026",
        "%resume --pin 2026",
    ],
)
def test_ids_of_sessions_are_offered_where_one_may_stand(line):
    assert suggestions(line, lambda: ("20261201-000000-abcd", "last")) == ["20261201-000000-abcd"]
    assert suggestions(line) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%resume Rai", ["Rainfall, by month"]),
        ("%resume Rainfall, b", ["by month"]),
        ("%resume --fork 雨", ["雨量"]),
        ("%resume Sun ", []),
        ("%resume x --rename Rai", []),
    ],
)
def test_titles_are_offered_word_by_word(line, words):
    offered = suggestions(line, tuple, lambda: ("Rainfall, by month", "雨量"))
    assert [word for word in offered if not word.startswith("-")] == words


def test_the_shell_offers_sessions_and_options_of_resume(loaded):
    loaded.run("%%mewcode\nhi")
    session = loaded.runtime.conversation.session_id
    loaded.run("%resume --rename Q3 plan, final")
    offered = []
    with provisionalcompleter():
        for line in ("%resume ", "%resume Q3 pl", "%resume last --fo"):
            found = loaded.shell.Completer.completions(line, len(line))
            offered.append([line[: item.start] + item.text for item in found])
    assert f"%resume {session}" in offered[0]
    assert "%resume Q3 plan, final" in offered[0]
    assert "%resume last" in offered[0]
    assert offered[1:] == [["%resume Q3 plan, final"], ["%resume last --fork"]]


def test_the_shell_offers_the_ids_of_stored_sessions(loaded):
    loaded.run("%%mewcode\nhi")
    session = loaded.runtime.conversation.session_id
    with provisionalcompleter():
        line = "%%mewcode --session "
        found = list(loaded.shell.Completer.completions(line, len(line)))
    assert [line[: item.start] + item.text for item in found] == [line + session, line + "last"]


def test_the_shell_offers_options_and_no_python_names_for_them(ipython_shell):
    ipython_shell.Completer.custom_matchers.append(complete_magic)
    offered = []
    with provisionalcompleter():
        for line in (
            "%%mewcode --mo",
            "%%mewcode --mode ed",
            "%%mewcode --",
            "import o; o.--mo",
            "%mewcode config mode ",
        ):
            found = ipython_shell.Completer.completions(line, len(line))
            offered.append([line[: item.start] + item.text for item in found])
    assert offered[0] == ["%%mewcode --mode", "%%mewcode --model"]
    assert offered[1] == ["%%mewcode --mode edit"]
    assert "%%mewcode --no-tools" in offered[2]
    assert offered[3] == []
    words = sorted(line.removeprefix("%mewcode config mode ") for line in offered[4])
    assert words == ["ask", "default", "edit", "open", "plan"]
