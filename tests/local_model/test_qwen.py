from __future__ import annotations

import pytest

from mewcode_nb.events import AssistantMessage, TextDelta, ToolFinished
from mewcode_nb.messages import tool_uses

pytestmark = [pytest.mark.local_model, pytest.mark.slow]

SYSTEM = (
    "You work in the user's Python notebook. Use run_python to look at variables and to compute; "
    "print what you need. Then report the result in one sentence."
)


@pytest.fixture
def examples(worked_example):
    return [
        *worked_example(
            1,
            "What is the largest number in the list values?",
            "print(max(values))",
            "31",
            "The largest number in values is 31.",
        ),
        *worked_example(
            2,
            "How many numbers are in the list ages?",
            "print(len(ages))",
            "7",
            "There are 7 numbers in ages.",
        ),
    ]


def test_a_call_written_as_text_is_recovered_approved_run_and_reported(rig, qwen, examples):
    made = rig(qwen, system=SYSTEM, history=examples, names={"data": [2, 5, 12]})
    result = made.run(
        "What is the sum of the squares of the numbers in the list data? Use run_python."
    )
    first = made.of(AssistantMessage)[0]
    [call] = tool_uses(first.content)
    assert call["id"].startswith("toolu_text_"), "sent as a call, so nothing was recovered"
    assert '"run_python"' in "".join(delta.text for delta in made.of(TextDelta))
    assert made.approver.proposals[0].code == call["input"]["code"]
    assert made.namespace.codes == [call["input"]["code"]]
    [finished] = made.of(ToolFinished)
    assert not finished.is_error
    assert made.agent.history[-2].content[0]["content"] == "173"
    assert "173" in result.text
