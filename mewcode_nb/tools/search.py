"""The `search` tool: lines that match a regular expression, with ripgrep where there is one.

Without `rg` the same search runs in a small Python program (`scan`) under the same time limit. Both
give the same events, and both pass the same filter, so the answer does not depend on which one ran.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from mewcode_nb.errors import ToolError
from mewcode_nb.events import Effect, Proposal
from mewcode_nb.messages import clean_text
from mewcode_nb.tools import scan
from mewcode_nb.tools.base import ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import counted, one_line
from mewcode_nb.tools.ignored import ALWAYS_SKIPPED, Ignores, Walk, matcher
from mewcode_nb.tools.roots import Target, shown, target_of

__all__ = ["Search", "SearchInput"]

_LONGEST_LINE = 400
_LONGEST_EVENT = 64 * 1024 * 1024
_SECONDS = 20.0


class SearchInput(ToolInput):
    """What to search for."""

    pattern: str = Field(
        min_length=1,
        description=(
            "Regular expression, matched line by line. Use the common ground of dialects: no "
            "look-around, no back references."
        ),
    )
    path: str = Field(
        default=".", description="File or folder to search. Default: the working folder."
    )
    glob: str | None = Field(
        default=None, description="Only files whose path matches, such as `*.py` or `src/**`."
    )
    ignore_case: bool = Field(default=False, description="Treat upper and lower case as equal.")
    context: int = Field(default=0, ge=0, le=20, description="Lines to show around each match.")
    limit: int = Field(default=100, ge=1, le=1_000, description="Most matching lines to give.")


@dataclass(frozen=True, slots=True)
class _Job:
    """One search: the program to run, what to feed it, and which of its paths count."""

    argv: tuple[str, ...]
    feed: bytes | None
    folder: Path
    keep: Callable[[str], bool]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Found:
    """The answer so far."""

    show: Callable[[str], str]
    room: int
    gaps: bool
    """Whether jumps in the numbers are marked (there is context around)."""
    lines: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    last: tuple[str, int] = ("", 0)

    def add(self, path: str, number: int, text: str, *, match: bool) -> None:
        """Take one line."""
        if path != self.last[0]:
            self.files += 1
            self._put(self.show(path))
        elif self.gaps and number > self.last[1] + 1:
            self._put("  --")
        self.matches += match
        self._put(f"  {number}{':' if match else '-'} {_clipped(text)}")
        self.last = (path, number)

    def _put(self, line: str) -> None:
        self.room -= len(line.encode()) + 1
        self.lines.append(line)


class Search:
    """Searches file contents."""

    name = "search"
    description = (
        "Search the contents of files for a regular expression. Gives each file's path, then its "
        "matching lines as `number: text` (context lines as `number- text`), sorted by path. Files "
        "that .gitignore excludes, .git, .mewcode, binary files and files over 8 MB are left out; "
        "links are not followed. Takes at most 20 seconds."
    )
    input_model: type[ToolInput] = SearchInput

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds

    def propose(self, tool_use_id: str, args: SearchInput, context: ToolContext) -> Proposal:
        """A look into the files of one folder."""
        target = target_of(args.path, context)
        return Proposal(
            tool_use_id,
            self.name,
            Effect.READ,
            f"search {one_line(args.pattern)} in {one_line(target.shown)}",
            targets=(str(target.path),),
            risks=target.risks,
            outside_root=target.outside,
            protected=bool(target.protected),
        )

    async def run(self, args: SearchInput, context: ToolContext) -> ToolResult:
        """The matching lines."""
        target = target_of(args.path, context, judged=True)
        if not target.path.exists():
            raise ToolError(f"{target.shown}: no such file or folder")
        program = _ripgrep(context)
        job = (
            _ripgrep_job(program, target, args, context)
            if program
            else await asyncio.to_thread(_python_job, target, args, context)
        )
        found = _Found(
            lambda path: shown(job.folder / path, context),
            context.limits.result_bytes - 500,
            gaps=args.context > 0,
        )
        notes = [*job.notes, *await self._collect(job, found, args, context)]
        return _answer(found, notes)

    async def _collect(
        self, job: _Job, found: _Found, args: SearchInput, context: ToolContext
    ) -> list[str]:
        try:
            async with (
                asyncio.timeout(self._seconds),
                aclosing(_events(job, dict(context.environment))) as events,
            ):
                async for kind, path, number, text in events:
                    if not job.keep(path):
                        continue
                    if kind == "match" and found.matches == args.limit:
                        return [f"only the first {args.limit} matches are given"]
                    if found.room <= 0:
                        return ["the rest is left out, it is too long; narrow the search"]
                    found.add(path, number, text, match=kind == "match")
        except TimeoutError:
            if not found.matches:
                raise ToolError(
                    f"the search took over {self._seconds:g} s and was stopped; "
                    "use a simpler pattern (no nested repetition) or a narrower path"
                ) from None
            return [f"stopped after {self._seconds:g} s, so there may be more"]
        return []


def _answer(found: _Found, notes: list[str]) -> ToolResult:
    if found.matches:
        lines = counted(found.matches, "matching line")
        total = f"{lines} in {counted(found.files, 'file')}"
    else:
        total = "no match"
    return ToolResult("\n".join([*found.lines, f"[{'; '.join([total, *notes])}]"]), total)


async def _events(
    job: _Job, environment: dict[str, str]
) -> AsyncGenerator[tuple[str, str, int, str], None]:
    """Kind (`match` or `context`), path, line number and text, until the program ends."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *job.argv,
        stdin=nothing if job.feed is None else pipe,
        stdout=pipe,
        stderr=pipe,
        limit=_LONGEST_EVENT,
        cwd=job.folder,
        env=environment,
    )
    try:
        if process.stdin is not None:
            process.stdin.write(job.feed or b"")
            with suppress(BrokenPipeError, ConnectionResetError):
                await process.stdin.drain()
            process.stdin.close()
        if process.stdout is None or process.stderr is None:
            raise ToolError("the search program has no output")
        while line := await process.stdout.readline():
            event = _parsed(line)
            if event is not None:
                yield event
        complaint = (await process.stderr.read()).decode("utf-8", "replace").strip()
        if await process.wait() not in {0, 1}:
            raise ToolError(f"the search failed: {complaint or 'no reason was given'}")
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _parsed(line: bytes) -> tuple[str, str, int, str] | None:
    event = json.loads(line)
    if event["type"] not in {"match", "context"}:
        return None
    data = event["data"]
    path = _text(data["path"]).removeprefix("./")
    text = _text(data["lines"]).removesuffix("\n").removesuffix("\r")
    return event["type"], path, int(data["line_number"]), text


def _text(value: dict[str, str]) -> str:
    if "text" in value:
        return value["text"]
    return base64.b64decode(value["bytes"]).decode("utf-8", "surrogateescape")


def _clipped(text: str) -> str:
    text = clean_text(text)
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]} [line cut]"


def _ripgrep(context: ToolContext) -> str:
    """The program's absolute path, never one inside the project; empty where there is none."""
    found = shutil.which("rg", path=context.environment.get("PATH", os.defpath))
    if not found or not Path(found).is_absolute() or Path(found).is_relative_to(context.root):
        return ""
    return found


def _ripgrep_job(program: str, target: Target, args: SearchInput, context: ToolContext) -> _Job:
    single = target.path.is_file()
    folder = target.path.parent if single else target.path
    argv = [program, "--no-config", "--json", "--sort", "path", "--no-messages", "--hidden"]
    argv += ["--no-require-git", "--no-ignore-dot", "--no-ignore-exclude", "--no-ignore-global"]
    argv += ["--max-filesize", "8M", "--context", str(args.context)]
    argv += ["--ignore-case"] if args.ignore_case else []
    ignores = Ignores.down_to(folder, context.root)
    plain = single or ignores.ignore_tree(folder, context.root)
    argv += ["--no-ignore"] if plain else []
    if not single:
        argv += ["--glob", args.glob] if args.glob else []
        argv += [part for name in sorted(ALWAYS_SKIPPED) for part in ("--glob", f"!**/{name}/**")]
    argv += ["--regexp", args.pattern, "--", f"./{target.path.name}" if single else "./"]
    keep = _always if single else _filter(folder, args.glob, None if plain else ignores)
    return _Job(tuple(argv), None, folder, keep)


def _python_job(target: Target, args: SearchInput, context: ToolContext) -> _Job:
    single = target.path.is_file()
    folder = target.path.parent if single else target.path
    walk = Walk(folder, context.root, links=False)
    matches = matcher(args.glob) if args.glob else _always
    files = [target.path.name] if single else [name for name in walk.files() if matches(name)]
    request = {
        "base": str(folder),
        "files": files,
        "pattern": args.pattern,
        "ignore_case": args.ignore_case,
        "context": args.context,
    }
    argv = (sys.executable, "-I", "-S", str(Path(scan.__file__)))
    notes = (f"{walk.stopped}, so there may be more",) if walk.stopped else ()
    return _Job(argv, json.dumps(request).encode("ascii"), folder, _always, notes)


def _filter(folder: Path, glob: str | None, ignores: Ignores | None) -> Callable[[str], bool]:
    """What ripgrep's own glob would let through against the ignore files, taken out again."""
    if glob is None:
        return _always
    matches = matcher(glob)
    known: dict[str, bool] = {}

    def keep(path: str) -> bool:
        if path not in known:
            known[path] = matches(path) and not _ignored_below(path, folder, ignores)
        return known[path]

    return keep


def _ignored_below(path: str, folder: Path, ignores: Ignores | None) -> bool:
    if ignores is None:
        return False
    here, rules = folder, ignores
    for part in Path(path).parts[:-1]:
        here = here / part
        if rules.ignore(str(here), folder=True):
            return True
        rules = rules.entering(str(here))
    return rules.ignore(str(folder / path))


def _always(path: str) -> bool:
    return True
