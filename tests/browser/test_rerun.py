from __future__ import annotations

import json

PROMPT, OTHER = 1, 2
VIEW = "application/vnd.jupyter.widget-view+json"


def replayed(notebook):
    """A notebook whose prompt was run twice: its second output is the stored answer."""
    page = notebook(["the first answer"], ["%%mewcode\nhi", "1 + 1"])
    page.run(PROMPT)
    page.wait_text(PROMPT, "the first answer")
    page.run(OTHER)
    page.run(PROMPT)
    page.button("Run again").wait_for(timeout=60_000)
    return page


def test_run_again_asks_anew_in_the_same_cell_and_leaves_nothing_live_in_the_file(notebook):
    page = replayed(notebook)
    assert "the first answer" in page.output(PROMPT)
    assert "stored answer" in page.output(PROMPT)
    page.run(OTHER)
    assert page.button("Run again").is_visible()
    page.picture("run-again")
    saved = json.dumps(page.save().cells[PROMPT].outputs)
    assert "--fresh" in saved
    assert VIEW not in saved
    assert len(page.server.requests) == 1
    page.server.add("a second answer")
    page.button("Run again").click()
    page.wait_text(PROMPT, "a second answer")
    assert "the first answer" not in page.output(PROMPT)
    assert "nothing was sent" not in page.output(PROMPT)
    assert len(page.server.requests[-1].body["messages"]) == 1
    page.run(PROMPT)
    page.wait_text(PROMPT, "nothing was sent")
    assert "a second answer" in page.output(PROMPT)
    assert len(page.server.requests) == 2


def test_the_button_is_pressed_by_keyboard_alone_and_enter_does_not_edit_the_cell(notebook):
    page = replayed(notebook)
    page.server.add("a second answer")
    page.button("Run again").focus()
    page.page.keyboard.press("Enter")
    page.wait_text(PROMPT, "a second answer")
    assert len(page.server.requests) == 2
