from __future__ import annotations

import asyncio
import contextlib

import pytest

from mewcode_nb.errors import ModelError
from mewcode_nb.events import ToolStarted
from mewcode_nb.messages import block_text
from mewcode_nb.testing import c2_cases, reply, tool_use
from mewcode_nb.testing.script import Fault

CASES = [
    *c2_cases(silent=False),
    *(case for case in c2_cases(places=("middle",)) if case.named.silent),
]
IMPATIENT = {"stall_seconds": 2.0, "connect_seconds": 2.0}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_g7_after_any_fault_the_next_request_is_accepted_and_nothing_ran(rig, case):
    client = IMPATIENT if case.named.silent else {}
    rig = rig([case.reply], client=client, default="Here again.")
    with contextlib.suppress(ModelError):
        rig.run("First")
    assert rig.run("Second").text == "Here again."
    if not case.named.complete:
        assert not (rig.root / "out.txt").exists()
        assert rig.of(ToolStarted) == []
    rig.assert_sound()


@pytest.mark.parametrize(
    "raw", ['{"code": "touched.append(1)', '{"code":', "[1, 2]", '"x"', "", "null", "nonsense"]
)
def test_g7_tool_input_that_is_no_object_never_runs(rig, raw):
    rig = rig([reply(tool_use("run_python", raw_json=raw)), reply("I see.")])
    touched = rig.namespace.names["touched"] = []
    assert rig.run("Go").text == "I see."
    assert touched == []
    rig.assert_sound()


def test_p_01_words_that_were_shown_stay_and_are_marked_as_broken_off(rig):
    rig = rig(
        [reply("Half of the answer was already there.").with_fault(Fault("eof"))], default="ok"
    )
    with pytest.raises(ModelError):
        rig.run("Tell me")
    user, partial, reminder = rig.agent.history
    shown = block_text(partial.content[0])
    assert user.origin == "user"
    assert shown
    assert "Half of the answer was already there.".startswith(shown)
    assert (partial.role, reminder.origin) == ("assistant", "reminder")
    assert 'kind="broken"' in block_text(reminder.content[0])
    rig.assert_sound()


def test_p_01_nothing_shown_is_tried_again_without_the_user(rig):
    overloaded = reply("never").with_fault(Fault("error_event", after="start"))
    rig = rig([overloaded, reply("Now.")], client={"max_retries": 1})
    assert rig.run("Hi").text == "Now."
    rig.assert_sound()


def test_g7_side_effects_happen_once_when_a_later_request_fails(rig):
    rig = rig(
        [
            reply(tool_use("run_python", code="touched.append(1)")),
            reply("cut").with_fault(Fault("reset")),
        ],
        default="Going on.",
    )
    touched = rig.namespace.names["touched"] = []
    with pytest.raises(ModelError):
        rig.run("Do it once")
    rig.run("Go on")
    assert touched == [1]
    rig.assert_sound()


class _Phases:
    """Where a turn is when the interrupt comes, and how to know that it is there."""

    @staticmethod
    async def waiting(rig):
        await asyncio.to_thread(rig.server.wait_for_request, 1)

    @staticmethod
    async def streaming(rig):
        while not any(type(event).__name__ == "TextDelta" for event in rig.events):
            await asyncio.sleep(0.005)

    @staticmethod
    async def asking(rig):
        while not any(type(event).__name__ == "ApprovalAsked" for event in rig.events):
            await asyncio.sleep(0.005)

    @staticmethod
    async def running(rig):
        while not any(type(event).__name__ == "ToolStarted" for event in rig.events):
            await asyncio.sleep(0.005)


class _NeverAnswers:
    async def ask(self, proposal):
        await asyncio.Event().wait()


SLEEP = tool_use("shell", command="sleep 30")


@pytest.mark.parametrize(
    ("phase", "script", "options"),
    [
        ("waiting", [reply("late").with_fault(Fault("late", seconds=30.0))], {}),
        ("streaming", [reply("Some words, then silence.").with_fault(Fault("stall"))], {}),
        ("asking", [reply("May I?", SLEEP)], {"mode": "ask"}),
        ("running", [reply("Running.", SLEEP, SLEEP)], {}),
    ],
)
def test_n_09_interrupt_in_any_phase_leaves_a_conversation_that_goes_on(
    rig, phase, script, options
):
    rig = rig(script, approver=_NeverAnswers(), default="Going on.")

    async def interrupt():
        turn = asyncio.create_task(rig.turn("Start", **options))
        await asyncio.wait_for(getattr(_Phases, phase)(rig), 10)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(interrupt())
    last = rig.agent.history[-1]
    assert 'kind="interrupted"' in block_text(last.content[0])
    assert rig.replayed() == rig.agent.history
    assert rig.run("Go on").text == "Going on."
    rig.assert_sound()


def test_s_10_interrupted_tool_has_an_error_result_on_disk(rig):
    rig = rig([reply(SLEEP)], default="ok")

    async def interrupt():
        turn = asyncio.create_task(rig.turn("Start"))
        await asyncio.wait_for(_Phases.running(rig), 10)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn

    asyncio.run(interrupt())
    result = rig.replayed()[-2].content[0]
    assert (result["type"], result["is_error"]) == ("tool_result", True)
    assert "interrupted" in result["content"]
