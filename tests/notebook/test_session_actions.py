from __future__ import annotations

import inspect
import shutil
import time

import pytest

from mewcode_nb.errors import AmbiguousSession, SessionNotFound, UsageError
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.notebook.authority import AGENT_CODE
from mewcode_nb.notebook.picker import PickerActions
from mewcode_nb.notebook.resume_words import ResumeWords
from mewcode_nb.notebook.session_actions import PREVIEW_TURNS, SessionActions
from mewcode_nb.session.records import CompactRecord, MessageRecord, Section
from mewcode_nb.testing import reply


@pytest.fixture
def desk(loaded):
    """Two sessions, the second at hand, and what may be done with them."""
    loaded.server.add(reply("it was wet"), reply("42 in all"))
    loaded.run("%%mewcode\nplot the rainfall")
    loaded.rain = loaded.runtime.conversation.session_id
    loaded.run("%%mewcode --new\nsum the sales")
    loaded.sales = loaded.runtime.conversation.session_id
    loaded.actions = SessionActions(loaded.runtime, ResumeWords("en"))
    return loaded


def ids(infos):
    return [info.id for info in infos]


def test_it_is_what_the_picker_asks_for():
    for name, method in vars(PickerActions).items():
        if name.startswith("_"):
            continue
        wanted = inspect.signature(method).parameters
        given = inspect.signature(getattr(SessionActions, name)).parameters
        assert [*given][: len(wanted)] == [*wanted], name


def test_rows_by_scope_and_only_others_are_in_use(desk):
    sessions = desk.project.notebooks / ".mewcode" / "sessions"
    below = desk.project.notebooks / "deeper" / ".mewcode" / "sessions"
    shutil.copytree(sessions / desk.rain, below / "20250101-000000-aaaa")
    for scope in ("notebook", "folder"):  # a terminal has no notebook: its folder stands in
        assert ids(desk.actions.rows(scope)) == [desk.sales, desk.rain]
    rows = desk.actions.rows("project")
    assert {*ids(rows)} == {desk.sales, desk.rain, "20250101-000000-aaaa"}
    assert [row.live for row in rows] == [False] * 3
    assert desk.actions.rename("20250101-000000-aaaa", "below").title == "below"


def test_of_a_session_and_its_copy_in_another_folder_neither_is_taken_for_the_other(desk):
    sessions = desk.project.notebooks / ".mewcode" / "sessions"
    below = desk.project.notebooks / "deeper" / ".mewcode" / "sessions"
    for session in (desk.rain, desk.sales):
        shutil.copytree(sessions / session, below / session)
    rows = desk.actions.rows("project")
    assert sorted(ids(rows)) == sorted([desk.rain, desk.sales] * 2)
    for session in (desk.rain, desk.sales):
        for act in (desk.actions.delete, desk.actions.resume, desk.actions.preview):
            with pytest.raises(AmbiguousSession, match="lies in several folders") as raised:
                act(session)
            assert str(sessions) in raised.value.message
            assert str(below) in raised.value.message
    copies = [row for row in rows if row.location.startswith(str(below))]
    assert [desk.runtime.conversation.is_stored_as(copy) for copy in copies] == [False, False]
    desk.actions.find(desk.rain)  # by name, this folder's own is meant
    desk.actions.delete(desk.rain)
    assert not (sessions / desk.rain).exists()
    assert (below / desk.rain).is_dir()


def test_a_copy_of_the_session_at_hand_is_gone_on_with_as_itself(desk):
    sessions = desk.project.notebooks / ".mewcode" / "sessions"
    below = desk.project.notebooks / "deeper" / ".mewcode" / "sessions"
    shutil.copytree(sessions / desk.sales, below / desk.sales)
    rows = desk.actions.rows("project")
    copy = next(row for row in rows if row.location.startswith(str(below)))
    assert desk.runtime.resume(copy).forked_from == ""
    assert desk.runtime.conversation.folder == below / desk.sales


def test_the_preview_holds_the_last_turns(desk):
    for number in range(PREVIEW_TURNS + 1):
        desk.run(f"%%mewcode\nprompt {number}")
    desk.actions.rows("folder")
    turns = desk.actions.preview(desk.sales)
    assert [turn.prompt for turn in turns] == [f"prompt {n}" for n in range(1, PREVIEW_TURNS + 1)]
    assert [turn.answer for turn in desk.actions.preview(desk.rain)] == ["it was wet"]


def test_a_search_tells_how_far_it_is_and_passes_over_what_cannot_be_read(desk):
    broken = desk.project.notebooks / ".mewcode" / "sessions" / "20250101-000000-aaaa"
    broken.mkdir()
    (broken / "conversation.jsonl").write_bytes(b"\0\0")
    steps = list(desk.actions.search("wet"))
    assert [(step.done, step.total) for step in steps] == [(1, 3), (2, 3), (3, 3)]
    hits = [hit for step in steps for hit in step.hits]
    assert [hit.info.id for hit in hits] == [desk.rain]
    assert "it was wet" in hits[0].snippet


@pytest.mark.parametrize("own", [True, False])
def test_titles_and_pins_come_back_as_rows(desk, own):
    desk.actions.rows("folder")
    session = desk.sales if own else desk.rain
    assert desk.actions.rename(session, " Q3\n plan ").title == "Q3 plan"
    assert desk.actions.pin(session, True).pinned
    assert not desk.actions.pin(session, False).pinned
    assert desk.actions.rename(session, " ").title == ""
    desk.run("%%mewcode\nstill goes on")
    assert desk.actions.find(desk.sales).turns == 2


def test_deleting_is_undone_and_not_done_to_the_session_at_hand(desk):
    desk.actions.rows("folder")
    desk.actions.delete(desk.rain)
    assert ids(desk.actions.rows("folder")) == [desk.sales]
    assert desk.actions.find_trashed(desk.rain[:6]).reason == "deleted by you"
    assert desk.actions.restore(desk.rain).first_prompt == "plot the rainfall"
    assert ids(desk.actions.rows("folder")) == [desk.sales, desk.rain]
    with pytest.raises(UsageError, match="is the one at hand"):
        desk.actions.delete(desk.sales)


def test_names_that_fit_several_or_none(desk):
    with pytest.raises(AmbiguousSession, match="give more of the id"):
        desk.actions.find(desk.sales[:4])
    with pytest.raises(SessionNotFound, match="no session is called 'zzz'"):
        desk.actions.find("zzz")
    with pytest.raises(SessionNotFound, match="in the trash"):
        desk.actions.find_trashed("zzz")
    desk.actions.rows("folder")
    desk.run("%mewcode new")
    for session in (desk.rain, desk.sales):
        desk.actions.delete(session)
    with pytest.raises(AmbiguousSession, match="fits several in the trash"):
        desk.actions.find_trashed("2")
    with pytest.raises(SessionNotFound, match="--restore brings it back"):
        desk.actions.find(desk.rain)


def test_nothing_is_changed_by_code_of_the_agents(desk):
    actions = desk.actions
    actions.rows("folder")
    token = AGENT_CODE.set(True)
    try:
        for act in (
            lambda: actions.rename(desk.rain, "x"),
            lambda: actions.pin(desk.sales, True),
            lambda: actions.delete(desk.rain),
            lambda: actions.restore(desk.rain),
            lambda: actions.resume(desk.rain),
        ):
            with pytest.raises(UsageError, match="not possible from a running turn"):
                act()
    finally:
        AGENT_CODE.reset(token)
    assert desk.actions.find(desk.rain).title == ""


def test_the_card_of_a_fork_says_too_that_little_room_is_left(desk, monkeypatch):
    monkeypatch.setenv("MEWCODE_CONTEXT_WINDOW", "2000")
    desk.actions.rows("folder")
    card = desk.actions.resume(desk.rain, fork=True)["text/plain"]
    assert "of 2,000" in card, card


def test_a_count_from_before_a_compaction_is_not_told_as_the_present_one(desk):
    log = desk.runtime.conversation.log
    history = desk.runtime.conversation.agent.history
    usage = Usage(input_tokens=900_000, output_tokens=5)
    said = MessageRecord(
        time.time(), "late", "assistant", (text_block("so"),), "assistant", turn=1, usage=usage
    )
    keep = (history[0].id, "late")
    compaction = CompactRecord(time.time(), "k", "manual", (Section("", "short"),), keep=keep)
    log.append((said, compaction))
    desk.actions.rows("folder")
    card = desk.actions.resume(desk.sales)["text/plain"]
    assert "900" not in card, card
