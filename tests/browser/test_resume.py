from __future__ import annotations

import json

from mewcode_nb.testing import reply, tool_use

VIEW = "application/vnd.jupyter.widget-view+json"
RESUME = 4
"""The cell with the picker."""
ROW = ".mewcode-picker-row[aria-selected=true]"


def restart(page):
    """A new kernel that knows the extension and nothing else."""
    page.page.evaluate(
        """async () => {
            const w = (window.jupyterapp || window.jupyterlab).shell.currentWidget;
            await w.sessionContext.session.kernel.restart();
        }"""
    )
    page.run(0)


def said(server):
    """The words of the last request, reminders apart."""
    messages = server.requests[-1].body["messages"]
    texts = [block["text"] for m in messages for block in m["content"] if block["type"] == "text"]
    reminders = [text for text in texts if "mewcode-reminder" in text]
    return [text for text in texts if text not in reminders], "".join(reminders)


def theme(page, name):
    page.page.evaluate(
        """async (theme) => {
            const app = window.jupyterapp || window.jupyterlab;
            await app.commands.execute('apputils:change-theme', { theme });
        }""",
        f"JupyterLab {name}",
    )
    page.page.wait_for_function(
        "(light) => document.body.dataset.jpThemeLight === light",
        arg=str(name == "Light").lower(),
    )


def pictures(page, name):
    """In both themes."""
    for shade in ("Dark", "Light"):
        theme(page, shade)
        page.picture(f"{name}-{shade.lower()}")


def picked(page, cell, typed):
    """Show the picker, find a session by typing and go on with it."""
    page.run(cell)
    page.page.locator(".mewcode-picker").wait_for(timeout=60_000)
    page.page.keyboard.type(typed)
    page.page.locator(ROW, has_text=typed).wait_for()
    pictures(page, "resume-picker")
    page.page.keyboard.press("Enter")
    page.wait_text(cell, "Resumed")
    assert page.page.locator(".mewcode-picker").count() == 0


def reopened(page):
    """Save, and open again without a kernel."""
    page.save()
    page.jupyter.stop_kernels()
    page.open(kernel=False)
    assert page.page.locator(".jp-mod-error, .jupyter-widgets-disconnected").count() == 0


def test_a_talk_goes_on_after_a_restart_by_keyboard_alone(notebook):
    script = [
        reply(tool_use("run_python", code="totals = [3, 1, 2]")),
        reply("I made `totals`: three sums."),
        reply("The largest is **3**."),
        reply("A fresh start."),
        reply("Sorted: 1, 2, 3."),
    ]
    cells = [
        "%%mewcode --mode open\nSum the sales by month.",
        "%%mewcode\nWhich one is the largest?",
        "%%mewcode --new\nSomething else entirely.",
        "%resume",
        "%%mewcode\nNow sort them.",
    ]
    page = notebook(script, cells)
    for cell in (1, 2, 3):
        page.run(cell)
    page.save()
    restart(page)
    picked(page, RESUME, "Sum the sales")
    card = page.output(RESUME)
    assert "Resumed “Sum the sales by month.”" in card
    assert "Which one is the largest?" in card
    assert "totals (list 3) made by cell 2: Sum the sales by month." in card
    assert "the model is told so with your next prompt" in card
    pictures(page, "resume-card")
    page.run(5)
    page.wait_text(5, "Sorted: 1, 2, 3.")
    words, reminders = said(page.server)
    assert [words[0], *words[-3:]] == [
        "Sum the sales by month.",
        "Which one is the largest?",
        "The largest is **3**.",
        "Now sort them.",
    ]
    assert "totals" in reminders
    assert VIEW not in json.dumps(page.save().cells[RESUME].outputs)
    reopened(page)
    page.wait_text(RESUME, "Resumed “Sum the sales by month.”")


def test_a_picker_that_is_left_open_is_a_table_in_the_saved_file(notebook):
    page = notebook([reply("Hello.")], ["%%mewcode\nHi", "%resume"])
    page.run(1)
    page.run(2)
    page.page.locator(".mewcode-picker").wait_for(timeout=60_000)
    assert VIEW not in json.dumps(page.save().cells[2].outputs)
    reopened(page)
    page.wait_text(2, "%resume ID")
