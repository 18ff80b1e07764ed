from __future__ import annotations

import json
import random

import pytest

from mewcode_nb.errors import AmbiguousSession, SessionNotFound
from mewcode_nb.messages import text_block
from mewcode_nb.session.belongs import read_notebook
from mewcode_nb.session.library import Library
from mewcode_nb.session.records import Cell, MessageRecord, MetaRecord, SessionRecord, to_line

START = 1_773_480_413.0


@pytest.fixture
def root(tmp_path):
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    return folder


def library(here, root):
    return Library(here, root, clock=lambda: START, random=random.Random(1))


def put(folder, identity, ts=START, notebook="", cells=(), title=""):
    """A session's folder as a writer leaves it."""
    place = folder / ".mewcode" / "sessions" / identity
    place.mkdir(parents=True)
    records = [SessionRecord(ts, identity, notebook=str(notebook))]
    for number, cell in enumerate(cells or [""]):
        content = (text_block(f"prompt in {identity}"),)
        where = Cell(cell, "ff") if cell else None
        records.append(
            MessageRecord(ts, f"m{number}", "user", content, "user", turn=number + 1, cell=where)
        )
    if title:
        records.append(MetaRecord(ts, {"title": title}))
    (place / "conversation.jsonl").write_bytes(b"".join(map(to_line, records)))
    return identity


def save(path, *ids):
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = [{"cell_type": "code", "id": identity, "source": ""} for identity in ids]
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def ids(infos):
    return [info.id for info in infos]


A, B, C = "20260314-120000-aaaa", "20260314-130000-bbbb", "20260315-140000-cccc"


def test_this_folder_or_the_whole_project_newest_first(root):
    put(root / "here", A, START)
    put(root / "there", B, START + 20)
    put(root, C, START + 10)
    stored = library(root / "here", root)
    assert ids(stored.list()) == [A]
    assert ids(stored.list(project=True)) == [B, C, A]
    assert ids(stored.list(project=True, limit=2)) == [B, C]
    assert len(stored.stores()) == 1
    assert [store.sessions.parent.parent for store in stored.stores(project=True)] == [
        *(root / "here", root, root / "there"),
    ]
    assert stored.store is stored.stores()[0]


def test_a_library_of_a_folder_without_sessions_is_empty(root):
    assert library(root / "new", root).list(project=True) == ()
    assert library(root / "new", None).list(project=True) == ()
    with pytest.raises(SessionNotFound):
        library(root / "new", root).find("last")


def test_the_other_folders_are_looked_for_once(root):
    put(root / "here", A)
    stored = library(root / "here", root)
    assert ids(stored.list(project=True)) == [A]
    put(root / "late", B)
    assert ids(stored.list(project=True)) == [A]
    assert sorted(ids(library(root / "here", root).list(project=True))) == [A, B]


def test_a_session_of_a_folder_that_is_new_is_found_and_has_its_store(root):
    put(root / "here", A)
    stored, asked = library(root / "here", root), library(root / "here", root)
    assert ids(stored.list(project=True)) == ids(asked.list(project=True)) == [A]
    put(root / "late", B)
    info = stored.find(B)
    assert info.id == B
    assert asked.store_of(info).sessions == root / "late" / ".mewcode" / "sessions"
    with pytest.raises(SessionNotFound):
        stored.find(C)


def test_a_renamed_notebook_finds_its_sessions(root):
    old = save(root / "a.ipynb", "c1", "c2")
    put(root, A, notebook=old, cells=["c2"])
    put(root, B, notebook=save(root / "b.ipynb", "d1"), cells=["d1"])
    new = old.rename(root / "renamed.ipynb")
    assert ids(library(root, root).list(notebook=read_notebook(new))) == [A]


def test_a_notebook_moved_to_another_folder_finds_its_sessions(root):
    old = save(root / "a.ipynb", "c1")
    put(root, A, notebook=old, cells=["c1"])
    (root / "deep").mkdir()
    new = old.rename(root / "deep" / "a.ipynb")
    assert ids(library(root / "deep", root).list(notebook=read_notebook(new))) == [A]


def test_a_copy_beside_the_original_has_no_sessions(root):
    original = save(root / "a.ipynb", "c1")
    copy = save(root / "copy.ipynb", "c1")
    put(root, A, notebook=original, cells=["c1"])
    assert library(root, root).list(notebook=read_notebook(copy)) == ()
    assert ids(library(root, root).list(notebook=read_notebook(original))) == [A]


def test_the_limit_counts_the_notebook_s_own_sessions(root):
    own = save(root / "a.ipynb", "c1")
    put(root, A, START, notebook=own)
    put(root, B, START + 10, notebook=save(root / "b.ipynb", "d1"))
    put(root, C, START + 20, notebook=save(root / "b.ipynb", "d1"))
    assert ids(library(root, root).list(notebook=read_notebook(own), limit=1)) == [A]


def test_this_folder_answers_to_a_name_first(root):
    put(root / "here", A, START, title="plan")
    put(root / "there", B, START + 10, title="plan")
    stored = library(root / "here", root)
    assert stored.find("plan").id == A
    assert stored.find("last").id == A
    assert stored.find(B).id == B
    with pytest.raises(SessionNotFound):
        stored.find(B, project=False)


def test_a_name_that_fits_in_several_other_folders_is_listed(root):
    put(root / "one", B, title="plan")
    put(root / "two", C, title="plan")
    stored = library(root / "here", root)
    with pytest.raises(AmbiguousSession) as raised:
        stored.find("plan")
    for part in (B, C, str(root / "one"), str(root / "two")):
        assert part in raised.value.message
    assert stored.find("last").id in {B, C}


def test_the_store_of_a_session_is_known_and_a_foreign_one_is_refused(root, tmp_path):
    put(root / "here", A)
    put(root / "there", B)
    put(tmp_path / "elsewhere", C)
    stored = library(root / "here", root)
    assert stored.store_of(stored.find(B)).sessions == root / "there" / ".mewcode" / "sessions"
    stored.store.trash(A, "asked for")
    (item,) = stored.store.trashed()
    assert stored.store_of(item.info) is stored.store
    foreign = library(tmp_path / "elsewhere", None).find(C)
    with pytest.raises(SessionNotFound, match="outside this project"):
        stored.store_of(foreign)


def test_a_folder_of_ours_that_is_a_link_keeps_its_sessions_usable(root, tmp_path):
    put(tmp_path / "shared", A)
    (root / "here").mkdir()
    (root / "here" / ".mewcode").symlink_to(tmp_path / "shared" / ".mewcode")
    stored = library(root / "here", root)
    assert stored.store_of(stored.find(A)) is stored.store
    assert stored.store_in(root / "here" / ".mewcode" / "sessions") is stored.store
    stored.store.trash(A, "asked for")
    (item,) = stored.store.trashed()
    assert stored.store_of(item.info) is stored.store


def test_a_store_s_notice_is_given_once(root):
    put(root / "here", A)
    cache = root / "here" / ".mewcode" / "cache"
    cache.mkdir()
    (cache / "sessions.sqlite").write_bytes(b"corrupt " * 500)
    stored = library(root / "here", root)
    assert ids(stored.list()) == [A]
    assert len(stored.notices()) == 1
    assert ids(stored.list()) == [A]
    assert stored.notices() == ()


def test_the_trash_keeps_what_it_gets_for_as_long_as_said(root):
    put(root, A)
    stored = Library(root, root, clock=lambda: START, random=random.Random(1), trash_days=2)
    stored.store.trash(A, "asked for")
    assert [item.purge_after for item in stored.store.trashed()] == [START + 2 * 86_400]


def test_a_folder_that_cannot_be_read_hides_no_other_and_is_told_once(root):
    put(root / "here", A)
    put(root / "shut", B)
    stored = library(root / "here", root)
    assert len(stored.list(project=True)) == 2
    sessions = root / "shut" / ".mewcode" / "sessions"
    (sessions / B / "conversation.jsonl").unlink()
    (sessions / B).rmdir()
    sessions.rmdir()
    sessions.symlink_to(sessions)
    assert ids(stored.list(project=True)) == [A]
    (notice,) = stored.notices()
    assert str(sessions) in notice
    assert stored.notices() == ()
