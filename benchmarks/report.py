"""What a benchmark gives back, and how it is printed: a Markdown table, or JSON."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

__all__ = ["Budget", "Report", "as_markdown", "environment", "main", "middle", "ratio"]


@dataclass(frozen=True, slots=True)
class Budget:
    """A promise of design section 13 and what was measured for it."""

    what: str
    measured: float
    limit: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the measurement is on the right side of the limit."""
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


@dataclass(frozen=True, slots=True)
class Report:
    """One benchmark: a table, the budgets it speaks for, and what a reader must know."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    budgets: tuple[Budget, ...] = ()
    notes: tuple[str, ...] = ()


def middle(values: Sequence[float]) -> float:
    """The median."""
    return float(median(values))


def ratio(value: float, base: float) -> str:
    """`1.23x`, or a dash where there is no base."""
    return f"{value / base:.2f}x" if base else "-"


def as_markdown(report: Report) -> str:
    """The report as Markdown."""
    lines = [f"## {report.title}", "", _row(report.columns), _row(["---"] * len(report.columns))]
    lines += [_row(row) for row in report.rows]
    if report.budgets:
        lines += ["", "| budget | measured | limit | kept |", "| --- | --- | --- | --- |"]
        lines += [_budget(budget) for budget in report.budgets]
    lines += ["", *(f"- {note}" for note in report.notes)] if report.notes else []
    return "\n".join(lines) + "\n"


def environment() -> str:
    """Versions and platform, without names of machines or folders."""
    names = ("mewcode-nb", "anthropic", "ipython", "ipykernel", "ipywidgets", "jupyterlab")
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return f"Python {platform.python_version()}, {platform.system()}; " + ", ".join(found)


def main(measure: Callable[[], Report]) -> None:
    """Run one benchmark from the command line."""
    parser = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    options = parser.parse_args()
    report = measure()
    print(json.dumps(asdict(report), indent=1) if options.json else as_markdown(report))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _budget(budget: Budget) -> str:
    sign = "≥" if budget.at_least else "≤"
    kept = "yes" if budget.kept else "**no**"
    return _row([budget.what, f"{budget.measured:.2f}", f"{sign} {budget.limit:g}", kept])
