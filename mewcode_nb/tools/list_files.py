"""The `list_files` tool: names that match a pattern, as git would see the folder."""

from __future__ import annotations

import asyncio

from pydantic import Field

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Effect, Proposal
from mewcode_nb.tools.base import ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import counted, one_line
from mewcode_nb.tools.ignored import Walk, matcher
from mewcode_nb.tools.roots import shown, target_of

__all__ = ["ListFiles", "ListFilesInput"]

_MOST = 1_000


class ListFilesInput(ToolInput):
    """What to list."""

    pattern: str = Field(
        default="*",
        min_length=1,
        description=(
            "Glob such as `*.py`, `src/**/*.ts`, `data/*.{csv,parquet}`. Without a slash it "
            "matches names at any depth; with one it starts at `path`. Default: every file."
        ),
    )
    path: str = Field(default=".", description="Folder to look in. Default: the working folder.")


class ListFiles:
    """Lists files."""

    name = "list_files"
    description = (
        "List files below a folder whose path matches a glob pattern, sorted by path. Files that "
        ".gitignore excludes, .git and .mewcode are left out; linked folders are not entered. At "
        "most 1,000 paths are given, and it is said when there are more."
    )
    input_model: type[ToolInput] = ListFilesInput

    def propose(self, tool_use_id: str, args: ListFilesInput, context: ToolContext) -> Proposal:
        """A look into one folder."""
        target = target_of(args.path, context)
        return Proposal(
            tool_use_id,
            self.name,
            Effect.READ,
            f"list {one_line(args.pattern)} in {one_line(target.shown)}",
            targets=(str(target.path),),
            risks=target.risks,
            outside_root=target.outside,
            protected=bool(target.protected),
        )

    async def run(self, args: ListFilesInput, context: ToolContext) -> ToolResult:
        """The paths, one a line."""
        return await asyncio.to_thread(_list, args, context)


def _list(args: ListFilesInput, context: ToolContext) -> ToolResult:
    target = target_of(args.path, context, judged=True)
    if not target.path.is_dir():
        raise ToolError(f"{target.shown}: no such folder")
    matches = matcher(args.pattern)
    walk = Walk(target.path, context.root)
    room, kept, count = context.limits.result_bytes - 500, list[str](), 0
    for relative in walk.files():
        if not matches(relative):
            continue
        count += 1
        line = shown(target.path / relative, context)
        room -= len(line.encode()) + 1
        if len(kept) < _MOST and room > 0:
            kept.append(line)
    notes = [counted(count, "file") if count else "no file matches"]
    if len(kept) < count:
        notes.append(f"the first {len(kept):,} are listed; narrow the pattern to see others")
    if walk.stopped:
        notes.append(f"{walk.stopped}, so there may be more")
    if walk.unread:
        notes.append(f"{counted(walk.unread, 'folder')} could not be read")
    return ToolResult("\n".join([*kept, f"[{'; '.join(notes)}]"]), notes[0])
