"""The subcommands of `%mewcode` with their one-line help, and the names of the settings.

Kept apart from what the subcommands do, so that completion and help need nothing but words.
"""

from __future__ import annotations

from dataclasses import fields

from mewcode_nb.config import Settings

__all__ = ["SETTING_NAMES", "SUBCOMMANDS", "line_help"]

SETTING_NAMES: tuple[str, ...] = tuple(field.name for field in fields(Settings))

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("TEXT", "one turn with the text of this line"),
    "status": ("", "session, model, mode, notebook, tokens, and the last answer again"),
    "new": ("", "begin a new session with the next prompt"),
    "model": ("[NAME]", "show or choose the model"),
    "mode": ("[plan|ask|edit|open]", "show or choose what may run without asking"),
    "config": ("[KEY [VALUE]]", "every setting with its origin, or set one for this kernel"),
    "instructions": ("", "the MEWCODE.md files in force"),
    "tutorial": ("[on|off]", "practise on recorded answers, without a key"),
    "help": ("", "this help"),
}
"""Name to (arguments, help)."""


def line_help() -> str:
    """Help for the line magic."""
    rows = [
        f"  {f'{name} {arguments}'.strip():<32} {text}"
        for name, (arguments, text) in SUBCOMMANDS.items()
    ]
    return "%mewcode SUBCOMMAND\n\n" + "\n".join(rows) + "\n\nA prompt goes into a cell: %%mewcode"
