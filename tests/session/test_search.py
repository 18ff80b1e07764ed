from __future__ import annotations

import pytest

from mewcode_nb.messages import text_block, tool_result
from mewcode_nb.prompt import reminder
from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    RewindRecord,
    Section,
    SessionRecord,
    to_line,
)
from mewcode_nb.session.search import search


@pytest.fixture
def store(tmp_path):
    """Writes a session's file, and says what a list would say of it."""

    def put(name, *records, active=100.0, title="", raw=b""):
        folder = tmp_path / name
        folder.mkdir()
        lines = b"".join(map(to_line, (SessionRecord(1.0, name), *records)))
        (folder / "conversation.jsonl").write_bytes(lines + raw)
        return SessionInfo(name, location=str(folder), active=active, title=title)

    return put


def message(identity, *blocks, role="user", origin=None, turn=1, ts=5.0):
    content = tuple(text_block(b) if isinstance(b, str) else b for b in blocks)
    return MessageRecord(ts, identity, role, content, origin or role, turn=turn)


def found(infos, query, **more):
    return [
        (hit.info.id, hit.message_id, hit.number, hit.match.snippet)
        for hit in search(infos, query, **more)
    ]


CALL = {
    "type": "tool_use",
    "id": "t1",
    "name": "edit_file",
    "input": {"path": "data/raven.csv", "edits": [{"new": 'quoth "it"'}]},
}
THOUGHT = {"type": "thinking", "thinking": "a secret musing", "signature": "s"}


def test_all_that_was_said_is_found_with_its_number(store):
    info = store(
        "s1",
        message("m1", "where is the raven?", reminder("mode", "never midnight")),
        message("m2", THOUGHT, "I look", CALL, role="assistant", ts=6.0),
        message("m3", tool_result("t1", [{"type": "text", "text": "written"}]), origin="tool"),
        message("m4", "it is dreary", role="assistant"),
    )
    assert found([info], "where raven") == [("s1", "m1", 1, "where is the raven?")]
    assert found([info], "raven.csv") == [
        ("s1", "m2", 2, 'I look edit_file data/raven.csv quoth "it"')
    ]
    assert found([info], '"QUOTH" it') == found([info], "raven.csv")
    assert found([info], "written") == [("s1", "m3", 3, "written")]
    assert found([info], "midnight") == []
    assert found([info], "musing") == []
    (hit,) = search([info], "look")
    assert (hit.role, hit.origin, hit.ts, hit.turn) == ("assistant", "assistant", 6.0, 1)
    assert hit.in_conversation


def test_compacted_spans_and_abandoned_branches_are_found_without_a_number(store):
    info = store(
        "s1",
        message("m1", "early raven"),
        message("m2", "kept", role="assistant"),
        CompactRecord(7.0, "c1", "auto", (Section("Done", "the raven was fed"),), keep=("m2",)),
        message("m3", "late raven", turn=2),
        RewindRecord(8.0, "m2"),
        message("m4", "raven again", turn=2),
    )
    hits = list(search([info], "raven", each=9))
    assert [(hit.message_id, hit.number, hit.in_conversation) for hit in hits] == [
        ("m4", 3, True),
        ("m3", 0, False),
        ("c1", 1, True),
        ("m1", 0, False),
    ]
    assert hits[2].origin == "summary"


def test_sessions_and_messages_come_newest_first_within_the_limits(store):
    infos = [
        store(f"s{n}", *(message(f"m{k}", f"raven {k}") for k in range(5)), active=float(n))
        for n in (2, 3, 1)
    ]
    assert [(s, m) for s, m, *_ in found(infos, "raven", each=2)] == [
        *(("s3", "m4"), ("s3", "m3"), ("s2", "m4"), ("s2", "m3"), ("s1", "m4"), ("s1", "m3")),
    ]
    assert [s for s, *_ in found(infos, "raven", each=2, limit=3)] == ["s3", "s3", "s2"]


def test_a_title_is_found_first(store):
    info = store("s1", message("m1", "the raven"), title="Raven studies")
    assert [(h.message_id, h.origin, h.match.marks) for h in search([info], "raven")] == [
        ("", "title", ((0, 5),)),
        ("m1", "user", ((4, 9),)),
    ]


def test_a_batch_given_again_after_a_failure_is_one_hit(store):
    info = store("s1", message("m1", "raven"), message("m1", "raven"))
    assert found([info], "raven") == [("s1", "m1", 1, "raven")]


def test_damaged_lines_are_searched_for_whole_records(store):
    stump = b'{"type":"message","ts":1,"id":"m1","role":"us' + to_line(message("m2", "raven"))
    zeros = bytes(400) + to_line(message("m3", "a raven"))
    info = store("s1", raw=b"\xff\xfe\n" + stump + zeros)
    assert [(m, n) for _, m, n, _ in found([info], "raven")] == [("m3", 2), ("m2", 1)]


def test_entries_of_the_go_program_are_found_by_their_place(store):
    line = b'{"role":"user","content":"\\u4f60\\u597d raven","ts":1700000000}\n'
    info = store("1700000000-ab12", raw=line)
    ((_, identity, number, snippet),) = found([info], "你好")
    assert (number, snippet) == (1, "你好 raven")
    assert identity.startswith("line-")


def test_an_unreadable_session_is_named_and_passed_over(store):
    good = store("s1", message("m1", "raven"), active=1.0)
    bad = SessionInfo("s2", location=str(good.location) + "-none", active=2.0)
    steps = []
    assert [m for _, m, *_ in found([good, bad], "raven", progress=steps.append)] == ["m1"]
    assert [(step.done, step.total, step.hits) for step in steps] == [(1, 2, 0), (2, 2, 1)]
    assert steps[-1].unread[0].startswith("s2: cannot read ")


def test_what_the_list_calls_unreadable_is_not_opened(store):
    info = store("s1", message("m1", "raven"))
    shut = SessionInfo("s1", location=info.location, readable=False, damage="a folder")
    steps = []
    assert list(search([shut], "raven", progress=steps.append)) == []
    assert steps[-1].unread == ("s1: a folder",)


@pytest.mark.parametrize("query", ["", "   ", '""'])
def test_an_empty_query_reads_nothing(query):
    steps = []
    infos = [SessionInfo("s1", location="/nowhere")]
    assert list(search(infos, query, progress=steps.append)) == []
    assert steps == []


def test_a_search_that_is_not_iterated_reads_no_further(store):
    infos = [store(f"s{n}", message("m1", "raven"), active=float(n)) for n in range(3)]
    steps = []
    hits = search(infos, "raven", progress=steps.append)
    assert next(hits).info.id == "s2"
    hits.close()
    assert steps == []
