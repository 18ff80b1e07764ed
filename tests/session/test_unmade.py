"""What a compaction that failed took counts with the session, once, whatever it looks like."""

import pytest

from mewcode_nb.session.records import MetaRecord, PlacedRecord, SessionRecord
from mewcode_nb.session.replay import fold
from mewcode_nb.session.unmade import unmade_fact, unmade_usage
from mewcode_nb.usage import Usage

TOOK = Usage(1_000, 20, 300, 4)


def test_a_failed_compaction_counts_once_however_often_its_line_is_read() -> None:
    fact = MetaRecord(2.0, unmade_fact("f1", TOOK, "claude-sonnet-5-5"))
    other = MetaRecord(3.0, unmade_fact("f2", Usage(output_tokens=5), "claude-sonnet-5-5"))
    records = (SessionRecord(1.0, "s"), fact, fact, other)
    state = fold(PlacedRecord(record, at, at + 1) for at, record in enumerate(records))
    assert state.usage == Usage(1_000, 20, 300, 9)


@pytest.mark.parametrize(
    "fact",
    [
        {},
        {"failed_compaction": 3},
        {"failed_compaction": {"id": 3, "usage": {}}},
        {"failed_compaction": {"id": "a", "usage": []}},
    ],
)
def test_what_is_no_such_fact_costs_nothing(fact: dict[str, object]) -> None:
    assert unmade_usage(fact) == {}


def test_counts_that_are_none_are_left_out() -> None:
    usage = {"input_tokens": 7, "output_tokens": -1, "cache_read_input_tokens": True, "new": 2}
    assert unmade_usage({"failed_compaction": {"id": "a", "usage": usage}}) == {"a": Usage(7)}
