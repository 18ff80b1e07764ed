from __future__ import annotations

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
