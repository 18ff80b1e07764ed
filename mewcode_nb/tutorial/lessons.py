"""What the recorded tutorial answers: three lessons, and a plain word for everything else.

An answer is chosen from the prompt and from what the tools said since, so that a refusal is
answered as a refusal and a number is the number that the code really printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from mewcode_nb.testing.script import Ask, Reply, reply, strings, tool_use

__all__ = ["answer"]

_REMARK = re.compile(r"\[[a-z][^\]]*\]$")

_PACE = 0.02
"""Seconds between pieces of text: fast enough not to bore, slow enough to see the stream."""

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


@dataclass(frozen=True, slots=True)
class _Talk:
    """The last prompt and what has happened since it was sent."""

    prompt: str
    calls: tuple[str, ...]
    """Names of the tools asked for, in order."""
    results: tuple[str, ...]

    @property
    def last(self) -> str:
        """The last result; empty before there is one."""
        return self.results[-1].strip() if self.results else ""

    @property
    def printed(self) -> str:
        """The last result without the tool's own remarks, which stand in brackets."""
        lines = self.last.split("\n")
        return "\n".join(line for line in lines if not _REMARK.match(line))

    @property
    def refused(self) -> bool:
        """Whether the last call was not allowed to run."""
        return self.last.startswith("Not run: refused")


def answer(ask: Ask) -> Reply:
    """The recorded answer to a request."""
    talk = _talk(ask)
    for words, lesson in _LESSONS.items():
        if words in talk.prompt.lower():
            return lesson(talk)
    return _say(
        "I am the recorded tutorial, not a model: I know only the prompts of the first notebook. "
        "Put a key into `ANTHROPIC_API_KEY` (or name a local server) and run "
        "`%mewcode tutorial off` to talk to a model."
    )


def _look(talk: _Talk) -> Reply:
    if not talk.calls:
        return reply(
            "I will look at the numbers first. The code only reads `temperatures`.",
            tool_use("run_python", code=_LOOK),
            delay=_PACE,
        )
    if talk.refused:
        return _say("Nothing ran, as you wish. Without looking I cannot say what is off.")
    return _say(
        f"This is what the code printed:\n\n```\n{talk.printed}\n```\n\n"
        "One reading stands far from the rest. **98.6** is a body temperature in degrees "
        "*Fahrenheit* (37.0 °C), so it looks like a slip of units rather than a broken sensor."
    )


def _convert(talk: _Talk) -> Reply:
    if not talk.calls:
        return reply(
            "I will put the result into a new name, `clean`, and leave `temperatures` alone.",
            tool_use("run_python", code=_CONVERT),
            delay=_PACE,
        )
    if talk.refused:
        return _say("Then `clean` does not exist, and nothing has changed.")
    return _say(
        f"`clean` is now in your namespace:\n\n```\n{talk.printed}\n```\n\n"
        "Run the next cell: it is your own code, and it sees the new name."
    )


def _note(talk: _Talk) -> Reply:
    if not talk.calls:
        return reply(
            "First a look whether the file is there already; that is free.",
            tool_use("list_files", pattern="notes.md"),
            delay=_PACE,
        )
    if talk.refused:
        return _say(
            "The answer was no, and this is the reason I was given:\n\n"
            f"> {talk.last}\n\nNothing was written."
        )
    if talk.calls[-1] == "list_files" and "notes.md" in talk.last:
        return reply(tool_use("read_file", path="notes.md"))
    if talk.calls[-1] in {"list_files", "read_file"}:
        return reply(tool_use("write_file", path="notes.md", content=_NOTE))
    return _say("Done: `notes.md` is in this folder.")


_LESSONS: dict[str, Callable[[_Talk], Reply]] = {
    "is anything off": _look,
    "degrees celsius": _convert,
    "notes.md": _note,
}


def _say(text: str) -> Reply:
    return reply(text, delay=_PACE)


def _talk(ask: Ask) -> _Talk:
    prompt, calls, results = "", [], []
    for message in ask.body.get("messages", []):
        for block in _blocks(message):
            words = "\n".join(strings(block.get("content", block.get("text", ""))))
            if block.get("type") == "tool_use":
                calls.append(str(block.get("name")))
            elif block.get("type") == "tool_result":
                results.append(words)
            elif message.get("role") == "user" and not words.startswith("<mewcode-reminder"):
                prompt, calls, results = words, [], []
    return _Talk(prompt, tuple(calls), tuple(results))


def _blocks(message: dict[str, object]) -> list[dict[str, object]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or [] if isinstance(block, dict)]  # type: ignore[attr-defined]
