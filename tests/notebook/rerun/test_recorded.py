from __future__ import annotations

import time

import pytest

from mewcode_nb.testing import reply, tool_use

pytestmark = pytest.mark.kernel


def made(server):
    server.add(
        reply(tool_use("run_python", code="data = [1, 2]\nprint('made')")),
        reply(tool_use("run_python", code="total = sum(data)")),
        "done",
    )


def test_missing_variables_are_made_again_after_one_yes(begin, server, sessions):
    made(server)
    cells = begin()
    assert cells("one", "%%mewcode --mode open\ngo").status == "ok"
    after = begin()
    ran = after("one", "%%mewcode\ngo", answer="y")
    assert "lacks variables that the answer made: data, total" in ran.text
    assert after.value("(data, total)") == "([1, 2], 3)"
    assert len(server.requests) == 3
    again = after("one", "%%mewcode\ngo")
    assert "lacks" not in again.text
    assert len(sessions()) == 1


def test_recorded_code_is_not_run_after_a_no(begin, server):
    made(server)
    begin()("one", "%%mewcode --mode open\ngo")
    after = begin()
    ran = after("one", "%%mewcode\ngo", answer="n not now")
    assert ran.status == "ok"
    assert "denied by you" in ran.text
    assert after.value("'data' in dir()") == "False"


@pytest.mark.parametrize(
    ("options", "made_again"), [("", False), ("--mode open", True), ("--mode plan", False)]
)
def test_recorded_code_headless_runs_only_where_the_mode_allows(begin, server, options, made_again):
    made(server)
    begin()("one", "%%mewcode --mode open\ngo")
    after = begin()
    ran = after("one", f"%%mewcode {options}\ngo", allow_stdin=False)
    assert ran.status == "ok"
    assert ("denied" in ran.text) is not made_again
    assert ("--mode open, or where you can answer" in ran.text) is not made_again
    assert after.value("'total' in dir()") == str(made_again)
    assert len(server.requests) == 3


def test_recorded_code_stops_at_the_first_failure(begin, server, in_project):
    path = in_project.notebooks / "flag"
    path.write_text("", encoding="utf-8")
    server.add(
        reply(tool_use("run_python", code="first = 1")),
        reply(tool_use("run_python", code=f"second = open({str(path)!r}).read()")),
        reply(tool_use("run_python", code="third = 3")),
        "done",
    )
    begin()("one", "%%mewcode --mode open\ngo")
    path.unlink()
    after = begin()
    ran = after("one", "%%mewcode --mode open\ngo")
    assert "FileNotFoundError" in ran.text
    assert after.value("('first' in dir(), 'third' in dir())") == "(True, False)"


def test_stop_ends_recorded_code(begin, server, in_project):
    server.add(reply(tool_use("run_python", code="waited = 1\nhold()\nwaited = 2")), "done")
    cells = begin()
    cells("hold", "hold = int")
    cells("one", "%%mewcode --mode open\ngo")
    after = begin()
    after("hold", "def hold():\n    open('begun', 'w').close()\n    while True: pass")
    message = after.start("one", "%%mewcode --mode open\ngo")
    deadline = time.monotonic() + 30
    while not (in_project.notebooks / "begun").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    after.kernel.interrupt()
    ran = after.kernel.finish(message)
    assert (ran.status, ran.ename) == ("error", "Interrupted")
    assert "interrupted" in ran.text
    assert after.value("waited") == "1"
