"""The recorded answers of the notebook on sessions.

They are computed from the request: what a resumed or forked conversation no longer held, they could
not say.
"""

from __future__ import annotations

import re

from mewcode_nb.testing.script import Reply, reply, tool_use
from mewcode_nb.tutorial.talk import PACE, Lessons, Talk, say

__all__ = ["LESSONS"]

_FILE = "market.csv"
_ROW = re.compile(r"^([A-Z][a-z]{2}),(\d+),(\d+)$", re.MULTILINE)
_LIST = """\
from pathlib import Path

rows = [line.split(",") for line in Path("market.csv").read_text().splitlines()[1:]]
apples = [int(sold) for _, sold, _ in rows]
apples
"""


def _best(talk: Talk) -> Reply:
    if not talk.calls:
        return reply(
            f"I will read `{_FILE}`; reading is free.",
            tool_use("read_file", path=_FILE),
            delay=PACE,
        )
    sold = _apples(talk.results)
    if not sold:
        return say(f"`{_FILE}` could not be read: {talk.last}")
    day = max(sold, key=sold.__getitem__)
    return say(f"On **{day}**: {sold[day]} apples. The stall was open on {len(sold)} days.")


def _list(talk: Talk) -> Reply:
    if not talk.calls:
        return reply(
            "I will make the list with a few lines of code.",
            tool_use("run_python", code=_LIST),
            delay=PACE,
        )
    if talk.refused:
        return say("Then there is no list `apples`, and nothing has changed.")
    return say(f"`apples` is in your namespace:\n\n```\n{talk.printed}\n```")


def _changed(talk: Talk) -> Reply:
    earlier = talk.prompts[:-1]
    if not earlier:
        return say("This is the first prompt of our conversation: I know of nothing before it.")
    asked = "\n".join(f"{number}. {_line(prompt)}" for number, prompt in enumerate(earlier, 1))
    told = talk.reminders.get("resume")
    news = (
        f"And I was told this, with your prompt:\n\n```\n{told}\n```"
        if told
        else ("I was told of nothing that has changed.")
    )
    return say(f"So far you asked me:\n\n{asked}\n\n{news}")


def _rain(talk: Talk) -> Reply:
    sold = _apples(talk.known)
    if "Sat" not in sold:
        return say(f"I cannot tell: nobody has shown me `{_FILE}` in this conversation.")
    sold["Sat"] //= 2
    day = max(sold, key=sold.__getitem__)
    return say(
        f"If rain leaves Saturday only {sold['Sat']} apples, **{day}** is best with {sold[day]}. "
        f"I did not read `{_FILE}` again: what I read stands further up in this conversation."
    )


LESSONS: Lessons = {
    "most apples": _best,
    "list `apples`": _list,
    "what has changed": _changed,
    "rains on saturday": _rain,
}


def _apples(results: tuple[str, ...]) -> dict[str, int]:
    """Apples sold by day, as the first result has them that tells of any."""
    for result in results:
        if rows := _ROW.findall(result):
            return {day: int(apples) for day, apples, _ in rows}
    return {}


def _line(text: str) -> str:
    return " ".join(text.split())
