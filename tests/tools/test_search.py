from __future__ import annotations

import asyncio
import os
import shutil
import time
from pathlib import Path

import pytest

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.base import ToolLimits
from mewcode_nb.tools.search import Search

RIPGREP = shutil.which("rg")


@pytest.fixture(params=["python", "ripgrep"])
def searched(bench, request, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    if request.param == "ripgrep":
        if RIPGREP is None:
            pytest.skip("ripgrep is not installed")
        (programs / "rg").symlink_to(RIPGREP)
    bench.context.environment = {"PATH": str(programs)}
    bench.file("a.py", "import os\nx = 1\ny = 2\nprint(x)\n")
    bench.file("src/b.py", "X = 'é'\r\nx\r\n")
    bench.file("src/c.txt", "x\n")
    bench.file("build/d.py", "x\n")
    bench.file("bin.dat", b"x\x00\nx\n")
    bench.file("latin.txt", b"x caf\xe9\n")
    bench.file(".git/config", "x\n")
    bench.file(".mewcode/sessions/s.txt", "x\n")
    bench.file(".github/w.yml", "x\n")
    bench.file(".gitignore", "build/\nignored.py\n")
    bench.file("src/ignored.py", "x\n")
    (bench.out / "secret.py").write_text("x\n", encoding="utf-8")
    (bench.root / "link.py").symlink_to(bench.out / "secret.py")
    (bench.root / "folder").symlink_to(bench.out)
    return bench


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        (
            {"pattern": "x"},
            [".github/w.yml", "  1: x", "a.py", "  2: x = 1", "  4: print(x)", "latin.txt",
             "  1: x caf\ufffd", "src/b.py", "  2: x", "src/c.txt", "  1: x",
             "[6 matching lines in 5 files]"],
        ),
        (
            {"pattern": "x", "glob": "*.py"},
            ["a.py", "  2: x = 1", "  4: print(x)", "src/b.py", "  2: x",
             "[3 matching lines in 2 files]"],
        ),
        (
            {"pattern": "^x", "glob": "src/*.{py,txt}", "ignore_case": True},
            ["src/b.py", "  1: X = 'é'", "  2: x", "src/c.txt", "  1: x",
             "[3 matching lines in 2 files]"],
        ),
        (
            {"pattern": "x$", "path": "src/c.txt"},
            ["src/c.txt", "  1: x", "[1 matching line in 1 file]"],
        ),
        (
            {"pattern": "os|print", "path": "a.py", "context": 1},
            ["a.py", "  1: import os", "  2- x = 1", "  3- y = 2", "  4: print(x)",
             "[2 matching lines in 1 file]"],
        ),
        (
            {"pattern": "x", "limit": 2},
            [".github/w.yml", "  1: x", "a.py", "  2: x = 1",
             "[2 matching lines in 2 files; only the first 2 matches are given]"],
        ),
        (
            {"pattern": "x", "path": "build"},
            ["build/d.py", "  1: x", "[1 matching line in 1 file]"],
        ),
        ({"pattern": "-x"}, ["[no match]"]),
    ],
)  # fmt: skip
def test_both_programs_give_the_same_answer(searched, args, lines):
    assert searched.text(Search(), **args).split("\n") == lines


def test_a_gap_between_context_groups_is_marked(searched):
    searched.file("n.txt", "".join(f"{n}\n" for n in range(1, 21)))
    text = searched.text(Search(), pattern="^(5|15)$", path="n.txt", context=1)
    assert text.split("\n")[1:-1] == [
        "  4- 4", "  5: 5", "  6- 6", "  --", "  14- 14", "  15: 15", "  16- 16",
    ]  # fmt: skip


def test_a_bad_expression_is_told(searched):
    with pytest.raises(ToolError, match="the search failed"):
        searched.run(Search(), pattern="(")


def test_a_long_line_is_cut(searched):
    searched.file("min.js", "x" * 100_000)
    text = searched.text(Search(), pattern="x", path="min.js")
    assert f"  1: {'x' * 400} [line cut]" in text


def test_the_answer_keeps_to_the_limit_of_a_result(searched):
    searched.context.limits = ToolLimits(result_bytes=1_000)
    searched.file("many.txt", "needle\n" * 1_000)
    text = searched.text(Search(), pattern="needle", limit=1_000)
    assert len(text.encode()) < 1_000
    assert "the rest is left out" in text


def test_an_expression_that_would_take_for_ever_is_stopped(bench):
    bench.context.environment = {"PATH": ""}
    bench.file("a", "a" * 60 + "!\n")
    started = time.monotonic()
    with pytest.raises(ToolError, match="simpler pattern"):
        bench.run(Search(seconds=0.5), pattern="(a+)+$")
    assert time.monotonic() - started < 5


def test_an_interrupt_ends_the_search(bench):
    bench.context.environment = {"PATH": ""}
    bench.file("a", "a" * 60 + "!\n")

    async def interrupted() -> None:
        task = asyncio.create_task(bench.run_async(Search(), pattern="(a+)+$"))
        await asyncio.sleep(0.3)
        task.cancel()
        await task

    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert time.monotonic() - started < 5


def test_a_program_in_the_project_is_not_run_as_ripgrep(bench):
    trap = bench.file("bin/rg", "#!/bin/sh\ntouch " + str(bench.out / "trapped") + "\n")
    trap.chmod(0o755)
    bench.context.environment = {"PATH": f"{trap.parent}{os.pathsep}bin"}
    bench.run(Search(), pattern="x")
    assert list(bench.out.iterdir()) == []


def test_a_missing_path_is_refused(bench):
    with pytest.raises(ToolError, match="nowhere: no such"):
        bench.run(Search(), pattern="x", path="nowhere")


def test_searching_outside_is_proposed_as_outside(bench):
    proposal = bench.propose(Search(), pattern="x", path="..")
    assert proposal.outside_root
    assert proposal.targets == (str(Path(bench.root).parent),)
