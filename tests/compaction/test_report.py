from __future__ import annotations

import json

import pytest

from mewcode_nb.compaction.report import Stats, coverage_json, report_of, stats_json
from mewcode_nb.context_events import (
    CompactionReport,
    Coverage,
    RecoveredFile,
    Recovery,
)
from mewcode_nb.session.parse import from_json
from mewcode_nb.session.records import CompactRecord, Section, to_line
from mewcode_nb.usage import Usage

RECOVERY = Recovery(
    (RecoveredFile("load.py", 420, changed=True), RecoveredFile("gone.csv", 0, note="gone")),
    ("read_file", "run_python"),
    (("df", "DataFrame 40000x12"),),
    14,
)
COVERAGE = Coverage({"path": (9, 1), "number": (4, 0)}, (("path", "data/raw.csv"),), 2)
STATS = Stats(200_000, 167_000, 1_500, 130_000, 9_000, 12, 3, 2, 41.5, RECOVERY)
RECORD = CompactRecord(
    1.0,
    "c1",
    "auto",
    (Section("1. Goal", "Find out why."),),
    attachment="Files: load.py",
    keep=("m8", "m9"),
    focus="the model",
    before=168_000,
    after=27_000,
    coverage=coverage_json(COVERAGE),
    usage=Usage(10, 0, 168_000, 2_000),
    model="m",
    stats=stats_json(STATS),
)


def test_a_stored_compaction_gives_the_report_that_was_shown_when_it_was_made() -> None:
    stored = from_json(json.loads(to_line(RECORD)))
    assert isinstance(stored, CompactRecord)
    assert report_of(stored) == CompactionReport(
        id="c1",
        trigger="auto",
        before=168_000,
        after=27_000,
        window=200_000,
        line=167_000,
        sections=(("1. Goal", "Find out why."),),
        coverage=COVERAGE,
        recovery=RECOVERY,
        focus="the model",
        saved_by_spill=1_500,
        saved_by_summary=130_000,
        kept_messages=2,
        kept_tokens=9_000,
        said=12,
        said_in_file=3,
        seconds=41.5,
        usage=Usage(10, 0, 168_000, 2_000),
        model="m",
        requests=2,
        attachment="Files: load.py",
    )
    assert report_of(stored, undone=True).undone


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"window": -3, "seconds": "long", "said": True, "recovery": []},
        {"recovery": {"files": 3, "tools": "all", "variables": [["df"], "x", ["a", 1]]}},
        {"recovery": {"files": ["load.py", {"path": None, "tokens": -1}], "cells": "many"}},
    ],
)
def test_a_record_by_another_hand_still_gives_a_report(stats) -> None:
    record = CompactRecord(
        1.0, "c1", "boundary", (), coverage={"kinds": {"path": 3}, "added": [3]}, stats=stats
    )
    report = report_of(record)
    assert (report.trigger, report.window, report.seconds, report.said) == ("manual", 0, 0.0, 0)
    assert report.coverage == Coverage()
    assert [file.path for file in report.recovery.files] in ([], [""])
    assert report.recovery.variables == ()
