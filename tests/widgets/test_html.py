from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.widgets.html import clip, escape, plain, prose, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("echo 'evil' \x1b[24D\x1b[K && echo good", "echo 'evil' ␛[24D␛[K && echo good"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "␛]8;;http://x␇link␛]8;;␇"),
        ("\x1b]52;c;ZXZpbA==\x07", "␛]52;c;ZXZpbA==␇"),
        ("safe\rrm -rf ~", "safe␍rm -rf ~"),
        ("a\u202eb", "a\\u202Eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb\ufeffc\u00add", "a\\u200Bb\\uFEFFc\\xADd"),
        ("nul\x00del\x7fc1\x9b", "nul␀del␡c1\\x9B"),
        ("no\u00a0break", "no\\xA0break"),
        ("tag\U000e0041", "tag\\U000E0041"),
        ("line\u2028sep", "line\\u2028sep"),
        ("lone\ud800", "lone\\uD800"),
        ("plain\ttext\nwith 中文\u3000é", "plain\ttext\nwith 中文\u3000é"),
    ],
)
def test_t_06_every_character_of_a_proposal_is_visible(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_t_06_visible_text_has_no_controls_and_is_stable(text):
    shown = visible(text)
    assert all(char in "\t\n\u3000" or char.isprintable() for char in shown)
    assert visible(shown) == shown


def test_output_loses_its_colours_and_shows_what_else_it_hides():
    assert plain("\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07ok\rover") == "red\nok␍over"


def test_prose_keeps_the_joiners_of_living_scripts_but_no_override():
    assert (
        prose("👩\u200d💻 می\u200cخواهم \u202eabc\x1b[0m")
        == "👩\u200d💻 می\u200cخواهم \\u202Eabc␛[0m"
    )


def test_w_06_escape_leaves_no_markup():
    assert escape("<b onmouseover='x'>\"&\x1b") == "&lt;b onmouseover=&#x27;x&#x27;&gt;&quot;&amp;␛"


@pytest.mark.parametrize(
    ("text", "lines", "characters", "expected"),
    [
        ("a\nb\nc", 2, 99, ("a\nb", 2)),
        ("abcdef", 9, 4, ("abcd", 2)),
        ("a\nb", 2, 99, ("a\nb", 0)),
        ("", 1, 1, ("", 0)),
    ],
)
def test_clip_bounds_lines_and_characters_and_counts_the_rest(text, lines, characters, expected):
    assert clip(text, lines=lines, characters=characters) == expected
