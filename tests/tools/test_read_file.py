from __future__ import annotations

import hashlib
import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Effect
from mewcode_nb.tools.base import ToolLimits
from mewcode_nb.tools.read_file import ReadFile, _Chunks

PNG = b"\x89PNG\r\n\x1a\n"


def test_text_comes_verbatim_after_one_line_about_it(bench):
    bench.file("a.py", "one\n  two\n")
    assert bench.text(ReadFile(), path="a.py") == "[a.py: lines 1-2 of 2; 10 bytes]\none\n  two\n"


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a\r\nb\r\n", "[f: lines 1-2 of 2, CRLF line ends; 6 bytes]\na\nb\n"),
        (b"a\nb", "[f: lines 1-2 of 2, no newline at the end; 3 bytes]\na\nb"),
        (b"", "[f: empty file; 0 bytes]\n"),
        (b"\n", "[f: lines 1-1 of 1; 1 bytes]\n\n"),
        (b"\xef\xbb\xbfa\n", "[f: lines 1-1 of 1, utf-8 with byte order mark; 5 bytes]\na\n"),
        ("é\n".encode("utf-16-le"), None),
        (
            b"caf\xe9\n",
            (
                "[f: lines 1-1 of 1, not UTF-8: 1 bytes are shown as \ufffd; "
                "edit_file leaves them alone; 5 bytes]\ncaf\ufffd\n"
            ),
        ),
    ],
)
def test_encodings_and_line_ends_are_told(bench, raw, said):
    bench.file("f", raw)
    if said is None:
        with pytest.raises(ToolError, match="binary data"):
            bench.run(ReadFile(), path="f")
    else:
        assert bench.text(ReadFile(), path="f") == said


@pytest.mark.parametrize(
    ("offset", "limit", "body", "range_"),
    [
        (1, 2, "1\n2\n", "lines 1-2 of 5, go on with offset 3"),
        (4, None, "4\n5\n", "lines 4-5 of 5"),
        (5, 1, "5\n", "lines 5-5 of 5"),
        (None, 5, "1\n2\n3\n4\n5\n", "lines 1-5 of 5"),
    ],
)
def test_ranges_of_lines(bench, offset, limit, body, range_):
    bench.file("n", "1\n2\n3\n4\n5\n")
    text = bench.text(ReadFile(), path="n", offset=offset, limit=limit)
    assert text == f"[n: {range_}; 10 bytes]\n{body}"


def test_a_line_after_the_last_is_an_error_that_names_the_number_of_lines(bench):
    bench.file("n", "1\n2\n")
    with pytest.raises(ToolError, match="has 2 lines"):
        bench.run(ReadFile(), path="n", offset=3)


def test_reading_notes_what_was_seen(bench):
    path = bench.file("a", "x")
    (read,) = bench.run(ReadFile(), path="a").reads
    assert read.path == str(path)
    assert read.sha256 == hashlib.sha256(b"x").hexdigest()
    assert (read.size, read.mtime) == (1, path.stat().st_mtime)


def test_more_than_the_result_holds_is_cut_between_lines(bench):
    bench.context.limits = ToolLimits(result_bytes=2_000)
    bench.file("long", "".join(f"line {n:04}\n" for n in range(1, 501)))
    text = bench.text(ReadFile(), path="long")
    assert text.startswith("[long: lines 1-100 of 500, go on with offset 101;")
    assert text.endswith("line 0100\n")


def test_one_endless_line_is_cut_and_said(bench):
    bench.context.limits = ToolLimits(result_bytes=2_000)
    bench.file("min.js", "é" * 5_000)
    text = bench.text(ReadFile(), path="min.js")
    assert "line 1 is cut" in text.split("\n")[0]
    assert text.endswith("é" * 500)


def test_a_range_of_a_big_file_takes_little_memory(bench):
    line = "0123456789" * 10 + "\n"
    path = bench.root / "big"
    with path.open("w", encoding="utf-8") as stream:
        for _ in range(30):
            stream.write(line * 10_000)
        stream.write("the end\n")
    tracemalloc.start()
    text = bench.text(ReadFile(), path="big", offset=300_000, limit=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text.startswith("[big: lines 300000-300001 of 300001; ")
    assert text.endswith("0123456789\nthe end\n")
    assert peak < 8 * 1024 * 1024
    start = bench.text(ReadFile(), path="big", offset=20_000, limit=1)
    assert start == (
        "[big: lines 20000-20000 of 300001, go on with offset 20001; 30,300,008 bytes]\n" + line
    )


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_big_utf16_file_is_refused_with_advice(bench, mark):
    bench.file("wide", mark + b"a\x00" * (5 * 1024 * 1024))
    with pytest.raises(ToolError, match="run_python"):
        bench.run(ReadFile(), path="wide")


def test_an_image_comes_as_an_image(bench):
    bench.file("plot.png", PNG + b"data")
    note, image = bench.run(ReadFile(), path="plot.png").content
    assert note == {"type": "text", "text": "[plot.png: image/png, 12 bytes]"}
    assert image["source"] == {
        "type": "base64",
        "media_type": "image/png",
        "data": "iVBORw0KGgpkYXRh",
    }


def test_an_image_with_too_many_pixels_is_refused_with_advice(bench):
    bench.file("wide.png", PNG + b"\x00\x00\x00\rIHDR\x00\x00\x1f\x41\x00\x00\x00\x0a")
    with pytest.raises(ToolError, match=r"8,001 x 10 pixels.*smaller copy"):
        bench.run(ReadFile(), path="wide.png")


def test_s_17_an_image_is_measured_by_its_base64_length(bench):
    bench.file("big.png", PNG + b"\x00" * 4_500_000)
    with pytest.raises(ToolError, match=r"6,000,012 bytes in base64.*smaller copy"):
        bench.run(ReadFile(), path="big.png")


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("d.parquet", b"PAR1\x00\x00", "parquet data of 6 bytes"),
        ("x.bin", b"a\x00b", "binary data"),
    ],
)
def test_binary_files_are_refused_with_kind_and_advice(bench, name, raw, said):
    bench.file(name, raw)
    with pytest.raises(ToolError, match=said):
        bench.run(ReadFile(), path=name)


def test_a_notebook_is_text_with_advice(bench):
    bench.file("a.ipynb", "{}\n")
    assert "use cells for the open notebook" in bench.text(ReadFile(), path="a.ipynb")


def test_a_folder_is_refused_with_advice(bench):
    (bench.root / "d").mkdir()
    with pytest.raises(ToolError, match="list_files"):
        bench.run(ReadFile(), path="d")


def test_a_missing_file_is_refused(bench):
    with pytest.raises(ToolError, match=r"gone\.txt: no such file"):
        bench.run(ReadFile(), path="gone.txt")


def test_reading_outside_is_proposed_as_outside(bench):
    proposal = bench.propose(ReadFile(), path="../OUT/secret")
    assert (proposal.effect, proposal.outside_root) == (Effect.READ, True)
    assert proposal.targets == (str(bench.out / "secret"),)


def test_s_18_a_file_name_that_is_not_utf8_makes_no_lone_surrogate(bench):
    name = b"x\xff.txt".decode("utf-8", "surrogateescape")
    try:
        bench.file(name, "x\n")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    bench.text(ReadFile(), path=name).encode("utf-8")


def test_a_file_too_big_to_hash_is_refused_with_advice(bench):
    path = bench.file("big.log", "first line\n" * 7_000)
    os.truncate(path, 5 * 1024**3)
    with pytest.raises(ToolError, match=r"5,368,709,120 bytes, too many to read here"):
        bench.run(ReadFile(), path="big.log")


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="Linux only")
def test_a_file_that_says_it_has_no_bytes_is_read(bench):
    assert "Linux version" in bench.text(ReadFile(), path="/proc/version")


def test_reading_ends_when_nobody_waits_for_it_any_more(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"x" * 3_000_000)
    left = threading.Event()
    with path.open("rb") as stream:
        chunks = iter(_Chunks(stream, left))
        assert len(next(chunks)) == 1_048_576
        left.set()
        assert list(chunks) == []
