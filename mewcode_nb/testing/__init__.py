"""The test kit: a strict fake Messages API server, a scripted model, an approver, a project.

For tests of this package and of notebooks and tools that use it; docs/testing.md shows how. Names
are loaded when first asked for, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mewcode_nb.testing.approver import AutoApprover
    from mewcode_nb.testing.catalogue import FaultCase, NamedFault, c2_cases, c2_faults
    from mewcode_nb.testing.limits import Limits, Violation
    from mewcode_nb.testing.log import RequestLog, Summary
    from mewcode_nb.testing.model import ScriptedModel
    from mewcode_nb.testing.project import Project, make_project
    from mewcode_nb.testing.script import (
        Ask,
        Fault,
        Reply,
        Rule,
        fail,
        reply,
        thinking,
        tool_use,
        when,
    )
    from mewcode_nb.testing.script_json import Scene, load_scene
    from mewcode_nb.testing.server import FakeServer
    from mewcode_nb.testing.stores import StoreConformance

__all__ = [
    "Ask",
    "AutoApprover",
    "FakeServer",
    "Fault",
    "FaultCase",
    "Limits",
    "NamedFault",
    "Project",
    "Reply",
    "RequestLog",
    "Rule",
    "Scene",
    "ScriptedModel",
    "StoreConformance",
    "Summary",
    "Violation",
    "c2_cases",
    "c2_faults",
    "fail",
    "load_scene",
    "make_project",
    "reply",
    "thinking",
    "tool_use",
    "when",
]

_HOMES = {
    "approver": ("AutoApprover",),
    "catalogue": ("FaultCase", "NamedFault", "c2_cases", "c2_faults"),
    "model": ("ScriptedModel",),
    "script_json": ("Scene", "load_scene"),
    "limits": ("Limits", "Violation"),
    "log": ("RequestLog", "Summary"),
    "project": ("Project", "make_project"),
    "script": ("Ask", "Fault", "Reply", "Rule", "fail", "reply", "thinking", "tool_use", "when"),
    "server": ("FakeServer",),
    "stores": ("StoreConformance",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"mewcode_nb.testing.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
