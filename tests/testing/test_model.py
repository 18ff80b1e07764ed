from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.errors import (
    AuthenticationFailed,
    ContextTooLong,
    MalformedHistory,
    ModelError,
    ModelUnavailable,
    StreamBroken,
)
from mewcode_nb.events import TextDelta, ThinkingDelta, ToolInputDelta
from mewcode_nb.model.protocol import Completion, Model, Request
from mewcode_nb.testing import (
    Fault,
    ScriptedModel,
    c2_cases,
    fail,
    reply,
    thinking,
    tool_use,
)


def request(*messages, **options):
    settings = {"model": "claude-sonnet-5-5", "system": (), "tools": (), "max_tokens": 100}
    return Request(messages=messages, **{**settings, **options})


HELLO = request({"role": "user", "content": "hi"})


def play(model: Model, asked: Request = HELLO):
    async def collect():
        return [event async for event in model.stream(asked)]

    return asyncio.run(collect())


def test_deltas_come_first_and_one_completion_last():
    parts = (thinking("hm"), "abc", tool_use("read_file", path="a"))
    events = play(ScriptedModel([reply(*parts, delta_chars=2)]))
    assert events[:3] == [ThinkingDelta("hm"), TextDelta("ab"), TextDelta("c")]
    assert events[-2] == ToolInputDelta(2, "read_file", len('{"path": "a"}'))
    completion = events[-1]
    assert isinstance(completion, Completion)
    assert completion.stop_reason == "tool_use"
    assert [block["type"] for block in completion.content] == ["thinking", "text", "tool_use"]
    assert completion.usage.input_tokens > 0


def test_what_the_service_would_refuse_is_refused_and_kept():
    model = ScriptedModel(default="ok")
    with pytest.raises(MalformedHistory, match="non-whitespace"):
        play(model, request({"role": "user", "content": " "}))
    assert model.invalid == [
        "request 1: messages: text content blocks must contain non-whitespace text"
    ]
    with pytest.raises(AssertionError, match="request 1"):
        model.check()


def test_a_prompt_over_the_window_carries_the_numbers():
    with pytest.raises(ContextTooLong) as caught:
        play(ScriptedModel(default="ok", window=10), request({"role": "user", "content": "a" * 99}))
    assert (caught.value.limit, caught.value.used > 10) == (10, True)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, MalformedHistory),
        (401, AuthenticationFailed),
        (402, AuthenticationFailed),
        (413, ContextTooLong),
        (429, ModelUnavailable),
        (529, ModelUnavailable),
    ],
)
def test_statuses_become_the_package_s_errors(status, expected):
    with pytest.raises(expected) as caught:
        play(ScriptedModel([fail(status)]))
    assert caught.value.status == status


def test_a_fault_in_the_stream_comes_after_its_deltas():
    model = ScriptedModel([reply("abcd", delta_chars=1).with_fault(Fault("eof"))])
    seen = []

    async def collect():
        async for event in model.stream(HELLO):
            seen.append(event)

    with pytest.raises(StreamBroken):
        asyncio.run(collect())
    assert seen == [TextDelta("a"), TextDelta("b")]


@pytest.mark.parametrize("case", c2_cases(places=["middle"], silent=False), ids=str)
def test_every_fault_is_an_error_of_ours_or_a_completion(case):
    try:
        events = play(ScriptedModel([case.reply]))
    except ModelError:
        return
    assert isinstance(events[-1], Completion)
    assert all(b["type"] != "tool_use" or isinstance(b["input"], dict) for b in events[-1].content)
    assert case.named.complete or case.named.only or events[-1].stop_reason == "max_tokens"


def test_a_stall_can_be_cancelled():
    model = ScriptedModel([reply("a").with_fault(Fault("stall", after="end"))])

    async def cancel_after_first():
        started = asyncio.Event()

        async def read():
            async for _ in model.stream(HELLO):
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel_after_first())


def test_limits_are_those_given():
    limits = asyncio.run(ScriptedModel(window=8000, max_output=500).limits("any"))
    assert (limits.window, limits.max_output) == (8000, 500)


def test_counting_agrees_with_the_usage_of_the_answer_and_may_be_missing():
    model = ScriptedModel(["ok"], token_scale=1.4)
    assert asyncio.run(model.count(HELLO)) == play(model)[-1].usage.input_tokens
    assert asyncio.run(ScriptedModel(count_tokens=False).count(HELLO)) is None
