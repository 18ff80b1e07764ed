from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.textfile import (
    binary_kind,
    decode,
    encode,
    line_end_name,
    normal,
    replace_spans,
    shown_text,
    with_line_ends,
)

LINE_TEXT = st.text(st.sampled_from("ab é\n"), max_size=30)


@given(st.binary(max_size=200))
def test_any_bytes_that_decode_encode_to_the_same_bytes(raw):
    try:
        file = decode(raw)
    except ToolError:
        return
    assert encode(file, file.text) == raw


@pytest.mark.parametrize(
    ("raw", "encoding", "bom", "text", "escaped"),
    [
        (b"", "utf-8", b"", "", 0),
        ("é\n".encode(), "utf-8", b"", "é\n", 0),
        (b"\xef\xbb\xbfa", "utf-8", b"\xef\xbb\xbf", "a", 0),
        (b"\xff\xfea\x00", "utf-16-le", b"\xff\xfe", "a", 0),
        (b"\xfe\xff\x00a", "utf-16-be", b"\xfe\xff", "a", 0),
        (b"\xff\xfe\x00\x00a\x00\x00\x00", "utf-32-le", b"\xff\xfe\x00\x00", "a", 0),
        (b"caf\xe9", "utf-8", b"", "caf\udce9", 1),
    ],
)
def test_encoding_is_recognised(raw, encoding, bom, text, escaped):
    file = decode(raw)
    assert (file.encoding, file.bom, file.text, file.escaped) == (encoding, bom, text, escaped)


def test_utf16_mark_before_an_odd_number_of_bytes_is_refused():
    with pytest.raises(ToolError, match="utf-16-le"):
        decode(b"\xff\xfeabc")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"print('hi')\n", ""),
        ("日本語のテキスト".encode("shift-jis"), ""),
        ("日本語\n".encode("utf-16"), ""),
        (b"\x1b[31mred\x1b[0m\n", ""),
        (b"", ""),
        (b"\x89PNG\r\n\x1a\nrest", "PNG image"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "WebP image"),
        (b"PAR1\x15\x04", "parquet data"),
        (b"abc\x00def", "binary data"),
        (bytes(range(1, 32)) * 8, "binary data"),
    ],
)
def test_binary_data_is_told_from_text(head, kind):
    assert binary_kind(head) == kind


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", ""),
        ("a", ""),
        ("a\n", "LF"),
        ("a\r\nb\r\n", "CRLF"),
        ("a\rb", "CR"),
        ("a\r\nb\n", "mixed"),
    ],
)
def test_line_ends_have_a_name(text, name):
    assert line_end_name(text) == name


def test_text_is_shown_with_plain_line_ends_and_without_lone_surrogates():
    assert shown_text("a\r\nb\rc\udce9") == "a\nb\nc\ufffd"


@pytest.mark.parametrize(
    ("content", "existing", "result"),
    [
        ("a\nb\n", "x\ny\n", "a\nb\n"),
        ("a\nb\n", "x\r\ny\r\n", "a\r\nb\r\n"),
        ("a\r\nb", "x\ny\n", "a\nb"),
        ("a\nb\nnew\n", "a\nb\r\nc\r\n", "a\nb\r\nnew\r\n"),
        ("a\nb", "", "a\nb"),
    ],
)
def test_new_content_takes_the_line_ends_of_the_old(content, existing, result):
    assert with_line_ends(content, existing) == result


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\r\nb\r\nc\r\n", "b", "B", "a\r\nB\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\nb\r\nc\n", "a\nb", "a\nnew\nb", "a\nnew\r\nb\r\nc\n"),
        ("a\r\nb\nc\r\n", "a\nb\nc", "A\nb\nC", "A\r\nb\nC\r\n"),
        ("a\r\nb\n", "b\n", "", "a\r\n"),
        ("a\rb\rc", "b\nc", "x\ny", "a\rx\ry"),
        ("one", "one", "two\nthree", "two\nthree"),
    ],
)
def test_replacing_keeps_each_line_end(text, old, new, result):
    assert replace_spans(text, [normal(text).index(old)], old, new) == result


@given(
    st.lists(st.tuples(st.text("ab é", max_size=6), st.sampled_from(["\n", "\r\n"])), max_size=8),
    LINE_TEXT,
    st.data(),
)
def test_replacing_changes_nothing_outside_the_span(lines, new, data):
    text = "".join(line + end for line, end in lines)
    plain = normal(text)
    start = data.draw(st.integers(0, len(plain)))
    old = plain[start : data.draw(st.integers(start, len(plain)))]
    result = replace_spans(text, [start], old, new)
    before = start + plain[:start].count("\n") and _raw(text, start)
    after = len(text) - _raw(text, start + len(old))
    assert normal(result) == plain[:start] + new + plain[start + len(old) :]
    assert result[:before] == text[:before]
    assert after == 0 or result[-after:] == text[-after:]


def _raw(text: str, position: int) -> int:
    at = 0
    for _ in range(position):
        at += 2 if text.startswith("\r\n", at) else 1
    return at
