from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mewcode_nb.widgets.blocks import StreamBlocks

LINES = ["", "", "", "word word", "# head", "- item", "1. item", "  more", "   - sub", "> quote"]
LINES += [
    "```",
    "```py",
    "  ```",
    "> ```",
    "- ```",
    "~~~",
    "````",
    "| a | b |",
    "|---|---|",
    "    x",
]
LINES += ["**bold** text", "```a`b", "***", "中文", "$$", "x = 1"]


def unbreakable(text):
    """Line numbers at which no piece may end: inside a fence, a table or a list."""
    inside = set()
    for token in MarkdownIt("commonmark", {"html": False}).enable("table").parse(text):
        if token.type in {"fence", "table_open", "bullet_list_open", "ordered_list_open"}:
            inside |= set(range(token.map[0] + 1, token.map[1]))
    return inside


def feed(text, step, size):
    blocks = StreamBlocks(size)
    frozen = []
    for start in range(0, len(text), step):
        frozen += blocks.feed(text[start : start + step])
    return frozen, blocks.tail


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.sampled_from(LINES), max_size=40).map("\n".join),
    st.integers(1, 30),
    st.integers(0, 40),
)
def test_pieces_and_tail_are_the_text_and_end_between_blocks(text, step, size):
    frozen, tail = feed(text, step, size)
    assert "".join(frozen) + tail == text
    forbidden, line = unbreakable(text), 0
    for piece in frozen:
        line += piece.count("\n")
        assert line not in forbidden, (text, frozen)


@given(st.text(), st.integers(1, 9))
def test_any_text_comes_out_whole_however_it_is_cut(text, step):
    frozen, tail = feed(text, step, 3)
    assert "".join(frozen) + tail == text


def test_a_long_answer_is_frozen_in_pieces_of_about_the_size():
    paragraph = "Words of a paragraph that goes on for a while.\n\n"
    frozen, tail = feed(paragraph * 200, 20, 1_500)
    assert len(frozen) == 6
    assert all(1_500 <= len(piece) < 1_600 for piece in frozen)
    assert len(tail) < 1_700


@pytest.mark.parametrize(
    "block",
    [
        "```python\n" + "x = 1\n\ny = 2\n\n" * 50 + "```\n",
        "- item\n\n  more\n\n" * 60,
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 100,
        "- ```\n  a\n\n  b\n  ```\n\n" * 30,
    ],
)
def test_no_piece_ends_inside_a_long_block(block):
    text = "Intro.\n\n" + block + "\n" + "After.\n\n" * 200
    frozen, _ = feed(text, 7, 100)
    ends = [len("".join(frozen[: count + 1])) for count in range(len(frozen))]
    inside = range(len("Intro.\n\n") + 1, text.index("After."))
    assert ends
    assert not set(ends) & set(inside)


def test_feeding_costs_in_proportion_to_the_text():
    def cost(count):
        blocks, started = StreamBlocks(), time.process_time()
        for _ in range(count):
            blocks.feed("some words, ")
        return time.process_time() - started

    cost(1_000)
    assert cost(40_000) < 40 * max(cost(4_000), 0.002)
