from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.testing import Ask, Fault, reply, thinking, tool_use
from mewcode_nb.testing.faults import spoil, stream_steps
from mewcode_nb.testing.wire import End, Pause, Pings, Reset, Send, Stall, events_of, render

USAGE = {"input_tokens": 3, "cache_creation_input_tokens": 0, "output_tokens": 7}
HEAD = {"id": "msg_1", "model": "m", "usage": USAGE}


def events(made):
    made = spoil(made)
    return events_of(render(made, Ask({}), HEAD, lambda: "toolu_1"), made)


def steps(made):
    return stream_steps(events(made), made)


def names(made):
    sent = b"".join(step.data for step in steps(made) if isinstance(step, Send)).decode()
    return [line[7:] for line in sent.splitlines() if line.startswith("event: ")]


def test_a_good_answer_has_the_service_s_order_of_events():
    made = reply(thinking("t"), "a", tool_use("f", x=1), pings=1, delta_chars=100)
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    longer = [block[0], block[1], *block[1:]]
    start = ["message_start", "ping"]
    assert names(made) == [*start, *longer, *block, *longer, "message_delta", "message_stop"]


def test_usage_is_cumulative_and_starts_small():
    first, *_, delta, _ = [json.loads(event.data) for event in events(reply("a"))]
    assert first["message"]["usage"] == {**USAGE, "output_tokens": 1}
    assert delta["usage"] == USAGE


FOUR = reply("abcd", delta_chars=1)


@pytest.mark.parametrize(
    ("after", "sent"),
    [("start", 0), ("open", 2), ("middle", 4), ("end", 7), (0, 0), (3, 3), (99, 9)],
)
def test_places_in_the_stream_are_counted_in_events(after, sent):
    made = FOUR.with_fault(Fault("truncate", after=after))
    assert len(names(made)) == sent


@pytest.mark.parametrize(
    ("fault", "last"),
    [
        (Fault("truncate"), End(clean=True)),
        (Fault("eof"), End(clean=False)),
        (Fault("stream_reset"), Reset()),
        (Fault("stall"), Stall()),
        (Fault("pings", seconds=2), Pings(b'event: ping\ndata: {"type": "ping"}\n\n', 2)),
        (Fault("pings", comment=True), Pings(b": ping\n\n", 5.0)),
        (Fault("half_event"), End(clean=True)),
        (Fault("omit", omit=("message_stop",)), End(clean=True)),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_the_last_step_is_the_fault_s(fault, last):
    assert steps(FOUR.with_fault(fault))[-1] == last


def test_a_cut_after_bytes_outranks_the_place():
    made = FOUR.with_fault(Fault("eof", after_bytes=10))
    assert steps(made) == (Send(b"event: mes"), End(clean=False))


def test_omitted_events_are_left_out_and_nothing_else():
    made = FOUR.with_fault(Fault("omit", omit=("message_delta", "message_stop")))
    assert names(made) == names(FOUR)[:-2]


def test_a_delay_comes_before_each_delta():
    assert [s for s in steps(reply("abc", delta_chars=1, delay=0.5)) if isinstance(s, Pause)] == (
        [Pause(0.5)] * 3
    )


@given(text=st.text(max_size=60), size=st.integers(1, 9), chars=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_any_cutting_of_any_text_gives_it_back(text, size, chars):
    made = reply(text, tool_use("f", words=text), chunk_bytes=size, delta_chars=chars)
    sent = [step.data for step in steps(made) if isinstance(step, Send)]
    assert all(len(piece) <= size for piece in sent)
    lines = b"".join(sent).decode().split("\n")
    deltas = [json.loads(line[6:]).get("delta", {}) for line in lines if line[:5] == "data:"]
    assert "".join(delta.get("text", "") for delta in deltas) == text
    inputs = "".join(delta.get("partial_json", "") for delta in deltas)
    assert json.loads(inputs) == {"words": text}
