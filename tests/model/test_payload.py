from __future__ import annotations

from mewcode_nb.model.payload import count_body, request_body
from mewcode_nb.model.protocol import Request

MARK = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
TEXT = {"type": "text", "text": "hi"}
TOOL = {"name": "shell", "description": "d", "input_schema": {"type": "object"}}
THOUGHT = {"type": "thinking", "thinking": "x", "signature": "s"}


def request(**changes):
    fields = {
        "model": "m",
        "system": ({**TEXT, **MARK},),
        "messages": (
            {"role": "user", "content": [TEXT]},
            {"role": "assistant", "content": [THOUGHT, TEXT]},
            {"role": "user", "content": [{**TEXT, **MARK}]},
        ),
        "tools": ({**TOOL, **MARK},),
        "max_tokens": 100,
        "thinking": {"type": "adaptive"},
    }
    return Request(**{**fields, **changes})


def test_the_body_is_the_request_and_nothing_else():
    body = request_body(request(), local=False)
    assert body == {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "system": [{**TEXT, **MARK}],
        "messages": list(request().messages),
        "tools": [{**TOOL, **MARK}],
        "thinking": {"type": "adaptive"},
    }


def test_p_10_no_sampling_parameters_are_sent():
    for local in (False, True):
        body = request_body(request(), local=local)
        assert not {"temperature", "top_p", "top_k"} & set(body)


def test_empty_parts_are_left_out():
    body = request_body(request(system=(), tools=(), thinking=None), local=False)
    assert set(body) == {"model", "max_tokens", "stream", "messages"}


def test_the_local_profile_sends_no_marks_and_no_thinking():
    body = request_body(request(), local=True)
    assert body == {
        "model": "m",
        "max_tokens": 100,
        "stream": True,
        "system": [TEXT],
        "messages": [
            {"role": "user", "content": [TEXT]},
            {"role": "assistant", "content": [TEXT]},
            {"role": "user", "content": [TEXT]},
        ],
        "tools": [TOOL],
    }


def test_the_local_profile_changes_nothing_of_what_it_was_given():
    given = request()
    request_body(given, local=True)
    assert given == request()


def test_content_given_as_a_string_passes():
    given = request(messages=({"role": "user", "content": "hi"},))
    assert request_body(given, local=True)["messages"] == [{"role": "user", "content": "hi"}]


def test_what_is_counted_is_what_is_sent():
    sent = request_body(request(), local=False)
    answer_only = {"max_tokens", "stream"}
    assert count_body(request(), local=False) == {
        name: value for name, value in sent.items() if name not in answer_only
    }
