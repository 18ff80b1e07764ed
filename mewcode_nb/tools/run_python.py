"""The `run_python` tool: code in the user's own namespace, through the `Namespace` protocol."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from mewcode_nb.events import Effect, Proposal
from mewcode_nb.messages import Json
from mewcode_nb.tools.base import CodeRun, ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import counted, cut, one_line, without_escapes
from mewcode_nb.tools.hints import python_hints
from mewcode_nb.tools.images import IMAGE_TYPES, image_block

__all__ = ["RunPython", "RunPythonInput"]

_LONGEST_SECONDS = 24 * 3_600.0
_MOST_IMAGES = 3
_NAMES_SHOWN = 20


class RunPythonInput(ToolInput):
    """What to run."""

    code: str = Field(
        min_length=1,
        description="Python code, whole. `await` and IPython magics work as in a cell.",
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=_LONGEST_SECONDS,
        description="Seconds after which it is interrupted. Default: 300.",
    )


class RunPython:
    """Runs code in the user's namespace."""

    name = "run_python"
    description = (
        "Run Python code in the user's notebook kernel, where their variables live; what it "
        "assigns stays. Gives printed output, the value of the last expression, figures as "
        "images (at most 3), and the traceback when it fails. input() does not work. Print "
        "summaries (shape, head, describe), not whole data. The user sees the code and may refuse."
    )
    input_model: type[ToolInput] = RunPythonInput

    def propose(self, tool_use_id: str, args: RunPythonInput, context: ToolContext) -> Proposal:
        """The code, whole, and what it seems to do."""
        return Proposal(
            tool_use_id,
            self.name,
            Effect.EXECUTE,
            _title(args.code),
            code=args.code,
            language="python",
            risks=python_hints(args.code),
        )

    async def run(self, args: RunPythonInput, context: ToolContext) -> ToolResult:
        """Run it in the user's namespace and tell what came of it."""
        seconds = args.timeout or context.limits.python_seconds
        done = await context.namespace.run(
            args.code, seconds=seconds, capture=context.limits.capture_bytes
        )
        images, notes = _images(done)
        full = "\n".join([*_parts(done, seconds), *notes]) or "[no output]"
        text = cut(full, context.limits.result_bytes, tail=True, unseen=done.dropped)
        content: Json = [{"type": "text", "text": text}, *images] if images else text
        return ToolResult(
            content,
            _summary(done),
            is_error=not done.ok,
            interrupted=done.interrupted,
            display=done.display,
            namespace={
                "created": done.created,
                "changed": done.changed,
                "removed": done.removed,
                "used": done.used,
            },
        )


def _title(code: str) -> str:
    lines = [line for line in code.splitlines() if line.strip()]
    more = f" (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return f"run {one_line(lines[0] if lines else code)}{more}"


def _parts(done: CodeRun, seconds: float) -> Iterator[str]:
    """The pieces of the answer; the traceback and what ended the run stand last."""
    for label, text in (("", done.stdout), ("[stderr]\n", done.stderr)):
        if text.strip():
            yield label + without_escapes(text).rstrip()
    if done.dropped:
        yield f"[{done.dropped:,} characters of output were not kept]"
    for bundle in done.display:
        shown = bundle.get("text/plain")
        if isinstance(shown, str) and shown.strip():
            yield f"[display]\n{without_escapes(shown).rstrip()}"
    if done.result:
        yield f"[result]\n{without_escapes(done.result).rstrip()}"
    if names := _names(done):
        yield f"[variables {names}]"
    yield from _failure(done, seconds)


def _failure(done: CodeRun, seconds: float) -> Iterator[str]:
    if done.traceback:
        yield without_escapes(done.traceback).rstrip()
    if done.timed_out:
        yield f"[timed out after {seconds:g} s; the code was interrupted]"
    elif done.interrupted:
        yield "[interrupted by the user]"
    elif not done.ok and not done.traceback:
        yield "[failed without a traceback]"


def _names(done: CodeRun) -> str:
    groups = (("created", done.created), ("changed", done.changed), ("removed", done.removed))
    return "; ".join(f"{label}: {_listed(names)}" for label, names in groups if names)


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _images(done: CodeRun) -> tuple[list[dict[str, Json]], list[str]]:
    """The first images that fit, as blocks, and what became of the others, in words."""
    blocks: list[dict[str, Json]] = []
    extra = large = 0
    for bundle in done.display:
        media = next(
            (kind for kind in IMAGE_TYPES if isinstance(bundle.get(kind), str | bytes)), ""
        )
        data = bundle.get(media)
        if not isinstance(data, str | bytes):
            continue
        if len(blocks) == _MOST_IMAGES:
            extra += 1
            continue
        block = image_block(media, data)
        if block is None:
            large += 1
        else:
            blocks.append(block)
    notes = []
    if extra:
        notes.append(f"[{counted(extra, 'more image')}, shown to the user only]")
    if large:
        notes.append(f"[{counted(large, 'image')} too big to send, shown to the user only]")
    return blocks, notes


def _summary(done: CodeRun) -> str:
    if done.ok:
        return f"ok, {_names(done)}" if _names(done) else "ok"
    if done.timed_out:
        return "timed out"
    if done.interrupted:
        return "interrupted"
    lines = done.traceback.strip().splitlines()
    return one_line(without_escapes(lines[-1])) if lines else "failed"
