"""A stored turn as it looked when it was made: static bundles; the line that says it is stored.

Pure. Nothing in them needs a kernel, and nothing of the model's or a tool's is markup.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from mewcode_nb.blocks import THINKING
from mewcode_nb.messages import JsonObject, ToolUseBlock, is_text, is_tool_use
from mewcode_nb.notebook.session_words import SessionWords
from mewcode_nb.notebook.stored import Stored, shown_richly, turn_result
from mewcode_nb.session.turns import Turn, TurnCall
from mewcode_nb.tools.cut import one_line
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.cards import Bundle, Fold
from mewcode_nb.widgets.html import clip, visible
from mewcode_nb.widgets.session_table import age_words
from mewcode_nb.widgets.words import Words

__all__ = ["call_title", "replay_bundles", "stored_line"]

_NOT_RUN = "Not run: "
"""How the results of calls begin that were refused or never started."""
_CODE_CHARACTERS = 20_000


def replay_bundles(stored: Stored, language: str) -> Iterator[Bundle]:
    """Answers, thinking and calls in order, and what of the turn's displays is not stored."""
    words, said = Words(language), SessionWords(language)
    yield from _turn_bundles(stored.turn, words)
    if shown_richly(stored.turn):
        yield cards.line(said("no_displays"), tone="quiet")


def stored_line(stored: Stored, language: str, now: float) -> str:
    """What says that the answer is stored: whose, when, that nothing was sent, how to run again.

    `now` in seconds since 1970.
    """
    said, result = SessionWords(language), turn_result(stored.turn, stored.session)
    when = age_words(max(now - stored.turn.records[-1].ts, 0.0), language)
    of = said("stored_of", session=stored.session, turn=result.turn, when=when)
    parts = (said("stored"), result.model, of, said("nothing_sent"), said("run_again"))
    return " · ".join(part for part in parts if part)


def call_title(call: ToolUseBlock) -> str:
    """One line for a call, as its tool would have titled it."""
    given = {key: one_line(value) for key, value in call["input"].items() if isinstance(value, str)}
    match call["name"]:
        case "run_python":
            return _code_title(str(call["input"].get("code", "")))
        case "shell":
            return f"run {given.get('command', '')}"
        case "read_file" | "write_file" | "edit_file" as name:
            return f"{name.partition('_')[0]} {given.get('path', '')}"
        case "search" | "list_files" as name:
            where = given.get("path", ".")
            return f"{name.partition('_')[0]} {given.get('pattern', '')} in {where}"
        case name:
            return name


def _turn_bundles(turn: Turn, words: Words) -> Iterator[Bundle]:
    called = {item.call["id"]: item for item in turn.calls()}
    for record in turn.records:
        if record.role != "assistant":
            continue
        for block in record.content:
            if is_text(block):
                if block["text"].strip():
                    yield cards.text(block["text"])
            elif is_tool_use(block):
                yield _call_bundle(called[block["id"]], words)
            elif block["type"] in THINKING:
                thinking = cast("JsonObject", block).get("thinking")
                if isinstance(thinking, str) and thinking.strip():
                    yield cards.thoughts(words, thinking)


def _call_bundle(called: TurnCall, words: Words) -> Bundle:
    output = called.output or ""
    refused = called.is_error and output.startswith(_NOT_RUN)
    if called.output is None or refused:
        state, tone = "", "warning"
    else:
        state = words("failed" if called.is_error else "done")
        tone = "error" if called.is_error else "good"
    summary = one_line(output) if called.is_error else ""
    line = " · ".join(part for part in (call_title(called.call), state, summary) if part)
    folds = (*_input_fold(called.call, words), *cards.output_fold(words, output))
    return cards.entry(line, folds, tone=tone)


def _input_fold(call: ToolUseBlock, words: Words) -> tuple[Fold, ...]:
    given = call["input"]
    body, language = "", ""
    if isinstance(code := given.get("code"), str):
        body, language = code, "python"
    elif isinstance(command := given.get("command"), str):
        body, language = command, "sh"
    elif isinstance(content := given.get("content"), str):
        body = content
    elif isinstance(new := given.get("new"), str):
        body, language = _replaced(str(given.get("old", "")), new), "diff"
    if not body.strip():
        return ()
    shown, left = clip(visible(body), lines=1_000, characters=_CODE_CHARACTERS)
    rest = words("cut", size=cards.size_words(left)) if left else ""
    return (Fold(words("proposal"), shown, language, rest),)


def _replaced(old: str, new: str) -> str:
    gone = [f"-{line}" for line in old.splitlines()]
    return "\n".join([*gone, *(f"+{line}" for line in new.splitlines())])


def _code_title(code: str) -> str:
    lines = [line for line in code.splitlines() if line.strip()]
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return f"run {one_line(lines[0] if lines else code)}{more}"
