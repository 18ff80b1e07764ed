"""The `write_file` tool: a whole file, new or in the place of one the model has read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pydantic import Field

from mewcode_nb.events import Effect, Proposal
from mewcode_nb.prompt import as_data, as_written
from mewcode_nb.redact import MASK
from mewcode_nb.tools.base import ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import one_line
from mewcode_nb.tools.fresh import Snapshot, demand_fresh, load, store, text_of
from mewcode_nb.tools.roots import Target, check_new_names, target_of
from mewcode_nb.tools.textfile import TextFile, check_new_text, encode, with_line_ends
from mewcode_nb.tools.unified import changed_lines, unified_diff

__all__ = ["WriteFile", "WriteFileInput", "change_proposal"]


class WriteFileInput(ToolInput):
    """What to write."""

    path: str = Field(description="File to write; relative to the working folder, or absolute.")
    content: str = Field(description="The whole new content of the file.")


@dataclass(frozen=True, slots=True)
class _Plan:
    before: Snapshot | None
    old: str | None
    new: str
    data: bytes


class WriteFile:
    """Writes one file whole."""

    name = "write_file"
    description = (
        "Create a text file, or replace the whole content of one. Missing folders are made. An "
        "existing file must have been read with read_file in this session and be unchanged since; "
        "it keeps its encoding, byte order mark, line ends and permissions. New files are UTF-8. "
        "To change part of a file use edit_file, which is shorter and safer. The user sees the "
        "difference and may refuse."
    )
    input_model: type[ToolInput] = WriteFileInput

    def propose(self, tool_use_id: str, args: WriteFileInput, context: ToolContext) -> Proposal:
        """The whole change as a diff; raises `ToolError` when it cannot be made."""
        target = target_of(args.path, context)
        plan = _plan(target, args.content, context)
        verb = "create" if plan.before is None else "overwrite"
        return replace(
            change_proposal(target, plan.old, plan.new),
            tool_use_id=tool_use_id,
            tool=self.name,
            title=f"{verb} {one_line(target.shown)}",
        )

    async def run(self, args: WriteFileInput, context: ToolContext) -> ToolResult:
        """Write it, as long as the disk is still as it was when the change was proposed."""
        target = target_of(args.path, context, judged=True)
        plan = _plan(target, args.content, context)
        read = store(target, plan.data, plan.before)
        added, removed = changed_lines(unified_diff(plan.old, plan.new, target.shown))
        done = "created" if plan.before is None else "overwritten"
        return ToolResult(
            f"{target.shown} {done}: {read.size:,} bytes",
            f"{done}, +{added} -{removed} lines",
            reads=(read,),
        )


def change_proposal(target: Target, old: str | None, new: str) -> Proposal:
    """What a change of a text file is, whichever tool makes it: diff, place and risks."""
    return Proposal(
        tool_use_id="",
        tool="",
        effect=Effect.EDIT,
        title="",
        targets=(str(target.path),),
        diff=unified_diff(old, new, target.shown),
        risks=target.risks + _text_risks(target, old, new),
        outside_root=target.outside,
        protected=bool(target.protected),
    )


def _text_risks(target: Target, old: str | None, new: str) -> tuple[str, ...]:
    """Reasons to look twice at a change of text.

    A front end may hold a notebook open and write it back; and the model, to which secrets are
    shown masked and our own element names escaped, may write them as it saw them.
    """
    risks = []
    if target.path.suffix == ".ipynb":
        risks.append("a notebook file: an open front end may undo this or lose its own changes")
    if new.count(MASK) > (old or "").count(MASK):
        risks.append(f"puts {MASK} into the file: a secret there may be lost")
    if as_data(old or "") != (old or "") and as_written(new) != new:
        risks.append("puts &lt;mewcode- into the file, which may stand for <mewcode- there")
    return tuple(risks)


def _plan(target: Target, content: str, context: ToolContext) -> _Plan:
    check_new_names(target.path)
    before = load(target)
    if before is None:
        check_new_text(TextFile(""), content)
        return _Plan(None, None, content, content.encode("utf-8"))
    old = text_of(target, before)
    demand_fresh(target, before, context.reads)
    check_new_text(old, content)
    new = with_line_ends(content, old.text)
    return _Plan(before, old.text, new, encode(old, new))
