"""Runs the benchmarks named on the command line, or all; prints Markdown, or JSON with `--json`."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.report import Report, as_markdown, environment

ALL = ("load", "stream", "turn", "append", "list", "resume", "display", "install")
RESULTS = Path(__file__).with_name("RESULTS.md")


def run() -> int:
    """Exit status 1 when a budget was not kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL)}")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--save", action="store_true", help="write benchmarks/RESULTS.md as well")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(ALL))
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(ALL)}")
    reports = []
    for name in options.names or ALL:
        print(f"running {name}", file=sys.stderr, flush=True)
        reports.append(importlib.import_module(f"benchmarks.bench_{name}").measure())
    page = _page(reports)
    print(json.dumps([asdict(report) for report in reports], indent=1) if options.json else page)
    if options.save:
        RESULTS.write_text(page, encoding="utf-8")
    return 0 if all(budget.kept for report in reports for budget in report.budgets) else 1


def _page(reports: list[Report]) -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    head = f"# Benchmark results\n\n{today}. {environment()}.\n\n"
    note = "Milliseconds belong to the machine of that day; the ratios are what counts.\n\n"
    return head + note + "\n".join(as_markdown(report) for report in reports)


if __name__ == "__main__":
    sys.exit(run())
