from __future__ import annotations

import pytest

from mewcode_nb.agent.stops import MAX_CUT_CALLS, read_stop
from mewcode_nb.events import Usage
from mewcode_nb.model.protocol import Completion

CALL = {"type": "tool_use", "id": "t1", "name": "shell", "input": {}}
TEXT = {"type": "text", "text": "done"}


def _completion(stop_reason, *content, output=7):
    return Completion(tuple(content), stop_reason, Usage(output_tokens=output), "m", "msg_1")


def _read(stop_reason, *content, tools_off=False, cut_calls=0):
    return read_stop(_completion(stop_reason, *content), tools_off=tools_off, cut_calls=cut_calls)


def test_calls_of_a_tool_use_answer_may_run():
    verdict = _read("tool_use", CALL)
    assert (verdict.done, dict(verdict.refused)) == (False, {})


def test_answer_in_words_ends_the_turn_quietly():
    verdict = _read("end_turn", TEXT)
    assert (verdict.done, verdict.notices) == (True, ())


@pytest.mark.parametrize(
    "stop_reason",
    [
        *("end_turn", "stop_sequence", "refusal", "model_context_window_exceeded"),
        *("pause_turn", "something_new"),
    ],
)
def test_p_02_no_call_runs_unless_the_stop_reason_is_tool_use(stop_reason):
    verdict = _read(stop_reason, CALL)
    assert verdict.done is (stop_reason != "pause_turn")
    assert set(verdict.refused) == {"t1"}
    assert stop_reason in verdict.refused["t1"]


def test_p_07_cut_call_is_told_its_limit_and_tried_again_twice():
    tries = [_read("max_tokens", CALL, cut_calls=n) for n in range(MAX_CUT_CALLS + 1)]
    assert [verdict.done for verdict in tries] == [False, False, True]
    assert all("limit of output tokens (7)" in verdict.refused["t1"] for verdict in tries)
    assert [len(verdict.notices) for verdict in tries] == [0, 0, 1]


@pytest.mark.parametrize("content", [(), ({"type": "text", "text": "\n"},)])
def test_p_09_empty_answer_is_said(content):
    verdict = _read("end_turn", *content)
    assert verdict.done
    assert [notice.text for notice in verdict.notices] == ["the model answered with nothing"]


@pytest.mark.parametrize(
    ("stop_reason", "words"),
    [
        ("max_tokens", "the answer was cut at its limit of output tokens"),
        ("refusal", "the model declined to answer"),
        ("model_context_window_exceeded", "the conversation has filled the model's window"),
    ],
)
def test_early_ends_are_said_with_a_remedy(stop_reason, words):
    (notice,) = _read(stop_reason, TEXT).notices
    assert notice.text == words
    assert notice.remedy


def test_pause_goes_on():
    assert _read("pause_turn", TEXT).done is False


def test_answer_that_stops_for_calls_but_has_none_is_said():
    verdict = _read("tool_use", TEXT)
    assert verdict.done
    assert [notice.text for notice in verdict.notices] == ["the answer stopped with 'tool_use'"]


def test_tools_off_refuses_every_call():
    verdict = _read("tool_use", CALL, tools_off=True)
    assert set(verdict.refused) == {"t1"}
    assert verdict.done is False
