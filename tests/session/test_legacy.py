from __future__ import annotations

import json

import pytest

from mewcode_nb.session.load import load

U1 = {"role": "user", "content": "list the files", "ts": 1, "model": "go-model"}
A1 = {
    "role": "assistant",
    "content": "Looking.",
    "tool_calls": [{"id": "t1", "name": "list_files", "input": {"path": "."}}],
    "ts": 2,
}
T1 = {"role": "tool", "tool_results": [{"tool_call_id": "t1", "content": "a.go"}], "ts": 3}
A2 = {"role": "assistant", "content": "One file.", "ts": 4}
U2 = {"role": "user", "content": "thanks", "ts": 5}
SUMMARY = {"role": "user", "content": "Summary of what was said", "ts": 6}
MARK = {"type": "compact", "ts": 6}
PREVIEW = {"role": "tool", "tool_results": [{"tool_call_id": "t1", "content": "[cut]"}], "ts": 6}


@pytest.fixture
def replayed(tmp_path):
    def make(*entries):
        lines = [json.dumps(entry) + "\n" for entry in entries]
        (tmp_path / "conversation.jsonl").write_text("".join(lines), encoding="utf-8")
        return load(tmp_path)

    return make


def shown(state):
    return [
        block.get("text") or block.get("id") or block.get("content")
        for message in state.messages
        for block in message.content
    ]


def test_entries_become_messages_with_calls_results_turns_and_ids(replayed):
    state = replayed(U1, A1, T1, A2, U2)
    assert [(m.role, m.origin, m.turn) for m in state.messages] == [
        ("user", "user", 1),
        ("assistant", "assistant", 1),
        ("user", "tool", 1),
        ("assistant", "assistant", 1),
        ("user", "user", 2),
    ]
    assert state.messages[1].content == (
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "t1", "name": "list_files", "input": {"path": "."}},
    )
    assert state.messages[2].content == (
        {"type": "tool_result", "tool_use_id": "t1", "content": "a.go"},
    )
    assert state.messages[0].id == "line-0"
    assert len({m.id for m in state.messages}) == 5
    assert state.model == "go-model"
    assert state.last_ts == 5
    assert state.damage == ()


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (
            {"ID": "t1", "Name": "n", "Input": '{"a": 1}'},
            {"ToolCallID": "t1", "Content": "x", "IsError": True},
        ),
        (
            {"id": "t1", "name": "n", "arguments": {"a": 1}},
            {"tool_use_id": "t1", "output": "x", "is_error": True},
        ),
    ],
)
def test_field_names_of_either_spelling_are_understood(replayed, call, result):
    state = replayed(
        {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_results": [result]}
    )
    assert state.messages[0].content == (
        {"type": "tool_use", "id": "t1", "name": "n", "input": {"a": 1}},
    )
    assert state.messages[1].content == (
        {"type": "tool_result", "tool_use_id": "t1", "content": "x", "is_error": True},
    )


def test_marker_leaves_the_history_written_after_it(replayed):
    assert shown(replayed(U1, A1, T1, A2, MARK, SUMMARY, A2, U2)) == [
        "Summary of what was said",
        "One file.",
        "thanks",
    ]


OLD = ["list the files", "Looking.", "t1", "a.go", "One file.", "thanks"]


@pytest.mark.parametrize(
    ("rewritten", "expected"),
    [
        ([], OLD),
        ([SUMMARY], OLD),
        ([SUMMARY, A2], ["Summary of what was said", "One file.", "thanks"]),
        ([SUMMARY, A2, U2], ["Summary of what was said", "One file.", "thanks"]),
        ([U1], OLD),
        ([U1, A1], OLD),
        ([U1, A1, PREVIEW], [*OLD[:3], "[cut]", *OLD[4:]]),
        ([U1, A1, PREVIEW, A2], [*OLD[:3], "[cut]", *OLD[4:]]),
        ([U1, A1, T1, A2, U2], OLD),
        ([U1, A1, T1, A2, U2, A2], [*OLD, "One file."]),
    ],
)
def test_s_12_killed_inside_the_rewriting_gives_the_old_or_the_new_history(
    replayed, rewritten, expected
):
    assert shown(replayed(U1, A1, T1, A2, U2, MARK, *rewritten)) == expected


def test_new_records_after_a_rewriting_that_was_cut_off_change_nothing_before_them(replayed):
    ours = {
        "type": "message",
        "ts": 9.0,
        "id": "m1",
        "role": "user",
        "content": [{"type": "text", "text": "go on"}],
        "origin": "user",
    }
    assert shown(replayed(U1, A1, T1, A2, MARK, U1, A1, ours)) == [
        *OLD[:5],
        "go on",
    ]


def test_every_marker_of_many_is_followed(replayed):
    state = replayed(U1, MARK, U1, A2, MARK, U1, A2, U2, MARK, U1, A2, U2)
    assert shown(state) == ["list the files", "One file.", "thanks"]
