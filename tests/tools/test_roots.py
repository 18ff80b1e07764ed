from __future__ import annotations

import asyncio
import ctypes
import functools
import os
import sys
import threading
from pathlib import Path

import pytest

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.roots import check_new_names, open_regular, resolve, target_of
from mewcode_nb.tools.write_file import WriteFile

AT_FDCWD, EXCHANGE = -100, 2
SWAPS = 2_000 if os.environ.get("MEWCODE_LONG") else 200


@pytest.mark.parametrize(
    ("given", "inside"),
    [
        ("a.txt", True),
        ("sub/../a.txt", True),
        ("./new/deep/f", True),
        ("../P2/f", False),
        ("..", False),
        ("/etc/passwd", False),
        ("~/f", False),
        ("link/f", False),
    ],
)
def test_paths_are_judged_by_where_they_really_lead(bench, given, inside):
    (bench.root / "link").symlink_to(bench.out)
    assert target_of(given, bench.context).outside is not inside


def test_a_folder_whose_name_begins_like_the_root_is_outside(bench):
    sibling = bench.root.with_name("P-secret")
    sibling.mkdir()
    assert target_of(str(sibling / "f"), bench.context).outside


def test_inside_paths_are_shown_relative_and_others_absolute(bench):
    assert target_of(str(bench.root / "a" / "b"), bench.context).shown == "a/b"
    assert target_of("../OUT/x", bench.context).shown == str(bench.out / "x")


@pytest.mark.parametrize("given", ["", "  ", "a\x00b", "\ud83d"])
def test_impossible_paths_are_refused(bench, given):
    with pytest.raises(ToolError):
        resolve(given, bench.context)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("nul", "reserved"),
        ("aux.md", "reserved"),
        ("COM1.txt", "reserved"),
        ("con/f.txt", "reserved"),
        ("a.", "dot or a space"),
        ("b ", "dot or a space"),
        ("n" * 256, "256 bytes is too long"),
        ("é" * 128, "256 bytes is too long"),
        ("line\nbreak", "control"),
    ],
)
def test_t_02_names_that_some_system_cannot_hold_are_refused_with_advice(bench, name, advice):
    with pytest.raises(ToolError, match=advice):
        bench.propose(WriteFile(), path=name, content="x")
    assert list(bench.root.iterdir()) == []


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "null", "console.txt", "a.b"])
def test_t_02_names_up_to_the_limit_are_written(bench, name):
    bench.run(WriteFile(), path=name, content="x")
    assert (bench.root / name).read_text(encoding="utf-8") == "x"


def test_t_02_a_reserved_name_that_exists_here_may_stay(bench):
    check_new_names(bench.file("aux.c", "x"))


def test_t_04_a_link_swapped_in_after_the_proposal_is_not_followed(bench):
    tool, args = WriteFile(), {"path": "d/f", "content": "x"}
    (bench.root / "d").mkdir()
    proposal = bench.propose(tool, **args)
    (bench.root / "d").rmdir()
    (bench.root / "d").symlink_to(bench.out)
    with pytest.raises(ToolError, match="link"):
        asyncio.run(tool.run(tool.input_model.model_validate(args), bench.context))
    assert proposal.outside_root is False
    assert list(bench.out.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="swaps two names in one system call")
def test_t_04_swapping_a_folder_for_a_link_lets_nothing_out(bench):
    inside, link = bench.root / "d", bench.root / "d-link"
    inside.mkdir()
    link.symlink_to(bench.out)
    done = threading.Event()
    exchange = functools.partial(
        ctypes.CDLL(None).renameat2, AT_FDCWD, bytes(inside), AT_FDCWD, bytes(link), EXCHANGE
    )

    def swap() -> None:
        while not done.is_set():
            assert exchange() == 0

    swapper = threading.Thread(target=swap)
    swapper.start()
    written = refused = 0
    try:
        for number in range(SWAPS):
            outcome = _write_if_inside(bench, f"d/f{number}")
            written += outcome
            refused += not outcome
    finally:
        done.set()
        swapper.join()
    assert list(bench.out.iterdir()) == []
    assert written > 0
    assert refused > 0


def _write_if_inside(bench, path: str) -> bool:
    """A policy that lets everything inside the project run and denies the rest."""
    tool = WriteFile()
    args = tool.input_model.model_validate({"path": path, "content": "x"})
    try:
        if tool.propose("call", args, bench.context).outside_root:
            return False
        asyncio.run(tool.run(args, bench.context))
    except ToolError:
        return False
    return True


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_without_waiting(bench):
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(OSError, match="regular"):
        open_regular(bench.root / "pipe")


def test_links_in_a_circle_are_an_error_for_the_model(bench):
    (bench.root / "a").symlink_to(bench.root / "b")
    (bench.root / "b").symlink_to(bench.root / "a")
    with pytest.raises(ToolError):
        bench.run(WriteFile(), path="a", content="x")


def test_protected_files_are_flagged_by_their_real_path(bench):
    bench.file(".git/config", "")
    (bench.root / "innocent").symlink_to(bench.root / ".git")
    assert target_of("innocent/config", bench.context).protected == ".git"


def test_unreadable_parents_do_not_matter_as_long_as_they_can_be_passed(bench):
    folder = bench.root / "passage"
    (folder / "room").mkdir(parents=True)
    (folder / "room" / "f").write_text("x", encoding="utf-8")
    folder.chmod(0o711)
    os.close(open_regular(Path(folder / "room" / "f")))
