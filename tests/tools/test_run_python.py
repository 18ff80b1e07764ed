from __future__ import annotations

import pytest

from mewcode_nb.events import Effect
from mewcode_nb.tools.base import CodeRun, ToolLimits
from mewcode_nb.tools.run_python import RunPython

PNG = "iVBORw0KGgo="


def answer(**parts: object) -> CodeRun:
    whole = {"ok": True, "stdout": "", "stderr": "", "result": "", "traceback": "", **parts}
    return CodeRun(**whole)


@pytest.mark.parametrize(
    ("parts", "text", "is_error"),
    [
        ({}, "[no output]", False),
        ({"stdout": "hi\n", "result": "42"}, "hi\n[result]\n42", False),
        ({"stderr": "warn\n"}, "[stderr]\nwarn", False),
        (
            {"created": ("df", "x"), "removed": ("y",)},
            "[variables created: df, x; removed: y]",
            False,
        ),
        (
            {"ok": False, "stdout": "1\n", "traceback": "Traceback\nValueError: no"},
            "1\nTraceback\nValueError: no",
            True,
        ),
        (
            {"ok": False, "timed_out": True},
            "[timed out after 300 s; the code was interrupted]",
            True,
        ),
        ({"ok": False, "interrupted": True}, "[interrupted by the user]", True),
        ({"stdout": "a", "dropped": 1_500}, "a\n[1,500 characters of output were not kept]", False),
        ({"display": ({"text/plain": "   a\n0  1"},)}, "[display]\n   a\n0  1", False),
    ],
)
def test_what_came_of_the_code_is_told(bench, parts, text, is_error):
    bench.namespace.answer = answer(**parts)
    result = bench.run(RunPython(), code="x")
    assert (result.content, result.is_error) == (text, is_error)


def test_code_limit_and_capture_reach_the_namespace(bench):
    bench.run(RunPython(), code="x = 1")
    bench.run(RunPython(), code="x = 2", timeout=9)
    assert bench.namespace.asked == [("x = 1", 300.0, 1_048_576), ("x = 2", 9.0, 1_048_576)]


def test_long_output_keeps_the_traceback_at_the_end(bench):
    bench.context.limits = ToolLimits(result_bytes=1_000)
    bench.namespace.answer = answer(ok=False, stdout="x" * 5_000, traceback="ValueError: no")
    result = bench.run(RunPython(), code="x")
    assert len(result.content) <= 1_000
    assert result.content.endswith("x\nValueError: no")


def test_figures_come_as_images_at_most_three(bench):
    bundles = tuple({"image/png": PNG + "\n", "text/plain": f"<Figure {n}>"} for n in range(5))
    bench.namespace.answer = answer(display=bundles)
    result = bench.run(RunPython(), code="plot()")
    text, *images = result.content
    assert text["text"].endswith("[2 more images, shown to the user only]")
    assert [image["source"]["data"] for image in images] == [PNG] * 3
    assert result.display == bundles


@pytest.mark.parametrize("data", ["A" * 5_242_884, b"\x00" * 4_000_000])
def test_s_17_an_image_over_the_limit_is_left_out_and_said(bench, data):
    bench.namespace.answer = answer(display=({"image/png": data},))
    result = bench.run(RunPython(), code="plot()")
    assert result.content == "[1 image too big to send, shown to the user only]"


def test_names_in_the_namespace_are_reported(bench):
    done = {"created": ("a",), "changed": ("b",), "removed": ("c",), "used": ("d",)}
    bench.namespace.answer = answer(**done)
    assert bench.run(RunPython(), code="x").namespace == done


def test_s_18_output_with_half_a_character_becomes_sendable(bench):
    bench.namespace.answer = answer(stdout="\ud83d", result="'\udcff'")
    assert bench.text(RunPython(), code="x") == "\ufffd\n[result]\n'\ufffd'"


def test_the_proposal_holds_the_whole_code(bench):
    proposal = bench.propose(RunPython(), code="import os\nos.remove('f')\n")
    assert (proposal.code, proposal.language) == ("import os\nos.remove('f')\n", "python")
    assert (proposal.effect, proposal.risks) == (Effect.EXECUTE, ("deletes files",))


@pytest.mark.parametrize(
    ("code", "hints"),
    [
        ("df.groupby('a').mean()", ()),
        ("!ls", ("starts other programs",)),
        ("import requests", ("uses the network",)),
        ("df.to_csv('x.csv')", ("writes files",)),
        ("open('f', 'w')", ("writes files",)),
        ("open('f')", ()),
        ("eval(x)", ("runs text as a program",)),
    ],
)
def test_hints_name_what_deserves_a_second_look(bench, code, hints):
    assert bench.propose(RunPython(), code=code).risks == hints


def test_the_summary_is_the_last_line_of_the_traceback(bench):
    bench.namespace.answer = answer(
        ok=False, traceback="Traceback\n  x\n\x1b[31mValueError\x1b[0m: no"
    )
    assert bench.run(RunPython(), code="x").summary == "ValueError: no"
