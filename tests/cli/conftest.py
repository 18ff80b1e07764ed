from __future__ import annotations

import itertools
import random

import pytest
from click.testing import CliRunner

from mewcode_nb.cli import main
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.session.records import Cell, MessageRecord, MetaRecord, SessionRecord

START = 1_773_480_413.0


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder that is the working folder, with a home and an English locale."""
    home = tmp_path / "home"
    folder = home / "churn"
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def run(project):
    def call(*words, status=0, **options):
        result = CliRunner().invoke(main, list(words), **options)
        assert result.exit_code == status, (result.output, result.exception)
        return result.output

    return call


@pytest.fixture
def new_session(project):
    """Stores a session of two turns; its prompts and title as given."""
    from mewcode_nb.session.library import Library

    clock = itertools.count(START, 10.0).__next__
    rng = random.Random(7)

    def make(title="", prompts=("how many rows?", "and columns?"), folder=None):
        library = Library(folder or project, project, clock=clock, random=rng)
        writer = library.store.create(SessionRecord(0.0, "", model="claude-x"))
        for number, prompt in enumerate(prompts, start=1):
            asked, answered = f"m{2 * number - 1}", f"m{2 * number}"
            writer.append(
                [
                    MessageRecord(
                        clock(),
                        asked,
                        "user",
                        (text_block(prompt),),
                        "user",
                        number,
                        Cell(f"c{number}", "ff"),
                    ),
                    MessageRecord(
                        clock(),
                        answered,
                        "assistant",
                        (text_block(f"answer {number}"),),
                        "assistant",
                        number,
                        usage=Usage(10, output_tokens=2),
                    ),
                ]
            )
        if title:
            writer.append([MetaRecord(clock(), {"title": title})])
        writer.close()
        return writer.id

    return make
