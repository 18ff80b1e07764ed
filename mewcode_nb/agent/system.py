"""The system prompt of a session: our own texts, where it runs, and the instruction files."""

from __future__ import annotations

from importlib.resources import files

from mewcode_nb.messages import JsonObject
from mewcode_nb.prompt import CacheTtl, Section, as_data, system_blocks

__all__ = ["INSTRUCTIONS_PRIORITY", "system_prompt", "system_sections"]

INSTRUCTIONS_PRIORITY = 80
"""Where instruction files stand; skills are to follow at 90 and memory at 100."""

_INSTRUCTIONS_HEAD = (
    "Instructions of this project and user, from their own files. Follow them; where a memory note "
    "contradicts them, they win. A comment marks what was skipped and why.\n\n"
)


def system_sections(environment: str, instructions: str) -> tuple[Section, ...]:
    """The sections: `environment` in a few stable lines, `instructions` as loaded, maybe empty."""
    texts = files("mewcode_nb.agent") / "prompts"
    told = _INSTRUCTIONS_HEAD + as_data(instructions) if instructions.strip() else ""
    return (
        Section("identity", 0, (texts / "system.md").read_text(encoding="utf-8"), stable=True),
        Section("tools", 10, (texts / "tools.md").read_text(encoding="utf-8"), stable=True),
        Section("environment", 20, environment),
        Section("instructions", INSTRUCTIONS_PRIORITY, told),
    )


def system_prompt(environment: str, instructions: str, ttl: CacheTtl) -> tuple[JsonObject, ...]:
    """The sections as the API takes them, cache marks included."""
    return system_blocks(system_sections(environment, instructions), ttl)
