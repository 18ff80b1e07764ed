from __future__ import annotations

import pytest

from mewcode_nb.errors import ToolError
from mewcode_nb.tools.base import ToolLimits
from mewcode_nb.tools.ignored import Walk, matcher
from mewcode_nb.tools.list_files import ListFiles


@pytest.fixture
def tree(bench):
    for name in (
        "a.py", "b.txt", "src/c.py", "src/deep/d.py", "src/deep/e.ts", "build/x.py", "keep.log",
        "other.log", "src/deep/secret.txt", ".github/w.yml", ".git/config",
        ".mewcode/sessions/s/conversation.jsonl",
    ):  # fmt: skip
        bench.file(name, "x\n")
    bench.file(".gitignore", "build/\n*.log\n!keep.log\n[\n")
    bench.file("src/deep/.gitignore", "secret.*\n")
    return bench


@pytest.mark.parametrize(
    ("pattern", "path", "names"),
    [
        ("*.py", ".", ["a.py", "src/c.py", "src/deep/d.py"]),
        ("/*.py", ".", ["a.py"]),
        ("src/*.py", ".", ["src/c.py"]),
        ("src/**/*.py", ".", ["src/c.py", "src/deep/d.py"]),
        ("*.{py,ts}", "src", ["src/c.py", "src/deep/d.py", "src/deep/e.ts"]),
        ("[ab].*", ".", ["a.py", "b.txt"]),
        ("*.log", ".", ["keep.log"]),
        ("secret.*", ".", []),
        ("*.yml", ".", [".github/w.yml"]),
        ("config", ".", []),
        ("*.jsonl", ".", []),
        ("*", "build", ["build/x.py"]),
        ("*", ".mewcode", [".mewcode/sessions/s/conversation.jsonl"]),
    ],
)
def test_patterns_match_what_git_would_see(tree, pattern, path, names):
    lines = tree.text(ListFiles(), pattern=pattern, path=path).split("\n")
    assert lines[:-1] == names


def test_the_last_line_states_the_number(tree):
    assert tree.text(ListFiles(), pattern="*.py").endswith("\n[3 files]")
    assert tree.text(ListFiles(), pattern="none") == "[no file matches]"


def test_a_long_list_is_cut_and_said(bench):
    for number in range(1_010):
        bench.file(f"f{number:04}", "")
    lines = bench.text(ListFiles()).split("\n")
    assert lines[999] == "f0999"
    assert lines[1_000] == (
        "[1,010 files; the first 1,000 are listed; narrow the pattern to see others]"
    )


def test_the_list_also_keeps_to_the_limit_of_a_result(bench):
    bench.context.limits = ToolLimits(result_bytes=600)
    for number in range(50):
        bench.file(f"f{number:04}", "")
    text = bench.text(ListFiles())
    assert "[50 files; the first 16 are listed" in text


def test_links_are_listed_inside_only_and_linked_folders_not_entered(bench):
    bench.file("a", "")
    (bench.out / "secret").write_text("", encoding="utf-8")
    (bench.root / "in").symlink_to(bench.root / "a")
    (bench.root / "out").symlink_to(bench.out / "secret")
    (bench.root / "folder").symlink_to(bench.out)
    assert bench.text(ListFiles()).split("\n")[:-1] == ["a", "in"]


def test_a_walk_that_is_too_big_or_too_slow_says_so(tree):
    small = Walk(tree.root, tree.root, most=3)
    assert len(list(small.files())) < 4
    assert small.stopped == "stopped after 3 entries"
    times = iter(range(100))
    slow = Walk(tree.root, tree.root, seconds=2, clock=lambda: next(times))
    list(slow.files())
    assert slow.stopped == "stopped after 2 s"


def test_a_missing_folder_is_refused(bench):
    with pytest.raises(ToolError, match="nowhere: no such folder"):
        bench.run(ListFiles(), path="nowhere")


def test_too_many_alternatives_are_refused():
    with pytest.raises(ToolError, match="alternatives"):
        matcher("{a,b}" * 20)


@pytest.mark.parametrize("pattern", ["*a*a*a*a*a*b", "**/a/**/a/**/a/**/b", "{x,*a*a*a*ab}"])
def test_patterns_that_would_take_for_ever_are_refused(pattern):
    with pytest.raises(ToolError, match="more than 3 stars"):
        matcher(pattern)


def test_an_ignore_rule_that_would_take_for_ever_is_passed_over(bench):
    bench.file(".gitignore", "*a*a*a*a*a*a*a*a*b\n*.log\n")
    bench.file("a" * 200, "")
    bench.file("x.log", "")
    assert bench.text(ListFiles(), pattern="a*").split("\n")[0] == "a" * 200
    assert "x.log" not in bench.text(ListFiles())


def test_listing_outside_is_proposed_as_outside(bench):
    assert bench.propose(ListFiles(), path="..").outside_root
