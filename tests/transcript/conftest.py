from __future__ import annotations

import base64

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block, tool_result
from mewcode_nb.prompt import reminder
from mewcode_nb.session.records import (
    Cell,
    CompactRecord,
    Git,
    MessageRecord,
    MetaRecord,
    NamespaceRecord,
    PlacedRecord,
    ReadRecord,
    Section,
    SessionRecord,
    Variable,
)
from mewcode_nb.session.replay import fold

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(64))).decode()
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def state_of(*records):
    return fold(PlacedRecord(record, at * 100, at + 1) for at, record in enumerate(records))


def _message(identity, role, blocks, turn, origin=None, **more):
    return MessageRecord(
        1_773_480_413.0, identity, role, tuple(blocks), origin or role, turn, **more
    )


@pytest.fixture
def message():
    return _message


@pytest.fixture
def make_state():
    return state_of


@pytest.fixture
def image():
    return IMAGE


@pytest.fixture
def talk():
    """Two turns, with thinking, a run, a failed command, an image, a reminder, a broken answer."""
    code = {"type": "tool_use", "id": "t1", "name": "run_python", "input": {"code": "len(df)\n"}}
    shell = {"type": "tool_use", "id": "t2", "name": "shell", "input": {"command": "ls nowhere"}}
    thought = {"type": "thinking", "thinking": "rows, then", "signature": "c2ln"}
    plot = {"type": "text", "text": "40000"}
    return state_of(
        SessionRecord(
            1_773_480_413.0,
            "20260314-092653-1f0a",
            notebook="/home/ada/churn/analysis.ipynb",
            project="/home/ada/churn",
            model="claude-x",
            git=Git("main", "4f2d9c1"),
        ),
        MetaRecord(1_773_480_413.0, {"title": "Why customers leave", "pin": True}),
        _message(
            "m1",
            "user",
            [text_block("How many **rows**?"), text_block(reminder("mode", "ask")), IMAGE],
            1,
            cell=Cell("c1", "ff"),
        ),
        _message(
            "m2",
            "assistant",
            [thought, text_block("Let me look."), code, shell],
            1,
            usage=Usage(31, 2210, 0, 57),
            message_id="msg_1",
        ),
        _message(
            "m3",
            "user",
            [tool_result("t1", [plot, IMAGE]), tool_result("t2", "no such file", is_error=True)],
            1,
            "tool",
        ),
        ReadRecord(1_773_480_414.0, "/home/ada/churn/load.py", "2c26", 1.0, 10),
        _message("m4", "assistant", [text_block("It has *40,000* rows.")], 1),
        NamespaceRecord(1_773_480_415.0, 1, created=(Variable("df", "DataFrame"),)),
        _message("m5", "user", [text_block("and now?")], 2),
        _message("m6", "assistant", [text_block("It st")], 2, incomplete=True),
    )


@pytest.fixture
def compacted():
    return state_of(
        SessionRecord(1.0, "s"),
        _message("m1", "user", [text_block("one")], 1),
        _message("m2", "assistant", [text_block("two")], 1),
        CompactRecord(2.0, "c1", "manual", (Section("Intent", "count rows"),), keep=("m2",)),
        _message("m3", "user", [text_block("three")], 2),
    )
