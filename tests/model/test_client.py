from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import traceback
import warnings

import pytest

from mewcode_nb.errors import (
    AuthenticationFailed,
    MalformedHistory,
)
from mewcode_nb.events import TextDelta, ThinkingDelta, Usage
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


@pytest.mark.parametrize(
    "answer",
    [
        fail(401, message="invalid key sk-ant-very-secret, sorry"),
        fail(529, message="sk-ant-very-secret is busy"),
        reply("Some words.", fault=Fault("error_event", message="no sk-ant-very-secret")),
    ],
)
def test_n_06_a_key_that_the_service_repeats_is_masked(exchange, answer):
    _, error, _ = exchange(answer, api_key="sk-ant-very-secret", max_retries=0)
    assert "very-secret" not in "".join(traceback.format_exception(error))
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


GOOD = (
    b"event: message_start\n"
    b'data: {"type": "message_start", "message": {"id": "m", "model": "x"}}\n\n'
    b"event: message_delta\n"
    b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'
    b'data: {"type": "message_stop"}\n\n'
    b"data: [DONE]\n\n"
)


def test_two_requests_share_one_connection(ask):
    connections = []

    async def serve(reader, writer):
        connections.append(writer)
        while head := await reader.readuntil(b"\r\n\r\n"):
            size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            await reader.readexactly(int(size[1]))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
            writer.write(b"content-length: %d\r\n\r\n%b" % (len(GOOD), GOOD))

    async def turns():
        server = await asyncio.start_server(serve, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        model = AnthropicModel(ModelOptions(base_url=f"http://127.0.0.1:{port}", api_key="k"))
        for _ in range(2):
            events = [event async for event in model.stream(ask())]
            assert whole(events).stop_reason == "end_turn"
        assert len(connections) == 1
        connections[0].close()
        await connections[0].wait_closed()
        await model.close()
        server.close()

    asyncio.run(turns())


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
@pytest.mark.usefixtures("sdk")
def test_row_24_limits_come_from_the_servers_record(options, dialect, expected):
    async def limits(server):
        model = AnthropicModel(options(server))
        found = [await model.limits("claude-sonnet-5-5") for _ in range(2)]
        await model.close()
        return found

    with FakeServer(window=300_000, dialect=dialect) as server:
        assert asyncio.run(limits(server)) == [expected, expected]


@pytest.mark.usefixtures("sdk")
def test_limits_never_raise_and_ask_a_silent_server_again_after_a_minute(options):
    async def limits(model):
        found = await model.limits("claude-sonnet-5-5")
        await model.close()
        return found.source

    with FakeServer() as server:
        given = options(server, context_window=40_000, connect_seconds=1.0)
    times = {"now": 1000.0}
    model = AnthropicModel(given, now=lambda: times["now"])
    assert asyncio.run(limits(model)) == "settings"
    with FakeServer(window=300_000, port=int(given.url.rsplit(":", 1)[1])):
        times["now"] = 1059.0
        assert asyncio.run(limits(model)) == "settings"
        times["now"] = 1061.0
        assert asyncio.run(limits(model)) == "model record"
    times["now"] = 9999.0
    assert asyncio.run(limits(model)) == "model record"


def test_limits_without_a_key_ask_nobody():
    model = AnthropicModel(ModelOptions())
    assert asyncio.run(model.limits("claude-sonnet-5-5")).source == "known model"


PROBE = """
import asyncio, sys
from mewcode_nb.model import client
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Request
assert not {"anthropic", "httpx2", "pydantic"} & set(sys.modules), "importing is not light"

async def main():
    model = client.AnthropicModel(ModelOptions(base_url=sys.argv[1], api_key="test-key"))
    message = {"role": "user", "content": "hi"}
    request = Request("claude-sonnet-5-5", (), (message,), (), 100)
    print((await model.limits("claude-sonnet-5-5")).source)
    for _ in range(2):
        events = [event async for event in model.stream(request)]
        print(*(type(event).__name__ + str(getattr(event, "done", "")) for event in events))
    await model.close()

assert not client.sdk_ready()
thread = client.preload()
asyncio.run(main())
thread.join()
assert client.sdk_ready()
"""


def test_the_sdk_is_loaded_in_sight_at_the_first_request_even_while_a_preload_runs():
    with FakeServer(default="ok") as server:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROBE, server.base_url],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "known model",
        "SdkLoadingFalse SdkLoadingTrue TextDelta Completion",
        "TextDelta Completion",
    ]
