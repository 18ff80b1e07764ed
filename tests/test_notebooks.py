from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from mewcode_nb.session.load import load

ROOT = Path(__file__).parents[1]
CLEAN = ("ANTHROPIC", "MEWCODE")

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.timeout(180),
    pytest.mark.xdist_group("notebooks"),  # executed once, looked at by several tests
]


def _plain(cell):
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.outputs
    )


def _run(folder, *words):
    """Executes a notebook as the command line does; the notebook, its code cells, the output."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(CLEAN)}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "mewcode_nb", "demo", "--headless", *words]
    result = subprocess.run(
        [*command, "--folder", str(folder / "out")],
        cwd=ROOT,
        env={
            **environ,
            "HOME": str(home),
            "IPYTHONDIR": str(home / "ipython"),
            # Nobody is there to be asked, so no model may answer, though one is configured.
            "ANTHROPIC_API_KEY": "test-key",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=170,
    )
    assert result.returncode == 0, result.stderr
    (path,) = (folder / "out").glob("*.executed.ipynb")
    notebook = nbformat.read(path, 4)
    return notebook, [cell for cell in notebook.cells if cell.cell_type == "code"], result.stdout


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    notebook, cells, printed = _run(folder)
    return notebook, cells, folder / "out", printed


def test_headless_demo_says_where_the_notebook_and_the_session_are(executed):
    _, _, out, printed = executed
    assert str(out / "01_first_steps.executed.ipynb") in printed
    assert str(out / ".mewcode" / "sessions") in printed


def test_executed_notebook_is_valid_and_holds_no_widget(executed):
    notebook, cells, _, _ = executed
    nbformat.validate(notebook)
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/markdown", "text/html"}
    assert "text/markdown" in kinds


def test_tutorial_says_that_it_is_not_a_model(executed):
    _, cells, _, _ = executed
    assert "NOT a model" in _plain(cells[1])


def test_answers_hold_what_the_code_really_printed(executed):
    _, cells, _, _ = executed
    assert "far from the rest: [98.6]" in _plain(cells[3])
    assert _plain(cells[5]) == "[21.4, 21.9, 22.1, 37.0, 22.4, 21.7, 22.0]"
    assert _plain(cells[6]) == "(('run_python',), True)"


def test_every_acting_call_shows_who_allowed_or_denied_it(executed):
    _, cells, _, _ = executed
    assert "allowed by mode open" in _plain(cells[3])
    assert "denied by mode plan" in _plain(cells[7])
    assert "Nothing was written." in _plain(cells[7])
    assert "allowed by mode open" in _plain(cells[8])


def test_file_was_written_once_it_was_allowed(executed):
    _, _, out, _ = executed
    assert (out / "notes.md").read_text(encoding="utf-8").startswith("# Temperatures\n")


def test_session_on_disk_holds_the_whole_talk(executed):
    _, _, out, _ = executed
    (folder,) = (out / ".mewcode" / "sessions").iterdir()
    state = load(folder)
    prompts = [m.content[0]["text"] for m in state.messages if m.origin == "user"]
    assert len(prompts) == 4
    assert prompts[0].endswith("Is anything off?")
    assert state.damage == ()
    assert state.messages[-1].role == "assistant"


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """The tour of sessions, by the source of its cells: what each showed; and its folder."""
    folder = tmp_path_factory.mktemp("tour")
    _, cells, _ = _run(folder, "--notebook", "sessions")
    return Tour(folder, cells)


class Tour:
    """What the cells of an executed tour show."""

    def __init__(self, folder, cells):
        self.folder = folder
        self.out = folder / "out"
        self.cells = cells

    def shown(self, words, nth=0):
        return _plain([cell for cell in self.cells if words in cell.source][nth])

    def sessions(self):
        """The states of the original and of its forks, oldest first."""
        return [load(folder) for folder in sorted((self.out / ".mewcode" / "sessions").iterdir())]


def _words(state):
    return "\n".join(block.get("text", "") for m in state.messages for block in m.content)


def test_tour_resumes_with_the_earlier_words_and_what_changed(tour):
    card = tour.shown("%resume last")
    answer = tour.shown("what has changed?")
    assert "market.csv" in card
    assert "apples" in card
    assert "1. Read `market.csv`. On which day were the most apples sold?" in answer
    assert "2. Put the apples of each day into a list `apples`." in answer
    assert "Files changed since you read them; read them again first: " in answer
    assert "market.csv" in answer.split("Files changed", 1)[1]
    assert "Variables this kernel lacks: apples (list 3, made by cell In [5])" in answer


def test_tour_lists_the_session_and_its_title(tour):
    assert "Read `market.csv`" in tour.shown("%resume --list")
    later = tour.shown("%resume --list", 1)
    assert "Market stall" in later
    assert "Market stall, if it rains" in later


def test_tour_forks_and_leaves_the_original_as_it_was(tour):
    original, fork = tour.sessions()
    assert fork.header.parent.id == original.header.id
    assert [r.id for r in fork.records[:4]] == [r.id for r in original.records[:4]]
    assert [r.origin for r in fork.records[4:]] == ["reminder", "user", "assistant"]
    assert "half as many" not in _words(original)
    assert "what has changed" not in _words(fork)
    assert "Saturday only 24 apples, **Fri** is best with 31" in tour.shown("half as many are sold")


def test_tour_rewinds_and_takes_it_back(tour):
    assert "The conversation is empty now." in tour.shown("%mewcode rewind 0")
    assert "Branches that a rewind left" in tour.shown("%mewcode rewind", 2)
    assert "7 messages, 2 turns" in tour.shown("%mewcode rewind --undo")


def test_tour_finds_the_sentence_in_the_fork(tour):
    _, fork = tour.sessions()
    hits = tour.shown("%resume --search")
    assert fork.header.id in hits
    assert "half as many are sold" in hits


def test_tour_exports_what_was_said_and_the_code_that_ran(tour):
    page = (tour.out / "market.md").read_text(encoding="utf-8")
    assert "On which day were the most apples sold?" in page
    book = nbformat.read(tour.out / "market.ipynb", 4)
    nbformat.validate(book)
    assert [c for c in book.cells if c.cell_type == "code" and "apples = [int(sold)" in c.source]
    assert "Market stall" in tour.shown("print(Path")


def test_tour_deletes_a_session_and_brings_it_back_pinned(tour):
    original, _ = tour.sessions()
    assert original.meta == {"title": "Market stall", "pin": True}
    assert original.header.id in tour.shown("--delete")
    assert original.header.id in tour.shown("--restore")
    assert not [*(tour.out / ".mewcode" / "trash").glob("*/conversation.jsonl")]


def test_tour_executed_again_sends_no_prompt_twice(tour):
    before = [state.usage for state in tour.sessions()]
    again = Tour(tour.folder, _run(tour.folder, "--notebook", "sessions")[1])
    for cell in (cell for cell in again.cells if cell.source.startswith("%%mewcode")):
        assert "stored answer" in _plain(cell)
        assert "nothing was sent" in _plain(cell)
    assert [state.usage for state in again.sessions()][: len(before)] == before


def test_stored_notebook_in_the_repository_has_no_outputs():
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        assert [cell.outputs for cell in notebook.cells if cell.get("outputs")] == [], path.name
