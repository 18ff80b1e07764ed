from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from mewcode_nb.instructions.grammar import (
    Directive,
    directives,
    front_matter_keys,
    normalise_text,
    skip_comment,
)


def _targets(text: str) -> list[tuple[int, str]]:
    return [(found.line, found.target) for found in directives(text) if not found.problem]


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("@include a.md", "a.md"),
        ("@include a.md   ", "a.md"),
        ("@include\ta.md", "a.md"),
        ("   @include a.md", "a.md"),
        ('@include "a b.md"', "a b.md"),
        ("@include 'a b.md'", "a b.md"),
        ('@include "it\'s.md"', "it's.md"),
        ("@include 文档/约定.md", "文档/约定.md"),
    ],
)
def test_i_05_quoted_and_unquoted_paths(line: str, target: str) -> None:
    assert directives(line) == (Directive(1, target),)


@pytest.mark.parametrize(
    ("line", "written", "problem"),
    [
        ("@include", "", "no path given"),
        ("@include   ", "", "no path given"),
        ('@include ""', '""', "no path given"),
        ("@include a.md # why", "a.md # why", "nothing may follow the path"),
        ('@include "a.md" # why', '"a.md" # why', "the closing quote must end the line"),
        ('@include "a.md', '"a.md', "the closing quote must end the line"),
        ('@include "', '"', "the closing quote must end the line"),
    ],
)
def test_i_05_what_is_no_path_is_a_problem_not_text(line: str, written: str, problem: str) -> None:
    (found,) = directives(line)
    assert found.target == written
    assert found.problem.startswith(problem)


@pytest.mark.parametrize(
    "text",
    [
        "```\n@include x.md\n```",
        "~~~\n@include x.md\n~~~",
        "~~~\n```\n@include x.md\n~~~",
        "````\n```\n@include x.md\n```\n@include x.md\n````",
        "```\n@include x.md",
        "- ```\n  @include x.md\n  ```",
        "1. a\n\n   ```\n   @include x.md\n   ```",
        "> ```\n> @include x.md\n> ```",
        "```` md\n@include x.md\n```\n````",
        "    @include x.md",
        "\t@include x.md",
        "a\n    @include x.md",
        "`@include x.md`",
        "`a\n@include x.md\nb`",
        "``a ` b\n@include x.md\n``",
        "<!-- @include x.md -->",
        "<!--\n@include x.md\n-->",
        "a <!--\n@include x.md\n-->",
        "<div>\n<!--\n@include x.md\n-->\n</div>",
        "<pre>\n@include x.md\n</pre>",
        "<script>\n@include x.md\n</script>",
        "me@include.com",
        "see @include x.md",
        "@included x.md",
        "@include: x.md",
        "@includex.md",
        "> @include x.md",
        "- @include x.md",
        "# @include x.md",
        "@INCLUDE x.md",
    ],
)
def test_i_06_code_comments_and_prose_are_text(text: str) -> None:
    assert directives(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "yarn workspace @scope/app",
        "@scope/app",
        "ann@example.org",
        "@dataclass",
        "git clone user@host:x",
        "@app.route('/x')",
        "@a.md",
    ],
)
def test_row_47_only_the_explicit_form_is_an_include(text: str) -> None:
    assert directives(f"{text}\n@include real.md") == (Directive(2, "real.md"),)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n@include x.md\n---", 2),
        ("[a]:\n@include x.md", 2),
        ("- a\n  @include x.md", 2),
        ("- ```\n  code\n@include x.md", 3),
        ("```\na\n```\n@include x.md", 4),
        ("`` ` ``\n@include x.md", 2),
        ("an odd ` tick\n@include x.md", 2),
        ("\\`a\n@include x.md\n`b", 2),
        ("<!-- a -->\n@include x.md", 2),
        ("<div>\n@include x.md\n</div>", 2),
        ("<details>\n\n@include x.md\n\n</details>", 3),
        ("~~~ a\n~~~~\n@include x.md", 3),
        ("a\u2028b\n@include x.md", 2),
    ],
)
def test_i_06_what_only_looks_like_code_does_not_hide_an_include(text: str, line: int) -> None:
    assert _targets(text) == [(line, "x.md")]


_LINES = st.sampled_from(
    [
        "@include x.md",
        "```",
        "~~~",
        "````",
        "  ```",
        "- a",
        "  b",
        "> q",
        "",
        "    c",
        "text",
        "---",
    ]
)


@given(st.lists(_LINES, max_size=12))
def test_i_06_no_line_of_a_code_block_is_ever_an_include(lines: list[str]) -> None:
    code: set[int] = set()
    for token in MarkdownIt("commonmark").parse("\n".join(lines)):
        if token.type in ("fence", "code_block") and token.map:
            code.update(range(token.map[0] + 1, token.map[1] + 1))
    assert not code & {found.line for found in directives("\n".join(lines))}


_HOSTILE = st.text(st.sampled_from("->!<`& a\n\u2028\x1b"), max_size=40) | st.text(max_size=40)


@given(_HOSTILE, _HOSTILE)
def test_a_skip_comment_is_one_comment_on_one_line_whatever_the_path(path: str, why: str) -> None:
    comment = skip_comment(path, why)
    body = comment.removeprefix("<!--").removesuffix("-->")
    assert comment == f"<!--{body}-->"
    assert not any(mark in body for mark in ("--", "<", ">", "`"))
    assert comment.splitlines() == [comment]
    tokens = MarkdownIt("commonmark").parse(f"{comment}\n\nafter")
    assert [token.type for token in tokens][:2] == ["html_block", "paragraph_open"]


def test_a_skip_comment_keeps_an_ordinary_path_readable_and_cuts_a_long_one() -> None:
    assert skip_comment("docs/a b.md", "no such file") == (
        "<!-- @include skipped: docs/a b.md (no such file) -->"
    )
    assert len(skip_comment("x" * 5000, "no such file")) < 300


def test_normalise_text_has_one_kind_of_line_end() -> None:
    assert normalise_text("\ufeffa\r\nb\rc\x00") == "a\nb\nc\ufffd"


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("---\nbase_url: http://x\nmode: open\n---\ntext", ("base_url", "mode")),
        ("---\n- a\n---\n", ()),
        ("---\nnever: closed\n", ()),
        ("text\n---\na: b\n---\n", ()),
        ("", ()),
    ],
)
def test_front_matter_keys(text: str, keys: tuple[str, ...]) -> None:
    assert front_matter_keys(text) == keys


@pytest.mark.parametrize(
    "unit", ["`a ``b ", "<!-- ", "- ", "> ", "1. a\n", "<a\n", "```\n", "\\`", "[a]: b\n"]
)
def test_i_08_hostile_markdown_is_scanned_in_bounded_time(unit: str) -> None:
    text = (unit * (65_536 // len(unit))) + "\n\n@include x.md"
    started = time.process_time()
    directives(text)
    assert time.process_time() - started < 2
