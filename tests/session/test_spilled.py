import pytest

from mewcode_nb.messages import Block, tool_result
from mewcode_nb.session.spilled import is_spilled_from, with_preview

CALL: Block = {"type": "tool_use", "id": "t1", "name": "write_file", "input": {"path": "a", "n": 1}}
PARTS: Block = tool_result("t1", [{"type": "text", "text": "long"}, {"type": "image"}])


@pytest.mark.parametrize(
    ("block", "target", "expected"),
    [
        (tool_result("t1", "long", is_error=True), "result", tool_result("t1", "P", is_error=True)),
        (PARTS, "part/0", tool_result("t1", [{"type": "text", "text": "P"}, {"type": "image"}])),
        (
            PARTS,
            "part/1",
            tool_result("t1", [{"type": "text", "text": "long"}, {"type": "text", "text": "P"}]),
        ),
        (PARTS, "part/2", PARTS),
        (PARTS, "part/-1", PARTS),
        (tool_result("t1", "a text"), "part/0", tool_result("t1", "a text")),
        (CALL, "input/path", {**CALL, "input": {"path": "P", "n": 1}}),
        (CALL, "input/gone", CALL),
    ],
)
def test_the_preview_stands_where_the_target_says(
    block: Block, target: str, expected: Block
) -> None:
    once = with_preview(block, target, "P")
    assert once == expected
    assert with_preview(once, target, "P") == expected


@pytest.mark.parametrize(
    ("block", "target", "is_it"),
    [
        (PARTS, "result", True),
        (PARTS, "part/7", True),
        (PARTS, "input/path", False),
        (CALL, "input/path", True),
        (CALL, "result", False),
        (tool_result("t2", ""), "result", False),
        (CALL, "said", False),
    ],
)
def test_which_block_a_target_is_about(block: Block, target: str, is_it: bool) -> None:
    assert is_spilled_from(block, "t1", target) is is_it
