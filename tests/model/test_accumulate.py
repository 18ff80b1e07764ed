from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.events import TextDelta, ThinkingDelta, ToolInputDelta, Usage
from mewcode_nb.model.accumulate import Accumulator, StreamDamaged, parse_event, read_usage


def start(**usage):
    message = {"id": "msg_1", "model": "m-1", "usage": usage or {"input_tokens": 5}}
    return {"type": "message_start", "message": message}


def opened(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index, **delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


def closed(index):
    return {"type": "content_block_stop", "index": index}


def end(stop_reason="end_turn", **usage):
    event = {"type": "message_delta", "delta": {"stop_reason": stop_reason}}
    return [{**event, "usage": usage} if usage else event, {"type": "message_stop"}]


def fold(*events, **options):
    answer = Accumulator(**options)
    shown = [delta for event in events if (delta := answer.add(event)) is not None]
    return answer, shown


def call(raw, stop_reason="tool_use", **block):
    block = {"type": "tool_use", "id": "t1", "name": "shell", "input": {}, **block}
    pieces = [
        piece(0, type="input_json_delta", partial_json=raw[i : i + 3])
        for i in range(0, len(raw), 3)
    ]
    answer, _ = fold(start(), opened(0, **block), *pieces, closed(0), *end(stop_reason))
    return answer.completion()


def test_text_thinking_and_a_call_become_the_blocks_that_were_sent():
    answer, shown = fold(
        start(input_tokens=7),
        opened(0, type="thinking", thinking="", signature=""),
        piece(0, type="thinking_delta", thinking="well, "),
        piece(0, type="thinking_delta", thinking="yes"),
        piece(0, type="signature_delta", signature="c2ln"),
        closed(0),
        opened(1, type="text", text=""),
        piece(1, type="text_delta", text="I look "),
        piece(1, type="text_delta", text="now."),
        closed(1),
        opened(2, type="tool_use", id="t1", name="shell", input={}),
        piece(2, type="input_json_delta", partial_json=""),
        piece(2, type="input_json_delta", partial_json='{"command"'),
        piece(2, type="input_json_delta", partial_json=': "ls"}'),
        closed(2),
        *end("tool_use", output_tokens=9),
    )
    done = answer.completion("req_1")
    assert done.content == (
        {"type": "thinking", "thinking": "well, yes", "signature": "c2ln"},
        {"type": "text", "text": "I look now."},
        {"type": "tool_use", "id": "t1", "name": "shell", "input": {"command": "ls"}},
    )
    assert (done.stop_reason, done.model, done.message_id) == ("tool_use", "m-1", "msg_1")
    assert (done.request_id, done.usage) == ("req_1", Usage(input_tokens=7, output_tokens=9))
    assert done.invalid_inputs == {}
    assert shown == [
        ThinkingDelta("well, "),
        ThinkingDelta("yes"),
        TextDelta("I look "),
        TextDelta("now."),
        ToolInputDelta(2, "shell", 10),
        ToolInputDelta(2, "shell", 17),
    ]


@pytest.mark.parametrize(
    "text",
    ["ends in spaces   ", "CRLF\r\nline", "\ttab", "emoji 🦊 and 中文", "\u2028 separators \u0085"],
)
def test_p_12_thinking_comes_out_byte_for_byte(text):
    answer, _ = fold(
        start(),
        opened(0, type="thinking", thinking="", signature=""),
        *(piece(0, type="thinking_delta", thinking=letter) for letter in text),
        piece(0, type="signature_delta", signature="AB+/="),
        closed(0),
        *end(),
    )
    (block,) = answer.completion().content
    assert block == {"type": "thinking", "thinking": text, "signature": "AB+/="}


def test_an_emoji_cut_between_two_deltas_is_whole_again():
    answer, _ = fold(
        start(),
        opened(0, type="text", text=""),
        piece(0, type="text_delta", text="a\ud83e"),
        piece(0, type="text_delta", text="\udd8ab"),
        closed(0),
        *end(),
    )
    assert answer.completion().content == ({"type": "text", "text": "a🦊b"},)


def test_blocks_and_events_of_unknown_kinds_are_kept_or_passed_over():
    answer, shown = fold(
        {"type": "weather_report", "sky": "clear"},
        start(),
        opened(0, type="redacted_thinking", data="xyz"),
        closed(0),
        opened(1, type="hologram", beam={"hue": 3}),
        piece(1, type="hologram_delta", beam=4),
        closed(1),
        *end(),
    )
    assert answer.completion().content == (
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "hologram", "beam": {"hue": 3}},
    )
    assert shown == []


def test_citations_are_gathered_into_their_text_block():
    answer, _ = fold(
        start(),
        opened(0, type="text", text="", citations=[{"n": 0}]),
        piece(0, type="text_delta", text="so"),
        piece(0, type="citations_delta", citation={"n": 1}),
        closed(0),
        *end(),
    )
    (block,) = answer.completion().content
    assert block == {"type": "text", "text": "so", "citations": [{"n": 0}, {"n": 1}]}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"path": "/et', "not JSON"),
        ("[1,2]", "not a JSON object: [1,2]"),
        ('"x"', 'not a JSON object: "x"'),
        ("null", "not a JSON object"),
        ('{"n": NaN}', "NaN is not JSON"),
        ('{"n": -Infinity}', "-Infinity is not JSON"),
        ('{"n": ' + "9" * 5000 + "}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a": 1} {"b": 2}', "not JSON"),
    ],
)
def test_p_06_an_input_that_is_no_object_is_reported_and_left_empty(raw, reason):
    done = call(raw)
    assert done.content == ({"type": "tool_use", "id": "t1", "name": "shell", "input": {}},)
    assert reason in done.invalid_inputs["t1"]
    assert len(done.invalid_inputs["t1"]) < 400


def test_p_06_a_long_bad_input_is_quoted_in_part_with_its_size():
    assert "(1,001 characters)" in call("x" * 1001).invalid_inputs["t1"]


def test_p_07_an_input_cut_by_max_tokens_is_reported():
    done = call('{"path": "a.p', "max_tokens")
    assert done.stop_reason == "max_tokens"
    assert list(done.invalid_inputs) == ["t1"]


@pytest.mark.parametrize(
    ("raw", "given", "expected"),
    [("", {}, {}), ("   ", {}, {}), ("", {"command": "ls"}, {"command": "ls"})],
)
def test_p_06_an_input_without_pieces_is_what_the_start_said(raw, given, expected):
    done = call(raw, input=given)
    assert done.content[0]["input"] == expected
    assert done.invalid_inputs == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["call_0", "call_0"], ["call_0", "call_0-2"]),
        (["a", "a-2", "a", "a"], ["a", "a-2", "a-3", "a-4"]),
        (["a", "b"], ["a", "b"]),
    ],
)
def test_calls_of_one_answer_that_share_an_id_get_one_each(given, expected):
    events = []
    for index, identity in enumerate(given):
        block = {"type": "tool_use", "id": identity, "name": "shell", "input": {}}
        events += [opened(index, **block), closed(index)]
    answer, _ = fold(start(), *events, *end("tool_use"))
    assert [block["id"] for block in answer.completion().content] == expected


def test_lone_surrogates_in_an_input_are_replaced_so_that_it_can_be_stored():
    done = call('{"a": "x\\ud83d", "b": ["\\ud83e\\udd8a", {"c\\udc00": 1}]}')
    assert done.content[0]["input"] == {"a": "x\ufffd", "b": ["🦊", {"c\ufffd": 1}]}
    json.dumps(done.content, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([], "no answer began"),
        ([start()], "the closing event never came"),
        ([start(), end()[0]], "the closing event never came"),
        ([start(), {"type": "message_stop"}], "no stop reason came"),
        (
            [start(), opened(0, type="tool_use", id="t", name="n", input={}), *end("tool_use")],
            "a block was left half sent",
        ),
        (
            [start(), opened(0, type="thinking", thinking="", signature=""), *end()],
            "a block was left half sent",
        ),
    ],
)
def test_p_02_a_stream_that_lacks_its_end_is_no_completion(events, reason):
    answer, _ = fold(*events)
    assert answer.missing() == reason
    with pytest.raises(StreamDamaged, match=reason):
        answer.completion()


@pytest.mark.parametrize(
    "events",
    [
        [start(), start()],
        [start(), piece(0, type="text_delta", text="x")],
        [start(), closed(3)],
        [start(), opened(0, type="text", text=""), opened(0, type="text", text="")],
        [start(), opened(None, type="text", text="")],
        [start(), opened(0, text="no type")],
        [start(), opened(0, type="tool_use", id="", name="n", input={})],
        [start(), {"type": "content_block_start", "index": 0}],
        [{"type": "message_start"}],
        [start(), {"type": "message_delta"}],
    ],
)
def test_p_03_events_out_of_place_are_damage(events):
    with pytest.raises(StreamDamaged):
        fold(*events)


def test_p_02_what_arrived_of_a_broken_answer_is_its_words_only():
    answer, _ = fold(
        start(),
        opened(0, type="thinking", thinking="", signature=""),
        piece(0, type="thinking_delta", thinking="hm"),
        closed(0),
        opened(1, type="text", text=""),
        piece(1, type="text_delta", text="Let me"),
        closed(1),
        opened(2, type="text", text=" \n"),
        closed(2),
        opened(3, type="tool_use", id="t", name="n", input={}),
        closed(3),
        opened(4, type="text", text=""),
        piece(4, type="text_delta", text="and th"),
    )
    assert answer.partial() == (
        {"type": "text", "text": "Let me"},
        {"type": "text", "text": "and th"},
    )


START = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 100,
    "cache_read_input_tokens": 1000,
    "output_tokens": 1,
}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (START, {**START, "output_tokens": 50}, Usage(10, 100, 1000, 50)),
        (START, {"output_tokens": 50}, Usage(10, 100, 1000, 50)),
        (START, {}, Usage(10, 100, 1000, 1)),
        ({"input_tokens": 0}, {**START, "output_tokens": 50}, Usage(10, 100, 1000, 50)),
        (START, {"input_tokens": None, "output_tokens": 7}, Usage(10, 100, 1000, 7)),
        (START, {"input_tokens": 12, "output_tokens": 7}, Usage(12, 100, 1000, 7)),
    ],
)
def test_row_30_a_later_usage_overwrites_and_never_adds(first, last, expected):
    answer, _ = fold(start(**first), *end("end_turn", **last))
    assert answer.completion().usage == expected


@pytest.mark.parametrize(
    ("includes", "expected"),
    [(True, Usage(2, 4927, 42036, 0)), (False, Usage(46965, 4927, 42036, 0))],
)
def test_row_32_an_input_that_includes_the_cache_is_counted_once(includes, expected):
    raw = {
        "input_tokens": 46965,
        "cache_read_input_tokens": 42036,
        "cache_creation_input_tokens": 4927,
    }
    usage = read_usage(raw, input_includes_cache=includes)
    assert usage == expected
    answer, _ = fold(start(**raw), *end(), input_includes_cache=includes)
    assert answer.usage == expected


def test_row_33_growing_output_reports_count_once_with_the_last_value():
    growing = [
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": n}} for n in (3, 9)
    ]
    answer, _ = fold(start(input_tokens=4), *growing, *end("end_turn", output_tokens=20))
    assert answer.completion().usage == Usage(input_tokens=4, output_tokens=20)


@pytest.mark.parametrize(
    ("top", "split", "expected"),
    [(100, (60, 40), 100), (0, (60, 40), 100), (None, (60, 40), 100), (100, (0, 0), 100)],
)
def test_the_split_of_cache_creation_is_the_same_tokens_not_more(top, split, expected):
    five, hour = split
    raw = {
        "cache_creation_input_tokens": top,
        "cache_creation": {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour},
    }
    assert read_usage(raw).cache_creation_input_tokens == expected


@pytest.mark.parametrize("value", [-5, True, "12", 3.5, None, [1]])
def test_numbers_that_are_no_counts_count_nothing(value):
    assert read_usage({"input_tokens": value}) == Usage()


@pytest.mark.parametrize("data", ["", "<oops>", "[1]", "3", "[" * 100_000, b"\xff"])
def test_p_03_event_data_that_is_no_json_object_is_damage(data):
    with pytest.raises(StreamDamaged):
        parse_event(data)


json_values = st.sampled_from([None, True, 3, -1, "", "x", '{"a": 1}', [], ["y"], {}, {"id": "m"}])
kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
    ]
)
deltas = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]
        )
    },
    optional={"text": json_values, "thinking": json_values, "partial_json": json_values},
)
blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "new"])},
    optional={"id": json_values, "name": json_values, "text": json_values, "input": json_values},
)
events = st.fixed_dictionaries(
    {"type": kinds},
    optional={
        "index": st.integers(0, 2) | json_values,
        "content_block": blocks | json_values,
        "delta": deltas | json_values,
        "message": json_values | st.just({"id": "m", "model": "m", "usage": {}}),
        "usage": json_values,
    },
)


@given(st.lists(events, max_size=12))
def test_any_events_end_in_a_completion_or_in_damage(stream):
    try:
        answer, _ = fold(*stream)
        done = answer.completion()
    except StreamDamaged:
        return
    assert done.stop_reason
    assert all(isinstance(b["input"], dict) for b in done.content if b["type"] == "tool_use")
