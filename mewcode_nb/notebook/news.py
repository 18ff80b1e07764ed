"""What the model should learn with the next prompt because it changed since the session began.

The system prompt keeps its bytes for as long as the session lasts, so a change of mode or of the
instruction files is told in the user's message. Pure: known state and present state in, news out.
"""

from __future__ import annotations

from dataclasses import dataclass

from mewcode_nb.agent.approval import Mode

__all__ = ["Told", "news_since"]

_MODES = {
    Mode.PLAN: "plan: read only. Look and plan; every change is refused until the user says so.",
    Mode.ASK: "ask: reading inside the project is free; the user is asked about everything else.",
    Mode.EDIT: "edit: file edits inside the project need no approval; the rest is asked about.",
    Mode.OPEN: "open: nothing is asked about. Be all the more careful.",
}

_REPLACED = (
    "The instruction files have changed. This replaces the instructions in the system prompt:"
)


@dataclass(frozen=True, slots=True)
class Told:
    """What the model was told last. A session begins in mode `ask` as far as the model knows."""

    instructions: str
    """SHA-256 of the text, in hexadecimal."""
    mode: Mode = Mode.ASK


def news_since(told: Told, now: Told, instructions: str) -> tuple[tuple[str, str], ...]:
    """Reminders as (kind, text), empty where nothing changed; `instructions` is the text now."""
    news = []
    if now.mode is not told.mode:
        news.append(("mode", f"The mode is now {_MODES[now.mode]}"))
    if now.instructions != told.instructions:
        text = instructions.strip() or "(there are none any more)"
        news.append(("instructions", f"{_REPLACED}\n\n{text}"))
    return tuple(news)
