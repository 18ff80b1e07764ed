from __future__ import annotations

import copy

import anthropic
import pytest

from mewcode_nb.testing import FakeServer, reply, thinking, tool_use

READ = {"name": "read_file", "description": "Read.", "input_schema": {"type": "object"}}
QUESTION = {"role": "user", "content": "hi"}


@pytest.fixture
def first(mewcode_server, client_of):
    parts = (thinking("one 🙂 "), thinking("two", redacted=True), thinking("three\r\n"))
    server = mewcode_server([reply(*parts, tool_use("read_file", path="a"))], default="done")
    client = client_of(server)
    message = client.messages.create(
        model="claude-sonnet-5-5", max_tokens=100, tools=[READ], messages=[QUESTION]
    )
    return server, client, [block.model_dump(exclude_none=True) for block in message.content]


def go_on(client, content, *, question=QUESTION):
    result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "ok"}
    return client.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=100,
        tools=[READ],
        messages=[
            question,
            {"role": "assistant", "content": content},
            {"role": "user", "content": [result]},
        ],
    )


def test_p_12_blocks_that_come_back_whole_are_accepted(first):
    _, client, content = first
    assert go_on(client, content).content[0].text == "done"


def test_blocks_dropped_all_together_are_accepted(first):
    _, client, content = first
    assert go_on(client, content[3:]).content[0].text == "done"


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda c: c[0].update(thinking="one 🙂"), 0),
        (lambda c: c[0].update(signature="EqFake"), 0),
        (lambda c: c[1].update(data=c[1]["data"][:-2]), 1),
        (lambda c: c.pop(1), 1),
        (lambda c: c.insert(0, c.pop(2)), 0),
        (lambda c: c.pop(2), 1),
    ],
    ids=["text", "signature", "redacted", "middle gone", "order", "last gone"],
)
def test_c_03_changed_blocks_are_refused(first, change, where):
    server, client, content = first
    server.allow_invalid = True
    changed = copy.deepcopy(content)
    change(changed)
    with pytest.raises(anthropic.BadRequestError) as caught:
        go_on(client, changed)
    assert caught.value.body["error"]["message"].startswith(
        f"messages.1.content.{where}: `thinking` or `redacted_thinking` blocks in the latest "
        "assistant message cannot be modified."
    )


def test_c_03_blocks_after_another_conversation_are_refused(first):
    server, client, content = first
    server.allow_invalid = True
    with pytest.raises(anthropic.BadRequestError, match="does not match the conversation"):
        go_on(client, content, question={"role": "user", "content": "a summary of: hi"})
    assert go_on(client, content[3:], question={"role": "user", "content": "sum"})


def test_the_binding_ignores_cache_marks_and_the_string_form(first):
    _, client, content = first
    block = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    question = {"role": "user", "content": [block]}
    assert go_on(client, content, question=question).content[0].text == "done"


def test_a_server_started_anew_still_knows_genuine_blocks(first, client_of):
    _, _, content = first
    with FakeServer(default="again") as other:
        client = client_of(other)
        assert go_on(client, content).content[0].text == "again"
        content[0]["thinking"] = "other"
        with pytest.raises(anthropic.BadRequestError, match="cannot be modified"):
            go_on(client, content)
