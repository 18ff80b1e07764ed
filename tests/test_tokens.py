from __future__ import annotations

import base64
import hashlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.events import Usage
from mewcode_nb.tokens import (
    Anchor,
    Correction,
    Family,
    context_tokens,
    estimate,
    estimate_blocks,
    estimate_messages,
    estimate_request,
    estimate_tools,
    family_of,
    image_tokens,
    sum_usage,
)

OLD, NEW = Family.CLAUDE_3, Family.CLAUDE_4_7

ENGLISH = (
    "The kernel died at half past three, and with it went every variable the analysis had built "
    "since the morning. Nobody had saved the cleaned table, so the team began again: first the raw "
    "files, then the joins, then the long argument about which of the two date columns could be "
    "trusted. By the evening they had the same numbers as before, and a note on the wall that said "
    "to write things down."
)
CHINESE = (
    "会话恢复之后，代理会先检查内核里还有哪些变量，再告诉用户哪些已经不在了。上下文快满的时候，它会在用户面前"
    "压缩对话，保留每一句用户说过的话、每一个文件路径和每一件还没有做完的事情。如果压缩的结果不好，用户可以撤销，"
    "再换一个重点重新来一次。记忆以普通的文本文件保存，随时可以查看、修改和删除。"
)
EMOJI = (
    "great 🎉🎉 we shipped it 🚀 thanks all 🙏❤️ next week 📅 the fix for 🐛 #42, then ☕ and 🍰! "
    "👩‍💻👨‍💻 who is in? 🙋‍♀️🙋‍♂️ 👍👍👍 see you there 😀😅😂🥳"
)
BASE64 = base64.b64encode(b"".join(hashlib.sha256(bytes([i])).digest() for i in range(12))).decode()
CODE = """def rolling_mean(values: list[float], width: int) -> list[float]:
    if width <= 0:
        raise ValueError(f"width must be positive, not {width!r}")
    total, result = 0.0, []
    for index, value in enumerate(values):
        total += value
        if index >= width:
            total -= values[index - width]
        result.append(total / min(index + 1, width))
    return result
"""


def message(text: str, role: str = "user") -> dict[str, object]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def png(width: int, height: int) -> dict[str, object]:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height)
    data = base64.b64encode(head + bytes(90_000)).decode()
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": data},
    }


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("", 0, 0),
        ("hello world", 3, 4),
        ("\n", 3, 3),
        ("中" * 10, 12, 12),
        ("HelloWorld", 7, 9),
        ("a1b2", 3, 4),
        ("    ", 1, 1),
        ("😀", 4, 4),
        ("\ud800", 1, 1),
    ],
)
def test_estimate_of_small_texts(text, old, new):
    assert (estimate(text, OLD), estimate(text, NEW)) == (old, new)


# Recorded: an offline reconstruction of each tokenizer's count, without the frame of the message.
@pytest.mark.parametrize(
    ("text", "family", "recorded"),
    [
        (ENGLISH, OLD, 83),
        (ENGLISH, NEW, 106),
        (CHINESE, OLD, 153),
        (CHINESE, NEW, 153),
        (EMOJI, OLD, 112),
        (EMOJI, NEW, 117),
        (BASE64, OLD, 435),
        (BASE64, NEW, 475),
        (CODE, OLD, 112),
        (CODE, NEW, 129),
    ],
)
def test_row_34_every_script_is_near_its_recorded_count(text, family, recorded):
    assert 0.95 * recorded <= estimate(text, family) <= 1.25 * recorded


def test_row_34_thirty_thousand_chinese_characters_are_not_seven_thousand_tokens():
    assert 28_000 < estimate("缩" * 30_000, NEW) < 34_000


@given(st.text(), st.text())
def test_parts_never_cost_much_less_than_the_whole(left, right):
    whole = estimate(left + right, NEW)
    assert whole - 3 <= estimate(left, NEW) + estimate(right, NEW) <= whole + 2


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-3-haiku-20240307", OLD),
        ("claude-3-5-sonnet-20241022", OLD),
        ("anthropic.claude-3-haiku-20240307-v1:0", OLD),
        ("anthropic/claude-3.7-sonnet", OLD),
        ("claude-sonnet-4-20250514", OLD),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", OLD),
        ("claude-sonnet-4@20250514", OLD),
        ("claude-opus-4-1", OLD),
        ("claude-sonnet-4-5-20250929", OLD),
        ("claude-opus-4-6", OLD),
        ("claude-opus-4-7", NEW),
        ("anthropic/claude-opus-4.7", NEW),
        ("claude-sonnet-5-5", NEW),
        ("claude-fable-5", NEW),
        ("claude-sonnet-latest", NEW),
        ("claude-2.1", NEW),
        ("qwen2.5-coder:7b", NEW),
        ("", NEW),
    ],
)
def test_family_by_model_id(model, family):
    assert family_of(model) is family


@pytest.mark.parametrize(
    ("width", "height", "old", "new"),
    [
        (28, 28, 1, 1),
        (640, 480, 414, 414),
        (1920, 1080, 1568, 2691),
        (3840, 2160, 1568, 4784),
        (1, 8_000, 56, 92),
        (0, 0, 1, 1),
    ],
)
def test_images_count_by_size(width, height, old, new):
    assert (image_tokens(width, height, OLD), image_tokens(width, height, NEW)) == (old, new)


def test_base64_of_an_image_is_not_text():
    assert estimate_blocks([png(640, 480)], NEW) == 414
    jpeg = {"type": "base64", "media_type": "image/jpeg", "data": "/9j/" + "A" * 100_000}
    assert estimate_blocks([{"type": "image", "source": jpeg}], OLD) == 1568
    assert estimate_blocks([{"type": "image", "source": {"type": "url", "url": "u"}}], NEW) == 4784
    broken = {"type": "base64", "media_type": "image/png", "data": "not base64"}
    assert estimate_blocks([{"type": "image", "source": broken}], OLD) == 1568


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("hello world", 4),
        ([{"type": "text", "text": "hello world"}], 4),
        ([{"type": "thinking", "thinking": "hello world", "signature": "x" * 900}], 4),
        ([{"type": "redacted_thinking", "data": "x" * 400}], 100),
        ([{"type": "tool_use", "id": "t", "name": "shell", "input": {}}], 16),
        ([{"type": "tool_result", "tool_use_id": "t", "content": "hello world"}], 16),
        ([{"type": "tool_result", "tool_use_id": "t", "content": [png(28, 28)]}], 13),
        ([{"type": "tool_result", "tool_use_id": "t"}], 12),
        ([{"type": "new_kind", "x": 1}], 14),
        (
            [{"type": "document", "source": {"type": "text", "data": "hello world"}}],
            4,
        ),
        (
            [
                {
                    "type": "document",
                    "source": {
                        "type": "base64",
                        "media_type": "application/pdf",
                        "data": "A" * 140_000,
                    },
                }
            ],
            6_000,
        ),
        (None, 0),
        ([], 0),
    ],
)
def test_estimate_of_blocks(content, tokens):
    assert estimate_blocks(content, NEW) == tokens


def test_request_is_system_tools_and_messages():
    tools = [{"name": "shell", "description": "run", "input_schema": {"type": "object"}}]
    messages = [message("hello world"), message("hello world", "assistant")]
    assert estimate_messages(messages, NEW) == 16
    assert estimate_tools([], NEW) == 0
    assert estimate_tools(tools, NEW) == 350 + 36
    system = [{"type": "text", "text": "hello world", "cache_control": {"type": "ephemeral"}}]
    assert estimate_request(system, tools, messages, NEW) == 4 + 386 + 16


def test_context_is_the_sum_of_inputs_that_do_not_overlap():
    usage = Usage(10, 100, 1_000, 5)
    assert context_tokens(usage) == 1_115
    assert context_tokens(usage, expected=50) == 1_115


def test_row_32_input_that_includes_the_cache_is_not_counted_twice():
    usage = Usage(46_965, 4_927, 42_036, 200)
    assert context_tokens(usage, expected=45_000) == 47_165
    assert context_tokens(Usage(46_965, 4_927, 42_036, 200), expected=95_000) == 94_128


def test_row_30_and_33_each_message_counts_once_and_its_last_report_wins():
    reports = [
        ("msg_1", Usage(10, 100, 1_000, 1)),
        ("msg_1", Usage(10, 100, 1_000, 40)),
        ("msg_1", Usage(10, 100, 1_000, 70)),
        ("msg_2", Usage(20, 0, 1_100, 30)),
        ("msg_1", Usage(10, 100, 1_000, 70)),
    ]
    assert sum_usage(reports) == Usage(30, 100, 2_100, 100)
    assert sum_usage([]) == Usage()


def test_anchor_adds_only_what_came_after():
    anchor = Anchor().moved(Usage(1_000, 0, 0, 200), [message("anything " * 100)], NEW)
    assert anchor.tokens == 1_200
    assert anchor.total([], NEW) == 1_200
    assert anchor.total([message("hello world")], NEW) == 1_208


def test_service_that_counts_nothing_leaves_the_anchor():
    anchor = Anchor(tokens=500)
    assert anchor.moved(Usage(output_tokens=3), [message("x")], NEW) == anchor


@pytest.mark.parametrize(("share", "expected"), [(0.8, 800), (1.0, 1_000), (1.25, 1_250)])
def test_row_34_real_usage_corrects_in_both_directions(share, expected):
    later = [message("x" * 20_000)]
    guess = estimate_messages(later, NEW)
    anchor = Anchor(tokens=10_000)
    moved = anchor.moved(Usage(10_000 + round(guess * share), 0, 0, 7), later, NEW)
    assert moved.tokens == 10_000 + round(guess * share) + 7
    assert moved.correction.factor * 1_000 == pytest.approx(expected, abs=1)
    assert moved.total(later, NEW) - moved.tokens == pytest.approx(guess * share, abs=2)


def test_correction_forgets_and_stays_within_bounds():
    wrong = Correction().learn(1_000, 9_000)
    assert wrong.factor == 2.0
    assert Correction().learn(1_000, 1).factor == 0.5
    for _ in range(20):
        wrong = wrong.learn(1_000, 1_000)
    assert wrong.factor == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("guessed", "actual"), [(499, 900), (1_000, 0), (1_000, -5)])
def test_correction_ignores_what_teaches_nothing(guessed, actual):
    assert Correction().learn(guessed, actual) == Correction()
