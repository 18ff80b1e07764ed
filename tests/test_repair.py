from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.messages import Message
from mewcode_nb.repair import Repairer, repair


def text(words):
    return {"type": "text", "text": words}


def call(identity, name="shell", **arguments):
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def result(identity, content="done", **more):
    return {"type": "tool_result", "tool_use_id": identity, "content": content, **more}


def thinking(words="hm", signature="c2ln"):
    return {"type": "thinking", "thinking": words, "signature": signature}


def user(*blocks, **more):
    return Message("user", blocks, "user", **more)


def assistant(*blocks, **more):
    return Message("assistant", blocks, "assistant", **more)


def refusals(messages):
    """What a strict service would say, judged without the code under test."""
    found = []
    if not all(well_formed(block) for message in messages for block in message.content):
        return ["a block lacks its fields or cannot be encoded"]
    if messages and (messages[0].role != "user" or messages[-1].role != "user"):
        found.append("must start and end with the user")
    ids = [b["id"] for m in messages for b in m.content if b["type"] == "tool_use"]
    if len(ids) != len(set(ids)) or not all(re.fullmatch(r"[a-zA-Z0-9_-]+", i) for i in ids):
        found.append(f"bad ids {ids}")
    for index, message in enumerate(messages):
        found += message_refusals(message)
        before = messages[index - 1] if index else None
        if before is not None and before.role == message.role:
            found.append(f"{index}: two {message.role} in a row")
        calls = [b["id"] for b in before.content if b["type"] == "tool_use"] if before else []
        kinds = [b["type"] for b in message.content]
        answers = [b["tool_use_id"] for b in message.content if b["type"] == "tool_result"]
        if message.role == "user" and answers != calls:
            found.append(f"{index}: results {answers} for calls {calls}")
        if "tool_result" in kinds[len(answers) :]:
            found.append(f"{index}: a result after other blocks")
    return found


def well_formed(block):
    needed = {
        "text": {"text": str},
        "thinking": {"thinking": str, "signature": str},
        "redacted_thinking": {"data": str},
        "tool_use": {"id": str, "name": str, "input": dict},
        "tool_result": {"tool_use_id": str, "content": (str, list)},
    }.get(block["type"], {})
    try:
        json.dumps(block, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return all(isinstance(block.get(key), kind) for key, kind in needed.items())


def message_refusals(message):
    found = []
    kinds = [block["type"] for block in message.content]
    foreign = {"user": {"tool_use", "thinking", "redacted_thinking"}, "assistant": {"tool_result"}}
    if not kinds:
        found.append("empty message")
    if foreign[message.role] & set(kinds):
        found.append(f"{kinds} from the {message.role}")
    if message.role == "assistant" and kinds and "thinking" in kinds[-1]:
        found.append("the final block is thinking")
    return found + [fault for block in message.content for fault in block_refusals(block)]


def block_refusals(block):
    found = []
    if block["type"] == "text" and not block["text"].strip():
        found.append("blank text")
    if block["type"] == "thinking" and not block["signature"]:
        found.append("unsigned thinking")
    if block["type"] == "tool_result":
        content = block["content"]
        parts = content if isinstance(content, list) else []
        if block.get("is_error") and not content:
            found.append("error without content")
        if not all(isinstance(p, dict) and isinstance(p.get("type"), str) for p in parts):
            found.append("a part of a result is no block")
        elif any(p["type"] == "text" and not str(p.get("text", "")).strip() for p in parts):
            found.append("blank text in a result")
    if block["type"] == "redacted_thinking" and not block["data"]:
        found.append("empty thinking")
    if block["type"] == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"]):
        found.append("bad tool name")
    return found


def shape(messages):
    return [(m.role, [b["type"] for b in m.content]) for m in messages]


SOUND = {
    "one prompt": [user(text("hi"))],
    "tool round": [
        user(text("hi")),
        assistant(thinking("  \r\n😀 "), text("a"), call("t1"), call("t2")),
        user(result("t1"), result("t2", [text("x")], is_error=True), text("and?")),
        assistant(text("b")),
        user(text("go on"), {"type": "image", "source": {"type": "url", "url": "u"}}),
    ],
    "empty result": [user(text("hi")), assistant(call("t1")), user(result("t1", ""))],
    "unknown block": [user(text("hi")), assistant({"type": "new", "x": [1]}), user(text("ok"))],
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_conversation_comes_back_as_the_same_objects(name):
    messages = SOUND[name]
    repaired = repair(messages)
    assert [m is n for m, n in zip(repaired.messages, messages, strict=True)] == [True] * len(
        messages
    )
    assert repaired.notes == ()
    assert refusals(messages) == []


def test_s_06_orphan_call_in_the_middle_is_told_to_be_interrupted():
    repaired = repair(
        [
            user(text("run it")),
            assistant(text("ok"), call("t1")),
            user(text("never mind")),
            assistant(text("fine")),
            user(text("next")),
        ]
    )
    assert refusals(repaired.messages) == []
    answer, words = repaired.messages[2].content
    assert answer["tool_use_id"] == "t1"
    assert answer["is_error"] is True
    assert answer["content"].startswith("interrupted")
    assert words == text("never mind")
    assert repaired.notes == ("tool call t1 (shell) has no result: interrupted",)
    assert repair(repaired.messages).messages == repaired.messages


def test_row_17_call_at_the_end_gets_its_result():
    repaired = repair([user(text("hi")), assistant(call("t1"))])
    assert shape(repaired.messages)[-1] == ("user", ["tool_result"])
    assert repaired.messages[-1].origin == "tool"
    assert refusals(repaired.messages) == []


def test_s_07_third_of_three_results_is_made_up_and_order_kept():
    repaired = repair(
        [
            user(text("hi")),
            assistant(call("t1"), call("t2"), call("t3")),
            user(result("t2", "two"), result("t1", "one")),
        ]
    )
    assert [b["tool_use_id"] for b in repaired.messages[2].content] == ["t1", "t2", "t3"]
    assert [b.get("is_error", False) for b in repaired.messages[2].content] == [False, False, True]
    assert refusals(repaired.messages) == []


def test_row_7_three_results_on_three_lines_join_in_call_order():
    repaired = repair(
        [
            user(text("hi")),
            assistant(call("t1"), call("t2"), call("t3")),
            user(result("t3", "three")),
            user(result("t1", "one")),
            user(result("t2", "two")),
        ]
    )
    assert len(repaired.messages) == 3
    assert [b["content"] for b in repaired.messages[2].content] == ["one", "two", "three"]


def test_s_08_row_18_results_without_calls_become_text():
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "A"},
    }
    repaired = repair(
        [
            user(result("gone", "42 lines")),
            assistant(text("a")),
            user(result("lost", [text("x"), picture]), text("more")),
        ]
    )
    assert shape(repaired.messages) == [
        ("user", ["text"]),
        ("assistant", ["text"]),
        ("user", ["text", "image", "text"]),
    ]
    assert "42 lines" in repaired.messages[0].content[0]["text"]
    assert refusals(repaired.messages) == []


def test_result_that_came_too_late_keeps_its_words_as_text():
    repaired = repair(
        [
            user(text("a")),
            assistant(call("t1")),
            user(text("b")),
            assistant(text("c")),
            user(result("t1", "late news")),
        ]
    )
    assert repaired.messages[2].content[0]["is_error"] is True
    assert "late news" in repaired.messages[4].content[0]["text"]
    assert refusals(repaired.messages) == []


def test_repeated_calls_and_results_collapse():
    repaired = repair(
        [
            user(text("a")),
            assistant(call("t1")),
            assistant(call("t1")),
            user(result("t1", "first"), result("t1", "second")),
            assistant(call("t1")),
            user(text("b")),
        ]
    )
    assert shape(repaired.messages) == [
        ("user", ["text"]),
        ("assistant", ["tool_use"]),
        ("user", ["tool_result", "text"]),
    ]
    assert repaired.messages[2].content[0]["content"] == "first"


def test_id_used_again_with_a_result_of_its_own_is_a_new_call():
    repaired = repair(
        [
            user(text("a")),
            assistant(call("call_0", path="x")),
            user(result("call_0", "X")),
            assistant(call("call_0", path="y")),
            user(result("call_0", "Y")),
        ]
    )
    assert refusals(repaired.messages) == []
    assert repaired.messages[3].content[0]["id"] == "call_0-2"
    assert repaired.messages[4].content[0]["content"] == "Y"


def test_name_a_call_went_by_does_not_change_for_ids_that_come_later():
    sent = [user(text("a")), assistant(call("t1")), user(result("t1"))]
    sent += [assistant(call("t1")), user(result("t1"))]
    later = [*sent, assistant(call("t1-2")), user(result("t1-2"))]
    before, after = repair(sent).messages, repair(later).messages
    assert after[: len(before)] == before
    assert refusals(after) == []


def test_id_the_service_would_refuse_is_spelled_anew_in_call_and_result():
    repaired = repair([user(text("a")), assistant(call("a:b c")), user(result("a:b c"))])
    assert repaired.messages[1].content[0]["id"] == "a_b_c"
    assert repaired.messages[2].content[0]["tool_use_id"] == "a_b_c"


@pytest.mark.parametrize("words", ["", " ", "\n\t ", "　"])
def test_blank_text_and_the_message_left_empty_go(words):
    repaired = repair([user(text("a")), assistant(text(words)), user(text("b"), text(words))])
    assert shape(repaired.messages) == [("user", ["text", "text"])]


def test_s_18_row_6_lone_surrogates_go():
    repaired = repair(
        [
            user(text("cut \ud83d")),
            assistant(call("t1", **{"p\udcff": "\udcff"})),
            user(result("t1", "\ud83d")),
        ]
    )
    assert repaired.messages[0].content[0]["text"] == "cut \ufffd"
    assert repaired.messages[1].content[0]["input"] == {"p\ufffd": "\ufffd"}
    assert refusals(repaired.messages) == []


@pytest.mark.parametrize(
    "block",
    [thinking(signature=""), thinking("\ud83d"), {"type": "redacted_thinking", "data": ""}],
)
def test_thinking_that_cannot_go_back_goes_whole(block):
    repaired = repair([user(text("a")), assistant(block, text("b")), user(text("c"))])
    assert shape(repaired.messages)[1] == ("assistant", ["text"])


def test_answer_of_thinking_alone_goes_and_neighbours_join():
    repaired = repair([user(text("a")), assistant(thinking()), user(text("b"))])
    assert shape(repaired.messages) == [("user", ["text", "text"])]


def test_conversation_of_one_answer_gets_marked_remarks_at_both_ends():
    repaired = repair([assistant(text("b"))])
    assert [m.origin for m in repaired.messages] == ["reminder", "assistant", "reminder"]
    assert refusals(repaired.messages) == []


def test_joined_messages_keep_the_identity_of_the_first():
    first = user(text("a"), id="m1", turn=3)
    repaired = repair([first, user(text("b"), id="m2", turn=4)])
    assert [(m.id, m.turn) for m in repaired.messages] == [("m1", 3)]


def test_nothing_stays_nothing():
    assert repair([]).messages == ()
    assert repair([user(), assistant(text(" "))]).messages == ()


ids = st.sampled_from(["t1", "t2", "t3", "t1-2", "a b", "a_b", ""])
words = st.sampled_from(["", " \n", "hello", "\ud83d", "中文 😀", "x\u2028y"])
values = st.recursive(
    st.none() | st.booleans() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
texts = st.builds(text, words)
blocks = st.one_of(
    texts,
    st.builds(thinking, words, st.sampled_from(["", "c2ln"])),
    st.builds(lambda data: {"type": "redacted_thinking", "data": data}, words),
    st.builds(call, ids, st.sampled_from(["shell", "", "a b"]), arg=values),
    st.builds(result, ids, st.one_of(values, st.lists(texts, max_size=2))),
    st.builds(lambda i: result(i, "", is_error=True), ids),
    st.builds(lambda value: {"type": "new_kind", "value": value}, values),
    st.sampled_from(
        [
            {"type": "text"},
            {"type": "tool_use", "id": 1},
            {"type": "tool_result"},
            {"type": "thinking"},
        ]
    ),
)
conversations = st.lists(
    st.builds(
        lambda role, content: Message(role, tuple(content), "user"),
        st.sampled_from(["user", "assistant"]),
        st.lists(blocks, max_size=4),
    ),
    max_size=8,
)


@settings(max_examples=300, deadline=None)
@given(conversations)
def test_any_soup_of_blocks_is_accepted_after_repair_and_repair_is_idempotent(messages):
    once = repair(messages)
    assert refusals(once.messages) == []
    twice = repair(once.messages)
    assert twice.messages == once.messages
    assert twice.notes == ()
    if refusals(messages) == []:
        assert once.messages == tuple(messages)


@settings(max_examples=200, deadline=None)
@given(conversations)
def test_thinking_comes_out_byte_for_byte_or_not_at_all(messages):
    def given_blocks(source):
        return [b for m in source for b in m.content if "thinking" in b["type"]]

    stored = given_blocks(messages)
    assert all(
        any(block is one for one in stored) for block in given_blocks(repair(messages).messages)
    )


def test_growing_conversation_is_repaired_as_if_seen_for_the_first_time():
    call = {"type": "tool_use", "id": "t1", "name": "shell", "input": {"command": "ls"}}
    history = [
        Message("user", ({"type": "text", "text": "half a \ud83d pair"},), "user", "m1"),
        Message("assistant", ({"type": "text", "text": " "}, call), "assistant", "m2"),
        Message("user", ({"type": "text", "text": "interrupted"},), "reminder", "m3"),
        Message("assistant", ({"type": "text", "text": "ok"},), "assistant", "m4"),
    ]
    repairer = Repairer()
    for length in range(1, len(history) + 1):
        assert repairer.repair(history[:length]) == repair(history[:length])
