from __future__ import annotations

from mewcode_nb.compaction.meter import Meter, counted_answers
from mewcode_nb.messages import Message, text_block
from mewcode_nb.model.protocol import Request
from mewcode_nb.session.records import CompactRecord, MessageRecord, PlacedRecord, Section
from mewcode_nb.session.replay import fold
from mewcode_nb.tokens import estimate_request, family_of
from mewcode_nb.usage import Usage

MODEL = "claude-sonnet-5-5"
SYSTEM = (text_block("You help with notebooks. " * 40),)
TOOLS = ({"name": "read_file", "description": "Reads a file.", "input_schema": {}},)


def said(identity: str, text: str, role: str = "user") -> Message:
    return Message(role, (text_block(text),), role, identity, 1)


def live(history, model=MODEL):
    return Request(model, SYSTEM, tuple(m.to_api() for m in history), TOOLS, 1_000)


def tokens(meter, history, model=MODEL):
    return meter.tokens(live(history, model), history)


PROMPT = said("u1", "How many rows has the table? " * 30)
ANSWER = said("a1", "It has forty thousand rows.", "assistant")


def answered(meter, history, usage, model=MODEL):
    meter.answered(live(history[:-1], model), history, usage)


def test_before_the_first_count_everything_is_estimated_the_tools_and_system_included() -> None:
    request = live([PROMPT])
    whole = estimate_request(SYSTEM, TOOLS, request.messages, family_of(MODEL))
    assert tokens(Meter(), [PROMPT]) == whole


def test_after_a_count_only_what_came_later_is_estimated() -> None:
    meter = Meter()
    answered(meter, [PROMPT, ANSWER], Usage(100, 900, 0, 20))
    assert tokens(meter, [PROMPT, ANSWER]) == 1_020
    later = said("u2", "And how many columns has it?")
    grown = tokens(meter, [PROMPT, ANSWER, later]) - 1_020
    assert grown == meter.sizes([later], MODEL)[0] > 0


def test_row_32_an_input_that_already_includes_the_cache_is_not_counted_twice() -> None:
    meter, history = Meter(), [said("u1", "word " * 31_000), ANSWER]
    answered(meter, history, Usage(46_965, 4_927, 42_036, 35))
    assert tokens(meter, history) == 47_000


def test_row_35_the_factor_comes_within_three_percent_in_three_turns() -> None:
    meter, history = Meter(), []
    for turn in range(3):
        history.append(said(f"u{turn}", "数据框里有多少行缺失值" * 300))
        before = 0.6 * meter.fixed(live(history)) + 0.6 * sum(Meter().sizes(history, MODEL))
        history.append(said(f"a{turn}", "好", "assistant"))
        answered(meter, history, Usage(int(before), 0, 0, 3))
    assert abs(meter.factor(MODEL) / 0.6 - 1) < 0.03
    new = said("u9", "还有多少列" * 500)
    grown = tokens(meter, [*history, new]) - tokens(meter, history)
    assert abs(grown / (0.6 * Meter().sizes([new], MODEL)[0]) - 1) < 0.03


def test_a_count_of_another_tokenizer_says_nothing_of_this_one() -> None:
    meter = Meter()
    answered(meter, [PROMPT, ANSWER], Usage(5_000), "claude-3-haiku")
    assert family_of("claude-3-haiku") != family_of(MODEL)
    assert tokens(meter, [PROMPT, ANSWER]) == tokens(Meter(), [PROMPT, ANSWER])


def test_a_conversation_that_no_longer_holds_the_counted_answer_is_estimated() -> None:
    meter = Meter()
    answered(meter, [PROMPT, ANSWER], Usage(9_000, 0, 0, 20))
    assert tokens(meter, [PROMPT]) < 3_000
    meter.forget()
    assert tokens(meter, [PROMPT, ANSWER]) < 3_000


def test_a_message_whose_content_changed_is_estimated_anew() -> None:
    meter = Meter()
    before = tokens(meter, [PROMPT])
    assert tokens(meter, [said("u1", "short")]) < before


def test_a_service_that_counts_nothing_teaches_nothing() -> None:
    meter = Meter()
    answered(meter, [PROMPT, ANSWER], Usage())
    assert tokens(meter, [PROMPT, ANSWER]) == tokens(Meter(), [PROMPT, ANSWER])


def test_a_stored_conversation_is_taken_up_with_its_counts_since_the_last_compaction() -> None:
    def record(message: Message, usage: Usage | None = None) -> MessageRecord:
        return MessageRecord(
            1.0, message.id, message.role, message.content, message.origin, 1, usage=usage
        )

    compaction = CompactRecord(2.0, "c1", "auto", (Section("", "so far"),), keep=("u1", "a1"))
    later, last = said("u2", "And columns?"), said("a2", "Twelve.", "assistant")
    records = [record(PROMPT), record(ANSWER, Usage(9_000)), compaction, record(later)]
    state = fold(PlacedRecord(r, 10 * n, n) for n, r in enumerate(records))
    assert counted_answers(state) == {}
    state = fold(
        PlacedRecord(r, 10 * n, n) for n, r in enumerate([*records, record(last, Usage(700))])
    )
    meter = Meter()
    meter.recall(live(state.messages), state.messages, counted_answers(state))
    assert tokens(meter, state.messages) == 700
