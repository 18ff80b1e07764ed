from __future__ import annotations

import pytest
from playwright.sync_api import Error

from mewcode_nb.events import Effect, Proposal
from mewcode_nb.widgets.approval import ApprovalCard, card_view
from mewcode_nb.widgets.words import Words

PAYLOADS = [
    "<script>window.pwn=1</script>",
    "<img src='http://127.0.0.1:9/x' onerror='window.pwn=1'>",
    "![a](http://127.0.0.1:9/y.png)",
    '<iframe srcdoc="<script>parent.pwn=1</script>"></iframe>',
    "[a](javascript:window.pwn=1)",
    '[x](http://a/$" onmouseover="window.pwn=1" style="position:fixed;inset:0$)',
    "- ```\n  $\n  ```\n  $\n  ```\n  <img src=x onerror='window.pwn=1'>\n  ```",
    "http://a.b`<img src=x onerror='window.pwn=1'>`",
    '```mermaid\ngraph TD; A@{ img: "http://127.0.0.1:9/m.png" }\n```',
]
SHOW = """
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.words import Words
for payload in {payloads!r}:
    get_ipython().display_pub.publish(cards.text(payload))
    get_ipython().display_pub.publish(cards.entry(payload, cards.output_fold(Words(), payload)))
    get_ipython().display_pub.publish(cards.thoughts(Words(), payload))
"""
ASK = """
from mewcode_nb.config import Settings
from mewcode_nb.events import Effect, Proposal
from mewcode_nb.notebook.approver import choose_approver
bad = "<img src=x onerror='window.pwn=1'>"
asker = choose_approver(get_ipython(), Settings(language="en"))
edit = Proposal("1", "edit_file", Effect.EDIT, "edit " + bad, diff="-a\\n+" + bad + "\\u202e\\x1b",
                risks=(bad,))
decision = await asker.ask(edit)
print("ANSWER", decision.allow, decision.by, decision.remember, repr(decision.reason))
"""
FORGE = """
from ipywidgets.widgets.widget import _instances
for card in list(_instances.values()):
    if type(card).__name__ == "ApprovalCard":
        card._handle_custom_msg({"kind": "answer", "nonce": "guess", "answer": "allow"}, [])
"""


def _count(page):
    return page.page.evaluate(
        "() => (window.jupyterapp || window.jupyterlab).shell.currentWidget.content.widgets.length"
    )


def test_g16_what_a_model_wrote_neither_runs_nor_fetches(notebook):
    page = notebook([], [SHOW.replace("{payloads!r}", repr(PAYLOADS))])
    asked = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.run(1)
    page.wait_text(1, "graph TD")
    # Lab draws icons of its own beside the outputs.
    output = page.page.locator(".jp-RenderedHTMLCommon")
    assert output.count() >= 2 * len(PAYLOADS)
    for tag in ("script", "img", "iframe", "[onerror]", "[onmouseover]", "svg"):
        assert output.locator(tag).count() == 0, tag
    for link in output.locator("a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript")
    assert page.page.evaluate("() => window.pwn") is None
    assert [url for url in asked if ":9/" in url] == []


def test_a_card_is_answered_by_keyboard_and_the_notebook_keeps_its_cells(notebook):
    page = notebook([], [ASK, "1"])
    page.run(1, wait=False)
    card = page.page.locator(".mewcode-approval")
    card.wait_for()
    text = card.inner_text()
    assert "+<img src=x onerror='window.pwn=1'>\\u202E␛" in text
    assert card.locator("img").count() == 0
    before = _count(page)
    reason = card.get_by_role("textbox")
    reason.fill("add a test first")
    card.get_by_role("button", name="Deny").focus()
    page.picture("card")
    page.page.keyboard.press("d")
    page.page.keyboard.press("d")
    assert _count(page) == before
    page.page.keyboard.press("n")
    page.page.keyboard.press("n")
    page.wait_text(1, "ANSWER False user False 'add a test first'")
    assert _count(page) == before
    assert page.page.locator(".mewcode-approval").count() == 0
    assert "denied by you: add a test first" in page.output(1)
    assert page.page.evaluate("() => window.pwn") is None


def test_w_04_one_use_and_a_forged_message_is_ignored(notebook):
    forge = FORGE.strip().replace("\n", "\n    ")
    code = f"import asyncio\ndef forge():\n    {forge}\n"
    code += "asyncio.get_running_loop().call_later(1, forge)\n" + ASK
    page = notebook([], [code])
    page.run(1, wait=False)
    button = page.button("Allow for this session")
    button.wait_for()
    page.page.wait_for_timeout(1500)
    assert "ANSWER" not in page.output(1)
    button.dblclick()
    page.wait_text(1, "ANSWER True user True")
    assert "allowed by you" in page.output(1)


FREE = "print('free:', 'decision' in globals())"


def test_a_reload_with_an_open_card_frees_the_kernel(notebook):
    page = notebook([], [ASK, FREE])
    page.run(1, wait=False)
    page.button("Allow once").wait_for()
    page.page.on("dialog", lambda dialog: dialog.accept())
    page.page.reload()
    # A busy machine may lose the page's last word: some pings later the kernel is free even so. A
    # cell that is run before that is dropped, as behind any error.
    page.open(busy=True)
    page.run(2, wait=False)
    page.wait_text(2, "free: False")


def test_a_killed_page_with_an_open_card_frees_the_kernel(notebook):
    page = notebook([], [ASK, FREE])
    page.run(1, wait=False)
    page.button("Allow once").wait_for()
    context, killed = page.page.context, page.page
    with pytest.raises(Error, match="crash"):
        killed.goto("chrome://crash")
    page.page = context.new_page()
    killed.close()
    page.open(busy=True)
    page.run(2, wait=False)
    page.wait_text(2, "free: False")


def test_prices_are_no_formulas_and_formulas_are(notebook):
    show = (
        "from mewcode_nb.widgets import cards\n"
        "for bundle in (cards.text(r'price $5 and $6, \\$7 and \\$8, \\(a^2\\)'),\n"
        "               cards.line('echo $ONE $TWO'),\n"
        "               {'text/markdown': cards.line('echo $ONE $TWO')['text/markdown']}):\n"
        "    get_ipython().display_pub.publish(bundle)\n"
    )
    page = notebook([], [show])
    page.run(1)
    page.page.locator("mjx-container").first.wait_for()
    assert page.page.locator("mjx-container").count() == 1
    assert page.output(1).startswith("price $5 and $6, $7 and $8, ")
    assert page.output(1).count("echo $ONE $TWO") == 2


DIFF = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n same\n--- old\n+++ new"
DRAW = """async ([script, view]) => {
  window.sent = [];
  window.heard = {};
  const state = window.state = { view, closed: "" };
  const model = { get: (name) => state[name], send: (message) => window.sent.push(message),
                  on: (name, call) => { window.heard[name] = call; }, off: () => {} };
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const part = await import(url);
  window.dispose = part.default.render({ model, el: document.querySelector("main") });
}"""


@pytest.fixture
def card(chromium):
    context = chromium.new_context(viewport={"width": 520, "height": 600})
    page = context.new_page()
    proposal = Proposal(
        "1", "edit_file", Effect.EDIT, "edit " + "x" * 90, diff=DIFF, risks=("one", "two" * 60)
    )
    view = card_view(Words(), proposal, nonce="n1", covers="all edits by edit_file")
    filling = "<div style='height:2000px'></div>"
    page.set_content(f"<style>{ApprovalCard._css}</style>{filling}<main></main>{filling}")
    page.evaluate(DRAW, [str(ApprovalCard._esm), view])
    yield page
    context.close()


def _sent(page):
    return [message["kind"] for message in page.evaluate("() => window.sent")]


def test_a_card_is_in_view_and_fits_a_narrow_page(card):
    card.wait_for_function("() => window.scrollY > 0")
    assert card.get_by_role("button", name="Deny").evaluate(
        "(node) => node.getBoundingClientRect().bottom <= window.innerHeight"
    )
    assert card.evaluate("() => document.documentElement.scrollWidth") <= 520
    below = card.locator(".mewcode-approval-reason").bounding_box()
    row = card.locator(".mewcode-approval-row").bounding_box()
    assert below["y"] >= row["y"] + row["height"]


def test_a_card_names_risks_once_paints_only_changes_and_marks_the_primary_button(card):
    assert card.locator(".mewcode-approval").inner_text().count("Look twice:") == 1
    assert card.locator(".mewcode-approval-risks li").count() == 2
    assert card.locator(".mewcode-approval-removed").all_inner_texts() == ["--- old\n"]
    assert card.locator(".mewcode-approval-added").all_inner_texts() == ["+++ new\n"]
    colours = [
        card.get_by_role("button", name=name).evaluate(
            "(node) => getComputedStyle(node).backgroundColor"
        )
        for name in ("Allow once", "Allow for this session", "Deny")
    ]
    assert colours[0] == "rgb(25, 118, 210)"
    assert len(set(colours)) == 3


def test_a_card_replies_to_its_own_pings_only_and_only_while_it_is_open(card):
    ping = "(nonce) => window.heard['msg:custom']({ kind: 'ping', nonce })"
    before = len(_sent(card))
    for nonce in ("n2", "n1", "n1"):
        card.evaluate(ping, nonce)
    replies = card.evaluate("() => window.sent")[before:]
    assert replies == [{"kind": "pong", "nonce": "n1"}] * 2
    card.get_by_role("button", name="Deny").click()
    card.evaluate(ping, "n1")
    assert _sent(card)[before:] == ["pong", "pong", "answer"]


@pytest.mark.parametrize("end", ["dispose", "answer", "closed"])
def test_a_card_tells_of_a_page_that_goes_away_only_while_it_is_open(card, end):
    leave = "() => window.dispatchEvent(new Event('pagehide'))"
    card.evaluate(leave)
    assert card.evaluate("() => window.sent.at(-1)") == {"kind": "gone", "nonce": "n1"}
    if end == "dispose":
        card.evaluate("() => window.dispose()")
    elif end == "answer":
        card.get_by_role("button", name="Deny").click()
    else:
        card.evaluate("() => { window.state.closed = 'late'; window.heard['change:closed'](); }")
    before = _sent(card)
    card.evaluate(leave)
    assert _sent(card) == before
    assert before.count("gone") == 1
