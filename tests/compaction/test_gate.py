from __future__ import annotations

import pytest

from mewcode_nb.compaction.gate import Gate
from mewcode_nb.compaction.limits import limits_for

LARGE = limits_for(200_000)


@pytest.mark.parametrize(
    ("gate", "tokens", "opens"),
    [
        pytest.param(Gate(), 166_999, False, id="below the line"),
        pytest.param(Gate(), 167_000, True, id="at the line"),
        pytest.param(Gate(counted=False), 190_000, False, id="row 19: nothing was counted since"),
        pytest.param(Gate(failures=2), 167_000, True, id="two failures"),
        pytest.param(Gate(failures=3), 190_000, False, id="the breaker is open"),
        pytest.param(Gate(poor=2), 190_000, False, id="row 21: two passes that freed too little"),
        pytest.param(Gate(undone=True), 176_999, False, id="undone, and it still fits"),
        pytest.param(Gate(undone=True), 177_000, True, id="undone, and it no longer fits"),
    ],
)
def test_compaction_starts_by_itself_at_its_line_and_not_when_it_has_reason_to_wait(
    gate: Gate, tokens: int, opens: bool
) -> None:
    assert gate.opens(tokens, LARGE) is opens


def test_a_window_below_the_smallest_is_never_compacted_by_itself() -> None:
    assert not Gate().opens(7_999, limits_for(7_999))
    assert Gate().opens(7_999, limits_for(8_000))


def test_three_failures_in_a_row_pause_it_and_a_success_ends_the_pause() -> None:
    gate = Gate()
    for failures in range(1, 4):
        assert not gate.tripped
        gate = gate.failed().answered()
        assert gate.failures == failures
    assert gate.tripped
    assert gate.compacted() == Gate(counted=False)


def test_row_21_a_failure_of_another_kind_breaks_the_row_of_poor_passes() -> None:
    gate = Gate().failed(poor=True).failed()
    assert (gate.poor, gate.failures, gate.tripped) == (0, 2, False)
    assert Gate().failed(poor=True).failed(poor=True).tripped


def test_row_19_each_compaction_waits_for_a_new_count() -> None:
    gate = Gate().compacted()
    assert not gate.opens(199_000, LARGE)
    assert gate.answered().opens(199_000, LARGE)


def test_the_patience_after_an_undo_ends_with_the_next_turn() -> None:
    gate = Gate().taken_back()
    assert not gate.opens(170_000, LARGE)
    assert gate.turned().opens(170_000, LARGE)
