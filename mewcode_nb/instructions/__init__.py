"""Instructions for the agent: `MEWCODE.md` at three levels, with `@include` under guard."""

from __future__ import annotations

from mewcode_nb.instructions.load import load_instructions
from mewcode_nb.instructions.rows import (
    IncludeLimits,
    InstructionRow,
    Instructions,
    instruction_notices,
    instructions_markdown,
    instructions_table,
)

__all__ = [
    "IncludeLimits",
    "InstructionRow",
    "Instructions",
    "instruction_notices",
    "instructions_markdown",
    "instructions_table",
    "load_instructions",
]
