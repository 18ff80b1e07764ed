"""What every tool is, and what it is given.

A tool reads its checked input, says what it is about to do (`propose`, which may read but changes
nothing) and, once the loop has an approval where one is needed, does it (`run`). It never asks,
draws or logs: the loop does. Its failures for the model are `ToolError`s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from mewcode_nb.events import Proposal
from mewcode_nb.messages import Json

__all__ = [
    "CodeRun",
    "FileRead",
    "FileReads",
    "Namespace",
    "Tool",
    "ToolContext",
    "ToolInput",
    "ToolLimits",
    "ToolResult",
]


class ToolInput(BaseModel):
    """Base of every tool's input: unknown keys are refused, so that a typing slip is told."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class FileRead:
    """What the model has seen of a file: the evidence that an edit rests on a fresh read."""

    path: str
    """Real path, absolute."""
    sha256: str
    mtime: float
    """Seconds."""
    size: int
    """Bytes."""


class FileReads:
    """The files the model has seen in this session, by real path; the last read counts."""

    def __init__(self) -> None:
        self._by_path: dict[str, FileRead] = {}

    def add(self, read: FileRead) -> None:
        """Remember what was seen."""
        self._by_path[read.path] = read

    def get(self, path: Path) -> FileRead | None:
        """What was last seen of the file, if anything."""
        return self._by_path.get(str(path))


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Bounds on what tools may take, in bytes and seconds. Sources: design 7 and 11."""

    result_bytes: int = 50_000
    """A result longer than this is cut for the model, head and tail kept."""
    capture_bytes: int = 1024 * 1024
    """The most that is kept of one command's output while it runs; far more than a result shows."""
    read_lines: int = 2_000
    """Lines of a file given at once when no range is asked for."""
    shell_seconds: float = 120.0
    python_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class CodeRun:
    """What came of running code in the user's namespace."""

    ok: bool
    stdout: str
    stderr: str
    result: str
    """Plain text of the last expression, empty when there is none."""
    traceback: str
    """Whole and without colour codes, empty when the code ended well."""
    display: tuple[dict[str, object], ...] = ()
    """Mime bundles in the order they were shown."""
    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    """Names that were there before, that the code read, and that it neither changed nor removed."""
    interrupted: bool = False
    timed_out: bool = False
    dropped: int = 0
    """Characters of output beyond the cap that were not kept."""


class Namespace(Protocol):
    """The user's namespace, as tools see it."""

    async def run(self, code: str, *, seconds: float, capture: int) -> CodeRun:
        """Run code there, keeping at most `capture` characters of output, for at most `seconds`."""
        ...


@dataclass(slots=True)
class ToolContext:
    """What the loop lends to a tool for one call."""

    root: Path
    """The project root, real path: fixed when the session began."""
    cwd: Path
    """Where relative paths start, real path; inside or outside the root."""
    reads: FileReads
    namespace: Namespace
    limits: ToolLimits = field(default_factory=ToolLimits)
    protected: Callable[[Path], str] = lambda path: ""
    """Why a real path is always asked about (`instructions file`, `.git`), or an empty string."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment for child processes, secrets already out."""
    judged: dict[str, str] = field(default_factory=dict)
    """Real path of each path as given, noted by `propose`: `run` acts on that one and no other."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gives back."""

    content: Json
    """For the model: text, or a list of API content blocks (text, image)."""
    summary: str
    """One line for the user, such as `42 lines` or `exit 1 after 0.3 s`."""
    is_error: bool = False
    reads: tuple[FileRead, ...] = ()
    """Files whose state the model now knows (read, or just written)."""
    display: tuple[dict[str, object], ...] = ()
    """Mime bundles approved code made, for the user."""
    namespace: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """`created`, `changed`, `removed`, `used`: names in the user's namespace."""
    interrupted: bool = False
    """The user stopped it: the result is kept, and the turn ends here."""


In_contra = TypeVar("In_contra", bound=ToolInput, contravariant=True)


class Tool(Protocol[In_contra]):
    """One tool of the agent."""

    name: str
    description: str
    """For the model: what it does, its limits, when to use it. Stable bytes."""
    input_model: type[ToolInput]

    def propose(self, tool_use_id: str, args: In_contra, context: ToolContext) -> Proposal:
        """What the call will do, for approval; raises `ToolError` when it cannot be done at all."""
        ...

    async def run(self, args: In_contra, context: ToolContext) -> ToolResult:
        """Do it; raises `ToolError` with text for the model."""
        ...
