from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from mewcode_nb.events import Effect, Proposal
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.words import Words

HOSTILE = "<b onmouseover=alert(1)>x</b>\x1b[31m[a](javascript:x)"


def test_w_06_a_line_is_escaped_in_each_form():
    bundle = cards.line(HOSTILE + "\nsecond")
    assert "<b" not in bundle["text/html"]
    assert "\x1b" not in "".join(map(str, bundle.values()))
    assert bundle["text/plain"].endswith("second")
    assert "\n" not in bundle["text/plain"]
    rendered = MarkdownIt("commonmark", {"html": True}).render(bundle["text/markdown"])
    assert "<b" not in rendered
    assert "<a" not in rendered


def test_w_06_a_huge_output_is_bounded_and_says_so():
    (fold,) = cards.output_fold(Words(), "line <b>\n" * 200_000)
    bundle = cards.entry("run", [fold], tone="good")
    assert fold.body.count("\n") == 39
    assert fold.rest.startswith("… 1.8 MB more")
    assert sum(len(str(value)) for value in bundle.values()) < 5_000
    assert "<details" in bundle["text/html"]
    assert "<b>" not in bundle["text/html"]


def test_output_without_words_has_no_fold():
    assert cards.output_fold(Words(), " \n\x1b[0m") == ()


def test_a_diff_is_shown_as_a_diff_with_its_controls():
    proposal = Proposal("1", "edit_file", Effect.EDIT, "edit a", diff="-a\n+b\u202e")
    (fold,) = cards.proposal_fold(Words(), proposal)
    assert (fold.language, fold.body) == ("diff", "-a\n+b\\u202E")
    assert "```diff\n-a\n+b\\u202E\n```" in cards.entry("edit a", [fold])["text/markdown"]


def test_a_fence_in_the_output_does_not_end_the_fold():
    (fold,) = cards.output_fold(Words(), "```\n<script>x</script>\n![a](http://x)")
    html = MarkdownIt("commonmark", {"html": True}).render(
        str(cards.entry("t", [fold])["text/markdown"])
    )
    assert "<script" not in html
    assert "<img" not in html


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (999, "999 B"), (12_345, "12.3 KB"), (5_000_000, "5 MB")]
)
def test_sizes_in_words(size, words):
    assert cards.size_words(size) == words
