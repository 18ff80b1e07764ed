from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.errors import (
    AuthenticationFailed,
    ContextTooLong,
    MalformedHistory,
    ModelUnavailable,
    OutputLimitTooLarge,
    StreamBroken,
)
from mewcode_nb.events import Retrying, TextDelta, ThinkingDelta, ToolInputDelta
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Completion
from mewcode_nb.testing.script import Fault, fail, reply, thinking, tool_use
from mewcode_nb.testing.server import FakeServer

LONG = "The quick brown fox jumps over the lazy dog, again and again and again."
TEXT = (LONG,)
CALL = ("I look.", tool_use("shell", command=LONG))
THOUGHT = (thinking(LONG), "Done.")
SHAPES = {"text": TEXT, "call": CALL, "thinking": THOUGHT}
each_shape = pytest.mark.parametrize("parts", SHAPES.values(), ids=SHAPES.keys())


def faulty(parts, kind, **fields):
    return reply(*parts, fault=Fault(kind, **fields))


def whole(events):
    assert isinstance(events[-1], Completion)
    assert sum(isinstance(event, Completion) for event in events) == 1
    return events[-1]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, MalformedHistory),
        (401, AuthenticationFailed),
        (402, AuthenticationFailed),
        (403, AuthenticationFailed),
        (404, ModelUnavailable),
        (413, ContextTooLong),
    ],
)
def test_a_refusal_ends_at_once_in_its_class(exchange, status, expected):
    events, error, server = exchange(fail(status), "never asked for")
    assert type(error) is expected
    assert error.status == status
    assert error.kind
    assert error.request_id.startswith("req_")
    assert events == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_a_failure_that_may_pass_is_tried_again(exchange, status):
    events, error, server = exchange(fail(status), "fine")
    assert error is None
    assert isinstance(events[0], Retrying)
    assert (events[0].attempt, events[0].attempts, events[0].delay) == (2, 3, 0.01)
    assert str(status) in events[0].reason
    assert whole(events).content == ({"type": "text", "text": "fine"},)
    assert len(server.requests) == 2


def test_the_services_no_to_a_retry_is_obeyed(exchange):
    _, error, server = exchange(fail(529, headers={"x-should-retry": "false"}), "unasked")
    assert type(error) is ModelUnavailable
    assert len(server.requests) == 1


BEFORE_ANYTHING = {
    "reset before headers": Fault("reset"),
    "no events": Fault("no_events"),
    "empty body": Fault("empty_body"),
    "error event first": Fault("error_event", after="start"),
    "error event after the start": Fault("error_event", after="open"),
    "llama error event": Fault("server_error_event", after="open"),
    "stream reset": Fault("stream_reset", after="open"),
    "end of file": Fault("eof", after="open"),
    "truncated": Fault("truncate", after="open"),
    "half an event": Fault("half_event", after="start"),
    "not json": Fault("garbage", after="open"),
}


@each_shape
@pytest.mark.parametrize("fault", BEFORE_ANYTHING.values(), ids=BEFORE_ANYTHING.keys())
def test_p_01_p_03_a_fault_before_anything_was_shown_is_retried(exchange, parts, fault):
    events, error, server = exchange(reply(*parts, fault=fault), reply(*parts))
    assert error is None
    assert isinstance(events[0], Retrying)
    whole(events)
    assert len(server.requests) == 2
    server.check()


AFTER_SOMETHING = {
    "error event": Fault("error_event"),
    "rate limit event": Fault("error_event", error="rate_limit_error"),
    "refusal event": Fault("error_event", error="invalid_request_error"),
    "llama error event": Fault("server_error_event"),
    "stream reset": Fault("stream_reset"),
    "end of file": Fault("eof"),
    "truncated": Fault("truncate"),
    "truncated before the end": Fault("truncate", after="end"),
    "half an event": Fault("half_event"),
    "not json": Fault("garbage"),
    "no message_delta": Fault("omit", omit=("message_delta",)),
    "no message_stop": Fault("omit", omit=("message_stop",)),
    "no end at all": Fault("omit", omit=("message_delta", "message_stop")),
}


@each_shape
@pytest.mark.parametrize("fault", AFTER_SOMETHING.values(), ids=AFTER_SOMETHING.keys())
def test_p_02_p_03_a_fault_after_something_was_shown_breaks_the_answer(exchange, parts, fault):
    events, error, server = exchange(reply(*parts, fault=fault), "never asked for")
    assert type(error) is StreamBroken
    assert all(isinstance(e, TextDelta | ThinkingDelta | ToolInputDelta) for e in events)
    assert events
    assert len(server.requests) == 1
    assert all(block["type"] == "text" for block in error.partial)
    words = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert "".join(block["text"] for block in error.partial) == words
    assert server.base_url.removeprefix("http://") in str(error)


def test_p_01_a_broken_stream_names_the_services_own_error(exchange):
    _, error, _ = exchange(faulty(TEXT, "error_event", message="Too busy now"))
    assert (error.status, error.kind) == (200, "overloaded_error")
    assert "Too busy now" in str(error)


@each_shape
@pytest.mark.parametrize(
    "fault",
    [
        Fault("stall"),
        Fault("pings", seconds=0.02),
        Fault("pings", seconds=0.02, comment=True),
    ],
    ids=["silence", "pings", "comments"],
)
def test_p_04_silence_after_words_breaks_the_answer_within_its_limit(exchange, parts, fault):
    events, error, server = exchange(reply(*parts, fault=fault), stall_seconds=0.6)
    assert type(error) is StreamBroken
    assert error.kind == "stalled"
    assert "nothing for 0.6 s" in str(error)
    assert events
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault("stall", after="start"),
        Fault("stall", after="open"),
        Fault("pings", after="open", seconds=0.02),
        Fault("pings", after="open", seconds=0.02, comment=True),
        Fault("late", seconds=60.0),
    ],
    ids=["no events", "silence", "pings", "comments", "late headers"],
)
def test_p_04_silence_before_words_is_retried_once_and_no_more(exchange, fault):
    silent = reply(*TEXT, fault=fault)
    events, error, _ = exchange(silent, "fine", stall_seconds=0.8)
    assert error is None
    assert [type(event) for event in events] == [Retrying, TextDelta, Completion]
    events, error, _ = exchange(silent, silent, silent, stall_seconds=0.2)
    assert type(error) is ModelUnavailable
    assert error.kind == "stalled"
    assert [type(event) for event in events] == [Retrying]


def test_p_04_a_slow_stream_that_goes_on_is_left_alone(exchange):
    events, error, _ = exchange(reply(LONG, delay=0.05, delta_chars=4), stall_seconds=0.5)
    assert error is None
    assert whole(events).content == ({"type": "text", "text": LONG},)


def test_p_04_time_the_reader_takes_is_no_silence(ask, options):
    async def turn(server):
        model = AnthropicModel(options(server, stall_seconds=0.2))
        async for event in model.stream(ask()):
            if isinstance(event, TextDelta):
                await asyncio.sleep(0.25)
        await model.close()
        return event

    with FakeServer([reply("one two", delta_chars=4, delay=0.05)]) as server:
        assert isinstance(asyncio.run(turn(server)), Completion)


def test_p_08_a_wait_within_the_limit_is_obeyed(exchange):
    limited = fail(429, headers={"retry-after-ms": "20"})
    events, error, _ = exchange(limited, "fine", max_wait=1.0)
    assert error is None
    assert events[0].delay == 0.02


@pytest.mark.parametrize(
    "value", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"], ids=["seconds", "date"]
)
def test_p_08_a_wait_over_the_limit_ends_the_turn_and_names_it(exchange, value):
    _, error, server = exchange(fail(429, headers={"retry-after": value}), "unasked", max_wait=60)
    assert type(error) is ModelUnavailable
    assert "more than 60 s" in str(error)
    assert "max_wait" in str(error)
    assert error.kind == "rate_limit_error"
    assert len(server.requests) == 1


def test_p_08_a_rubbish_wait_is_passed_over(exchange):
    events, error, _ = exchange(fail(429, headers={"retry-after": "soon"}), "fine")
    assert error is None
    assert events[0].delay == 0.01


def test_p_08_twenty_overloads_cost_the_stated_number_of_requests(exchange):
    events, error, server = exchange(*[fail(529)] * 20, max_retries=4)
    assert type(error) is ModelUnavailable
    assert "tried 5 times" in str(error)
    assert [(e.attempt, e.attempts) for e in events] == [(2, 5), (3, 5), (4, 5), (5, 5)]
    assert len(server.requests) == 5


def test_no_retries_means_one_request(exchange):
    events, error, server = exchange(fail(529), max_retries=0)
    assert type(error) is ModelUnavailable
    assert events == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("kind", ["html", "empty_body"])
def test_p_13_a_page_or_nothing_in_place_of_an_answer_names_the_host(exchange, kind):
    bad = reply("x", fault=Fault(kind))
    events, error, server = exchange(bad, bad, bad)
    assert type(error) is ModelUnavailable
    assert server.base_url.removeprefix("http://") in str(error)
    assert not any(isinstance(event, TextDelta) for event in events)
    assert len(server.requests) == (1 if kind == "html" else 3)


def test_p_13_a_gateways_error_page_names_the_host(exchange):
    page = fail(502, body="<html><h1>Bad Gateway</h1></html>")
    _, error, server = exchange(page, page, page)
    assert type(error) is ModelUnavailable
    assert server.base_url.removeprefix("http://") in str(error)
    assert "h1" not in str(error)


def test_p_13_no_server_at_all_names_the_address(ask):
    async def turn(model):
        async for _ in model.stream(ask()):
            pass

    with FakeServer() as server:
        url = server.base_url
    model = AnthropicModel(ModelOptions(base_url=url, api_key="k", max_retries=1, max_wait=0.01))
    with pytest.raises(ModelUnavailable, match=r"cannot reach 127\.0\.0\.1:\d+") as caught:
        asyncio.run(turn(model))
    assert "tried 2 times" in str(caught.value)
    assert caught.value.kind == "unreachable"


@pytest.mark.parametrize("dialect", ["anthropic", "llama"])
def test_a_full_window_is_known_with_its_numbers(exchange, ask, dialect):
    request = ask("word " * 3000, max_tokens=10)
    _, error, _ = exchange("x", request=request, behaviour={"dialect": dialect, "window": 1000})
    assert type(error) is ContextTooLong
    assert error.used > 1000
    assert error.limit == 1000


def test_too_much_output_asked_for_is_told_with_what_is_allowed(exchange, ask):
    _, error, _ = exchange("x", request=ask(max_tokens=200_000))
    assert type(error) is OutputLimitTooLarge
    assert error.allowed == 125_000
