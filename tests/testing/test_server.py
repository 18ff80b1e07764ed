from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import closing

import anthropic
import pytest

from mewcode_nb.testing import (
    FakeServer,
    Fault,
    fail,
    reply,
    thinking,
    tool_use,
    when,
)

MODEL = "claude-sonnet-5-5"
READ = {"name": "read_file", "description": "Read.", "input_schema": {"type": "object"}}


def ask(client, *messages, **options):
    settings = {"model": MODEL, "max_tokens": 200, "tools": [READ], **options}
    with client.messages.stream(messages=list(messages), **settings) as stream:
        return stream.get_final_message()


def user(text):
    return {"role": "user", "content": text}


def raw(block):
    return block.model_dump(exclude_none=True)


def post(server, body, **headers):
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=5)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"anthropic-version": "2026-10-21", **headers}
    with closing(connection):
        connection.request("POST", "/v1/messages", data, fields)
        with closing(connection.getresponse()) as response:
            return response.status, response.read()


def test_replies_are_played_in_order_and_streamed_whole(mewcode_server, client_of):
    server = mewcode_server(["one", reply("zwei 二 ✓", tool_use("read_file", path="a.py"))])
    client = client_of(server)
    assert ask(client, user("a")).content[0].text == "one"
    second = ask(client, user("b"))
    assert second.content[0].text == "zwei 二 ✓"
    assert second.content[1].input == {"path": "a.py"}
    assert second.stop_reason == "tool_use"
    assert [entry.kind for entry in server.requests] == ["text", "tool_use"]
    assert server.unplayed == 0


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_p_12_one_byte_writes_change_nothing(mewcode_server, client_of, newline):
    text = "tail  \r\n思考 🙂 "
    server = mewcode_server([reply(thinking(text), text, chunk_bytes=1, newline=newline)])
    message = ask(client_of(server), user("a"))
    assert [message.content[0].thinking, message.content[1].text] == [text, text]


def test_not_streamed_answers_equal_streamed_ones(mewcode_server, client_of):
    one = reply(thinking("Why."), "Words.", tool_use("read_file", path="é"))
    server = mewcode_server([one, one], seed="x")
    client = client_of(server)
    streamed = ask(client, user("a"))
    plain = client.messages.create(model=MODEL, max_tokens=200, tools=[READ], messages=[user("a")])
    assert [raw(b) for b in plain.content[:2]] == [
        {k: v for k, v in raw(b).items() if k != "parsed_output"} for b in streamed.content[:2]
    ]
    assert plain.content[2].input == streamed.content[2].input
    assert plain.usage == streamed.usage


def test_rules_answer_before_the_list_and_only_so_often(mewcode_server, client_of):
    server = mewcode_server([when("memory", "noted", times=1), "first", "second"])
    client = client_of(server)
    words = [ask(client, user(t)).content[0].text for t in ("x", "memory", "memory")]
    assert words == ["first", "noted", "second"]


def test_a_callable_makes_words_from_the_last_tool_results(mewcode_server, client_of):
    server = mewcode_server(
        [
            reply(tool_use("read_file", path="a", id="toolu_1")),
            reply(lambda request: f"read: {request.results[0]}"),
        ]
    )
    client = client_of(server)
    first = ask(client, user("a"))
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "42"}
    history = [
        user("a"),
        {"role": "assistant", "content": [raw(first.content[0])]},
        {"role": "user", "content": [result]},
    ]
    assert ask(client, *history).content[0].text == "read: 42"


def test_a_script_that_is_used_up_is_a_500_that_says_so(mewcode_server, client_of):
    server = mewcode_server([])
    with pytest.raises(anthropic.InternalServerError, match="script is used up"):
        ask(client_of(server), user("a"))
    server.add("late")
    assert ask(client_of(server), user("a")).content[0].text == "late"


def test_the_default_answers_when_the_script_is_used_up(mewcode_server, client_of):
    server = mewcode_server(["one"], default="again")
    client = client_of(server)
    words = [ask(client, user("x")).content[0].text for _ in range(3)]
    assert words == ["one", "again", "again"]


def test_check_reports_failed_expectations_and_refused_requests(client_of):
    with FakeServer([reply("a", expect="needle"), reply("b", expect=lambda r: False)]) as server:
        client = client_of(server)
        ask(client, user("hay"))
        ask(client, user("hay"))
        with pytest.raises(anthropic.BadRequestError):
            ask(client, user(" "))
    with pytest.raises(AssertionError) as caught:
        server.check()
    lines = str(caught.value).splitlines()
    assert lines[0] == "request 1: 'needle' is not in the request"
    assert lines[1].startswith("request 2: ")
    assert lines[2] == ("request 3: messages: text content blocks must contain non-whitespace text")


def test_retry_headers_reach_the_client_and_each_attempt_takes_a_reply(mewcode_server, client_of):
    server = mewcode_server(
        [
            fail(529, headers={"retry-after-ms": "1"}),
            fail(503, headers={"retry-after-ms": "1"}),
            "ok",
        ]
    )
    assert ask(client_of(server, max_retries=2), user("a")).content[0].text == "ok"
    assert [entry.status for entry in server.requests] == [529, 503, 200]
    assert server.summary().failed == 2


@pytest.mark.parametrize(
    ("presented", "status"), [("right", 200), ("wrong", 401)], ids=["right", "wrong"]
)
def test_a_required_key_is_checked_in_both_headers(mewcode_server, presented, status):
    server = mewcode_server(default="ok", api_key="right")
    body = {"model": MODEL, "max_tokens": 5, "messages": [user("a")]}
    bearer = post(server, body, Authorization=f"Bearer {presented}")
    older = post(server, body, **{"x-api-key": presented})
    assert [bearer[0], older[0]] == [status, status]


def test_a_request_without_version_is_refused(mewcode_server):
    server = mewcode_server(default="ok")
    server.allow_invalid = True
    body = {"model": MODEL, "max_tokens": 5, "messages": [user("a")]}
    status, text = post(server, body, **{"anthropic-version": "1999-01-01"})
    assert status == 400
    assert json.loads(text)["error"]["message"] == "anthropic-version: header is required"


def test_a_body_over_the_limit_is_413_and_logged(mewcode_server):
    server = mewcode_server(default="ok", body_bytes=1000)
    server.allow_invalid = True
    status, text = post(server, b" " * 1001)
    assert (status, json.loads(text)["error"]["type"]) == (413, "request_too_large")
    assert server.summary().invalid == ["request 1: Request exceeds the maximum size"]


@pytest.mark.parametrize(
    ("raw_body", "words"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "valid dictionary"),
        (b'{"a": "\\ud83d"}', "no low surrogate in string"),
        (b'{"a": "\xff"}', "not valid JSON"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(mewcode_server, raw_body, words):
    server = mewcode_server(default="ok")
    server.allow_invalid = True
    status, text = post(server, raw_body)
    assert status == 400
    assert words in json.loads(text)["error"]["message"]


def test_models_are_listed_and_retrieved_with_their_limits(mewcode_server, client_of):
    client = client_of(mewcode_server(window=200_000, max_output=64_000))
    assert next(m.id for m in client.models.list()) == "claude-sonnet-5-5"
    model = client.models.retrieve("claude-opus-5-5")
    assert (model.max_input_tokens, model.max_tokens) == (200_000, 64_000)
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("gpt-4")


def test_an_unknown_path_is_a_json_404(mewcode_server, client_of):
    with pytest.raises(anthropic.NotFoundError) as caught:
        client_of(mewcode_server()).post("/v1/embeddings", body={}, cast_to=object)
    assert caught.value.body["error"]["type"] == "not_found_error"


def test_counting_agrees_with_usage_and_scales(mewcode_server, client_of):
    counts = []
    for scale in (1.0, 1.4):
        client = client_of(mewcode_server(default="ok", token_scale=scale))
        history = [user("数一数 " * 300)]
        counted = client.messages.count_tokens(model=MODEL, messages=history).input_tokens
        used = ask(client, *history, tools=[]).usage.input_tokens
        assert counted == used
        counts.append(counted)
    assert counts[1] / counts[0] == pytest.approx(1.4, abs=0.01)


def test_counting_may_be_missing(mewcode_server, client_of):
    client = client_of(mewcode_server(count_tokens=False))
    with pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model=MODEL, messages=[user("a")])


def test_a_prompt_over_the_window_is_refused_with_both_numbers(mewcode_server, client_of):
    server = mewcode_server(default="ok", window=1000)
    server.allow_invalid = True
    with pytest.raises(
        anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > 1000 maximum"
    ):
        ask(client_of(server), user("word " * 1000), max_tokens=10)


def test_input_plus_output_over_the_window_has_its_own_wording(mewcode_server, client_of):
    server = mewcode_server(default="ok", window=1000, max_output=900)
    server.allow_invalid = True
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(client_of(server), user("word " * 300), max_tokens=800, tools=[])
    message = caught.value.body["error"]["message"]
    assert message.startswith("input length and `max_tokens` exceed context limit: ")
    assert message.endswith(" + 800 > 1000, decrease input length or `max_tokens` and try again")


def test_a_stalled_answer_ends_with_the_server():
    server = FakeServer([reply("a b c").with_fault(Fault("stall"))]).start()
    done = threading.Event()

    def wait_for_the_end():
        body = {"model": MODEL, "max_tokens": 5, "messages": [user("a")], "stream": True}
        try:
            post(server, body)
        except (http.client.HTTPException, OSError):
            done.set()

    waiter = threading.Thread(target=wait_for_the_end)
    waiter.start()
    server.wait_for_request(1)
    began = time.monotonic()
    server.stop()
    assert done.wait(5)
    waiter.join()
    assert time.monotonic() - began < 2


def test_waiting_for_a_request_that_never_comes_times_out(mewcode_server):
    with pytest.raises(TimeoutError, match="0 requests"):
        mewcode_server().wait_for_request(1, timeout=0.05)


def test_a_client_that_leaves_is_noted(mewcode_server, client_of):
    server = mewcode_server([reply("a b c").with_fault(Fault("stall"))])
    with client_of(server).messages.stream(
        model=MODEL, max_tokens=5, messages=[user("a")]
    ) as stream:
        next(iter(stream))
    entry = server.wait_for_request(1)
    end = time.monotonic() + 5
    while not entry.aborted and time.monotonic() < end:
        threading.Event().wait(0.01)
    assert entry.aborted


def test_usage_can_be_dictated(mewcode_server, client_of):
    numbers = {"input_tokens": 5, "cache_read_input_tokens": 1000, "output_tokens": 9}
    usage = ask(client_of(mewcode_server([reply("a", usage=numbers)])), user("a")).usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (5, 1000, 9)


def test_prefix_change_names_the_first_item_that_differs(mewcode_server, client_of):
    server = mewcode_server(default="ok")
    client = client_of(server)
    start = [user("a"), {"role": "assistant", "content": "ok"}]
    marked = [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]
    ask(client, user("a"), system="s")
    ask(client, *start, user("b"), system=marked)
    ask(client, *start, user("B"), system="s")
    ask(client, *start, user("B"), system="new")
    ask(client, *start, user("B"), system="new", tools=[{**READ, "description": "x"}])
    ask(client, user("other"))
    assert [entry.prefix_change for entry in server.requests] == [
        None,
        None,
        "messages[2].content[0]",
        "system[0]",
        "tools[0]",
        None,
    ]
    assert [entry.conversation for entry in server.requests] == [1, 1, 1, 1, 1, 2]
    assert server.summary().prefix_changes[0] == "request 3: messages[2].content[0]"


def test_a_script_that_raises_fails_the_check(client_of, capsys):
    def broken(request):
        raise KeyError("nothing here")

    with FakeServer([reply(broken)]) as server, pytest.raises(anthropic.APIConnectionError):
        ask(client_of(server), user("a"))
    with pytest.raises(AssertionError, match="the script raised KeyError"):
        server.check()
    assert "nothing here" in capsys.readouterr().err


def test_a_refusal_carries_its_details(mewcode_server, client_of):
    server = mewcode_server([reply("I will not.", stop_reason="refusal")])
    message = ask(client_of(server), user("a"))
    assert (message.stop_reason, message.stop_details.type) == ("refusal", "refusal")


def test_a_llama_server_answers_in_its_own_way(mewcode_server, client_of):
    server = mewcode_server([reply("hi", tool_use("read_file"))], dialect="llama", window=500)
    client = client_of(server)
    message = ask(client, user("a"))
    assert message.id.startswith("chatcmpl-")
    assert len(message.content[1].id) == 32
    assert message.model.endswith(".gguf")
    assert message.usage.cache_creation_input_tokens is None
    with pytest.raises(anthropic.NotFoundError):
        client.models.retrieve("any")
    assert [model.meta for model in client.models.list()] == [{"n_ctx": 500}]
    server.allow_invalid = True
    with pytest.raises(anthropic.BadRequestError) as caught:
        ask(client, user("word " * 1000))
    assert caught.value.body["error"]["type"] == "exceed_context_size_error"
    assert caught.value.body["error"]["n_ctx"] == 500
