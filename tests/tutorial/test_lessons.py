from __future__ import annotations

from typing import Any

import pytest

from mewcode_nb.prompt import reminder
from mewcode_nb.testing.script import Ask, Text, ToolUse
from mewcode_nb.tutorial.lessons import answer
from mewcode_nb.tutorial.talk import talk_of

TABLE = "[market.csv: lines 1-4 of 4, utf-8]\nday,apples,pears\nThu,12,7\nFri,31,15\nSat,48,22\n"
BEST = "Read `market.csv`. On which day were the most apples sold?"
CHANGED = "What did we talk about, and what has changed?"
RAIN = "What if it rains on Saturday, and half as many are sold?"


def user(*blocks: str | dict[str, Any]) -> dict[str, Any]:
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return {"role": "user", "content": content}


def call(name: str) -> dict[str, Any]:
    use = {"type": "tool_use", "id": "t1", "name": name, "input": {}}
    return {"role": "assistant", "content": [use]}


def result(text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "t1", "content": text}


def said(*messages: dict[str, Any]) -> str:
    parts = answer(Ask({"messages": list(messages)})).parts
    assert not [part for part in parts if isinstance(part, ToolUse)]
    return "".join(part.words(Ask({})) for part in parts if isinstance(part, Text))


READ = (user(BEST), call("read_file"), user(result(TABLE)))
ANSWERED = (*READ, {"role": "assistant", "content": "On Sat."})


def test_talk_tells_the_last_prompt_from_what_came_before_and_from_reminders():
    told = reminder("resume", "Files changed: market.csv")
    talk = talk_of(Ask({"messages": [*ANSWERED, user(told, CHANGED), call("search")]}))
    assert (talk.prompt, talk.calls, talk.results) == (CHANGED, ("search",), ())
    assert (talk.prompts, talk.known) == ((BEST, CHANGED), (TABLE,))
    assert dict(talk.reminders) == {"resume": "Files changed: market.csv"}


def test_reminders_of_earlier_prompts_are_not_told_again():
    first = user(reminder("resume", "old"), "hello")
    talk = talk_of(Ask({"messages": [first, {"role": "assistant", "content": "hi"}, user("so?")]}))
    assert dict(talk.reminders) == {}


def test_best_day_is_the_one_of_the_file_that_was_really_read():
    assert said(*READ).startswith("On **Sat**: 48 apples.")
    other = TABLE.replace("Thu,12", "Thu,99")
    assert said(user(BEST), call("read_file"), user(result(other))).startswith("On **Thu**: 99")


def test_file_that_cannot_be_read_is_said_so():
    assert "no such file" in said(user(BEST), call("read_file"), user(result("no such file")))


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((), "I know of nothing before it"),
        (ANSWERED, f"1. {BEST}\n\nI was told of nothing"),
    ],
)
def test_what_has_changed_is_answered_from_the_request(messages, expected):
    assert expected in said(*messages, user(CHANGED))


def test_what_has_changed_repeats_the_reminder_word_for_word():
    told = "Files changed since you read them: market.csv\n- Variables this kernel lacks: apples"
    assert f"```\n{told}\n```" in said(*ANSWERED, user(reminder("resume", told), CHANGED))


def test_rain_is_worked_out_from_what_was_read_further_up():
    assert "**Fri** is best with 31" in said(*ANSWERED, user(RAIN))
    assert "nobody has shown me" in said(user(RAIN))


def test_unknown_prompt_is_told_that_no_model_listens():
    assert "not a model" in said(user("hello"))
