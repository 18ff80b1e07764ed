from __future__ import annotations

import asyncio
import os
import stat

import pytest

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Effect
from mewcode_nb.tools.read_file import ReadFile
from mewcode_nb.tools.write_file import WriteFile


def test_a_new_file_is_created_with_its_folders(bench):
    result = bench.run(WriteFile(), path="a/b/c.txt", content="hé\n")
    assert (bench.root / "a/b/c.txt").read_bytes() == "hé\n".encode()
    assert result.reads[0].path == str(bench.root / "a/b/c.txt")


def test_creating_is_proposed_as_an_edit_with_the_whole_text(bench):
    proposal = bench.propose(WriteFile(), path="n.txt", content="a\nb\n")
    assert (proposal.effect, proposal.title) == (Effect.EDIT, "create n.txt")
    assert proposal.diff.endswith("@@ -0,0 +1,2 @@\n+a\n+b")
    assert proposal.targets == (str(bench.root / "n.txt"),)
    assert list(bench.root.iterdir()) == []


def _read(bench, path):
    bench.run(ReadFile(), path="f")


def _unread(bench, path):
    pass


def _changed(bench, path):
    bench.run(ReadFile(), path="f")
    path.write_bytes(b"other")


def _touched(bench, path):
    bench.run(ReadFile(), path="f")
    os.utime(path, (1, 1))


def _read_only(bench, path):
    bench.run(ReadFile(), path="f")
    path.chmod(0o444)


def _removed(bench, path):
    bench.run(ReadFile(), path="f")
    path.unlink()


@pytest.mark.parametrize(
    ("before", "refusal"),
    [
        (_read, ""),
        (_touched, ""),
        (_removed, ""),
        (_unread, "was not read"),
        (_changed, "changed since"),
        (_read_only, "read-only"),
    ],
)
def test_overwriting_rests_on_a_fresh_read(bench, before, refusal):
    path = bench.file("f", "old")
    before(bench, path)
    if not refusal:
        bench.run(WriteFile(), path="f", content="new")
        assert path.read_bytes() == b"new"
        return
    kept = path.read_bytes()
    with pytest.raises(ToolError, match=refusal):
        bench.propose(WriteFile(), path="f", content="new")
    assert path.read_bytes() == kept


@pytest.mark.parametrize("appeared", [b"mine", b""])
def test_a_file_that_appears_after_the_proposal_is_not_overwritten(bench, appeared):
    tool = WriteFile()
    bench.propose(tool, path="f", content="new")
    path = bench.file("f", appeared)
    args = tool.input_model.model_validate({"path": "f", "content": "new"})
    with pytest.raises(ToolError):
        asyncio.run(tool.run(args, bench.context))
    assert path.read_bytes() == appeared


def test_a_file_just_written_may_be_written_again(bench):
    bench.run(WriteFile(), path="f", content="1")
    bench.run(WriteFile(), path="f", content="2")
    assert (bench.root / "f").read_text(encoding="utf-8") == "2"


@pytest.mark.parametrize(
    ("raw", "content", "result"),
    [
        (b"\xef\xbb\xbfa\r\n", "b\nc\n", b"\xef\xbb\xbfb\r\nc\r\n"),
        (b"\xff\xfea\x00\n\x00", "é\n", b"\xff\xfe\xe9\x00\n\x00"),
        (b"a\nb\r\nb\r\n", "a\nb\nc\n", b"a\nb\r\nc\r\n"),
        (b"caf\xe9\n", "tea\n", b"tea\n"),
        (b"a\n", "b", b"b"),
    ],
)
def test_t_09_encoding_mark_and_line_ends_stay(bench, raw, content, result):
    path = bench.file("f", raw)
    bench.run(ReadFile(), path="f")
    bench.run(WriteFile(), path="f", content=content)
    assert path.read_bytes() == result


def test_text_the_old_encoding_cannot_hold_is_refused(bench):
    path = bench.file("f", "日本\n".encode("shift-jis"))
    bench.run(ReadFile(), path="f")
    with pytest.raises(ToolError, match="not UTF-8"):
        bench.run(WriteFile(), path="f", content="日本語\n")
    assert path.read_bytes() == "日本\n".encode("shift-jis")


def test_half_a_character_is_refused(bench):
    with pytest.raises(ToolError, match="surrogate"):
        bench.run(WriteFile(), path="f", content="\ud83d")


def test_binary_files_are_not_overwritten_with_text(bench):
    path = bench.file("f.png", b"\x89PNG\r\n\x1a\n")
    bench.run(ReadFile(), path="f.png")
    with pytest.raises(ToolError, match="PNG image"):
        bench.run(WriteFile(), path="f.png", content="x")
    assert path.read_bytes() == b"\x89PNG\r\n\x1a\n"


def test_permissions_and_links_stay_and_no_temporary_file_remains(bench):
    path = bench.file("real.sh", "1\n")
    path.chmod(0o755)
    (bench.root / "link").symlink_to(path)
    bench.run(ReadFile(), path="link")
    bench.run(WriteFile(), path="link", content="2\n")
    assert path.read_bytes() == b"2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert sorted(entry.name for entry in bench.root.iterdir()) == ["link", "real.sh"]
    assert (bench.root / "link").is_symlink()


def test_a_failed_write_leaves_no_temporary_file(bench):
    (bench.root / "d").mkdir()
    with pytest.raises(ToolError, match="folder"):
        bench.run(WriteFile(), path="d", content="x")
    assert [entry.name for entry in bench.root.iterdir()] == ["d"]


@pytest.mark.parametrize(
    ("path", "outside"),
    [
        (".mewcode/settings.json", False),
        ("MEWCODE.md", False),
        (".git/hooks/pre-commit", False),
        ("~/.ipython/profile_default/startup/x.py", True),
    ],
)
def test_t_12_protected_files_are_flagged_whether_or_not_they_exist(bench, path, outside):
    proposal = bench.propose(WriteFile(), path=path, content="x")
    assert proposal.protected
    assert any(risk.startswith("protected: ") for risk in proposal.risks)
    assert proposal.outside_root is outside


def test_writing_outside_is_proposed_as_outside(bench):
    (bench.root / "link").symlink_to(bench.out)
    proposal = bench.propose(WriteFile(), path="link/f", content="x")
    assert proposal.outside_root
    assert proposal.targets == (str(bench.out / "f"),)


def test_writing_a_notebook_file_warns(bench):
    proposal = bench.propose(WriteFile(), path="a.ipynb", content="{}")
    assert "notebook file" in proposal.risks[0]


@pytest.mark.parametrize(
    ("content", "risks"),
    [
        ("KEY=[masked]\n", ("puts [masked] into the file: a secret there may be lost",)),
        ("KEY=other\n", ()),
    ],
)
def test_t_17_writing_the_mask_of_a_secret_warns(bench, content, risks):
    bench.file(".env", "KEY=abc\n")
    bench.run(ReadFile(), path=".env")
    assert bench.propose(WriteFile(), path=".env", content=content).risks == risks


@pytest.mark.parametrize(
    ("old", "new", "warned"),
    [
        ("<mewcode-x>", "&lt;mewcode-x> more", True),
        ("<mewcode-x>", "<mewcode-x> more", False),
        ("&lt;mewcode-x>", "&lt;mewcode-x> more", False),
    ],
)
def test_writing_our_element_names_as_the_model_saw_them_warns(bench, old, new, warned):
    bench.file("a.txt", old)
    bench.run(ReadFile(), path="a.txt")
    risks = bench.propose(WriteFile(), path="a.txt", content=new).risks
    assert any("&lt;mewcode-" in risk for risk in risks) is warned
