from __future__ import annotations

import random

import pytest

from mewcode_nb.cli.storage_table import storage_rows
from mewcode_nb.cli.words import Words
from mewcode_nb.messages import text_block
from mewcode_nb.session.library import Library
from mewcode_nb.session.records import MessageRecord, SessionRecord
from mewcode_nb.widgets.cards import size_words

NOW = 1_773_480_413.0


@pytest.fixture
def library(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep").mkdir()
    return Library(tmp_path, tmp_path, clock=lambda: NOW, random=random.Random(1))


def make(store):
    log = store.create(SessionRecord(0.0, ""))
    log.append([MessageRecord(NOW, "m1", "user", (text_block("hi"),), "user", turn=1)])
    log.close()
    return log.id


def test_each_folder_is_counted_and_several_are_summed_up(library, tmp_path):
    here = library.store
    make(here)
    here.trash(make(here), "x")
    size = size_words(here.list()[0].size)
    head, only = storage_rows(library, Words("en"))
    assert only == (str(here.sessions), "1", size, "1", size_words(here.trashed()[0].info.size))
    other = Library(tmp_path / "deep", None, clock=lambda: NOW, random=random.Random(2)).store
    make(other)
    both = Library(tmp_path, tmp_path, clock=lambda: NOW, random=random.Random(3))
    rows = list(storage_rows(both, Words("en")))
    total = size_words(here.list()[0].size + other.list()[0].size)
    assert rows[:2] == [head, only]
    assert rows[2][:4] == (str(other.sessions), "1", size_words(other.list()[0].size), "0")
    assert rows[3][1:4] == ("2", total, "1")
