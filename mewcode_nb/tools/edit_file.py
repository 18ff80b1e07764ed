"""The `edit_file` tool: replace a piece of text in a file the model has read, and nothing else."""

from __future__ import annotations

import difflib
import heapq
import re
from dataclasses import dataclass, replace
from itertools import islice

from pydantic import Field

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Proposal
from mewcode_nb.messages import clean_text
from mewcode_nb.prompt import as_written
from mewcode_nb.tools.base import ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import counted, one_line
from mewcode_nb.tools.fresh import Snapshot, demand_fresh, load, store, text_of
from mewcode_nb.tools.roots import Target, target_of
from mewcode_nb.tools.textfile import check_new_text, encode, normal, replace_spans
from mewcode_nb.tools.unified import changed_lines, unified_diff
from mewcode_nb.tools.write_file import change_proposal

__all__ = ["EditFile", "EditFileInput"]

_LINES_NAMED = 10
_LINES_LOOKED_AT = 20_000
_LINES_COMPARED = 200
_NAMES_COMPARED = 1_000
_LINE_COMPARED = 200
_WORD = re.compile(r"\w+")


class EditFileInput(ToolInput):
    """What to replace by what."""

    path: str = Field(description="File to edit; relative to the working folder, or absolute.")
    old: str = Field(
        min_length=1,
        description=(
            "Text to replace, exactly as read_file gave it, indentation included. Must occur once, "
            "unless replace_all is set; add lines around it until it does."
        ),
    )
    new: str = Field(description="Text to put in its place; may be empty.")
    replace_all: bool = Field(default=False, description="Replace every occurrence.")


@dataclass(frozen=True, slots=True)
class _Plan:
    before: Snapshot
    old: str
    new: str
    data: bytes
    count: int


class EditFile:
    """Replaces text in one file."""

    name = "edit_file"
    description = (
        "Replace a piece of text in a file. `old` must match exactly and only once (or set "
        "replace_all). The file must have been read with read_file in this session and be "
        "unchanged since. Everything else in the file stays byte for byte: encoding, line ends, "
        "final newline. The user sees the difference and may refuse."
    )
    input_model: type[ToolInput] = EditFileInput

    def propose(self, tool_use_id: str, args: EditFileInput, context: ToolContext) -> Proposal:
        """The change as a diff; raises `ToolError` when it cannot be made."""
        target = target_of(args.path, context)
        plan = _plan(target, args, context)
        return replace(
            change_proposal(target, plan.old, plan.new),
            tool_use_id=tool_use_id,
            tool=self.name,
            title=f"edit {one_line(target.shown)}",
        )

    async def run(self, args: EditFileInput, context: ToolContext) -> ToolResult:
        """Make the change, as long as the file is still the one that was proposed."""
        target = target_of(args.path, context, judged=True)
        plan = _plan(target, args, context)
        read = store(target, plan.data, plan.before)
        added, removed = changed_lines(unified_diff(plan.old, plan.new, target.shown))
        times = counted(plan.count, "place")
        return ToolResult(
            f"{target.shown} edited in {times}: +{added} -{removed} lines",
            f"{times}, +{added} -{removed} lines",
            reads=(read,),
        )


def _plan(target: Target, args: EditFileInput, context: ToolContext) -> _Plan:
    before = load(target)
    if before is None:
        raise ToolError(f"{target.shown}: no such file{_similar_names(target)}")
    file = text_of(target, before)
    demand_fresh(target, before, context.reads)
    check_new_text(file, args.new)
    old, new = normal(args.old), normal(args.new)
    if old == new:
        raise ToolError("old and new are the same text; there is nothing to change")
    text = normal(file.text)
    starts = _occurrences(text, old)
    if not starts and as_written(old) != old:
        # The model was shown our own element names escaped, and quotes them so.
        old, new = as_written(old), as_written(new)
        starts = _occurrences(text, old)
    if not starts:
        if file.escaped and "\ufffd" in old:
            raise ToolError(
                "old holds \ufffd, which stands for bytes that are not UTF-8 and cannot be "
                "matched; choose text without it"
            )
        raise ToolError(_not_found(target, text, old))
    if len(starts) > 1 and not args.replace_all:
        raise ToolError(_ambiguous(target, text, starts))
    changed = replace_spans(file.text, starts, old, new)
    return _Plan(before, file.text, changed, encode(file, changed), len(starts))


def _occurrences(text: str, old: str) -> list[int]:
    starts: list[int] = []
    at = text.find(old)
    while at >= 0:
        starts.append(at)
        at = text.find(old, at + len(old))
    return starts


def _ambiguous(target: Target, text: str, starts: list[int]) -> str:
    lines = ", ".join(str(text.count("\n", 0, start) + 1) for start in starts[:_LINES_NAMED])
    more = ", ..." if len(starts) > _LINES_NAMED else ""
    return (
        f"old occurs {len(starts)} times in {target.shown} (lines {lines}{more}); "
        "add surrounding lines to make it unique, or set replace_all"
    )


def _not_found(target: Target, text: str, old: str) -> str:
    said = f"old does not occur in {target.shown}"
    lines = text.split("\n")
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    stripped = [line.strip() for line in lines]
    whole = "\n".join(["", *stripped, ""])
    at = whole.find("\n".join(["", *wanted, ""]))
    if at >= 0:
        line = whole.count("\n", 0, at) + 1
        return f"{said}; lines {line}-{line + len(wanted) - 1} differ only in white space"
    first = next((line for line in wanted if line), "")
    candidates = {line[:_LINE_COMPARED]: at for at, line in _like(first, stripped)}
    close = difflib.get_close_matches(first[:_LINE_COMPARED], candidates, n=1)
    if not close:
        return f"{said}, nor does anything like its first line; read_file it again"
    at = candidates[close[0]]
    nearest = one_line(clean_text(lines[at]), _LINE_COMPARED)
    return f"{said}; the nearest to its first line is line {at + 1}: {nearest}"


def _like(wanted: str, lines: list[str]) -> list[tuple[int, str]]:
    """The lines that share most words with the wanted one: the few worth a slow comparison."""
    words = set(_WORD.findall(wanted[:_LINE_COMPARED]))
    some = islice(((at, line) for at, line in enumerate(lines) if line), _LINES_LOOKED_AT)
    return heapq.nlargest(
        _LINES_COMPARED,
        some,
        lambda it: len(words.intersection(_WORD.findall(it[1][:_LINE_COMPARED]))),
    )


def _similar_names(target: Target) -> str:
    try:
        names = [entry.name for entry in islice(target.path.parent.iterdir(), _NAMES_COMPARED)]
    except OSError:
        return ""
    close = difflib.get_close_matches(target.path.name, names, n=3)
    return f"; similar names there: {', '.join(map(clean_text, close))}" if close else ""
