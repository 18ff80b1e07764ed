from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.errors import SessionError
from mewcode_nb.events import Usage
from mewcode_nb.messages import is_tool_result, tool_uses
from mewcode_nb.repair import repair
from mewcode_nb.session.claude_code import import_transcript, is_transcript
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.records import CompactRecord, MetaRecord, PlacedRecord, RewindRecord
from mewcode_nb.session.replay import fold
from mewcode_nb.testing import FakeServer, reply

HEAD = {"sessionId": "5e55", "cwd": "/home/ada/churn", "gitBranch": "main", "version": "2.1.332"}


class Transcript:
    """Writes lines as Claude Code does; each entry follows the last one unless told otherwise."""

    def __init__(self, path):
        self.path = path
        self.lines = []
        self.last = None
        self._numbers = itertools.count(1)

    def entry(self, kind, *, uuid=None, parent="last", **fields):
        number = next(self._numbers)
        uuid = uuid or f"u{number}"
        value = {
            "parentUuid": self.last if parent == "last" else parent,
            "isSidechain": False,
            **HEAD,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-03-14T09:26:{number % 60:02d}.250Z",
            **fields,
        }
        self.lines.append(json.dumps(value))
        self.last = uuid
        return uuid

    def user(self, content, **more):
        return self.entry("user", message={"role": "user", "content": content}, **more)

    def result(self, call, text, **more):
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.user([block], **more)

    def block(self, identity, block, tokens=1, **more):
        message = {
            "id": identity,
            "type": "message",
            "role": "assistant",
            "model": "claude-x",
            "content": [block],
            "stop_reason": None,
            "usage": {
                "input_tokens": 10,
                "cache_creation_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 5, "ephemeral_1h_input_tokens": 2},
                "cache_read_input_tokens": 3,
                "output_tokens": tokens,
            },
        }
        return self.entry("assistant", message=message, **more)

    def says(self, identity, words, **more):
        return self.block(identity, {"type": "text", "text": words}, **more)

    def calls(self, identity, call, **more):
        block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}
        return self.block(identity, block, **more)

    def boundary(self, logical, **metadata):
        return self.entry(
            "system",
            parent=None,
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=logical,
            compactMetadata={"trigger": "manual", "preTokens": 900, "postTokens": 90, **metadata},
        )

    def summary(self, words):
        return self.user(words, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def line(self, **value):
        self.lines.append(json.dumps(value))

    def save(self):
        self.path.write_text("".join(line + "\n" for line in self.lines), encoding="utf-8")
        return self.path


@pytest.fixture
def transcript(tmp_path):
    return Transcript(tmp_path / "5e55.jsonl")


def loaded(transcript):
    header, records, notes = import_transcript(transcript.save())
    placed = [PlacedRecord(r, at * 10, at + 1) for at, r in enumerate((header, *records))]
    return fold(placed), notes


def said(state):
    """Each message as its role and a word for each block."""
    return [
        (m.role, [b.get("text") or b.get("id") or b.get("tool_use_id") for b in m.content])
        for m in state.messages
    ]


def test_blocks_of_one_answer_become_one_message_with_its_usage_once(transcript):
    transcript.user("how many?")
    transcript.block("msg_1", {"type": "thinking", "thinking": "hm", "signature": "s"})
    transcript.says("msg_1", "Let me look.")
    transcript.calls("msg_1", "t1", tokens=40)
    transcript.result("t1", "3 files")
    transcript.says("msg_2", "Three.", tokens=2)
    state, notes = loaded(transcript)
    assert [len(m.content) for m in state.messages] == [1, 3, 1, 1]
    assert state.messages[1].content[0] == {
        "type": "thinking",
        "thinking": "hm",
        "signature": "s",
    }
    assert state.usage == Usage(20, 14, 6, 42)
    assert [r.message_id for r in state.records if r.role == "assistant"] == ["msg_1", "msg_2"]
    assert notes == ()


def test_blocks_are_ordered_by_their_index_where_it_is_known(transcript):
    transcript.user("go")
    transcript.calls("msg_1", "t2", apiBlockIndex=1)
    transcript.calls("msg_1", "t1", apiBlockIndex=0)
    transcript.result("t1", "a")
    transcript.result("t2", "b")
    assert said(loaded(transcript)[0])[1:] == [
        ("assistant", ["t1", "t2"]),
        ("user", ["t1", "t2"]),
    ]


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])))
@pytest.mark.parametrize("goes_on", [True, False])
def test_row_7_parallel_results_on_sibling_branches_come_in_call_order(transcript, order, goes_on):
    transcript.user("go")
    calls = [transcript.calls("msg_1", f"t{n}") for n in range(3)]
    for n in order:
        last = transcript.result(f"t{n}", f"result {n}", parent=calls[n])
    if goes_on:
        transcript.says("msg_2", "done", parent=last)
    state, _ = loaded(transcript)
    assert said(state)[1:3] == [("assistant", ["t0", "t1", "t2"]), ("user", ["t0", "t1", "t2"])]
    assert [b["content"] for b in state.messages[2].content] == ["result 0", "result 1", "result 2"]


def test_only_the_newest_branch_counts(transcript):
    first = transcript.user("one")
    transcript.says("msg_1", "abandoned")
    transcript.user("also abandoned")
    transcript.says("msg_2", "kept", parent=first)
    state, notes = loaded(transcript)
    assert said(state) == [("user", ["one"]), ("assistant", ["kept"])]
    assert notes == ("2 entries of abandoned branches left out",)


def test_side_chains_are_left_out_and_counted(transcript):
    transcript.user("one")
    top = transcript.last
    transcript.user("subagent prompt", isSidechain=True, parent=None)
    transcript.says("msg_s", "subagent answer", isSidechain=True)
    transcript.says("msg_1", "done", parent=top)
    state, notes = loaded(transcript)
    assert said(state) == [("user", ["one"]), ("assistant", ["done"])]
    assert notes == ("2 entries of subagents (side chains) left out",)


@pytest.mark.parametrize("follows", ["anchor", "tail"])
@pytest.mark.parametrize("named_by", ["segment", "list"])
def test_a_compaction_becomes_ours_and_keeps_what_it_kept(transcript, follows, named_by):
    transcript.user("old one")
    transcript.says("msg_1", "old two")
    head = transcript.user("kept three")
    tail = transcript.says("msg_2", "kept four")
    boundary = transcript.boundary(tail)
    anchor = transcript.summary("so far: one, two")
    details = {"headUuid": head, "anchorUuid": anchor, "tailUuid": tail}
    known = {"preservedSegment": details}
    if named_by == "list":
        known["preservedMessages"] = {"uuids": [head, tail]}
    line = json.loads(transcript.lines[4])
    line["compactMetadata"] |= known
    transcript.lines[4] = json.dumps(line)
    transcript.user("five", parent=anchor if follows == "anchor" else tail)
    transcript.says("msg_3", "six")
    header, records, notes = import_transcript(transcript.save())
    compact = next(r for r in records if isinstance(r, CompactRecord))
    assert (compact.id, compact.keep) == (boundary, (head, tail))
    assert (compact.trigger, compact.before, compact.after) == ("manual", 900, 90)
    state, _ = loaded(transcript)
    assert said(state) == [
        ("user", ["so far: one, two"]),
        ("user", ["kept three"]),
        ("assistant", ["kept four"]),
        ("user", ["five"]),
        ("assistant", ["six"]),
    ]
    assert state.turns == 3
    assert notes == ()
    assert header.id == ""


def test_a_compaction_at_the_very_end_counts(transcript):
    transcript.user("one")
    tail = transcript.says("msg_1", "two")
    transcript.boundary(tail)
    transcript.summary("short")
    assert said(loaded(transcript)[0]) == [("user", ["short"])]


def test_two_compactions_leave_the_last_summary_and_the_whole_history_in_the_file(transcript):
    transcript.user("one")
    transcript.boundary(transcript.says("msg_1", "two"))
    transcript.summary("first summary")
    transcript.user("three")
    transcript.boundary(transcript.says("msg_2", "four"))
    transcript.summary("second summary")
    transcript.user("five")
    state, _ = loaded(transcript)
    assert said(state) == [("user", ["second summary"]), ("user", ["five"])]
    assert len(state.compactions) == 2
    assert state.usage.output_tokens == 2


def test_a_summary_after_what_was_kept_stays_after_it(transcript):
    head = transcript.user("kept one")
    tail = transcript.says("msg_1", "kept two")
    transcript.user("dropped")
    gone = transcript.says("msg_2", "dropped too")
    boundary = transcript.boundary(gone)
    details = {"headUuid": head, "anchorUuid": boundary, "tailUuid": tail}
    line = json.loads(transcript.lines[-1])
    line["compactMetadata"]["preservedSegment"] = details
    transcript.lines[-1] = json.dumps(line)
    transcript.summary("the rest, short")
    transcript.user("three")
    state, _ = loaded(transcript)
    assert said(state) == [
        ("user", ["kept one"]),
        ("assistant", ["kept two"]),
        ("user", ["the rest, short"]),
        ("user", ["three"]),
    ]
    assert state.usage.output_tokens == 2
    _, records, _ = import_transcript(transcript.path)
    assert any(isinstance(record, RewindRecord) for record in records)


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ([{"type": "ai-title", "aiTitle": "Guess"}], "Guess"),
        (
            [
                {"type": "custom-title", "customTitle": "Old"},
                {"type": "custom-title", "customTitle": "Mine"},
                {"type": "ai-title", "aiTitle": "Guess"},
            ],
            "Mine",
        ),
        ([{"type": "summary", "summary": "From\nbefore", "leafUuid": "x"}], "From before"),
        ([], None),
    ],
)
def test_titles_become_the_session_s(transcript, lines, title):
    transcript.user("one")
    for line in lines:
        transcript.line(**line)
    state, notes = loaded(transcript)
    assert state.meta.get("title") == title
    assert notes == ()


def test_the_header_says_where_it_came_from(transcript):
    transcript.user("one")
    transcript.says("msg_1", "two")
    header, records, _ = import_transcript(transcript.save())
    assert header.ts == 1_773_480_361.25
    assert (header.project, header.model, header.git.branch) == (
        "/home/ada/churn",
        "claude-x",
        "main",
    )
    assert header.extra["imported"] == {
        "program": "claude-code",
        "file": "5e55.jsonl",
        "session": "5e55",
        "version": "2.1.332",
    }
    assert [record.ts for record in records] == [1_773_480_361.25, 1_773_480_362.25]


def test_unknown_entries_are_counted(transcript):
    transcript.user("one")
    transcript.entry("attachment", attachment={"type": "todo"})
    transcript.says("msg_1", "two")
    transcript.line(type="file-history-snapshot", snapshot={})
    transcript.line(type="file-history-snapshot", snapshot={})
    state, notes = loaded(transcript)
    assert len(state.messages) == 2
    assert notes == (
        "entries of types that are no conversation left out: 1 attachment, 2 file-history-snapshot",
    )


def test_what_was_only_shown_is_not_sent(transcript):
    transcript.user("one")
    transcript.says("msg_1", "API Error", isApiErrorMessage=True)
    transcript.user("two")
    transcript.user("[Request interrupted by user]")
    transcript.user("caveat", isMeta=True)
    state, notes = loaded(transcript)
    assert said(state) == [
        ("user", ["one"]),
        ("user", ["two"]),
        ("user", ["[Request interrupted by user]"]),
        ("user", ["caveat"]),
    ]
    assert [m.origin for m in state.messages] == ["user", "user", "reminder", "reminder"]
    assert state.turns == 2
    assert notes == ("1 entries left out that were only shown, never sent",)


def test_a_big_result_is_what_was_sent_in_its_place(transcript):
    transcript.user("one")
    transcript.calls("msg_1", "t1")
    transcript.result("t1", "x" * 1000)
    replaced = {"kind": "tool-result", "toolUseId": "t1", "replacement": "x… (cut)"}
    transcript.line(type="content-replacement", replacements=[replaced])
    assert loaded(transcript)[0].messages[2].content[0]["content"] == "x… (cut)"


def test_s_01_a_torn_line_is_reported_and_the_chain_goes_on_without_it(transcript):
    transcript.user("one")
    transcript.says("msg_1", "lost")
    transcript.user("three")
    transcript.lines[1] = transcript.lines[1][:40]
    state, notes = loaded(transcript)
    assert said(state) == [("user", ["one"]), ("user", ["three"])]
    assert notes[0] == "line 3: its parent is missing; joined to line 1"
    assert notes[1].startswith("line 2: not JSON")


def test_a_circle_of_parents_ends(transcript):
    transcript.user("one", uuid="a", parent="b")
    transcript.user("two", uuid="b", parent="a")
    assert len(loaded(transcript)[0].messages) == 2


@pytest.mark.parametrize("text", ["", "\n", "{}\n", '{"type":"user"}\n', "no json\n", "\0\0\n"])
def test_what_is_no_transcript_is_refused_in_one_line(tmp_path, text):
    path = tmp_path / "x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SessionError, match="holds no conversation of Claude Code"):
        import_transcript(path)


def test_our_own_sessions_are_told_from_transcripts(transcript, tmp_path):
    transcript.user("one")
    ours = tmp_path / "ours.jsonl"
    ours.write_text('{"type":"session","ts":1,"id":"x"}\n{"role":"user","content":"a"}\n')
    assert is_transcript(read_log(transcript.save()))
    assert not is_transcript(read_log(ours))


def test_the_result_is_accepted_by_the_service_and_loses_nothing_in_repair(transcript):
    transcript.user("go")
    calls = [transcript.calls("msg_1", f"t{n}") for n in range(3)]
    for n in (2, 0, 1):
        last = transcript.result(f"t{n}", f"result {n}", parent=calls[n])
    tail = transcript.says("msg_2", "done", parent=last)
    transcript.boundary(tail, preservedMessages={"uuids": [*calls, last, tail]})
    transcript.summary("so far")
    transcript.user("and now?")
    state, _ = loaded(transcript)
    repaired = repair(state.messages)
    assert all(note.startswith("joined two user") for note in repaired.notes), repaired.notes
    kept = [b for m in repaired.messages for b in m.content]
    assert len(tool_uses(kept)) == 3
    assert sum(is_tool_result(block) for block in kept) == 3
    assert answer_of(repaired.messages) == "fine"


def answer_of(messages):
    """What the strict fake service answers; it refuses what the real one would refuse."""
    import anthropic

    with FakeServer([reply("fine")]) as server:
        client = anthropic.Anthropic(
            base_url=server.base_url, api_key=server.api_key, max_retries=0
        )
        answer = client.messages.create(
            model="claude-sonnet-5-5", max_tokens=100, messages=[m.to_api() for m in messages]
        )
        client.close()
    return answer.content[0].text


def test_metadata_comes_first_in_the_records(transcript):
    transcript.user("one")
    transcript.line(type="custom-title", customTitle="Mine")
    _, records, _ = import_transcript(transcript.save())
    assert isinstance(records[0], MetaRecord)


UUIDS = st.sampled_from(["a", "b", "c", "d", "e", None, 7])
CONTENT = st.one_of(
    st.text(max_size=3),
    st.none(),
    st.lists(
        st.sampled_from(
            [
                {"type": "text", "text": "x"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}},
                {"type": "tool_use", "id": "t2", "name": "Bash", "input": {}},
                {"type": "tool_result", "tool_use_id": "t1", "content": "r"},
                {"type": "tool_result", "tool_use_id": "t2", "content": "r"},
                "odd",
                None,
            ]
        ),
        max_size=3,
    ),
)
ENTRIES = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant", "system", "attachment"]),
        "uuid": UUIDS,
        "parentUuid": UUIDS,
    },
    optional={
        "message": st.fixed_dictionaries(
            {"content": CONTENT}, optional={"id": st.sampled_from(["msg_1", "msg_2", None])}
        ),
        "subtype": st.just("compact_boundary"),
        "logicalParentUuid": UUIDS,
        "isCompactSummary": st.booleans(),
        "isSidechain": st.booleans(),
        "isMeta": st.booleans(),
        "compactMetadata": st.fixed_dictionaries(
            {},
            optional={
                "preservedMessages": st.fixed_dictionaries({"uuids": st.lists(UUIDS, max_size=3)}),
                "preservedSegment": st.fixed_dictionaries(
                    {"headUuid": UUIDS, "anchorUuid": UUIDS, "tailUuid": UUIDS}
                ),
            },
        ),
        "timestamp": st.sampled_from(["2026-03-14T09:26:53Z", "yesterday", 5]),
    },
)


@settings(max_examples=400)
@given(st.lists(ENTRIES, max_size=12))
def test_no_transcript_is_too_odd_to_be_read_or_refused(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("odd") / "x.jsonl"
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    try:
        header, records, _ = import_transcript(path)
    except SessionError:
        return
    state = fold(PlacedRecord(r, at * 10, at + 1) for at, r in enumerate((header, *records)))
    assert state.damage == ()
    ids = [record.id for record in state.records]
    assert len(set(ids)) == len(ids)
