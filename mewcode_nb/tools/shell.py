"""The `shell` tool: one command, in a process group of its own, with a time limit."""

from __future__ import annotations

import shutil
from pathlib import Path

from pydantic import Field

from mewcode_nb.events import Effect, Proposal
from mewcode_nb.tools.base import ToolContext, ToolInput, ToolResult
from mewcode_nb.tools.cut import cut, one_line, without_escapes
from mewcode_nb.tools.hints import shell_hints
from mewcode_nb.tools.process import Finished, run_group

__all__ = ["Shell", "ShellInput"]

_LONGEST_SECONDS = 3_600.0
_SURVIVORS_NAMED = 5


class ShellInput(ToolInput):
    """What to run."""

    command: str = Field(min_length=1, description="Command for bash, whole.")
    timeout: float | None = Field(
        default=None,
        gt=0,
        le=_LONGEST_SECONDS,
        description="Seconds after which it is ended with all its children. Default: 120.",
    )


class Shell:
    """Runs a shell command."""

    name = "shell"
    description = (
        "Run a bash command in the working folder and give its output (stdout and stderr in the "
        "order they came) and exit code. Each call is a new shell: folders and variables do not "
        "carry over. Nothing can be typed into it; pass -y and the like. Long output keeps its "
        "beginning and end. Use read_file, edit_file, search and list_files for files, run_python "
        "for anything with the user's variables. The user sees the command and may refuse."
    )
    input_model: type[ToolInput] = ShellInput

    def propose(self, tool_use_id: str, args: ShellInput, context: ToolContext) -> Proposal:
        """The command, whole, and what it seems to do."""
        outside = not context.cwd.is_relative_to(context.root)
        where = (f"runs outside the project, in {context.cwd}",) if outside else ()
        return Proposal(
            tool_use_id,
            self.name,
            Effect.EXECUTE,
            f"run {one_line(args.command)}",
            targets=(str(context.cwd),),
            code=args.command,
            language="bash",
            risks=where + shell_hints(args.command, context),
            outside_root=outside,
        )

    async def run(self, args: ShellInput, context: ToolContext) -> ToolResult:
        """Run it to its end, its time limit, or an interrupt."""
        finished = await run_group(
            (*_shell(context), "-c", args.command),
            cwd=context.cwd,
            environment=context.environment,
            seconds=args.timeout or context.limits.shell_seconds,
            keep=context.limits.capture_bytes,
        )
        return _result(finished, context)


def _shell(context: ToolContext) -> tuple[str, ...]:
    """Bash without start-up files, or the system's plain shell where there is no bash."""
    if Path("/bin/bash").exists():
        return ("/bin/bash", "--noprofile", "--norc")
    bash = shutil.which("bash", path=context.environment.get("PATH"))
    if bash and Path(bash).is_absolute() and not Path(bash).is_relative_to(context.root):
        return (bash, "--noprofile", "--norc")
    return ("/bin/sh",)


def _result(finished: Finished, context: ToolContext) -> ToolResult:
    output = without_escapes(finished.output)
    full = f"{output.rstrip()}\n{_ending(finished)}".lstrip("\n")
    content = cut(full, context.limits.result_bytes, tail=True, unseen=finished.dropped)
    code = "timed out" if finished.timed_out else f"exit {finished.code}"
    return ToolResult(
        content,
        f"{code} after {finished.seconds:.1f} s, {finished.total:,} bytes of output",
        is_error=finished.timed_out or finished.code != 0,
    )


def _ending(finished: Finished) -> str:
    if finished.timed_out:
        lines = [f"[timed out after {finished.seconds:.1f} s; the command was ended]"]
    elif finished.code is not None and finished.code < 0:
        lines = [f"[ended by signal {-finished.code}]"]
    else:
        lines = [f"[exit code {finished.code}]"]
    if not finished.total:
        lines.insert(0, "[no output]")
    if finished.survivors:
        names = ", ".join(finished.survivors[:_SURVIVORS_NAMED])
        lines.append(
            f"[still running in the background: {names}; their output is not kept, "
            "end them with kill when they are not wanted]"
        )
    return "\n".join(lines)
