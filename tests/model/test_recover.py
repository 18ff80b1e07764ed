from __future__ import annotations

import re

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.model.protocol import Completion
from mewcode_nb.model.recover import find_call, recover

TOOLS = ("run_python", "shell")
CALL = '{"name": "run_python", "arguments": {"code": "1+1"}}'


def completion(*content, stop_reason="end_turn"):
    return Completion(content, stop_reason, Usage(1, 0, 0, 2), "m", "chatcmpl-1")


def text(words):
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("words", "rest"),
    [
        (CALL, ""),
        (f"  {CALL}\n\n", ""),
        (f"```json\n{CALL}\n```", ""),
        (f"<tool_call>\n{CALL}\n</tool_call>", ""),
        (f"I will compute it.\n{CALL}", "I will compute it."),
        (f"With {{braces}} and {{'a': 1}} before: {CALL}", "With {braces} and {'a': 1} before:"),
        ('{"type": "function", "name": "run_python", "arguments": {"code": "1+1"}}', ""),
    ],
)
def test_a_call_written_as_text_becomes_a_call(words, rest):
    done = recover(completion(text(words)), TOOLS)
    *before, call = done.content
    assert before == ([text(rest)] if rest else [])
    assert (call["type"], call["name"], call["input"]) == (
        "tool_use",
        "run_python",
        {"code": "1+1"},
    )
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call["id"])
    assert done.stop_reason == "tool_use"
    assert done.usage == Usage(1, 0, 0, 2)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "no call here",
        '{"name": "delete_everything", "arguments": {}}',
        '{"name": "run_python", "arguments": "code"}',
        '{"name": "run_python"}',
        '{"name": 3, "arguments": {}}',
        '{"name": "run_python", "arguments": {}, "note": "an example"}',
        '{"tool": {"name": "run_python", "arguments": {}}}',
        '[{"name": "run_python", "arguments": ',
        "{" * 5000,
        '{"a":' * 5000,
    ],
)
def test_text_that_holds_no_known_call_stays_text(words):
    given = completion(text(words))
    assert recover(given, TOOLS) is given


def test_a_reply_that_already_calls_or_thinks_is_left_alone():
    real = {"type": "tool_use", "id": "t", "name": "shell", "input": {}}
    for content in ((text(CALL), real), ({"type": "redacted_thinking", "data": "x"}, text(CALL))):
        given = completion(*content)
        assert recover(given, TOOLS) is given


def test_only_the_first_call_of_a_text_is_taken():
    name, arguments, start, end = find_call(f"{CALL}\n{CALL}", TOOLS)
    assert (name, arguments, start, end) == ("run_python", {"code": "1+1"}, 0, len(CALL))


def test_the_id_is_the_same_for_the_same_reply():
    first, second = (recover(completion(text(CALL)), TOOLS).content[0]["id"] for _ in range(2))
    assert first == second
