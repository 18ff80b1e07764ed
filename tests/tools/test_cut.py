from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.tools.cut import HeadTail, counted, cut, one_line, without_escapes


def test_short_text_is_not_cut():
    assert cut("é" * 50, 100) == "é" * 50


def test_normal_text_keeps_its_head_and_states_the_true_size():
    text = cut("a" * 2_000, 200)
    assert text == "a" * 100 + "\n[cut here: the first 100 of 2,000 bytes are shown]"


def test_failing_output_keeps_head_and_tail():
    text = cut("begin" + "x" * 10_000 + "the error", 200, tail=True)
    assert text.startswith("begin")
    assert text.endswith("the error")
    assert "[9,914 of 10,014 bytes left out here]" in text


@given(st.text(max_size=300), st.integers(100, 300), st.booleans())
def test_s_18_cutting_never_splits_a_character(text, limit, tail):
    text = text.encode("utf-8", "replace").decode()
    result = cut(text, limit, tail=tail)
    assert len(result.encode()) <= limit
    assert "\ufffd" not in result or "\ufffd" in text


@given(st.lists(st.binary(max_size=40)), st.integers(4, 60))
def test_a_stream_keeps_first_and_last_bytes_within_its_limit(chunks, limit):
    sink = HeadTail(limit)
    for chunk in chunks:
        sink.add(chunk)
    whole = b"".join(chunks)
    assert sink.total == len(whole)
    if len(whole) <= limit:
        assert sink.text() == whole.decode("utf-8", "replace")
    else:
        assert f"of {len(whole):,} bytes left out here]" in sink.text()


def test_a_stream_is_cut_between_characters():
    sink = HeadTail(11)
    sink.add(("é" * 100).encode())
    assert sink.text() == "éé\n[189 of 200 bytes left out here]\nééé"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("good\x1b[24D\x1b[Kevil", "goodevil"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_terminal_sequences_and_lone_surrogates_go(raw, clean):
    assert without_escapes(raw) == clean


def test_titles_are_one_bounded_line():
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"


def test_numbers_agree_with_their_noun():
    assert (counted(1, "file"), counted(2_000, "file")) == ("1 file", "2,000 files")
