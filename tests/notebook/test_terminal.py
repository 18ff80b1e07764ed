from __future__ import annotations

import os
import sys

import pytest

from mewcode_nb.testing import Fault, reply, tool_use

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal"),
]


@pytest.fixture
def terminal(in_project, mewcode_server, monkeypatch):
    import pexpect

    server = mewcode_server()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200"}
    child = pexpect.spawn(
        sys.executable,
        [
            "-m",
            "IPython",
            "--simple-prompt",
            "--no-banner",
            "--no-confirm-exit",
            "--colors=nocolor",
        ],
        env=environment,
        encoding="utf-8",
        timeout=40,
        dimensions=(50, 200),
    )
    child.server = server
    child.expect(r"In \[1\]: ")
    child.sendline("%load_ext mewcode_nb")
    child.expect(r"In \[2\]: ")
    yield child
    child.ptyproc.delayafterterminate = 1.0  # a loaded machine takes its time to end it
    child.close(force=True)


def test_a_terminal_asks_by_a_line_and_runs_what_was_allowed(terminal):
    terminal.server.add(reply(tool_use("run_python", code="made = 6 * 7")), "it is made")
    terminal.sendline("%mewcode ask make it")
    terminal.expect("made = 6")
    terminal.sendline("y")
    terminal.expect("it is made")
    terminal.expect(r"In \[3\]: ")
    terminal.sendline("made")
    terminal.expect(r"Out\[3\]: 42")


def test_a_terminal_cell_is_read_to_its_empty_line_and_a_refusal_is_told(terminal):
    terminal.server.add(reply(tool_use("shell", command="touch made")), "as you wish")
    terminal.sendline("%%mewcode")
    terminal.sendline("make a file,")
    terminal.sendline("please?")
    terminal.sendline("")
    terminal.sendline("")  # a cell magic ends with two of them, as IPython's own do
    terminal.expect("touch made")
    terminal.sendline("n not today")
    terminal.expect("as you wish")
    sent = terminal.server.requests[0].body["messages"][0]["content"][0]["text"]
    assert sent == "make a file,\nplease?"
    assert "not today" in str(terminal.server.requests[1].body["messages"][-1])


def test_ctrl_c_in_a_terminal_stops_the_turn_for_good(terminal):
    terminal.server.add(reply("late", fault=Fault("late", seconds=30)), "the next answer")
    terminal.sendline("%mewcode ask first")
    terminal.server.wait_for_request(1, timeout=30)
    terminal.sendintr()
    terminal.expect(r"In \[3\]: ", timeout=5)
    terminal.sendline("%mewcode ask second")
    terminal.expect("the next answer")
    terminal.expect(r"In \[4\]: ")
    assert len(terminal.server.requests) == 2
