"""The recorded answers of the first notebook."""

from __future__ import annotations

from mewcode_nb.testing.script import Reply, reply, tool_use
from mewcode_nb.tutorial.talk import PACE, Lessons, Talk, say

__all__ = ["LESSONS"]

_LOOK = """\
print(min(temperatures), "to", max(temperatures))
print("far from the rest:", [t for t in temperatures if t > 60])
"""
_CONVERT = """\
clean = [round((t - 32) * 5 / 9, 1) if t > 60 else t for t in temperatures]
clean
"""
_NOTE = """\
# Temperatures

One reading was taken in degrees Fahrenheit. `clean` holds all of them in degrees Celsius.
"""


def _look(talk: Talk) -> Reply:
    if not talk.calls:
        return reply(
            "I will look at the numbers first. The code only reads `temperatures`.",
            tool_use("run_python", code=_LOOK),
            delay=PACE,
        )
    if talk.refused:
        return say("Nothing ran, as you wish. Without looking I cannot say what is off.")
    return say(
        f"This is what the code printed:\n\n```\n{talk.printed}\n```\n\n"
        "One reading stands far from the rest. **98.6** is a body temperature in degrees "
        "*Fahrenheit* (37.0 °C), so it looks like a slip of units rather than a broken sensor."
    )


def _convert(talk: Talk) -> Reply:
    if not talk.calls:
        return reply(
            "I will put the result into a new name, `clean`, and leave `temperatures` alone.",
            tool_use("run_python", code=_CONVERT),
            delay=PACE,
        )
    if talk.refused:
        return say("Then `clean` does not exist, and nothing has changed.")
    return say(
        f"`clean` is now in your namespace:\n\n```\n{talk.printed}\n```\n\n"
        "Run the next cell: it is your own code, and it sees the new name."
    )


def _note(talk: Talk) -> Reply:
    if not talk.calls:
        return reply(
            "First a look whether the file is there already; that is free.",
            tool_use("list_files", pattern="notes.md"),
            delay=PACE,
        )
    if talk.refused:
        return say(
            "The answer was no, and this is the reason I was given:\n\n"
            f"> {talk.last}\n\nNothing was written."
        )
    if talk.calls[-1] == "list_files" and "notes.md" in talk.last:
        return reply(tool_use("read_file", path="notes.md"))
    if talk.calls[-1] in {"list_files", "read_file"}:
        return reply(tool_use("write_file", path="notes.md", content=_NOTE))
    return say("Done: `notes.md` is in this folder.")


LESSONS: Lessons = {
    "is anything off": _look,
    "degrees celsius": _convert,
    "notes.md": _note,
}
