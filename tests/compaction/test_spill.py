import base64
from collections.abc import Sequence

import pytest

from mewcode_nb.compaction.limits import (
    SPILL_IMAGE_BYTES,
    SPILL_MESSAGE_BYTES,
    SPILL_RESULT_BYTES,
)
from mewcode_nb.compaction.spill import apply_moves, plan_moves
from mewcode_nb.messages import Block, Json, tool_result

PNG = b"\x89PNG\r\n\x1a\n" + bytes(75_000)


def image(size: int) -> Json:
    source: Json = {"type": "base64", "media_type": "image/png", "data": "A" * size}
    return {"type": "image", "source": source}


def moved(content: Sequence[Block]) -> list[tuple[int, str]]:
    return [(move.block, move.target) for move in plan_moves(content)]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([SPILL_RESULT_BYTES], []),
        ([SPILL_RESULT_BYTES + 1], [0]),
        ([618_000, 20], [0]),
        ([45_000] * 4, []),
        ([45_000, 49_000, 45_000, 48_000, 45_000], [1]),
        ([49_000] * 5, [0]),
        ([45_000] * 9, [0, 1, 2, 3, 4]),
        ([4_000] * 60, []),
    ],
)
def test_row26_largest_first_until_both_limits_hold(sizes: list[int], expected: list[int]) -> None:
    content = [tool_result(f"t{number}", "x" * size) for number, size in enumerate(sizes)]
    assert [place for place, _ in moved(content)] == expected
    after = apply_moves(content, dict.fromkeys(plan_moves(content), "P"))
    assert sum(len(str(block)) for block in after) < SPILL_MESSAGE_BYTES * 1.3


def test_bytes_count_not_characters() -> None:
    assert moved([tool_result("t", "数" * 16_000)]) == []
    assert moved([tool_result("t", "数" * 17_000)]) == [(0, "result")]


def test_c09_a_call_keeps_its_short_arguments_and_fits_its_schema() -> None:
    call: Block = {
        "type": "tool_use",
        "id": "t1",
        "name": "write_file",
        "input": {"path": "data.csv", "content": "x" * 5_000_000, "append": False},
    }
    (move,) = plan_moves([call])
    (after,) = apply_moves([call], {move: move.preview("F")})
    assert move.data == b"x" * 5_000_000
    assert after["input"].keys() == {"path", "content", "append"}  # type: ignore[typeddict-item]
    assert after["input"]["path"] == "data.csv"  # type: ignore[typeddict-item]
    assert len(str(after)) < 3_000
    assert "used whole" in str(after)


def test_parts_of_a_result_move_one_by_one_and_a_picture_stays_a_picture() -> None:
    result = tool_result("t1", [{"type": "text", "text": "x" * 60_000}, image(70_000)])
    assert moved([result]) == [(0, "part/0")]


def test_images_move_only_where_the_request_would_grow_too_large() -> None:
    few = [tool_result("a", [image(4_000_000)]), tool_result("b", [image(5_000_000)])]
    many = [*few, tool_result("c", [image(3_000_000)])]
    assert moved(few) == []
    assert moved(many) == [(1, "part/0")]
    assert SPILL_IMAGE_BYTES >= 4_000_000 + 3_000_000
    assert plan_moves(many)[0].extension == "png"


@pytest.mark.parametrize("prefix", ["", "data:image/png;base64,", "\n"])
def test_row50_base64_of_an_image_given_as_text_becomes_a_file_that_is_an_image(
    prefix: str,
) -> None:
    text = prefix + base64.b64encode(PNG).decode()
    (move,) = plan_moves([tool_result("t", text)])
    assert (move.data, move.extension, move.media) == (PNG, "png", "image/png")
    assert "iVBOR" not in move.preview("F")


def test_base64_of_something_else_and_broken_base64_stay_text() -> None:
    for text in ("QUJD" * 20_000, base64.b64encode(PNG).decode() + "!"):
        (move,) = plan_moves([tool_result("t", text)])
        assert (move.extension, move.data) == ("txt", text.encode())


def test_row6_half_an_emoji_does_not_reach_the_file() -> None:
    (move,) = plan_moves([tool_result("t", "\ud83d" + "x" * 60_000)])
    assert move.data == ("\ufffd" + "x" * 60_000).encode()
    assert move.preview("F").encode()


def test_other_blocks_are_left_alone() -> None:
    content: list[Block] = [
        {"type": "text", "text": "x" * 900_000},
        {"type": "thinking", "thinking": "x" * 90_000, "signature": "s"},
        tool_result("t", None),
        tool_result("u", ["no part", {"type": "image", "source": {"type": "url", "url": "u"}}]),
        {"type": "tool_use", "id": "v", "name": "n", "input": {"list": ["x" * 90_000]}},
    ]
    assert plan_moves(content) == ()
