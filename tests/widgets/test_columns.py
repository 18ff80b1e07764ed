from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.widgets.columns import align, display_width, fit


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("会话", 4),
        ("a会b", 4),
        ("e\u0301", 1),
        ("\u200b", 0),
        ("ＡＢ", 4),
        ("🐈", 2),
    ],
)
def test_width_is_what_a_terminal_shows(text, width):
    assert display_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("abcdef", 6, "abcdef"), ("abcdef", 4, "abc…"), ("会话列表", 5, "会话…"), ("ab cd", 4, "ab…")],
)
def test_a_long_text_is_cut_by_places(text, width, shown):
    assert fit(text, width) == shown


def test_columns_stay_even_under_wide_characters():
    text = align([("name", "n"), ("会话", "12"), ("x", "3")], right={1})
    assert text == "name   n\n会话  12\nx      3"


def test_no_line_ends_in_blanks():
    assert align([("a", ""), ("abc", "x")]) == "a\nabc  x"
    assert align([]) == ""


@given(st.text(max_size=30), st.integers(1, 20))
def test_a_fitted_text_never_takes_more_places(text, width):
    assert display_width(fit(text, width)) <= width
