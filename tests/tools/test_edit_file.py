from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode_nb.errors import ToolError
from mewcode_nb.prompt import as_data
from mewcode_nb.tools.edit_file import EditFile
from mewcode_nb.tools.read_file import ReadFile


def edit(bench, raw: bytes, old: str, new: str, **more: object) -> bytes:
    path = bench.file("f", raw)
    bench.run(ReadFile(), path="f")
    bench.run(EditFile(), path="f", old=old, new=new, **more)
    return path.read_bytes()


def test_t_08_a_byte_that_is_no_utf8_stays(bench):
    raw = b"const x = 1;\n// caf\xe9 note\n"
    assert edit(bench, raw, "1", "2") == b"const x = 2;\n// caf\xe9 note\n"


@pytest.mark.parametrize("new", ["é", "\ufffd"])
def test_t_08_text_of_another_encoding_is_never_mixed_in(bench, new):
    raw = b"const x = 1;\n// caf\xe9 note\n"
    with pytest.raises(ToolError, match="not UTF-8"):
        edit(bench, raw, "1", new)
    assert (bench.root / "f").read_bytes() == raw


@pytest.mark.parametrize(
    ("raw", "old", "new", "result"),
    [
        (b"\xef\xbb\xbfa\r\nb\r\n", "a\nb", "x\ny", b"\xef\xbb\xbfx\r\ny\r\n"),
        (b"a\nb\n", "b", "c", b"a\nc\n"),
        (b"a\r\nb\nc\r\n", "b\n", "b\nnew\n", b"a\r\nb\nnew\r\nc\r\n"),
        (b"a\nb", "b", "c", b"a\nc"),
        (b"a\r\nb", "a\r\nb", "x\r\ny", b"x\r\ny"),
        ("表示=1\n".encode("shift-jis"), "=1", "=2", "表示=2\n".encode("shift-jis")),
        ("\ufeffé=1\n".encode("utf-16-le"), "é=1", "é=2", "\ufeffé=2\n".encode("utf-16-le")),
        ("\ufeffé=1\n".encode("utf-16-be"), "1", "2", "\ufeffé=2\n".encode("utf-16-be")),
    ],
)
def test_t_09_encoding_mark_line_ends_and_final_newline_stay(bench, raw, old, new, result):
    assert edit(bench, raw, old, new) == result


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.binary(max_size=60).filter(lambda raw: b"\x00" not in raw and b"MARK" not in raw),
    st.binary(max_size=60).filter(lambda raw: b"\x00" not in raw and b"MARK" not in raw),
    st.text("xyz \n", max_size=10),
)
def test_an_edit_keeps_all_other_bytes(new_bench, tmp_path, before, after, new):
    bench = new_bench(f"case-{len(list(tmp_path.iterdir()))}")
    raw = b"text text text text text text\n" * 40 + before + b"MARK" + after
    ends = b"\r\n" if b"\n" not in after and before[-2:] == b"\r\n" else None
    result = edit(bench, raw, "MARK", new)
    start, end = raw.index(b"MARK"), len(after)
    assert result[:start] == raw[:start]
    assert result[len(result) - end :] == after
    middle = result[start : len(result) - end]
    assert middle.replace(b"\r\n", b"\n").replace(b"\r", b"\n") == new.encode()
    assert ends is None or b"\n" not in middle.replace(ends, b"")


def test_one_of_several_places_is_refused_with_count_and_lines(bench):
    with pytest.raises(ToolError, match=r"occurs 3 times in f \(lines 1, 3, 4\)"):
        edit(bench, b"x\ny\nx\nx\n", "x", "z")


def test_every_place_is_changed_on_request(bench):
    assert edit(bench, b"x\r\ny\nx x\r\n", "x", "zz", replace_all=True) == b"zz\r\ny\nzz zz\r\n"


@pytest.mark.parametrize(
    ("old", "advice"),
    [
        ("def f():\n  return 1", "lines 2-3 differ only in white space"),
        ("def g(): pass", "nearest to its first line is line 2: def f():"),
        ("nothing of the kind whatsoever", "read_file it again"),
    ],
)
def test_text_that_is_not_there_is_answered_with_what_is(bench, old, advice):
    with pytest.raises(ToolError, match="does not occur") as caught:
        edit(bench, b"import os\ndef f():\n    return 1\n", old, "x")
    assert advice in str(caught.value)


def test_text_that_is_not_in_a_big_file_is_answered_quickly(bench):
    line = "x = compute(alpha, {}) + offset"
    bench.file("big.py", "".join(line.format(n) + "\n" for n in range(30_000)))
    bench.run(ReadFile(), path="big.py")
    started = time.process_time()
    with pytest.raises(ToolError, match=r"the nearest to its first line is line 778: x = compute"):
        bench.propose(EditFile(), path="big.py", old=line.format(777) + "!", new="")
    assert time.process_time() - started < 1.5


def test_text_shown_for_undecodable_bytes_cannot_be_matched(bench):
    with pytest.raises(ToolError, match="choose text without it"):
        edit(bench, b"caf\xe9 1\n", "caf\ufffd 1", "cafe 1")


def test_our_own_element_names_are_matched_as_the_model_was_shown_them(bench):
    raw = b"<mewcode-reminder>a</mewcode-reminder>\n"
    shown = as_data(raw.decode())
    assert "<" not in shown
    assert edit(bench, raw, shown, shown.replace("a&", "b&")) == raw.replace(b"a<", b"b<")


def test_escaped_element_names_that_stand_in_the_file_are_left_alone(bench):
    raw = b"&lt;mewcode-x> a\n<mewcode-x> a\n"
    assert edit(bench, raw, "&lt;mewcode-x> a", "b") == b"b\n<mewcode-x> a\n"


def test_replacing_by_the_same_text_is_refused(bench):
    with pytest.raises(ToolError, match="same text"):
        edit(bench, b"a\r\n", "a\n", "a\r\n")


def test_editing_rests_on_a_read(bench):
    bench.file("f", "a\n")
    with pytest.raises(ToolError, match="was not read"):
        bench.propose(EditFile(), path="f", old="a", new="b")


def test_a_file_changed_between_read_and_proposal_is_not_edited(bench):
    path = bench.file("f", "a\n")
    bench.run(ReadFile(), path="f")
    path.write_bytes(b"a\nmore\n")
    with pytest.raises(ToolError, match="changed since"):
        bench.propose(EditFile(), path="f", old="a", new="b")


def test_a_file_changed_between_proposal_and_run_is_not_edited(bench):
    path = bench.file("f", "a\n")
    bench.run(ReadFile(), path="f")
    tool = EditFile()
    bench.propose(tool, path="f", old="a", new="b")
    path.write_bytes(b"a\nmore\n")
    args = tool.input_model.model_validate({"path": "f", "old": "a", "new": "b"})
    with pytest.raises(ToolError, match="changed since"):
        asyncio.run(tool.run(args, bench.context))
    assert path.read_bytes() == b"a\nmore\n"


def test_edits_follow_each_other_without_reading_again(bench):
    edit(bench, b"a b\n", "a", "1")
    bench.run(EditFile(), path="f", old="b", new="2")
    assert (bench.root / "f").read_bytes() == b"1 2\n"


def test_the_proposal_shows_the_change(bench):
    bench.file("f", "a\nb\n")
    bench.run(ReadFile(), path="f")
    proposal = bench.propose(EditFile(), path="f", old="b", new="c")
    assert proposal.diff == "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c"
    assert (proposal.title, proposal.outside_root) == ("edit f", False)


def test_a_missing_file_is_answered_with_names_like_it(bench):
    bench.file("settings.py", "")
    with pytest.raises(ToolError, match=r"similar names there: settings\.py"):
        bench.propose(EditFile(), path="setings.py", old="a", new="b")
