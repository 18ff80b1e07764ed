from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mewcode_nb.notebook.page import Page, code_span

HOSTILE = st.text(alphabet="`|\\<>&!*_[]()#\n ab", max_size=40)


def tokens(markdown):
    rows = MarkdownIt("commonmark").enable("table").parse(markdown)
    return [token.type for token in rows], [
        child for token in rows for child in token.children or ()
    ]


@given(HOSTILE)
def test_a_code_span_holds_whatever_the_text_is(text):
    span = code_span(text)
    words = " ".join(text.split())
    _, children = tokens(f"| a | b |\n| --- | --- |\n| x | {span} |")
    codes = [child.content for child in children if child.type == "code_inline"]
    assert codes == ([words] if words else [])
    assert not any(child.type.startswith(("html", "link", "image")) for child in children)


@given(HOSTILE)
def test_fixed_text_is_one_fence_with_the_text_in_it(text):
    rows = MarkdownIt("commonmark").parse(Page.fixed(text).markdown)
    assert [row.type for row in rows] == ["fence"]
    assert rows[0].content == f"{text}\n"


def test_a_table_aligns_its_plain_form_and_shows_text_below():
    page = Page.table([("model", "x"), ("key", "not set")], after=Page.fixed("last\nwords"))
    assert page.plain == "model  x\nkey    not set\n\nlast\nwords"
    assert "| `model` | `x` |" in page.markdown


def test_an_answer_is_markdown_of_which_nothing_runs_under_a_plain_heading():
    page = Page.answer("Last *one*", "# Title\n\n<script>x</script> ![i](http://h/i)")
    assert page.plain == "Last *one*\n\n# Title\n\n<script>x</script> ![i](http://h/i)"
    assert page.markdown.startswith("**Last &#42;one&#42;**\n\n# Title\n")
    assert "<script" not in page.markdown
    assert "![" not in page.markdown


def test_a_warning_is_red_by_the_theme_and_escaped():
    shown = Page.warning("<b>").html
    assert shown.startswith('<p style="color:var(--jp-error-color1,')
    assert shown.endswith(';font-weight:600">&lt;b&gt;</p>')


@pytest.mark.parametrize(
    "page",
    [
        Page.fixed("a\x1b[2Jb"),
        Page.warning("a\x1b[2Jb"),
        Page.table([("x", "a\x1b[2Jb")], after=Page.answer("h\x1b[1m", "c\x1b]0;title\x07")),
    ],
)
def test_no_form_carries_an_escape_sequence(page):
    assert [form for form in page.bundle().values() if "\x1b" in form or "\x07" in form] == []
    assert "a\u241b[2Jb" in page.plain
