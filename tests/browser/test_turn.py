from __future__ import annotations

from mewcode_nb.session.load import load
from mewcode_nb.testing import reply, tool_use

ADD = tool_use("run_python", code="value += 1\nprint('value is now', value)")
CELLS = ["value = 41", "%%mewcode\nAdd one to `value`.", "print('seen:', value)"]


def _mime_types(notebook):
    return {
        kind
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        for kind in output.get("data", {})
    }


def _sessions(page):
    return sorted((page.jupyter.root / ".mewcode" / "sessions").iterdir())


def test_prompt_approval_by_click_namespace_and_saved_conversation(notebook):
    page = notebook([reply("I will add **one**.", ADD), reply("Done, it is `42` now.")], CELLS)
    page.run(1)
    page.run(2, wait=False)
    allow = page.button("Allow once")
    allow.wait_for()
    page.picture("approval")
    allow.click()
    page.wait_done(2)
    page.wait_text(2, "Done, it is 42 now.")
    page.run(3)
    assert page.output(3).strip() == "seen: 42"
    page.picture("answered")

    saved = page.save()
    assert "application/vnd.jupyter.widget-view+json" not in _mime_types(saved)
    state = load(_sessions(page)[-1])
    assert [message.role for message in state.messages] == ["user", "assistant"] * 2

    page.jupyter.stop_kernels()
    page.page.evaluate("() => window.localStorage.clear()")
    page.open(kernel=False)
    text = page.output(2)
    assert "I will add one." in text
    assert "Done, it is 42 now." in text
    assert "value += 1" in text
    assert "model not found" not in page.page.content()
    assert page.page.locator(".jp-OutputArea-output [data-mime-type*='error']").count() == 0
    assert page.button("Allow once").count() == 0
    page.picture("reopened")


def test_denial_by_click_reaches_the_model_and_nothing_runs(notebook):
    page = notebook([reply(ADD), reply("As you wish.")], CELLS)
    page.run(1)
    page.run(2, wait=False)
    page.button("Deny").wait_for()
    page.button("Deny").click()
    page.wait_done(2)
    page.wait_text(2, "As you wish.")
    page.run(3)
    assert page.output(3).strip() == "seen: 41"
    results = page.server.requests[1].ask.results
    assert results[0].startswith("Not run: refused by user")


def test_stop_button_ends_a_pending_approval_and_the_next_turn_works(notebook):
    cells = [*CELLS, "%%mewcode\nGo on."]
    page = notebook([reply(ADD), reply("Going on.")], cells)
    page.run(1)
    page.run(2, wait=False)
    page.button("Allow once").wait_for()
    page.command("notebook:interrupt-kernel")
    page.wait_done(2)
    assert page.button("Allow once").count() == 0
    page.run(4)
    page.wait_text(4, "Going on.")
    page.run(3)
    assert page.output(3).strip() == "seen: 41"


HOSTILE = """\
<script>window.pwned = 1</script><img src=x onerror="window.pwned = 2">
<svg onload="window.pwned = 3"></svg> <iframe srcdoc="<script>parent.pwned = 4</script>"></iframe>

[link](javascript:window.pwned=5) ![picture](http://127.0.0.1:9/leak.png)

| a | b |
|---|---|
| <b onclick="window.pwned = 6">x</b> | fine |
"""


def test_n_05_hostile_answer_is_inert_in_the_live_page(notebook):
    page = notebook([reply(HOSTILE + "\nThe end.")], ["%%mewcode\nBe evil."])
    asked = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.run(1)
    page.wait_text(1, "The end.")
    for link in page.page.locator(".jp-OutputArea a").all():
        link.click(no_wait_after=True)
    assert page.page.evaluate("() => window.pwned") is None
    assert [url for url in asked if ":9/" in url] == []
    assert page.page.locator(".jp-OutputArea iframe, .jp-OutputArea script").count() == 0
    page.picture("hostile")


def test_status_shows_the_last_turn_again_after_a_reload(notebook):
    page = notebook([reply("Remember this sentence.")], ["%%mewcode\nHi", "%mewcode status"])
    page.run(1)
    page.save()
    page.open()
    page.run(2)
    page.wait_text(2, "Remember this sentence.")


def test_reload_with_an_open_card_ends_the_turn_and_the_next_one_works(notebook):
    cells = [*CELLS, "%%mewcode\nGo on.", "%mewcode status"]
    page = notebook([reply(ADD), reply("Going on.")], cells)
    page.run(1)
    page.run(2, wait=False)
    page.button("Allow once").wait_for()
    page.save()
    page.open(busy=True)
    page.run(4)
    page.wait_text(4, "Going on.")
    page.run(3)
    assert page.output(3).strip() == "seen: 41"
