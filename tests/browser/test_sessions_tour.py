from __future__ import annotations

import shutil
import time
from pathlib import Path
from random import Random

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.session.folder_store import FolderStore
from mewcode_nb.session.records import (
    Git,
    MessageRecord,
    MetaRecord,
    Parent,
    SessionRecord,
)

ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "browser"
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "02_sessions.ipynb"
HOUR = 3600.0
TALKS = (
    # hours ago, title, first prompt, turns, tokens of a turn, branch
    (0.3, "", "Why did churn rise in March?", 6, 9_400, "main"),
    (3.1, "", "Join orders and returns without losing rows", 4, 12_800, "main"),
    (26, "Churn model, final", "Fit a model of churn on customers.parquet", 14, 21_300, "main"),
    (31, "", "Plot weekly revenue by region, with the holidays marked", 3, 7_100, "main"),
    (52, "Churn model, without tenure", "Fit a model of churn", 9, 18_900, "tenure"),
    (130, "", "Make load_orders() twice as fast", 11, 15_600, "speed"),
    (220, "", "Sum up customers by region and look for duplicate rows", 4, 6_300, "main"),
    (390, "", "What does each column of events.parquet mean?", 2, 4_800, "main"),
)


def _seed(root, notebook):
    """Stores the talks as the sessions of the notebook, with times in the past."""
    ids = []
    for number, (ago, title, prompt, turns, tokens, branch) in enumerate(TALKS):
        now = time.time() - ago * HOUR
        store = FolderStore(
            root / ".mewcode" / "sessions", clock=lambda now=now: now, random=Random(number)
        )
        parent = Parent(ids[2], "m6") if title.endswith("tenure") else None
        header = SessionRecord(
            0.0, "", notebook=str(notebook), project=str(root), parent=parent, git=Git(branch, "")
        )
        writer = store.create(header)
        for turn in range(1, turns + 1):
            writer.append(_turn(now, turn, prompt if turn == 1 else "Go on.", tokens))
        if title:
            writer.append([MetaRecord(now, {"title": title, "pin": title.endswith("final")})])
        writer.close()
        ids.append(writer.id)
    return ids


def _turn(ts, turn, prompt, tokens):
    answer = "The rise is in one cohort: customers who joined in the December sale."
    usage = Usage(tokens, 0, 0, tokens // 12)
    return [
        MessageRecord(ts, f"m{2 * turn - 1}", "user", (text_block(prompt),), "user", turn),
        MessageRecord(
            ts,
            f"m{2 * turn}",
            "assistant",
            (text_block(answer),),
            "assistant",
            turn,
            usage=usage,
            model="claude-sonnet-5-5",
            message_id=f"msg_{turn}",
        ),
    ]


def test_the_picker_lists_what_a_notebook_was_used_for(jupyter, open_notebook):
    name = "churn.ipynb"
    book = new_notebook(cells=[new_code_cell("%load_ext mewcode_nb"), new_code_cell("%resume")])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(book, jupyter.root / name)
    ids = _seed(jupyter.root, jupyter.root / name)
    page = open_notebook(name)
    page.run(0)
    page.run(1)
    picker = page.page.locator(".mewcode-picker")
    picker.wait_for()
    names = page.page.locator(".mewcode-picker-name").all_inner_texts()
    assert len(names) == len(ids) == 8
    assert names[:3] == ["Churn model, final", TALKS[0][2], TALKS[1][2]]  # pinned ones first
    page.page.keyboard.press("ArrowDown")
    page.page.locator(".mewcode-picker-row[aria-selected=true]", has_text="March").wait_for()
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    page.page.locator(".jp-CodeCell").nth(1).screenshot(
        path=str(ARTIFACTS / f"{jupyter.app}-picker-cell.png")
    )
    page.page.keyboard.press("Enter")
    page.wait_text(1, "Resumed “Why did churn rise in March?”")
    picker.wait_for(state="detached")


def _place(name, words, nth=0):
    cells = enumerate(nbformat.read(name, 4).cells)
    return [n for n, cell in cells if cell.cell_type == "code" and words in cell.source][nth]


def test_newcomer_takes_the_tour_with_a_real_restart_and_clicks(jupyter, open_notebook):
    shutil.copy(NOTEBOOK, jupyter.root)
    page = open_notebook(NOTEBOOK.name)

    def run(words, nth=0, **options):
        place = _place(NOTEBOOK, words, nth)
        page.run(place, **options)
        return place

    for words in ("%load_ext", "%mewcode tutorial", "stall ="):
        run(words)
    best = run("the most apples sold?")
    page.wait_text(best, "On Sat: 48 apples.")
    listed = run("into a list `apples`", wait=False)
    page.button("Allow once").click()
    page.wait_done(listed)
    page.wait_text(listed, "[12, 31, 48]")

    restart(page)
    for words in ("%load_ext", "%mewcode tutorial", "reset_selective"):
        run(words)
    picker = run("%resume")
    box = page.page.locator(".mewcode-picker")
    box.wait_for()
    box.get_by_text("Read market.csv").or_(box.get_by_text("Read `market.csv`")).first.wait_for()
    table = run("%resume --list")
    box.wait_for(state="detached")
    page.wait_text(picker, "%resume ID or %resume last goes on directly.")
    page.wait_text(table, "On which day were the most a")
    card = run("%resume last")
    page.wait_text(card, "market.csv")
    page.wait_text(card, "apples")
    changed = run("what has changed?")
    page.wait_text(changed, "Variables this kernel lacks: apples")

    page.run(best)
    page.wait_text(best, "nothing was sent")
    page.picture("tour-rerun")
    run("%mewcode fork 4")
    rain = run("half as many are sold?")
    page.wait_text(rain, "Fri is best with 31")


def restart(page):
    page.page.evaluate(
        """async () => {
            const app = window.jupyterapp || window.jupyterlab;
            await app.shell.currentWidget.sessionContext.session.kernel.restart();
        }"""
    )
    page.page.wait_for_function(
        """() => {
            const app = window.jupyterapp || window.jupyterlab;
            return app.shell.currentWidget.sessionContext.session.kernel.status === 'idle';
        }"""
    )
