from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mewcode_nb.errors import SessionError, SessionNotFound
from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block, tool_result
from mewcode_nb.session.doctor import Finding, examine, write_repaired
from mewcode_nb.session.doctor_words import _REPORT, KINDS
from mewcode_nb.session.load import load
from mewcode_nb.session.records import (
    CompactRecord,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    Parent,
    ReadRecord,
    RewindRecord,
    Section,
    SessionRecord,
    SpillRecord,
    UncompactRecord,
    Variable,
    to_line,
)

NAME = "20260314-092653-1f0a"
HEADER = SessionRecord(1.0, NAME, model="claude-x")
CALL = {"type": "tool_use", "id": "t1", "name": "shell", "input": {"command": "ls"}}


def said(identity, role, content, turn=1, origin=None, **more):
    blocks = (text_block(content),) if isinstance(content, str) else tuple(content)
    return MessageRecord(2.0, identity, role, blocks, origin or role, turn, **more)


TALK = (said("m1", "user", "one"), said("m2", "assistant", "two", usage=Usage(5, output_tokens=2)))


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / NAME
    path.mkdir(mode=0o700)
    return path


@pytest.fixture
def stored(folder):
    def write(*lines):
        data = b"".join(line if isinstance(line, bytes) else to_line(line) for line in lines)
        log = folder / "conversation.jsonl"
        log.write_bytes(data)
        log.chmod(0o600)
        return folder

    return write


def found(folder):
    return [(finding.kind, finding.line) for finding in examine(folder).findings]


def fingerprint(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


SPILL = SpillRecord(
    3.0, "t1", "tool-results/t1.txt", 5, hashlib.sha256(b"whole").hexdigest(), "pre"
)
DEFECTS = {
    "row 1: a torn line": ([HEADER, *TALK, b'{"type":"mess'], {("damage", 4), ("open_end", 0)}),
    "row 2: zeros": ([HEADER, b"\0" * 400 + b"\n", *TALK], {("damage", 2)}),
    "row 5: cut in a character": ([HEADER, *TALK, b'{"type":"x\xe4\xbd\n'], {("damage", 4)}),
    "a message without content": (
        [HEADER, *TALK, b'{"type":"message","ts":1,"id":"x","role":"user"}\n'],
        {("damage", 4)},
    ),
    "a later version's record": ([HEADER, *TALK, b'{"type":"aura","ts":3}\n'], {("unknown", 4)}),
    "no header": ([*TALK], {("no_header", 0)}),
    "header late": ([TALK[0], HEADER, TALK[1]], {("late_header", 2)}),
    "two headers": ([HEADER, *TALK, HEADER], {("second_header", 4)}),
    "another id": ([SessionRecord(1.0, "other"), *TALK], {("other_id", 1)}),
    "a newer format": ([SessionRecord(1.0, NAME, v=9), *TALK], {("newer", 1)}),
    "a compaction of what is not there": (
        [HEADER, *TALK, CompactRecord(3.0, "c1", "auto", (Section("", "s"),), keep=("m2", "m9"))],
        {("replay", 4)},
    ),
    "an uncompact of nothing": ([HEADER, *TALK, UncompactRecord(3.0, "c9")], {("replay", 4)}),
    "a rewind to nowhere": ([HEADER, *TALK, RewindRecord(3.0, "m9")], {("replay", 4)}),
    "a read without a hash": (
        [HEADER, *TALK, ReadRecord(3.0, "/a.py", "")],
        {("read_unhashed", 4)},
    ),
    "a message twice": ([HEADER, *TALK, TALK[1]], {("twice", 4)}),
    "turns in wrong order": (
        [HEADER, said("m1", "user", "a", 2), said("m2", "assistant", "b", 1)],
        {("turn_back", 3)},
    ),
    "s-07: a call without a result": (
        [HEADER, TALK[0], said("m2", "assistant", [CALL]), said("m3", "user", "three", 2)],
        {("sending", 0)},
    ),
    "s-08: a result without a call": (
        [HEADER, said("m1", "user", [tool_result("t9", "x")], origin="tool"), TALK[1]],
        {("sending", 0)},
    ),
    "two prompts in a row": ([HEADER, TALK[0], said("m2", "user", "two", 2)], {("joined", 0)}),
    "no messages": ([HEADER], {("empty", 0)}),
    "a lost result": ([HEADER, *TALK, SPILL], {("spill_missing", 4)}),
    "a result outside": (
        [HEADER, *TALK, SpillRecord(3.0, "t1", "../../x", 1, "", "p")],
        {("spill_missing", 4)},
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_each_defect_is_found_on_its_line(stored, name):
    lines, expected = DEFECTS[name]
    assert {item for item in found(stored(*lines)) if item[0] != "time_back"} == expected


def test_time_that_went_back_is_told_once_and_not_of_a_copys_header(stored):
    later = replace(HEADER, ts=9.0, parent=Parent("20260313-170211-9c3e", "m2"))
    assert examine(stored(later, *TALK)).findings == ()
    back = (replace(TALK[0], ts=7.0), TALK[1], said("m3", "user", "three", 2))
    assert found(stored(HEADER, *back)) == [("time_back", 3)]


def test_a_sound_session_is_clean(stored):
    report = examine(stored(HEADER, *TALK))
    assert report.findings == ()
    assert report.clean
    assert report.records == {"session": 1, "message": 2}
    assert report.messages == 2
    assert report.sizes.log == report.sizes.total > 100
    assert "Nothing is wrong with it." in report.text()
    assert "没有发现问题。" in report.text("zh")


def test_files_beside_the_log_are_checked(stored, folder):
    stored(HEADER, *TALK, SPILL)
    results = folder / "tool-results"
    results.mkdir(mode=0o700)
    for name in ("t1.txt", "orphan.txt"):
        (results / name).write_bytes(b"whole")
        (results / name).chmod(0o600)
    assert found(folder) == [("spill_orphan", 0)]
    (results / "t1.txt").write_bytes(b"other")
    assert found(folder) == [("spill_changed", 4), ("spill_orphan", 0)]
    assert examine(folder).sizes.results == 10


@pytest.mark.skipif(os.name == "nt", reason="modes and links")
def test_open_rights_and_links_are_found(stored, folder):
    stored(HEADER, *TALK)
    (folder / "conversation.jsonl").chmod(0o644)
    folder.chmod(0o755)
    (folder / "link").symlink_to("/etc/passwd")
    report = examine(folder)
    assert [finding.kind for finding in report.findings] == ["mode", "mode", "link"]
    assert "chmod 600 conversation.jsonl" in report.text()


def test_a_file_of_the_go_program_is_read_as_it_is(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_text('{"role":"user","content":"a","ts":5}\n{"role":"assistant","content":"b"}\n')
    report = examine(path)
    assert [finding.kind for finding in report.findings] == ["legacy"]
    assert report.clean
    copy = write_repaired(path, tmp_path / "copy")
    assert [m.content[0]["text"] for m in load(copy).messages] == ["a", "b"]
    assert examine(copy).findings == ()


def test_s_02_two_messages_recovered_from_one_line_are_both_in_the_copy(tmp_path):
    path = tmp_path / "old.jsonl"
    path.write_bytes(b'{"role":"user","content":"a"}\0\0{"role":"assistant","content":"b"}\n')
    copy = write_repaired(path, tmp_path / "copy")
    assert [m.content[0]["text"] for m in load(copy).messages] == ["a", "b"]


def test_a_rewritten_history_of_the_go_program_becomes_the_conversation_it_left(tmp_path):
    old = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    new = [{"type": "compact", "ts": 1}, {"role": "user", "content": "summary"}, old[1]]
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in [*old, *new]))
    copy = write_repaired(path, tmp_path / "copy")
    assert [m.content[0]["text"] for m in load(copy).messages] == ["summary", "b"]
    assert examine(copy).clean


@pytest.mark.parametrize("name", DEFECTS)
def test_a_repaired_copy_is_clean_and_the_original_unchanged(stored, tmp_path, name):
    folder = stored(*DEFECTS[name][0])
    before = fingerprint(folder)
    copy = write_repaired(folder, tmp_path / "20270101-000000-0000")
    assert fingerprint(folder) == before
    report = examine(copy)
    assert report.clean, report.text()
    assert load(copy).header.id == "20270101-000000-0000"
    again = write_repaired(copy, tmp_path / "20270101-000000-0001")
    lines = (copy / "conversation.jsonl").read_bytes().split(b"\n")
    assert (again / "conversation.jsonl").read_bytes().split(b"\n")[1:] == lines[1:]


def test_a_copy_keeps_other_branches_costs_and_variables(stored, tmp_path):
    folder = stored(
        HEADER,
        MetaRecord(1.0, {"title": "mine"}),
        *TALK,
        NamespaceRecord(2.0, 1, created=(Variable("df"), Variable("tmp"))),
        ReadRecord(2.0, "/a.py", "ff"),
        said("m3", "user", "abandoned", 2),
        RewindRecord(3.0, "m2"),
        said("m4", "user", "go", 2),
        NamespaceRecord(2.0, 2, removed=("tmp",)),
        said("m5", "assistant", [text_block("hm"), CALL], 2, usage=Usage(7, output_tokens=1)),
        said("m6", "user", "and?", 3),
        said("m7", "assistant", "done", 3),
    )
    before, copy = load(folder), write_repaired(folder, tmp_path / "copy")
    after = load(copy)
    assert b"abandoned" in (copy / "conversation.jsonl").read_bytes()
    assert after.usage == before.usage == Usage(12, output_tokens=3)
    assert after.meta == {"title": "mine"}
    assert set(after.namespace) == {"df"}
    assert set(after.reads) == {"/a.py"}
    assert after.turns == 3
    assert [r.turn for r in after.records] == [1, 1, 2, 2, 3, 3]
    assert [r.content[-1].get("text") for r in after.records][-2:] == ["and?", "done"]


def test_results_travel_with_a_copied_folder(stored, folder, tmp_path):
    call = said("m2", "assistant", [CALL])
    result = said("m3", "user", [tool_result("t1", "pre")], origin="tool")
    stored(HEADER, TALK[0], call, result, SPILL, said("m4", "assistant", "done"))
    for name, data in (("tool-results/t1.txt", b"changed"), ("undo/a/b.py", b"old")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)
    copy = write_repaired(folder, tmp_path / "copy")
    assert (copy / "tool-results" / "t1.txt").read_bytes() == b"changed"
    assert (copy / "undo" / "a" / "b.py").read_bytes() == b"old"
    assert examine(copy).findings == ()


def test_a_copy_may_be_a_file(stored, tmp_path):
    target = tmp_path / "fixed.jsonl"
    assert write_repaired(stored(*TALK), target) == target
    assert target.read_bytes().startswith(b'{"type":"session","ts":2.0,"id":"fixed"')
    assert examine(target).clean


def test_nothing_is_written_over(stored, tmp_path):
    folder = stored(HEADER, *TALK)
    (tmp_path / "there").mkdir()
    with pytest.raises(SessionError, match="there already"):
        write_repaired(folder, tmp_path / "there")
    with pytest.raises(SessionError, match="cannot write"):
        write_repaired(folder, tmp_path / "none" / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == [NAME, "there"]


def test_a_session_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(SessionNotFound):
        examine(tmp_path / "none")


def test_l_05_a_hostile_file_cannot_move_the_terminal(stored):
    line = b'{"type":"\\u001b[2J\\u202e","ts":3}\n'
    report = examine(stored(HEADER, *TALK, line, ReadRecord(3.0, "/a\x1b[2J\n.py", "")))
    for language in ("en", "zh"):
        assert all(row.isprintable() for row in report.text(language).split("\n"))


def test_a_chinese_report_translates_reasons(stored):
    folder = stored(HEADER, TALK[0], said("m2", "assistant", [CALL]), b'{"x\n')
    text = examine(folder).text("zh")
    assert "第 4 行：从第 2 个字符起不是 JSON" in text
    assert "工具调用 t1 (shell) 没有结果：已中断" in text


def test_many_findings_of_a_kind_are_counted_not_listed(stored):
    report = examine(stored(HEADER, *TALK, *[b"{\n"] * 50))
    assert report.text().count("\nerror") == 21
    assert "… and 30 more of this kind" in report.text()


def test_every_kind_has_both_languages():
    assert all(entry[2] for entry in KINDS.values())
    assert all(bool(entry[3]) == bool(entry[4]) for entry in KINDS.values())
    assert _REPORT["en"].keys() == _REPORT["zh"].keys()
    assert Finding("empty").words("en") == "there are no messages"


BLOCKS = st.one_of(
    st.sampled_from(["a", "b", "", " "]).map(text_block),
    st.sampled_from(["t1", "t2", "t 3"]).map(lambda identity: {**CALL, "id": identity}),
    st.sampled_from(["t1", "t2", "t 3"]).map(lambda identity: tool_result(identity, "out")),
    st.just({"type": "thinking", "thinking": "x", "signature": ""}),
)
MESSAGES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=4)), max_size=12
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=MESSAGES, rewind=st.integers(0, 12))
def test_whatever_was_said_the_copy_needs_no_repair(tmp_path_factory, messages, rewind):
    folder = tmp_path_factory.mktemp("s") / NAME
    folder.mkdir(mode=0o700)
    records = [said(f"m{at}", role, blocks, at + 1) for at, (role, blocks) in enumerate(messages)]
    if rewind < len(records):
        records.insert(len(records) // 2 + 1, RewindRecord(3.0, f"m{rewind}"))
    log = folder / "conversation.jsonl"
    log.write_bytes(b"".join(to_line(record) for record in [HEADER, *records]))
    log.chmod(0o600)
    copy = write_repaired(folder, folder.parent / "copy")
    report = examine(copy)
    assert report.clean, report.text()
