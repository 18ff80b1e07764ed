from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.session.query import parse_query


def marked(query, text):
    """The parts of the snippet that are marked."""
    match = parse_query(query).match(text)
    return None if match is None else [match.snippet[a:b] for a, b in match.marks]


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        pytest.param("loss", "the loss is 0.3", ["loss"], id="word"),
        pytest.param("LOSS the", "The Loss", ["The", "Loss"], id="any case, any order"),
        pytest.param("loss gain", "the loss", None, id="all words must occur"),
        pytest.param("os", "the loss", ["os"], id="inside a word"),
        pytest.param('"is the"', "the loss is", None, id="phrase is not its words"),
        pytest.param('"loss is" the', "the loss is", ["the", "loss is"], id="phrase and word"),
        pytest.param('"loss is', "the loss is", ["loss is"], id="open quote"),
        pytest.param("损失", "训练损失下降", ["损失"], id="Chinese inside a sentence"),
        pytest.param("损", "训练损失下降", ["损"], id="one Chinese character"),
        pytest.param("cafe\u0301", "Café noir", ["Café"], id="decomposed query"),
        pytest.param("CAFÉ", "cafe\u0301 noir", ["café"], id="decomposed text"),
        pytest.param("strasse", "die Straße hier", ["Straße"], id="folds to several"),
        pytest.param("hier", "ßßß hier", ["hier"], id="after one that folds to several"),
        pytest.param("ss", "aßb", ["ß"], id="a whole character is marked"),
        pytest.param("aa", "aaa", ["aa"], id="overlap"),
        pytest.param("abc bcd", "xabcdx", ["abcd"], id="overlapping words are one mark"),
        pytest.param("", "text", None, id="nothing"),
        pytest.param('"" "', "text", None, id="empty phrases"),
        pytest.param("a\\b", "path a\\b", ["a\\b"], id="backslash"),
        pytest.param(".*", "regular .* dot", [".*"], id="no expression"),
    ],
)
def test_words_are_found_and_marked(query, text, expected):
    assert marked(query, text) == expected


def test_a_snippet_is_one_line_cut_on_both_sides():
    match = parse_query("needle").match("x" * 100 + "\n\tneedle\n" + "y" * 200)
    assert match.snippet.startswith("…x")
    assert "  needle y" in match.snippet
    assert match.snippet.endswith("y…")
    assert len(match.snippet) == 202
    assert [match.snippet[a:b] for a, b in match.marks] == ["needle"]


TEXTS = st.text(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from('aA sSßſKkéE\u0301İi\u0307"\\\n\t损失ﬁ\u2028\x1f'),
    )
)


@given(TEXTS, TEXTS, TEXTS)
def test_a_line_is_never_wrongly_ruled_out(before, words, after):
    query = parse_query(words)
    text = before + words + after
    line = json.dumps({"text": text}, ensure_ascii=False).encode()
    if query.match(text) is not None:
        assert query.may_be_in(line)
        assert query.may_be_in(json.dumps({"text": text}).encode())


@given(TEXTS, TEXTS)
def test_marks_stand_inside_the_snippet_and_hold_a_term(words, text):
    query = parse_query(words)
    match = query.match(text)
    if match is None:
        return
    assert match.marks
    for start, end in match.marks:
        assert 0 <= start < end <= len(match.snippet)
        part = unicodedata.normalize("NFC", match.snippet[start:end]).casefold()
        shown = ["".join(c if c.isprintable() else " " for c in term) for term in query.terms]
        assert any(term in part or part in term for term in shown)


def test_a_line_without_the_words_is_ruled_out():
    query = parse_query("needle 损失")
    assert not query.may_be_in(b'{"text":"needle"}')
    assert not query.may_be_in('{"text":"损失"}'.encode())
    assert query.may_be_in('{"text":"损失 NEEDLE"}'.encode())
