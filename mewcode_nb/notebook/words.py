"""The words a user may type: options, modes, subcommands with one line of help, setting names.

Plain literals, so that completion and loading need nothing else; a test holds them against the
types they mirror (`Mode`, `Settings`).
"""

from __future__ import annotations

__all__ = ["FIXED_SETTINGS", "MODES", "OPTION_HELP", "SETTING_NAMES", "SUBCOMMANDS", "line_help"]

MODES = ("plan", "ask", "edit", "open")

SETTING_NAMES = (
    "model",
    "mode",
    "base_url",
    "max_tokens",
    "context_window",
    "max_steps",
    "max_retries",
    "max_wait",
    "stall_seconds",
    "connect_seconds",
    "cache_ttl",
    "thinking",
    "approval",
    "approval_seconds",
    "language",
    "preload",
    "instructions_fallback",
    "local",
)

FIXED_SETTINGS = frozenset({"cache_ttl", "thinking"})
"""What a session keeps as it was when it began."""

OPTION_HELP: dict[str, str] = {
    "-m": "model for this turn",
    "--model": "model for this turn",
    "--mode": "plan, ask, edit or open, for this turn",
    "--new": "begin a new session first",
    "--no-tools": "refuse every tool call of this turn",
    "--max-steps": "requests after which the turn stops",
    "-o": "bind the turn's result to this name",
    "--help": "show this help and send nothing",
}

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("TEXT", "one turn with the text of this line; x = %mewcode ask … keeps its result"),
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
