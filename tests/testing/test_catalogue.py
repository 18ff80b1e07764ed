from __future__ import annotations

import dataclasses
import http.client
import json
from collections.abc import Iterator

import anthropic
import pytest

from mewcode_nb.testing import FakeServer, FaultCase, c2_cases, c2_faults

TOOL = {"name": "write_file", "description": "Write.", "input_schema": {"type": "object"}}
REQUEST = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Go on."}],
    "tools": [TOOL],
}
MEASURED = {
    "http_400": "BadRequestError",
    "http_401": "AuthenticationError",
    "http_402": "PaymentRequiredError",
    "http_403": "PermissionDeniedError",
    "http_404": "NotFoundError",
    "http_408": "RequestTimeoutError",
    "http_409": "ConflictError",
    "http_413": "ContentTooLargeError",
    "http_429": "RateLimitError",
    "http_500": "InternalServerError",
    "http_502": "InternalServerError",
    "http_503": "ServiceUnavailableError",
    "http_504": "GatewayTimeoutError",
    "http_529": "OverloadedError",
    "error_event_overloaded_error": "APIStatusError",
    "reset": "APIConnectionError",
    "late_headers": "APITimeoutError",
    "stream_reset": "ReadError",
    "eof": "RemoteProtocolError",
    "stall": "ReadTimeout",
    "truncate": "",
    "omit_message_delta": "",
    "omit_message_stop": "",
    "half_event": "",
    "no_events": "AssertionError",
    "garbage": "JSONDecodeError",
    "tool_input_not_json": "ValueError",
    "tool_input_cut": "",
    "tool_input_list": "",
    "max_tokens": "",
    "html_200": "AssertionError",
    "html_502": "InternalServerError",
    "unknown_events": "",
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture(scope="module")
def client(server: FakeServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(
        base_url=server.base_url, api_key="k", max_retries=0, timeout=30.0
    ) as made:
        yield made


def impatient(client: anthropic.Anthropic) -> anthropic.Anthropic:
    return client.with_options(timeout=anthropic.Timeout(30.0, read=0.7))


def streamed(client: anthropic.Anthropic) -> tuple[str, anthropic.types.Message | None]:
    try:
        with client.messages.stream(**REQUEST) as stream:
            return "", stream.get_final_message()
    except Exception as error:  # noqa: BLE001 -- the class is what is tested
        return type(error).__name__, None


def test_the_catalogue_says_what_was_measured_for_every_row():
    named = {fault.name: fault.sees for fault in c2_faults()}
    assert {name: named[name] for name in MEASURED} == MEASURED


def test_names_and_case_ids_are_unique():
    names = [fault.name for fault in c2_faults()]
    ids = [str(case) for case in c2_cases()]
    assert len(set(names)) == len(names)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("case", c2_cases(silent=False), ids=str)
def test_the_sdk_shows_each_fault_as_the_catalogue_says(
    server: FakeServer, client: anthropic.Anthropic, case: FaultCase
):
    server.add(case.reply)
    sees, _ = streamed(client)
    assert sees == case.named.sees
    assert server.unplayed == 0


@pytest.mark.parametrize(
    "case", [c for c in c2_cases(["text"]) if c.named.silent and c.named.sees], ids=str
)
def test_p_04_the_sdk_shows_silence_only_by_its_own_timeout(
    server: FakeServer, client: anthropic.Anthropic, case: FaultCase
):
    server.add(case.reply)
    assert streamed(impatient(client))[0] == case.named.sees


@pytest.mark.parametrize(
    ("name", "kind", "stop_reason", "tool_input"),
    [
        ("truncate", "text", None, None),
        ("truncate", "tool_use", None, {"path": "out.txt"}),
        ("half_event", "text", None, None),
        ("omit_message_delta", "text", None, None),
        ("omit_message_stop", "tool_use", "tool_use", None),
        ("omit_both_ends", "tool_use", None, None),
        ("max_tokens", "text", "max_tokens", None),
        ("max_tokens", "tool_use", "max_tokens", {"path": "out.txt"}),
        ("tool_input_cut", "tool_use", "tool_use", {"path": "out.txt"}),
        ("tool_input_list", "tool_use", "tool_use", [1, 2]),
        ("tool_input_string", "tool_use", "tool_use", "x"),
        ("tool_input_empty", "tool_use", "tool_use", {}),
        ("unknown_events", "text", "end_turn", None),
    ],
)
def test_p_02_p_06_what_the_sdk_takes_for_a_message(
    server: FakeServer, client: anthropic.Anthropic, name, kind, stop_reason, tool_input
):
    case = next(c for c in c2_cases([kind]) if c.named.name == name)
    server.add(case.reply)
    sees, message = streamed(client)
    assert (sees, message.stop_reason) == ("", stop_reason)
    if tool_input is not None:
        assert message.content[-1].input == tool_input


@pytest.mark.parametrize(
    ("name", "sees"),
    [
        ("html_200", "AttributeError"),
        ("empty_200", "JSONDecodeError"),
        ("eof", "APIConnectionError"),
        ("stream_reset", "APIConnectionError"),
        ("stall", "APITimeoutError"),
        ("garbage", "JSONDecodeError"),
        ("http_529", "OverloadedError"),
    ],
)
def test_p_13_answers_in_one_piece_fail_in_their_own_way(
    server: FakeServer, client: anthropic.Anthropic, name, sees
):
    server.add(next(c for c in c2_cases(["text"]) if c.named.name == name).reply)
    with pytest.raises(Exception) as caught:  # noqa: PT011 -- the class is what is tested
        impatient(client).messages.create(**REQUEST).content  # noqa: B018 -- the use that fails
    assert caught.type.__name__ == sees


@pytest.mark.parametrize(
    "name",
    [f.name for f in c2_faults() if f.retried and "late" not in f.name and "hour" not in f.name],
)
def test_the_sdk_tries_again_where_the_catalogue_says(
    server: FakeServer, client: anthropic.Anthropic, name
):
    case = next(c for c in c2_cases(["text"]) if c.named.name == name)
    hurry = (("retry-after-ms", "1"),)
    fault = dataclasses.replace(case.reply.fault, headers=hurry)
    server.add(case.reply.with_fault(fault), "second attempt")
    again = client.with_options(max_retries=1)
    assert streamed(again)[1].content[0].text == "second attempt"


@pytest.mark.parametrize(
    "name", [f.name for f in c2_faults() if not f.retried and f.fault.kind == "status"]
)
def test_the_sdk_does_not_try_again_where_the_catalogue_says(
    server: FakeServer, client: anthropic.Anthropic, name
):
    case = next(c for c in c2_cases(["text"]) if c.named.name == name)
    before = len(server.requests)
    server.add(case.reply)
    sees, _ = streamed(client.with_options(max_retries=2))
    assert (sees, len(server.requests)) == (case.named.sees, before + 1)


@pytest.mark.parametrize("name", ["pings_only", "comment_pings_only"])
def test_p_04_pings_keep_coming_and_stop_with_the_client(server: FakeServer, name: str):
    case = next(c for c in c2_cases(places=["middle"]) if c.named.name == name)
    server.add(case.reply)
    before = len(server.requests)
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=5)
    headers = {"anthropic-version": "2026-10-21"}
    connection.request("POST", "/v1/messages", json.dumps({**REQUEST, "stream": True}), headers)
    response = connection.getresponse()
    sign = b": ping" if "comment" in name else b"event: ping"
    seen = 0
    while seen < 3:
        seen += response.readline().startswith(sign)
    response.close()
    connection.close()
    entry = server.wait_for_request(before + 1)
    assert entry.kind == "fault:pings"
