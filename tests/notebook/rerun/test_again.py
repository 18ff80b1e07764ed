from __future__ import annotations

import time

import pytest

from mewcode_nb.testing import fail

pytestmark = pytest.mark.kernel


class Page:
    """A page that draws the line under a stored answer, and presses its button."""

    def __init__(self, cells, cell, code):
        self.cells = cells
        self.code = code
        self.request = cells.start(cell, code)
        self.client = cells.kernel.client
        self.seen = []
        opened = self.wait(
            lambda m: (
                m["msg_type"] == "comm_open"
                and "label" in m["content"]["data"]["state"].get("view", {})
            )
        )["content"]
        self.comm, self.view = opened["comm_id"], opened["data"]["state"]["view"]
        self.send("rendered")
        self.replayed = cells.kernel.finish(self.request)

    def wait(self, wanted, timeout=30):
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            message = self.client.get_iopub_msg(timeout=left)
            self.seen.append(message)
            if wanted(message):
                return message
        raise TimeoutError([message["msg_type"] for message in self.seen])

    def send(self, kind, nonce=""):
        content = {"kind": kind, "nonce": nonce or self.view["nonce"]}
        data = {"method": "custom", "content": content}
        message = self.client.session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        self.client.shell_channel.send(message)

    def press(self, shown):
        """Press it, and wait for an output of the cell with these words."""
        self.send("again")
        return self.wait(lambda m: self.of_cell(m) and shown in words(m))

    def of_cell(self, message):
        return message["parent_header"].get("msg_id") == self.request

    def outputs(self):
        return [m["msg_type"] for m in self.seen if self.of_cell(m)]


def words(message):
    content = message["content"]
    return content.get("evalue") or content.get("data", {}).get("text/plain", "")


@pytest.fixture
def page(begin, server):
    def page(code="%%mewcode\nhi", **more):
        cells = begin(MEWCODE_APPROVAL="auto", **more)
        assert "one" in cells("one", code).text
        return Page(cells, "one", code)

    server.add("one")
    return page


def test_the_button_runs_the_prompt_again_in_its_own_cell_and_replaces_the_turn(page, server):
    shown = page("%%mewcode -o r\nhi")
    assert shown.view["label"] == "Run again"
    assert "one" in "".join(map(words, shown.seen))
    server.add("two")
    shown.press("two")
    assert "clear_output" in shown.outputs()
    assert len(server.requests[-1].body["messages"]) == 1
    assert shown.cells.value("(r.text, r.stored)") == "('two', False)"
    again = shown.cells("one", shown.code)
    assert "two" in again.text
    assert len(server.requests) == 2
    undone = shown.cells("undo", "%mewcode rewind --undo")
    assert undone.status == "ok", undone.text
    assert "one" in shown.cells("one", shown.code).text


def test_a_button_outlives_other_cells_and_a_guessed_nonce_presses_nothing(page, server):
    shown = page()
    assert shown.cells.value("1 + 1") == "2"
    shown.send("again", nonce="guess")
    assert shown.cells.value("2 + 2") == "4"
    assert len(server.requests) == 1
    server.add("two")
    shown.press("two")
    shown.send("again")
    assert shown.cells.value("3 + 3") == "6"
    assert len(server.requests) == 2


def test_what_goes_wrong_is_told_in_the_cell_and_the_stored_turn_can_be_brought_back(page, server):
    shown = page()
    server.add(fail(400, message="no such thing"))
    error = shown.press("no such thing")
    assert error["msg_type"] == "error"
    assert shown.cells("undo", "%mewcode rewind --undo").status == "ok"
    assert "one" in shown.cells("one", shown.code).text
    assert len(server.requests) == 2


def test_without_a_key_the_button_replaces_nothing(page, server):
    shown = page()
    shown.cells("key", "import os; del os.environ['ANTHROPIC_API_KEY']")
    assert shown.press("key")["msg_type"] == "error"
    assert "one" in shown.cells("one", shown.code).text
    assert len(server.requests) == 1


def test_the_button_speaks_the_language_of_the_prompt(page, server):
    shown = page("%%mewcode\n你好")
    assert shown.view["label"] == "重新运行"
    assert "存储的回答" in shown.view["text"]


@pytest.mark.parametrize(
    ("code", "more", "allow_stdin"),
    [
        ("%%mewcode\nhi", {"MEWCODE_APPROVAL": "input"}, True),
        ("%%mewcode\nhi", {}, False),
        ("x = 1\n%mewcode ask hi", {}, True),
    ],
)
def test_no_button_where_it_could_not_do_what_it_says(begin, server, code, more, allow_stdin):
    server.add("one")
    cells = begin(**{"MEWCODE_APPROVAL": "auto", **more})
    cells("one", code)
    ran = cells("one", code, allow_stdin=allow_stdin)
    assert "--fresh" in ran.text
    assert not [m for m in ran.messages if m["msg_type"] == "comm_open"]
