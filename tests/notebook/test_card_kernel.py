from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.kernel

ASK = """
from mewcode_nb.config import Settings
from mewcode_nb.events import Effect, Proposal
from mewcode_nb.notebook.approver import NotebookApprover, Ways
from mewcode_nb.notebook.surroundings import surroundings
from mewcode_nb.widgets.words import Words
shell = get_ipython()
asker = NotebookApprover(lambda: surroundings(shell), Settings(), Words(), shell.display_pub,
                         ways=Ways(ping_seconds=0.5, handshake_seconds=30))
decision = await asker.ask(Proposal("1", "shell", Effect.EXECUTE, "run ls", code="ls"))
print("ANSWER", decision.allow)
"""


class FrontEnd:
    """A page that has drawn one card and says only what it is told to."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.request = kernel.start(ASK, allow_stdin=True)
        self.seen = []
        opened = self.wait(
            "comm_open", lambda content: "nonce" in content["data"]["state"].get("view", {})
        )
        self.comm = opened["comm_id"]
        self.nonce = opened["data"]["state"]["view"]["nonce"]
        self.send(kind="rendered")

    def wait(self, kind, wanted, timeout=30):
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            message = self.kernel.client.get_iopub_msg(timeout=left)
            self.seen.append(message)
            if message["msg_type"] == kind and wanted(message["content"]):
                return message["content"]
        raise TimeoutError([message["msg_type"] for message in self.seen])

    def wait_ping(self):
        ping = {"method": "custom", "content": {"kind": "ping", "nonce": self.nonce}}
        self.wait(
            "comm_msg",
            lambda content: content["comm_id"] == self.comm and content["data"] == ping,
        )

    def send(self, **content):
        data = {"method": "custom", "content": {"nonce": self.nonce, **content}}
        client = self.kernel.client
        message = client.session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        client.shell_channel.send(message)

    def end(self):
        return self.kernel.finish(self.request)


@pytest.fixture
def page(start_kernel):
    return FrontEnd(start_kernel())


def test_a_page_that_falls_silent_ends_the_turn_after_five_pings_and_the_kernel_goes_on(page):
    for _ in range(3):
        page.wait_ping()
        page.send(kind="pong")
    begun = time.monotonic()
    ended = page.end()
    assert (ended.status, ended.ename) == ("error", "Interrupted"), ended.text
    assert 2.5 <= time.monotonic() - begun < 10
    assert page.kernel.run("print('free', 'decision' in globals())").text.strip() == "free False"


def test_a_page_that_answers_each_ping_keeps_its_card_and_leaves_nothing_to_save(page):
    for _ in range(8):
        page.wait_ping()
        page.send(kind="pong")
    shown = [m for m in page.seen if m["msg_type"] in {"display_data", "update_display_data"}]
    states = [
        m["content"]["data"]
        for m in page.seen
        if m["msg_type"] == "comm_msg" and m["content"]["data"]["method"] != "custom"
    ]
    assert (len(shown), states) == (1, [])
    page.send(kind="answer", answer="allow")
    ended = page.end()
    assert ended.status == "ok", ended.text
    assert "ANSWER True" in ended.text


def test_w_04_a_pong_with_another_nonce_does_not_keep_a_card_and_a_late_answer_is_unheard(page):
    for _ in range(5):
        page.wait_ping()
        page.send(kind="pong", nonce="guess")
    ended = page.end()
    assert (ended.status, ended.ename) == ("error", "Interrupted"), ended.text
    page.send(kind="answer", answer="allow")
    assert page.kernel.run("print('decision' in globals())").text.strip() == "False"
