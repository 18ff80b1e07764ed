"""The system prompt of a session: who the agent is, its tools, where it works, the user's rules.

Made once, when the session begins. What is in it must not change while the session lasts, so there
is no time of day and nothing of the kernel's state; news travels with the prompts.
"""

from __future__ import annotations

import platform
import sys
from importlib import resources

from mewcode_nb.notebook.project import Project
from mewcode_nb.prompt import Section, as_data

__all__ = ["session_sections"]

_IDENTITY, _TOOLS, _ENVIRONMENT, _INSTRUCTIONS = 0, 10, 20, 80
"""Priorities; instructions have the one the product's contract gives them."""


def session_sections(project: Project, instructions: str) -> tuple[Section, ...]:
    """The sections for a session in this project; `instructions` is the expanded text, or empty."""
    return (
        Section("identity", _IDENTITY, _prompt("system.md"), stable=True),
        Section("tools", _TOOLS, _prompt("tools.md"), stable=True),
        Section("environment", _ENVIRONMENT, _environment(project)),
        Section("instructions", _INSTRUCTIONS, _framed(instructions)),
    )


def _prompt(name: str) -> str:
    return (resources.files("mewcode_nb.agent") / "prompts" / name).read_text(encoding="utf-8")


def _environment(project: Project) -> str:
    notebook = project.place.path or "not known"
    return (
        "Where you work\n"
        f"- Project root: {project.root}\n"
        f"- Notebook: {notebook}\n"
        f"- Relative paths start at: {project.place.folder}\n"
        f"- Python {platform.python_version()} on {sys.platform}, {sys.executable}"
    )


def _framed(instructions: str) -> str:
    if not instructions.strip():
        return ""
    return (
        "Instructions of this project and user, from their own files. Follow them; where a note "
        "from memory contradicts them, they win. A comment marks what was skipped and why.\n\n"
        + as_data(instructions)
    )
