from __future__ import annotations

import random
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.tools.unified import changed_lines, unified_diff


def test_new_file_is_a_diff_from_nothing():
    assert unified_diff(None, "a\nb\n", "n.txt") == (
        "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+a\n+b"
    )


def test_change_far_down_has_true_line_numbers_and_three_lines_around():
    before = "".join(f"{n}\n" for n in range(1, 101))
    diff = unified_diff(before, before.replace("50\n", "fifty\n"), "f")
    assert diff.split("\n")[2:] == [
        "@@ -47,7 +47,7 @@",
        " 47",
        " 48",
        " 49",
        "-50",
        "+fifty",
        " 51",
        " 52",
        " 53",
    ]


def test_missing_newline_at_the_end_is_shown():
    assert unified_diff("a\n", "a", "f").endswith("+a\n\\ No newline at end of file")


def test_undecodable_bytes_do_not_make_the_diff_unsendable():
    unified_diff("caf\udce9 1\n", "caf\udce9 2\n", "f").encode("utf-8")


def test_total_rewrite_of_a_big_file_is_quick():
    before = "".join(f"a{n}\n" for n in range(30_000))
    after = "".join(f"b{n}\n" for n in range(30_000))
    assert changed_lines(unified_diff(before, after, "f")) == (30_000, 30_000)


def test_a_change_of_every_second_line_of_a_big_file_is_quick_and_exact():
    before = "".join(f"{n}\n" for n in range(20_000))
    after = "".join(f"{n}{'x' * (n % 2)}\n" for n in range(20_000))
    started = time.process_time()
    assert changed_lines(unified_diff(before, after, "f")) == (10_000, 10_000)
    assert time.process_time() - started < 3


def test_two_changes_far_apart_give_two_small_hunks():
    before = "".join(f"{n}\n" for n in range(50_000))
    after = before.replace("\n5\n", "\nfive\n").replace("\n49990\n", "\n")
    assert changed_lines(unified_diff(before, after, "f")) == (1, 2)


def test_many_lines_of_few_kinds_are_compared_within_the_budget():
    lines = ["a\n", "b\n"]
    rolls = random.Random(3)
    one, two = ("".join(rolls.choices(lines, k=3_000)) for _ in range(2))
    started = time.process_time()
    unified_diff(one, two, "f")
    assert time.process_time() - started < 3


LINES = st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=25)


@settings(max_examples=25, deadline=None)
@given(LINES, LINES, st.booleans())
def test_the_diff_applies_with_patch(tmp_path_factory, old, new, end):
    before = "".join(line + "\n" for line in old)
    after = "\n".join(new) + ("\n" if end and new else "")
    if before == after:
        return
    folder = tmp_path_factory.mktemp("patch")
    (folder / "f").write_text(before, encoding="utf-8")
    diff = unified_diff(before, after, "f") + "\n"
    command = ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"]
    if not after or not before:
        return
    subprocess.run(command, cwd=folder, input=diff.encode(), check=True, capture_output=True)
    assert (folder / "f").read_text(encoding="utf-8") == after


@pytest.mark.parametrize(("before", "after"), [("a\n", "a\n"), ("", "")])
def test_equal_texts_have_no_diff(before, after):
    assert unified_diff(before, after, "f") == ""
