from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.model.sse import EventReader, ServerEvent

STREAM = (
    'event: message_start\ndata: {"a": "é 🦊"}\n\n'
    ": a comment\n\n"
    "event:ping\ndata: {}\n\n"
    "id: 7\nretry: 3\nodd line\ndata: one\ndata:  two\n\n"
    "event: lonely\n\n"
    "\n\n"
)
EVENTS = [
    ServerEvent("message_start", '{"a": "é 🦊"}'.encode()),
    ServerEvent("ping", b"{}"),
    ServerEvent("", b"one\n two"),
    ServerEvent("lonely", b""),
]


def read(*chunks):
    reader = EventReader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@given(cuts=st.lists(st.integers(0, 200), max_size=12))
def test_events_are_the_same_however_the_bytes_are_cut(newline, cuts):
    data = STREAM.replace("\n", newline).encode()
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    chunks = [data[a:b] for a, b in pairwise(places)]
    assert read(*chunks) == EVENTS


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_of_the_three_ways_byte_by_byte(newline):
    data = STREAM.replace("\n", newline).encode() + b": end\n"
    assert read(*(data[i : i + 1] for i in range(len(data)))) == EVENTS


@pytest.mark.parametrize(
    "data", [b"", b"event: x", b"event: x\ndata: {}", b"event: x\ndata: {}\n", b"data: {}\r\n\r"]
)
def test_p_02_an_event_without_its_empty_line_never_happened(data):
    assert read(data) == []


def test_separators_of_unicode_do_not_end_a_line():
    data = "data: a\u2028b\u0085c\x0bd\n\n".encode()
    assert read(data) == [ServerEvent("", "a\u2028b\u0085c\x0bd".encode())]


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_are_read_without_an_exception(chunks):
    for event in read(*chunks):
        assert event.name or event.data
