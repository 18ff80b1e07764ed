from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from mewcode_nb.errors import AuthenticationFailed, ContextTooLong
from mewcode_nb.events import (
    ApprovalAsked,
    AssistantMessage,
    Retrying,
    SdkLoading,
    TextDelta,
    ToolFinished,
    ToolInputDelta,
)
from mewcode_nb.messages import message_text, tool_uses
from mewcode_nb.model.protocol import Completion, Request
from mewcode_nb.tools.catalog import specs
from mewcode_nb.tools.run_python import RunPython

pytestmark = [pytest.mark.local_model, pytest.mark.slow]

MODEL = "a-name-the-server-never-heard-of"
SYSTEM = "You are a helpful AI assistant."
TOO_LONG = "word " * 9_000


def asking(*texts, tools=(), max_tokens=40):
    roles = ("user", "assistant")
    messages = tuple(
        {"role": roles[n % 2], "content": text if isinstance(text, list) else words(text)}
        for n, text in enumerate(texts)
    )
    return Request(MODEL, tuple(words(SYSTEM)), messages, tools, max_tokens)


def words(text):
    return [{"type": "text", "text": text}]


def answers(model, *requests):
    async def ask_all():
        try:
            return [await _events(model, request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(ask_all())


async def _events(model, request):
    async with aclosing(model.stream(request)) as events:
        return [event async for event in events if not isinstance(event, SdkLoading | Retrying)]


@pytest.fixture
def examples(worked_example):
    return [
        *worked_example(1, "Compute 2 + 3 with Python.", "print(2 + 3)", "5", "The result is 5."),
        *worked_example(
            2, "Compute 10 * 4 with Python.", "print(10 * 4)", "40", "The result is 40."
        ),
    ]


def test_an_answer_streams_in_pieces_and_ends_with_one_completion(smollm):
    [events] = answers(smollm.model(), asking("Say hello to Ada in one short sentence."))
    *deltas, completion = events
    assert len(deltas) > 3
    assert all(isinstance(delta, TextDelta) for delta in deltas)
    assert isinstance(completion, Completion)
    assert "".join(delta.text for delta in deltas) == message_text(completion.content)
    assert completion.stop_reason == "end_turn"
    assert completion.usage.input_tokens + completion.usage.cache_read_input_tokens == 30
    assert 3 < completion.usage.output_tokens <= 40
    assert completion.model == "tiny"
    assert completion.message_id.startswith("chatcmpl-")


def test_the_same_prompt_again_is_read_from_the_cache_and_counted_once(smollm):
    request = asking("Name three colours of the rainbow.", max_tokens=5)
    first, second = (events[-1].usage for events in answers(smollm.model(), request, request))
    assert second.cache_read_input_tokens > first.cache_read_input_tokens
    assert (
        second.input_tokens + second.cache_read_input_tokens
        == first.input_tokens + first.cache_read_input_tokens
    )


def test_an_answer_stops_at_max_tokens(smollm):
    [events] = answers(smollm.model(), asking("Write a long story about cats.", max_tokens=12))
    assert events[-1].stop_reason == "max_tokens"
    assert events[-1].usage.output_tokens == 12


def test_a_stream_given_up_halfway_leaves_the_server_free(smollm):
    async def give_up_then_ask():
        model = smollm.model()
        try:
            long = asking("Write a very long story about cats.", max_tokens=4_000)
            async with aclosing(model.stream(long)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        break
            return await _events(model, asking("Say hello to Ada.", max_tokens=5))
        finally:
            await model.close()

    # One slot: a story that nobody stops would have to be told to its end first.
    events = asyncio.run(asyncio.wait_for(give_up_then_ask(), 30))
    assert events[-1].usage.output_tokens == 5


def test_a_wrong_key_is_an_authentication_failure(smollm):
    with pytest.raises(AuthenticationFailed, match="did not accept the key") as failed:
        answers(smollm.model(auth_token="not-the-key"), asking("Hello."))
    assert failed.value.status == 401


def test_limits_come_from_the_servers_list_whatever_name_is_asked_for(smollm):
    async def both():
        model = smollm.model()
        try:
            return await model.limits(MODEL), await model.limits("claude-sonnet-5-5")
        finally:
            await model.close()

    unknown, known = asyncio.run(both())
    assert (unknown.window, unknown.max_output, unknown.source) == (8_192, 2_048, "model record")
    assert known.window == 8_192


def test_a_prompt_over_the_window_says_by_how_much_and_the_next_one_works(smollm):
    model = smollm.model()
    with pytest.raises(ContextTooLong, match="too long for the model") as failed:
        answers(model, asking(TOO_LONG))
    assert failed.value.limit == 8_192
    assert 9_000 < failed.value.used < 9_100
    [events] = answers(model, asking("Say hello to Ada.", max_tokens=5))
    assert events[-1].usage.output_tokens == 5


def test_the_server_tells_the_model_of_tools_results_and_errors(smollm):
    tools = tuple(spec.to_api() for spec in specs([RunPython()]))
    call = {"type": "tool_use", "id": "toolu_1", "name": "run_python", "input": {"code": "6 * 7"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42", "is_error": True}
    bare, told, continued = answers(
        smollm.model(),
        asking("Compute 6 * 7."),
        asking("Compute 6 * 7.", tools=tools),
        asking("Compute 6 * 7.", [call], [result], tools=tools),
    )
    sizes = [
        events[-1].usage.input_tokens + events[-1].usage.cache_read_input_tokens
        for events in (bare, told, continued)
    ]
    assert sizes[0] + 100 < sizes[1] < sizes[2]
    assert continued[-1].usage.output_tokens > 0


def test_a_real_tool_call_is_approved_run_and_reported(rig, smollm, examples):
    made = rig(smollm, system=SYSTEM, history=examples)
    result = made.run("Compute 6 * 7 with Python.")
    first, last = made.of(AssistantMessage)
    [call] = tool_uses(first.content)
    assert first.stop_reason == "tool_use"
    assert not call["id"].startswith("toolu_text_"), "recovered from text, not sent as a call"
    assert made.of(ToolInputDelta)
    assert [proposal.code for proposal in made.approver.proposals] == [call["input"]["code"]]
    assert made.namespace.codes == [call["input"]["code"]]
    [finished] = made.of(ToolFinished)
    assert not finished.is_error
    assert made.agent.history[-2].content[0]["content"] == "42"
    assert last.stop_reason == "end_turn"
    assert "42" in result.text
    assert made.replayed() == made.agent.history[len(examples) :]


def test_a_refused_call_does_not_run_and_the_model_hears_of_it(rig, smollm, examples):
    made = rig(smollm, system=SYSTEM, history=examples, allow=False)
    made.run("Compute 6 * 7 with Python.", max_steps=2)
    assert made.of(ApprovalAsked)
    assert made.namespace.codes == []
    refused = next(m for m in made.agent.history[len(examples) :] if m.origin == "tool")
    assert refused.content[0]["is_error"] is True
    assert "not now" in refused.content[0]["content"]
    assert len(made.of(AssistantMessage)) == 2


def test_an_agent_goes_on_after_a_prompt_that_was_too_long(rig, smollm):
    failing = rig(smollm, system=SYSTEM)
    with pytest.raises(ContextTooLong):
        failing.run(TOO_LONG)
    assert failing.replayed() == failing.agent.history
    assert [message.origin for message in failing.agent.history] == ["user", "reminder"]
    fresh = rig(smollm, system=SYSTEM)
    result = fresh.run("Say hello to Ada in one short sentence.")
    assert result.stop_reason == "end_turn"
    assert result.text


def test_requests_in_a_row_need_no_retries(smollm):
    async def in_a_row():
        model, retries = smollm.model(), []
        try:
            for _ in range(30):
                async with aclosing(model.stream(asking("Hi.", max_tokens=2))) as events:
                    retries += [event async for event in events if isinstance(event, Retrying)]
        finally:
            await model.close()
        return retries

    assert asyncio.run(in_a_row()) == []
