from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.events import Usage
from mewcode_nb.session.parse import from_json
from mewcode_nb.session.records import (
    LINE_LIMIT,
    Cell,
    CompactRecord,
    Git,
    LegacyCompact,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    Parent,
    ReadRecord,
    RewindRecord,
    Section,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    UnknownRecord,
    Variable,
    to_json,
    to_line,
)

FULL = [
    SessionRecord(1.5, "s", 1, "n.ipynb", "/p", "m", Parent("q", "m3"), Git("main", "4f2d")),
    MessageRecord(
        1.5,
        "m1",
        "assistant",
        (
            {"type": "thinking", "thinking": " 😀\r\n ", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "shell", "input": {"a": [1, None, 1.5]}},
        ),
        "assistant",
        turn=2,
        cell=Cell("c", "ab"),
        usage=Usage(1, 2, 3, 4),
        stop_reason="tool_use",
        model="m",
        message_id="msg_1",
        incomplete=True,
    ),
    SpillRecord(1.5, "t1", "tool-results/t1", 9, "ab", "[9 bytes]"),
    SpillRecord(1.5, "t1", "tool-results/t1", 9, "ab", "[9 bytes]", target="input/content"),
    CompactRecord(
        1.5,
        "c1",
        "auto",
        (Section("", "so far"), Section("1. Goal", "x")),
        attachment="files",
        keep=("m8", "m9"),
        focus="f",
        before=100,
        after=10,
        coverage={"found": 3},
        checkpoint={"title": "t"},
        offset=0,
        usage=Usage(1, 2, 3, 4),
        model="m",
        stats={"seconds": 2.5, "requests": 1},
    ),
    UncompactRecord(1.5, "c1"),
    RewindRecord(1.5, ""),
    ReadRecord(1.5, "/p/a.py", "ab", 3.25, 10),
    NamespaceRecord(
        1.5, 2, (Variable("df", "DataFrame", (3, 0), 0, "fp", "c"),), (Variable("x"),), ("y",)
    ),
    MetaRecord(1.5, {"title": "t", "pin": True, "breaker": None}),
    LegacyCompact(1.0),
    UnknownRecord(2.0, "later", {"type": "later", "ts": 2.0, "x": {"y": [1]}}),
]


@pytest.mark.parametrize("record", FULL, ids=lambda record: type(record).__name__)
def test_record_survives_the_line_it_is_written_as(record):
    assert from_json(json.loads(to_line(record))) == record


@pytest.mark.parametrize("record", FULL[:-1], ids=lambda record: type(record).__name__)
def test_type_leads_the_line_so_that_it_can_be_looked_for(record):
    assert re.match(rb'\{"type":"[a-z]+","ts":1\.[05]', to_line(record))


def test_extra_fields_and_facts_cannot_pass_for_known_ones():
    assert to_line(MetaRecord(1.0, {"type": "x", "ts": 9, "a": 1})) == (
        b'{"type":"meta","ts":1.0,"a":1}\n'
    )
    record = UncompactRecord(1.0, "c1", {"type": "x", "compact": "c2", "later": 1})
    assert to_line(record) == b'{"type":"uncompact","ts":1.0,"compact":"c1","later":1}\n'


def test_line_is_compact_and_says_nothing_it_need_not():
    record = MessageRecord(1.5, "m1", "user", ({"type": "text", "text": "你好"},), "user", turn=1)
    assert to_line(record).decode() == (
        '{"type":"message","ts":1.5,"id":"m1","role":"user",'
        '"content":[{"type":"text","text":"你好"}],"origin":"user","turn":1}\n'
    )


def test_row_4_no_kind_of_line_end_is_left_raw_in_a_line():
    ends = "a\nb\rc\r\nd\u2028e\u2029f\u0085g\x0bh\x0ci\x1cj"
    line = to_line(MessageRecord(1.0, "m", "user", ({"type": "text", "text": ends},), "user"))
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["content"][0]["text"] == ends


def test_s_18_lone_surrogates_are_written_as_replacement_characters():
    line = to_line(MetaRecord(1.0, {"title": "cut \ud83d", "x\udcff": ["\udcff"]}))
    assert json.loads(line.decode("utf-8")) == {
        "title": "cut \ufffd",
        "x\ufffd": ["\ufffd"],
        "type": "meta",
        "ts": 1.0,
    }


def test_thinking_that_cannot_be_encoded_is_left_out_whole():
    blocks = (
        {"type": "thinking", "thinking": "\ud83d", "signature": "c2ln"},
        {"type": "text", "text": "\ud83d"},
    )
    line = to_line(MessageRecord(1.0, "m", "assistant", blocks, "assistant"))
    assert json.loads(line)["content"] == [{"type": "text", "text": "\ufffd"}]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (float("nan"), None),
        (float("-inf"), None),
        (10**5000, "(integer too long)"),
        (True, True),
        (1e300, 1e300),
    ],
    ids=["nan", "infinity", "5,000 digits", "true", "large"],
)
def test_numbers_that_json_lacks_are_written_as_something_it_has(value, stored):
    assert json.loads(to_line(MetaRecord(1.0, {"x": value})))["x"] == stored


def test_nesting_a_reader_would_give_up_on_is_cut_by_the_writer():
    deep = []
    for _ in range(5000):
        deep = [deep]
    line = to_line(MetaRecord(1.0, {"x": deep}))
    assert line.count(b"[") == 199
    assert b"(nested too deeply)" in line


def test_record_over_the_line_limit_is_refused_before_it_is_written():
    with pytest.raises(ValueError, match="over the limit of 33554432"):
        to_line(MetaRecord(1.0, {"x": "a" * LINE_LIMIT}))


def test_unknown_fields_are_kept_and_written_again():
    value = {"type": "read", "ts": 1.0, "path": "a", "sha256": "b", "later": {"x": 1}}
    record = from_json(value)
    assert record.extra == {"later": {"x": 1}}
    assert to_json(record) == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"type": "message", "role": "user"}, "message record: no content"),
        ({"type": "message", "content": []}, "message record: no role"),
        (
            {"type": "message", "role": "system", "content": []},
            "message record: unknown role 'system'",
        ),
        ({"type": "rewind", "ts": 1}, "rewind record: no to"),
        (
            {"type": "compact", "summary": "x", "id": "c"},
            "compact record: the summary is not a list",
        ),
        ({"ts": 1}, "no record type"),
        ({"type": ["x"]}, ""),
        ({"type": "later"}, ""),
    ],
)
def test_record_without_what_it_needs_is_unknown_and_says_why(value, reason):
    record = from_json(value)
    assert isinstance(record, UnknownRecord)
    assert record.raw == value
    assert record.reason.startswith(reason)
    assert bool(record.reason) == bool(reason)


ODD = [None, True, -1, 2, 10**16, 10**400, 1.5, "", "user", "later", [], {}, [[]]]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:12])
@pytest.mark.parametrize("field", sorted({*to_json(FULL[1]), "later"} - {"type", "ts"}))
def test_a_message_with_an_odd_field_is_the_same_read_in_short_and_field_by_field(field, odd):
    """A message whose time is a whole number is read field by field."""
    value = to_json(FULL[1]) | {field: odd}
    for message in (value, value | {"usage": {"input_tokens": odd}, "cell": {"id": odd}}):
        record = from_json(message | {"ts": 1.0})
        assert record == from_json(message | {"ts": 1})
        if isinstance(record, MessageRecord):
            assert type(record.usage) in {Usage, type(None)}
            assert type(record.cell) in {Cell, type(None)}
            assert abs(record.turn) < 1e15


@pytest.mark.parametrize(
    ("odd", "ts"), [(1e15, 0.0), (-1e16, 0.0), (float("nan"), 0.0), (-2.5, -2.5)]
)
def test_a_message_keeps_only_a_time_that_can_be_one(odd, ts):
    assert from_json(to_json(FULL[1]) | {"ts": odd}).ts == ts


def test_parts_that_are_no_blocks_are_kept_as_text():
    record = from_json(
        {
            "type": "message",
            "role": "user",
            "content": ["plain", 7, {"type": "text"}, {"type": "new", "x": 1}],
        }
    )
    assert record.content == (
        {"type": "text", "text": "plain"},
        {"type": "text", "text": "7"},
        {"type": "text", "text": '{"type": "text"}'},
        {"type": "new", "x": 1},
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
names = st.sampled_from(
    ["session", "message", "spill", "compact", "uncompact", "rewind", "read", "namespace", "meta"]
)
keys = st.sampled_from(
    [
        *("ts", "id", "role", "content", "origin", "turn", "cell", "usage", "summary"),
        *("keep", "offset", "to", "path", "created", "removed"),
    ]
)


@settings(max_examples=80, deadline=None)
@given(names, st.dictionaries(keys, json_values), st.text())
def test_any_object_becomes_a_record_and_that_record_a_line(kind, fields, extra):
    record = from_json({"type": kind, **fields, "extra": extra})
    line = to_line(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert from_json(json.loads(line)) == from_json(
        json.loads(to_line(from_json(json.loads(line))))
    )


FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"
EXAMPLES = re.findall(r"```json\n(.*?)\n```", FORMATS.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example[:30])
def test_example_in_the_documentation_is_read_and_written_back_alike(example):
    record = from_json(json.loads(example))
    assert not isinstance(record, UnknownRecord)
    if "type" in json.loads(example):
        assert json.loads(to_line(record)) == json.loads(example)


def test_documentation_has_an_example_of_each_type():
    types = {json.loads(example).get("type") for example in EXAMPLES}
    assert types == {
        *("session", "message", "spill", "compact", "uncompact", "rewind", "read"),
        *("namespace", "meta", None),
    }
