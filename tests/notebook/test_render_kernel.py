from __future__ import annotations

import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.kernel

TURN = """
from mewcode_nb.config import Settings
from mewcode_nb.events import *
from mewcode_nb.notebook.approver import choose_approver
from mewcode_nb.notebook.render import choose_renderer
import asyncio, time

shell, settings = get_ipython(), Settings(language="en")
renderer = choose_renderer(shell, settings)
proposal = Proposal("t1", "shell", Effect.EXECUTE, "run ls", code="ls <b>")
renderer.show(TurnStarted(1, "s", "sonnet", "ask"))
for word in "Let me look **now** <img src=x onerror=alert(1)>.".split(" "):
    renderer.show(TextDelta(word + " "))
    await asyncio.sleep(0.02)
renderer.show(ApprovalAsked(proposal))
begun = time.monotonic()
decision = await choose_approver(shell, settings).ask(proposal)
waited = time.monotonic() - begun
renderer.show(ApprovalGiven(proposal, decision))
renderer.show(ToolFinished("t1", "shell", "run ls", True, "refused", 0.0, "refused <script>"))
renderer.show(TextDelta("I could not."))
renderer.close()
await asyncio.sleep(0)
"""


def test_w_05_a_turn_is_stored_in_order_static_and_denied_at_once(tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    ask = "assert not decision.allow and waited < 1, waited\ndecision.reason"
    book = new_notebook(cells=[new_code_cell(TURN), new_code_cell(ask)])
    NotebookClient(book, timeout=60, kernel_name="python3").execute()
    status, before, tool, after = book.cells[0].outputs
    assert status.data["text/plain"].startswith("sonnet · ask · 0 in (0% cached), 0 out")
    assert before.data["text/plain"] == "Let me look **now** <img src=x onerror=alert(1)>. "
    assert before.data["text/markdown"] == "Let me look **now** &lt;img src=x onerror=alert(1)>. "
    assert tool.data["text/plain"].startswith("run ls · denied by policy · nobody can be asked")
    assert after.data["text/markdown"] == "I could not."
    stored = [output.data for output in book.cells[0].outputs]
    assert {kind for data in stored for kind in data} == {
        "text/plain",
        "text/markdown",
        "text/html",
    }
    for data in stored:
        for raw in ("<img", "<script", "<b>"):
            assert raw not in data.get("text/html", "")
    assert "nobody can be asked" in book.cells[1].outputs[0].data["text/plain"]
