"""What the front end at hand can do: whether anyone can type, click or see a widget there."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from mewcode_nb.notebook.locate import frontend_kind

__all__ = ["Route", "Surroundings", "choose_route", "surroundings"]

Route: TypeAlias = Literal["buttons", "input", "deny"]
_AWAITED_CLICKS = (7, 4)
"""The first ipykernel that handles comm messages while a cell awaits."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What decides how a person can be asked."""

    kernel: bool
    can_type: bool
    """In a kernel the request's `allow_stdin`, in a terminal whether it is one."""
    ipykernel: tuple[int, ...] = ()
    widgets: bool = False


def choose_route(where: Surroundings, setting: str) -> Route:
    """How to ask here. `setting` is auto, buttons, input or deny."""
    if setting == "deny" or not where.can_type:
        return "deny"
    if not where.kernel or setting == "input" or not where.widgets:
        return "input"
    return "buttons" if setting == "buttons" or where.ipykernel >= _AWAITED_CLICKS else "input"


def surroundings(shell: Any) -> Surroundings:  # noqa: ANN401 - IPython has no types
    """Look at the shell and at the request it is running."""
    kind = frontend_kind(shell)
    if kind == "terminal":
        stdin = sys.stdin
        return Surroundings(kernel=False, can_type=stdin is not None and stdin.isatty())
    from ipykernel._version import version_info

    widgets = all(importlib.util.find_spec(name) for name in ("ipywidgets", "anywidget"))
    numbers = tuple(part for part in version_info[:2] if isinstance(part, int))
    return Surroundings(True, kind == "interactive", numbers, widgets)
