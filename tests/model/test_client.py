from __future__ import annotations

import asyncio
import subprocess
import sys
import warnings

import pytest

from mewcode_nb.errors import (
    AuthenticationFailed,
    ContextTooLong,
    MalformedHistory,
    ModelUnavailable,
    OutputLimitTooLarge,
    StreamBroken,
)
from mewcode_nb.events import Retrying, TextDelta, ThinkingDelta, ToolInputDelta, Usage
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Completion, ModelLimits
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


@each_shape
def test_a_good_answer_streams_and_ends_in_one_completion(exchange, parts):
    events, error, server = exchange(reply(*parts))
    assert error is None
    done = whole(events)
    assert done.request_id.startswith("req_")
    assert done.model == "claude-sonnet-5-5"
    assert done.usage.output_tokens > 0
    assert done.invalid_inputs == {}
    words = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert words == "".join(b["text"] for b in done.content if b["type"] == "text")
    thought = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    assert thought == "".join(b["thinking"] for b in done.content if b["type"] == "thinking")
    server.check()


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
    events, error, server = exchange(reply(*parts, fault=fault), stall_seconds=0.4)
    assert type(error) is StreamBroken
    assert error.kind == "stalled"
    assert "nothing for 0.4 s" in str(error)
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
    events, error, _ = exchange(silent, "fine", stall_seconds=0.4)
    assert error is None
    assert [type(event) for event in events] == [Retrying, TextDelta, Completion]
    _, error, server = exchange(silent, silent, silent, stall_seconds=0.2)
    assert type(error) is ModelUnavailable
    assert error.kind == "stalled"
    assert len(server.requests) == 2


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


@pytest.mark.parametrize(
    "raw", ['{"path": "/et', "[1,2]", '"x"', "null", '{"command": NaN}'], ids=str
)
def test_p_06_an_input_that_is_no_object_is_told_and_left_empty(exchange, raw):
    events, error, _ = exchange(reply(tool_use("shell", id="toolu_1", raw_json=raw)))
    assert error is None
    done = whole(events)
    assert done.content == ({"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {}},)
    assert list(done.invalid_inputs) == ["toolu_1"]


def test_p_06_a_call_without_input_is_an_empty_object(exchange):
    events, _, _ = exchange(reply(tool_use("shell", id="toolu_1", raw_json="")))
    done = whole(events)
    assert done.content[0]["input"] == {}
    assert done.invalid_inputs == {}


def test_p_06_an_input_cut_in_the_middle_is_told(exchange):
    events, _, _ = exchange(faulty(CALL, "tool_cut"))
    done = whole(events)
    assert done.stop_reason == "tool_use"
    assert done.content[1]["input"] == {}
    assert list(done.invalid_inputs) == [done.content[1]["id"]]


def test_p_07_max_tokens_inside_a_call_keeps_its_stop_reason(exchange):
    events, _, _ = exchange(faulty(CALL, "max_tokens"))
    done = whole(events)
    assert done.stop_reason == "max_tokens"
    assert list(done.invalid_inputs) == [done.content[1]["id"]]


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


@pytest.mark.parametrize(
    ("parts", "stop_reason", "kinds"),
    [
        ((), "end_turn", []),
        ((), "refusal", []),
        (("I cannot help with that.",), "refusal", ["text"]),
        (("\n",), "end_turn", ["text"]),
        ((thinking("hm"),), "end_turn", ["thinking"]),
        (("half",), "pause_turn", ["text"]),
        (("half",), "model_context_window_exceeded", ["text"]),
        (("half",), "max_tokens", ["text"]),
        (("half",), "a_new_reason", ["text"]),
    ],
)
def test_p_09_odd_answers_come_through_with_their_stop_reason(exchange, parts, stop_reason, kinds):
    events, error, _ = exchange(reply(*parts, stop_reason=stop_reason))
    assert error is None
    done = whole(events)
    assert done.stop_reason == stop_reason
    assert [block["type"] for block in done.content] == kinds


def test_p_10_the_request_is_as_given_and_streamed(exchange, ask):
    mark = {"cache_control": {"type": "ephemeral"}}
    request = ask(system=({"type": "text", "text": "Be brief.", **mark},), max_tokens=32_000)
    _, error, server = exchange("ok", request=request)
    assert error is None
    assert server.requests[0].body == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": list(request.messages),
        "tools": list(request.tools),
    }
    server.check()


@pytest.mark.parametrize("text", ["emoji 🦊", "trailing   ", "CRLF\r\nline", "中文 \u2028"])
def test_p_12_signed_thinking_is_accepted_when_it_goes_back(exchange, ask, text):
    calls = reply(thinking(text), thinking("x", redacted=True), tool_use("shell", command="ls"))
    events, _, _ = exchange(calls)
    done = whole(events)
    assert done.content[0]["thinking"] == text
    result = {"type": "tool_result", "tool_use_id": done.content[2]["id"], "content": "a.py"}
    first = ask().messages[0]
    messages = (
        first,
        {"role": "assistant", "content": list(done.content)},
        {"role": "user", "content": [result]},
    )
    request = ask(messages=messages, thinking={"type": "adaptive"})
    _, error, server = exchange("done", request=request)
    assert error is None
    assert server.requests[0].messages[1]["content"] == list(done.content)
    server.check()


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


def test_p_15_a_large_output_limit_is_no_problem(exchange, ask):
    _, error, server = exchange("ok", request=ask(max_tokens=32_000))
    assert error is None
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize(
    "answer",
    [
        reply(*CALL, fault=Fault("unknown_events")),
        reply(*CALL, newline="\r\n"),
        reply(*CALL, chunk_bytes=1),
        reply(*CALL, pings=5),
    ],
    ids=["unknown events", "CRLF", "one byte at a time", "pings"],
)
def test_p_03_odd_but_legal_streams_are_read(exchange, answer):
    events, error, _ = exchange(answer)
    assert error is None
    assert whole(events).content[1]["input"] == {"command": LONG}


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


def test_row_30_usage_of_start_and_end_is_not_added_up(exchange):
    usage = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": 50,
    }
    events, _, _ = exchange(reply("ok", usage=usage))
    assert whole(events).usage == Usage(10, 100, 1000, 50)


def test_row_32_a_gateways_input_with_cache_inside_is_counted_once(exchange):
    usage = {"input_tokens": 46_965, "cache_read_input_tokens": 42_036}
    usage |= {"cache_creation_input_tokens": 4_927, "output_tokens": 9}
    events, _, _ = exchange(reply("ok", usage=usage), input_includes_cache=True)
    assert whole(events).usage.total_input == 46_965


def test_the_local_profile_turns_written_calls_into_calls(exchange):
    words = '{"name": "shell", "arguments": {"command": "ls"}}'
    events, _, server = exchange(words, behaviour={"dialect": "llama"}, local=True)
    done = whole(events)
    assert done.stop_reason == "tool_use"
    assert done.content[0]["input"] == {"command": "ls"}
    assert "thinking" not in server.requests[0].body
    events, _, _ = exchange(words)
    assert whole(events).content == ({"type": "text", "text": words},)


def test_no_key_ends_before_anything_is_sent(exchange):
    events, error, server = exchange("unasked", api_key="")
    assert type(error) is AuthenticationFailed
    assert "ANTHROPIC_API_KEY" in str(error)
    assert events == []
    assert server.requests == []


def test_a_token_is_sent_in_place_of_a_key(exchange):
    _, error, server = exchange("ok", api_key="", auth_token="ollama-token")
    assert error is None
    assert server.requests[0].headers["authorization"] == "Bearer ollama-token"


def test_n_06_a_key_that_the_service_repeats_is_masked(exchange):
    answer = fail(401, message="invalid key sk-ant-very-secret, sorry")
    _, error, _ = exchange(answer, api_key="sk-ant-very-secret")
    assert "very-secret" not in f"{error} {error!r} {error.__cause__.__class__}"
    assert "•••" in str(error)


def test_the_environment_and_profiles_are_not_consulted(exchange, monkeypatch, tmp_path):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_PROFILE", "missing")
    _, error, server = exchange("ok")
    assert error is None
    assert server.requests[0].headers["authorization"] == f"Bearer {server.api_key}"


def test_a_retired_models_name_prints_no_warning(exchange, ask):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, error, _ = exchange("ok", request=ask(model="claude-sonnet-4-5"))
    assert error is None
    assert [str(w.message) for w in caught if issubclass(w.category, DeprecationWarning)] == []


def test_text_that_is_no_unicode_is_refused_before_it_is_sent(exchange, ask):
    _, error, server = exchange("unasked", request=ask("half \ud83d"))
    assert type(error) is MalformedHistory
    assert "Unicode" in str(error)
    assert server.requests == []


def test_two_requests_share_one_connection(ask, options):
    async def turns(server):
        model = AnthropicModel(options(server))
        for _ in range(2):
            async for _ in model.stream(ask()):
                pass
        await model.close()

    with FakeServer(["one", "two"]) as server:
        asyncio.run(turns(server))
        assert server.service.player.left == 0
        assert len(server._http._workers) == 1


def test_one_model_serves_one_loop_after_another(ask, options):
    async def turn(model):
        events = [event async for event in model.stream(ask())]
        await model.close()
        return whole(events).content

    with FakeServer(["one", "two"]) as server:
        model = AnthropicModel(options(server))
        assert asyncio.run(turn(model)) == ({"type": "text", "text": "one"},)
        assert asyncio.run(turn(model)) == ({"type": "text", "text": "two"},)


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("anthropic", ModelLimits(300_000, 37_500, "model record")),
        ("llama", ModelLimits(300_000, 8_192, "model record")),
    ],
)
def test_row_24_limits_come_from_the_servers_record(options, dialect, expected):
    async def limits(server):
        model = AnthropicModel(options(server))
        found = [await model.limits("claude-sonnet-5-5") for _ in range(2)]
        await model.close()
        return found

    with FakeServer(window=300_000, dialect=dialect) as server:
        assert asyncio.run(limits(server)) == [expected, expected]


def test_limits_never_raise_and_ask_an_unreachable_server_again(options):
    async def limits(model):
        found = await model.limits("claude-sonnet-5-5")
        await model.close()
        return found

    with FakeServer() as server:
        given = options(server, context_window=40_000, connect_seconds=1.0)
    model = AnthropicModel(given)
    assert asyncio.run(limits(model)) == ModelLimits(40_000, 8_192, "settings")
    with FakeServer(window=300_000, port=int(given.url.rsplit(":", 1)[1])):
        assert asyncio.run(limits(model)).source == "model record"


def test_limits_without_a_key_ask_nobody():
    model = AnthropicModel(ModelOptions())
    assert asyncio.run(model.limits("claude-sonnet-5-5")).source == "known model"


PROBE = """
import asyncio, sys
from mewcode_nb.events import SdkLoading
from mewcode_nb.model import client
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Request
assert not {"anthropic", "httpx2", "pydantic"} & set(sys.modules), "importing is not light"

async def main():
    model = client.AnthropicModel(ModelOptions(base_url=sys.argv[1], api_key="test-key"))
    message = {"role": "user", "content": "hi"}
    request = Request("claude-sonnet-5-5", (), (message,), (), 100)
    for _ in range(2):
        events = [event async for event in model.stream(request)]
        print(*(type(event).__name__ + str(getattr(event, "done", "")) for event in events))
    await model.close()

if sys.argv[2:] == ["preload"]:
    client.preload().join()
asyncio.run(main())
"""


@pytest.mark.parametrize("preload", [False, True])
def test_the_sdk_is_loaded_at_the_first_request_in_sight_or_ahead_of_it(preload):
    with FakeServer(default="ok") as server:
        command = [sys.executable, "-W", "error", "-c", PROBE, server.base_url]
        done = subprocess.run(
            [*command, "preload"] if preload else command,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    loading = "" if preload else "SdkLoadingFalse SdkLoadingTrue "
    assert first == f"{loading}TextDelta Completion"
    assert second == "TextDelta Completion"
