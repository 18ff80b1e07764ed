from __future__ import annotations

import pytest

from mewcode_nb.notebook.replay_card import call_title, replay_bundles, stored_line
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.notebook.stored import Stored
from mewcode_nb.session.records import Cell, MessageRecord
from mewcode_nb.session.turns import turns

DAY = 86_400.0
LINE = (
    "stored answer · model-x · session 20261201-000000-abcd, turn 4, 3 d ago"
    " · nothing was sent · to run it again: %%mewcode --fresh"
)


def stored(*contents):
    records = [
        MessageRecord(
            10.0, "q", "user", ({"type": "text", "text": "hi"},), "user", 4, Cell("c", "s")
        )
    ]
    for number, (role, blocks) in enumerate(contents):
        origin = "assistant" if role == "assistant" else "tool"
        model = "model-x" if role == "assistant" else ""
        records.append(
            MessageRecord(20.0, f"m{number}", role, tuple(blocks), origin, 4, model=model)
        )
    (turn,) = turns(records)
    return Stored("20261201-000000-abcd", tuple(records), turn)


def test_answers_calls_and_thinking_stand_in_order_and_the_line_says_that_it_is_stored():
    turn = stored(
        (
            "assistant",
            [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "t", "name": "shell", "input": {"command": "ls"}},
                {"type": "tool_use", "id": "u", "name": "shell", "input": {"command": "rm x"}},
            ],
        ),
        (
            "user",
            [
                {"type": "tool_result", "tool_use_id": "t", "content": "a.txt"},
                {
                    "type": "tool_result",
                    "tool_use_id": "u",
                    "content": "Not run: refused by user. Nothing was changed.",
                    "is_error": True,
                },
            ],
        ),
        ("assistant", [{"type": "text", "text": "One file."}]),
    )
    shown = [bundle["text/plain"] for bundle in replay_bundles(turn, "en")]
    assert [text.split("\n")[0] for text in shown] == [
        "  thinking (2 B):",
        "Let me see.",
        "run ls · done",
        "run rm x · Not run: refused by user. Nothing was changed.",
        "One file.",
    ]
    assert stored_line(turn, "en", 20.0 + 3 * DAY) == LINE
    assert "a.txt" in shown[2]


def test_nothing_of_a_stored_answer_is_markup():
    hostile = "<script>alert(1)</script> ![x](http://h/x.png)"
    turn = stored(
        (
            "assistant",
            [
                {"type": "text", "text": hostile},
                {"type": "tool_use", "id": "t", "name": "shell", "input": {"command": hostile}},
            ],
        ),
        ("user", [{"type": "tool_result", "tool_use_id": "t", "content": hostile}]),
        ("assistant", [{"type": "text", "text": hostile}]),
    )
    for bundle in replay_bundles(turn, "en"):
        outside = bundle["text/markdown"].split("```")[0]
        assert "<script" not in outside + bundle.get("text/html", "")
        assert "![" not in outside


def test_the_card_says_when_displays_of_the_run_are_not_stored():
    code = {"type": "tool_use", "id": "t", "name": "run_python", "input": {"code": "plot()"}}
    turn = stored(
        ("assistant", [code]),
        ("user", [{"type": "tool_result", "tool_use_id": "t", "content": "[display]\n<Figure>"}]),
        ("assistant", [{"type": "text", "text": "A figure."}]),
    )
    shown = [bundle["text/plain"] for bundle in replay_bundles(turn, "en")]
    assert shown[-1] == "figures and other displays of that run are not stored"
    chinese = [bundle["text/plain"] for bundle in replay_bundles(turn, "zh")]
    assert chinese[-1] == "那次运行的图形等显示内容没有存储"
    assert stored_line(turn, "zh", 20.0).startswith("存储的回答 · model-x · 会话 ")


@pytest.mark.parametrize(
    ("name", "given", "title"),
    [
        ("run_python", {"code": "\nx = 1\ny = 2\n"}, "run x = 1 (+1 lines)"),
        ("shell", {"command": "ls -l\necho"}, "run ls -l echo"),
        ("read_file", {"path": "a.py"}, "read a.py"),
        ("edit_file", {"path": "a.py", "old": "x", "new": "y"}, "edit a.py"),
        ("write_file", {"path": "a.py", "content": "x"}, "write a.py"),
        ("list_files", {"pattern": "*.py"}, "list *.py in ."),
        ("search", {"pattern": "x", "path": "src"}, "search x in src"),
        ("other_tool", {"path": "a.py"}, "other_tool"),
        ("read_file", {}, "read "),
    ],
)
def test_a_call_is_titled_as_its_tool_does(name, given, title):
    call = {"type": "tool_use", "id": "t", "name": name, "input": given}
    assert call_title(call) == title


def test_words_are_whole_in_both_languages():
    english, chinese = SessionWords("en"), SessionWords("zh")
    assert english.names() == chinese.names()
