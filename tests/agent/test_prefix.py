from __future__ import annotations

import asyncio
import contextlib
import itertools
from contextlib import aclosing

from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.agent.approval import FixedApprover, Mode
from mewcode_nb.agent.calls import CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.loop import Agent, AgentParts
from mewcode_nb.agent.turn import TurnRequest
from mewcode_nb.errors import ModelError
from mewcode_nb.redact import Redactor
from mewcode_nb.testing import ScriptedModel, fail, reply, thinking, tool_use
from mewcode_nb.testing.prompt import first_change, prompt_items
from mewcode_nb.testing.script import Fault
from mewcode_nb.tools.base import FileReads, ToolContext
from mewcode_nb.tools.catalog import specs
from mewcode_nb.tools.list_files import ListFiles

LIST = tool_use("list_files", path=".")
BAD = tool_use("list_files", nothing="fits")
REPLIES = {
    "words": reply("Some words, and a few more of them."),
    "empty": reply(),
    "blank": reply("\n"),
    "thought and words": reply(thinking("hm"), "So."),
    "thought alone": reply(thinking("hm")),
    "call": reply("Look.", LIST),
    "three calls": reply(thinking("hm"), LIST, BAD, LIST),
    "call of no tool": reply(tool_use("nothing", a=1)),
    "pause": reply("Wait,", stop_reason="pause_turn"),
    "empty pause": reply(stop_reason="pause_turn"),
    "pause in thought": reply("Wait,", thinking("hm"), stop_reason="pause_turn"),
    "pause with a call": reply(LIST, stop_reason="pause_turn"),
    "cut": reply("A long an", stop_reason="max_tokens"),
    "cut call": reply("Now.", LIST, stop_reason="max_tokens"),
    "refusal": reply("No.", stop_reason="refusal"),
    "refusal without words": reply(stop_reason="refusal"),
    "call without the reason": reply(LIST, stop_reason="end_turn"),
    "fault": fail(500),
    "broken off": reply("Half an answer, and then", fault=Fault("eof")),
    "broken off in a call": reply("Look.", LIST, fault=Fault("error_event")),
}

turns = st.lists(
    st.tuples(
        st.lists(st.sampled_from(sorted(REPLIES)), min_size=1, max_size=4),
        st.integers(0, 12) | st.just(1_000),
        st.booleans(),
    ),
    min_size=2,
    max_size=6,
)


def _agent(folder, model):
    tools = (ListFiles(),)
    context = ToolContext(folder, folder, FileReads(), namespace=None)
    approver = FixedApprover(allow=True, by="user")
    count = itertools.count(1)
    parts = AgentParts(
        model=model,
        calls=CallRunner(tools, approver, context, Redactor()),
        journal=Journal(None, "none", lambda: 0.0),
        system=({"type": "text", "text": "You are tested."},),
        tools=tuple(spec.to_api() for spec in specs(tools)),
        new_id=lambda: f"m{next(count)}",
        max_tokens=1_000,
    )
    return Agent(parts)


async def _turn(agent, number, most_events, *, news):
    """One turn, left after so many events as an interrupt would."""
    told = (("mode", "It is another one now."),) if news else ()
    request = TurnRequest(f"Prompt {number}", "m", mode=Mode.ASK, max_steps=3, news=told)
    async with aclosing(agent.run(request)) as events:
        for _ in range(most_events):
            if await anext(events, None) is None:
                return


@settings(deadline=None)
@given(turns)
def test_row_36_each_request_begins_with_all_of_the_one_before(tmp_path_factory, plan):
    model = ScriptedModel(default="Default words.")
    agent = _agent(tmp_path_factory.getbasetemp(), model)

    async def talk():
        for number, (names, most_events, news) in enumerate(plan, start=1):
            model.add(*(REPLIES[name] for name in names))
            with contextlib.suppress(ModelError):
                await _turn(agent, number, most_events, news=news)

    asyncio.run(talk())
    bodies = [
        {"system": list(r.system), "tools": list(r.tools), "messages": list(r.messages)}
        for r in model.requests
    ]
    items = [prompt_items(body) for body in bodies]
    changes = [first_change(before, after) for before, after in itertools.pairwise(items)]
    assert changes == [None] * len(changes)
    assert model.invalid == []
