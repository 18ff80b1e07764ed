from __future__ import annotations

import base64
import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.testing.limits import Limits
from mewcode_nb.testing.signing import sign
from mewcode_nb.testing.validate import validate

USER = {"role": "user", "content": "hi"}
MARK = {"type": "ephemeral"}
CALL = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": sign("hm")}
TOOL = {"name": "read_file", "description": "d", "input_schema": {"type": "object"}}
BASE = {"model": "claude-sonnet-5-5", "max_tokens": 100, "messages": [USER]}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks):
    return {"role": "user", "content": list(blocks)}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def reasons(**fields):
    body = copy.deepcopy({**BASE, **fields})
    return [v.message for v in validate({k: v for k, v in body.items() if v != "-"}, Limits())]


LINE = {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": False}
CLOSED = {**LINE, "properties": {"lines": {"type": "array", "items": LINE}}}
OPEN = {**LINE, "properties": {"lines": {"type": "array", "items": {"type": "object"}}}}
BOUNDED = {**LINE, "properties": {"n": {"anyOf": [{"type": "integer", "minimum": 1}]}}}


def output(schema):
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


PAIR = [USER, said(CALL), told(RESULT)]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"messages": [USER, USER]},
        {"messages": PAIR},
        {"messages": [USER, said(CALL), told(RESULT, text("and?"))]},
        {"messages": [USER, said(CALL), told(RESULT), told(text("and?"))]},
        {"messages": [USER, said(THOUGHT, text("a")), USER]},
        {"messages": [USER, said(CALL), told({**RESULT, "content": ""})]},
        {"messages": [USER, said(CALL), told({"type": "tool_result", "tool_use_id": "t1"})]},
        {"messages": [USER, {"role": "system", "content": "news"}, USER]},
        {"system": "", "tools": [TOOL], "stream": True},
        {"system": [text("a", cache_control=MARK)]},
        {"thinking": {"type": "adaptive", "display": "summarized"}},
        {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "read_file"}},
        {"cache_control": MARK},
        {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": CLOSED}}},
        {"tools": [{**TOOL, "strict": True, "input_schema": CLOSED}]},
    ],
    ids=str,
)
def test_what_the_service_accepts(fields):
    assert reasons(**fields) == []


IMAGE = {"type": "base64", "media_type": "image/png"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"model": "-"}, "model: Field required"),
        ({"max_tokens": "-"}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens: must be greater"),
        ({"max_tokens": True}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": 128_001}, "max_tokens: 128001 > 128000, which is the maximum allowed"),
        ({"temperature": 0}, "`temperature` is deprecated"),
        ({"top_p": 1}, "`top_p` is deprecated"),
        ({"top_k": 1}, "`top_k` is deprecated"),
        ({"colour": 1}, "colour: Extra inputs are not permitted"),
        ({"stream": 1}, "stream: Input should be a valid boolean"),
        ({"metadata": {"session": "x"}}, "metadata: Extra inputs"),
        ({"stop_sequences": [" "]}, "stop_sequences: each stop sequence"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, '"thinking.type.enabled"'),
        ({"messages": "-"}, "messages: Field required"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"system": [{"type": "image"}]}, "system.0.type: Input should be 'text'"),
        ({"system": [text("")]}, "system: text content blocks must be non-empty"),
        ({"system": "  "}, "system: text content blocks must contain non-whitespace"),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tools": [{**TOOL, "name": "a b"}]}, "tools.0.custom.name: String should match"),
        ({"tools": [{**TOOL, "name": "x" * 129}]}, "tools.0.custom.name: String should match"),
        ({"tools": [{**TOOL, "id": "x"}]}, "tools.0.custom.id: Extra inputs"),
        ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field required"),
        (
            {"tools": [{"name": "a", "input_schema": {"type": "array"}}]},
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        ({"tool_choice": {"type": "auto"}}, "tool_choice may only be specified"),
        (
            {"tools": [TOOL], "tool_choice": {"type": "tool", "name": "x"}},
            "Tool 'x' not found",
        ),
        (output(OPEN), "output_config.format.schema: For 'object' type, 'additionalProperties'"),
        (output(BOUNDED), "output_config.format.schema: For 'integer' type, property 'minimum'"),
        (output(None), "output_config.format.schema: Field required"),
        ({"output_config": {"effort": "huge"}}, "output_config.effort"),
        ({"output_config": {"format": {"type": "json"}}}, "output_config.format.type"),
        ({"output_config": {"temperature": 1}}, "output_config.temperature: Extra inputs"),
        (
            {"tools": [{**TOOL, "strict": True}]},
            "tools.0.custom.input_schema: For 'object' type",
        ),
    ],
    ids=str,
)
def test_what_the_service_refuses_around_the_messages(fields, words):
    found = reasons(**fields)
    assert len(found) == 1
    assert found[0].startswith(words)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([said(text("a")), USER], 'messages: first message must use the "user" role'),
        ([USER, said(text("a"))], "This model does not support assistant message prefill"),
        ([{**USER, "id": "m1"}], "messages.0.id: Extra inputs are not permitted"),
        ([{"role": "system", "content": "a"}, USER], "messages.0.role: Input should be"),
        ([{"role": "tool", "content": "a"}], "messages.0.role: Input should be"),
        ([{"role": "user"}], "messages.0.content: Field required"),
        ([{"role": "user", "content": ""}], "messages.0: user messages must have non-empty"),
        ([{"role": "user", "content": []}], "messages.0: user messages must have non-empty"),
        ([USER, said(), USER], "messages.1: assistant messages must have non-empty"),
        ([told(text(""))], "messages: text content blocks must be non-empty"),
        ([told(text("\n"))], "messages: text content blocks must contain non-whitespace text"),
        ([{"role": "user", "content": " "}], "messages: text content blocks must contain"),
        ([told(text("a", id="x"))], "messages.0.content.0.text.id: Extra inputs"),
        ([told(text("a", citations=[{}]))], "messages.0.content.0.text.citations: Extra"),
        ([told({"type": "poem"})], "messages.0.content.0: Input tag 'poem' found using 'type'"),
        ([told(CALL)], "messages.0.content.0: Input tag 'tool_use' found"),
        (
            [USER, said({"type": "document", "source": {}}), USER],
            "messages.1.content.0: Input tag 'document' found",
        ),
        (
            [USER, said({**CALL, "input": [1]}), told(RESULT)],
            "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
        ),
        (
            [USER, said({**CALL, "id": "a b"}), told(RESULT)],
            "messages.1.content.0.tool_use.id: String should match pattern",
        ),
        (
            [USER, said({"type": "tool_use", "id": "a", "name": "b"}), USER],
            "messages.1.content.0.tool_use.input: Field required",
        ),
        (
            [USER, said(CALL), told({**RESULT, "content": {"a": 1}})],
            "messages.2.content.0.tool_result.content: Input should be a valid list",
        ),
        (
            [USER, said(CALL), told({**RESULT, "content": [THOUGHT]})],
            "messages.2.content.0.tool_result.content.0: Input tag 'thinking'",
        ),
        ([USER, said(CALL), USER], "messages.1: `tool_use` ids were found without"),
        ([USER, said(CALL)], "This model does not support assistant message prefill"),
        (
            [USER, said(CALL, {**CALL, "id": "t2"}), told(RESULT)],
            "messages.1: `tool_use` ids were found without `tool_result` blocks",
        ),
        ([told(RESULT)], "messages.0.content.0: unexpected `tool_use_id` found"),
        (
            [*PAIR, said(text("a")), told(RESULT)],
            "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1.",
        ),
        (
            [USER, said(CALL), told(RESULT, RESULT)],
            "messages.2.content.1: each tool_use must have a single result.",
        ),
        (
            [USER, said(CALL), told(text("a"), RESULT)],
            "messages.2.content.1: `tool_result` blocks must come first",
        ),
        ([*PAIR, said(CALL), told(RESULT)], "messages.3: `tool_use` ids must be unique: t1"),
        (
            [USER, said(text("a"), THOUGHT), USER],
            "messages.1: The final block in an assistant message cannot be `thinking`.",
        ),
        (
            [USER, said({**THOUGHT, "thinking": "hm!"}, text("a")), USER],
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest",
        ),
        (
            [USER, said({**THOUGHT, "signature": "x"}, text("a")), USER, said(text("b")), USER],
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
        (
            [told({"type": "image", "source": {**IMAGE, "data": "A" * (5 * 1024 * 1024 + 4)}})],
            "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5242884",
        ),
        (
            [told({"type": "image", "source": {**IMAGE, "data": "???"}})],
            "messages.0.content.0.image.source.base64: invalid base64 data",
        ),
        (
            [
                told(
                    {
                        "type": "image",
                        "source": {**IMAGE, "media_type": "image/bmp", "data": "QQ=="},
                    }
                )
            ],
            "messages.0.content.0.image.source.base64.media_type",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_what_the_service_refuses_in_messages(messages, words):
    found = reasons(messages=messages)
    assert found
    assert found[0].startswith(words)


def test_s_07_the_unanswered_calls_are_named():
    (found,) = reasons(messages=[USER, said(CALL, {**CALL, "id": "t2"}), told(RESULT)])
    assert "immediately after: t2. Each" in found


def test_an_image_of_just_the_limit_is_accepted():
    data = base64.b64encode(bytes(5 * 1024 * 1024 // 4 * 3)).decode()
    image = {"type": "image", "source": {**IMAGE, "data": data}}
    assert len(data) == 5 * 1024 * 1024
    assert reasons(messages=[told(image)]) == []


@pytest.mark.parametrize("count", [4, 5])
def test_p_14_cache_marks_are_counted_everywhere(count):
    inner = {"type": "text", "text": "a", "cache_control": MARK}
    fields = {
        "tools": [{**TOOL, "cache_control": MARK}],
        "system": [text("s", cache_control=MARK)],
        "messages": [
            told(text("q", cache_control=MARK)),
            said(CALL),
            told(
                {**RESULT, "content": [inner if count == 5 else text("a")], "cache_control": MARK}
            ),
        ],
    }
    message = "A maximum of 4 blocks with cache_control may be provided. Found 5."
    assert reasons(**fields) == ([message] if count == 5 else [])


@pytest.mark.parametrize(
    ("system", "words"),
    [
        ([text("a", cache_control={"type": "forever"})], "system.0.cache_control.type"),
        ([text("a", cache_control={**MARK, "ttl": "2h"})], "system.0.cache_control.ttl: Input"),
        (
            [text("a", cache_control=MARK), text("b", cache_control={**MARK, "ttl": "1h"})],
            "system.1.cache_control.ttl: a ttl='1h' cache_control block must not come after",
        ),
    ],
)
def test_cache_marks_have_a_form_and_an_order(system, words):
    (found,) = reasons(system=system)
    assert found.startswith(words)


def test_p_14_no_mark_on_thinking_or_on_empty_text():
    marked = said({**THOUGHT, "cache_control": MARK}, text("a"))
    assert reasons(messages=[USER, marked, USER]) == [
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted"
    ]
    assert "messages.0.content.0.text: cache_control cannot be set for empty text blocks" in (
        reasons(messages=[told(text("", cache_control=MARK))])
    )


WORDS = st.sampled_from(
    ["text", "tool_use", "tool_result", "thinking", "image", "user", "assistant", "t1", "", "5m"]
)
KEYS = st.sampled_from(
    [
        *("type", "text", "role", "content", "id", "name", "input", "tool_use_id", "source"),
        *("data", "cache_control", "ttl", "thinking", "signature", "schema", "format"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
FIELDS = st.sampled_from(
    [
        *("model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking"),
        *("metadata", "cache_control", "output_config", "stop_sequences", "stream"),
    ]
)


@given(st.dictionaries(FIELDS, JSON, max_size=4), st.lists(st.dictionaries(KEYS, JSON), max_size=3))
@settings(max_examples=100, deadline=None)
def test_no_body_whatever_breaks_the_judge(fields, messages):
    for body in ({**BASE, **fields}, {**BASE, "messages": messages, **fields}):
        found = validate(body, Limits())
        assert all(violation.message and violation.status == 400 for violation in found)


RICH = {
    **BASE,
    "system": [text("s", cache_control={**MARK, "ttl": "1h"})],
    "tools": [{**TOOL, "strict": True, "input_schema": CLOSED}],
    "tool_choice": {"type": "tool", "name": "read_file"},
    "thinking": {"type": "adaptive"},
    "metadata": {"user_id": "u"},
    "stop_sequences": ["x"],
    "messages": [
        told(text("a"), {"type": "image", "source": {**IMAGE, "data": "QUJD"}}),
        said(THOUGHT, text("b"), CALL),
        told({**RESULT, "content": [text("r", cache_control=MARK)], "is_error": True}),
    ],
}
STRANGE = [None, 0, True, "", "x", [], {}, [1], [[]], {"type": []}, [{"type": {}}]]


def places(value, path=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in inner:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


@pytest.mark.parametrize("path", list(places(RICH)), ids=lambda path: ".".join(map(str, path)))
def test_any_value_in_any_place_is_judged_without_an_exception(path):
    for strange in STRANGE:
        body = copy.deepcopy(RICH)
        holder = body
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = strange
        for violation in validate(body, Limits()):
            assert violation.message
