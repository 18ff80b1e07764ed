from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.messages import text_block
from mewcode_nb.notebook.room import room_notices, tokens_taken
from mewcode_nb.session.records import CompactRecord, MessageRecord, PlacedRecord, Section
from mewcode_nb.session.replay import fold
from mewcode_nb.testing import ScriptedModel

MODEL = "claude-sonnet-5-5"
COUNTED = Usage(input_tokens=100, cache_read_input_tokens=3_000, output_tokens=50)


def said(identity, role, text, usage=None):
    origin = "assistant" if role == "assistant" else "user"
    return MessageRecord(1.0, identity, role, (text_block(text),), origin, 1, usage=usage)


def state(*records):
    return fold(PlacedRecord(record, n, n + 1) for n, record in enumerate(records))


TALK = (said("u", "user", "hello"), said("a", "assistant", "hi", COUNTED))


@pytest.fixture
def conversation(loaded):
    loaded.run("%%mewcode\nhello")
    return loaded.runtime.conversation


@pytest.fixture
def agent(conversation):
    return conversation.agent


def test_what_the_service_counted_counts_and_the_rest_is_an_estimate(agent):
    assert tokens_taken(agent, state(*TALK), MODEL) == 3_150
    later = state(*TALK, said("u2", "user", "word " * 1000))
    assert 3_150 + 800 < tokens_taken(agent, later, MODEL) < 3_150 + 2_000


def test_a_count_from_before_a_compaction_is_none(agent):
    compacted = state(
        *TALK, CompactRecord(2.0, "k", "manual", (Section("", "short"),), keep=("a",))
    )
    taken = tokens_taken(agent, compacted, MODEL)
    uncounted = state(said("u", "user", "hello"), said("a", "assistant", "hi"))
    assert taken == tokens_taken(agent, uncounted, MODEL)
    assert taken != 3_150


def test_the_notice_names_tokens_and_window_once(conversation):
    def notices(window, language="en"):
        model = ScriptedModel(window=window)
        return asyncio.run(room_notices(conversation, model, MODEL, language))

    for window, near in ((3_281, True), (3_282, False), (11_151, False), (200_000, False)):
        conversation.resumed = state(*TALK)
        assert bool(notices(window)) is near, window
        assert notices(3_281) == ()
    conversation.resumed = state(*TALK)
    (notice,) = notices(3_281)
    assert "3,150 of 3,281 tokens" in notice.text
    conversation.resumed = state(*TALK)
    (notice,) = notices(3_281, "zh")
    assert "3,150 / 3,281" in notice.text
