"""Runs the agent's code in the user's namespace, as a guest that leaves the kernel as it was.

Names, imports and side effects stay; `_`, `Out`, `In`, the prompt count and history do not notice.
Output, displays and errors are taken aside (`capture`), time limits and interrupts end the code and
not the turn (`signals`), and what happened to the user's names is reported (`variables`).
"""

from __future__ import annotations

import asyncio
import sys
import tokenize
import traceback
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError

from mewcode_nb.notebook.authority import AGENT_CODE, settings_kept
from mewcode_nb.notebook.capture import AgentScope, Capture, capturing, swapped
from mewcode_nb.notebook.described import describe
from mewcode_nb.notebook.signals import CodeGuard, CodeStopped
from mewcode_nb.notebook.variables import NameChanges, changes, names_read, snapshot
from mewcode_nb.tools.base import CodeRun

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

    from mewcode_nb.notebook.cells import Cells
    from mewcode_nb.session.records import Variable

__all__ = ["UserNamespace"]

T = TypeVar("T")

_GRACE_SECONDS = 0.4
"""How long code that awaits may take to end each time it is cancelled."""
_CANCELS = 2
_LAST = ("_", "__", "___")
"""The shell's names for the last values; `for _ in ...` would end their being kept up to date."""

_PUT_BACK = (
    "\n[{names} set back: the agent's settings change only from a cell that the user runs]\n"
)


@dataclass(frozen=True, slots=True)
class _Source:
    code: str
    transformed: str
    broken: Any
    """`sys.exc_info()` of a failed transformation, which the shell then reports."""
    awaits: bool
    quiet: bool
    """It ends in a semicolon: the last value is not wanted."""


class UserNamespace:
    """The namespace of one shell; implements `mewcode_nb.tools.base.Namespace`.

    Synchronous code runs on the main thread: there alone can it be interrupted, and woken from a
    sleep when its time is up. Called on another thread it runs there, without interrupts.
    """

    def __init__(self, shell: InteractiveShell, cells: Cells | None = None) -> None:
        self._shell = shell
        self._cells = cells

    def describe(self, names: Iterable[str]) -> tuple[Variable, ...]:
        """The variables of these names as they are now; those that are not there are left out."""
        return describe(self._shell.user_ns, names, self._cells.defining() if self._cells else {})

    async def run(self, code: str, *, seconds: float, capture: int) -> CodeRun:
        """Run code, keeping at most `capture` characters of output, for at most `seconds`.

        The value of the last expression is kept beside the output, within the same bound.

        Never raises for what the code does: its errors, `sys.exit()` and interrupts are in the
        result. What it changes of our own settings is put back, and said.

        Raises:
            asyncio.CancelledError: the turn was cancelled, before the code began or while it
                awaited something.
        """
        # An interrupt that came since the last wait is only on its way to this task: let it arrive.
        await asyncio.sleep(0)
        source = self._read(code)
        if source.awaits:
            return await self._run_awaiting(source, seconds, capture)
        return self._run_straight(source, seconds, capture)

    def _read(self, code: str) -> _Source:
        broken = None
        try:
            transformed = self._shell.transform_cell(code)  # type: ignore[no-untyped-call]
        except SyntaxError:
            transformed, broken = code, sys.exc_info()
        awaits = self._shell.should_run_async(
            code, transformed_cell=transformed, preprocessing_exc_tuple=broken
        )
        return _Source(code, transformed, broken, awaits, _ends_in_semicolon(transformed))

    def _run_straight(self, source: _Source, seconds: float, limit: int) -> CodeRun:
        with self._session(source, seconds, limit) as session:
            coroutine = self._execute(source)
            try:
                session.guard.call(coroutine.send, None)
            except StopIteration as end:
                session.result = end.value
            except CodeStopped:
                session.result = None
            finally:
                coroutine.close()
        return session.outcome()

    async def _run_awaiting(self, source: _Source, seconds: float, limit: int) -> CodeRun:
        with self._session(source, seconds, limit) as session:
            guarded = _GuardedCoroutine(self._execute(source), session.guard)
            task: asyncio.Task[ExecutionResult | None] = asyncio.create_task(guarded)
            try:
                await asyncio.wait({task}, timeout=seconds)
            finally:
                # Also when this turn is being cancelled: the code must not outlive its capture.
                if not task.done():
                    session.guard.timed_out = True
                    session.abandoned = not await _cancelled(task)
            session.result = _result_of(task)
        return session.outcome()

    async def _execute(self, source: _Source) -> ExecutionResult:
        # Not `run_cell`: it copies everything written into the history, without bound.
        shell = self._shell
        result = None
        try:
            result = await shell.run_cell_async(
                source.code,
                store_history=False,
                transformed_cell=source.transformed,
                preprocessing_exc_tuple=source.broken,
            )
        finally:
            shell.events.trigger("post_execute")
            shell.events.trigger("post_run_cell", result)
            _flush_figures()
        return result

    @contextmanager
    def _session(self, source: _Source, seconds: float, limit: int) -> Iterator[_Session]:
        shell = self._shell
        before = snapshot(shell.user_ns, shell.user_ns_hidden)
        last_values = {name: shell.user_ns[name] for name in _LAST if name in shell.user_ns}
        scope = AgentScope(AGENT_CODE)
        guard = CodeGuard(seconds)
        show: Callable[..., None] = shell.showtraceback

        def show_undisturbed(*args: object, **options: object) -> None:
            with guard.paused():
                show(*args, **options)

        token = AGENT_CODE.set(True)
        try:
            with (
                settings_kept(shell) as put_back,
                swapped(shell, "showtraceback", show_undisturbed),
                capturing(shell, scope, limit, show_value=not source.quiet) as capture,
            ):
                session = _Session(guard, capture, limit)
                yield session
        finally:
            AGENT_CODE.reset(token)
            for name in _LAST:
                shell.user_ns.pop(name, None)
            shell.user_ns.update(last_values)
        if put_back:
            session.capture.stderr.write(_PUT_BACK.format(names=", ".join(put_back)))
        session.names = changes(before, snapshot(shell.user_ns, shell.user_ns_hidden))
        read, gone = (
            names_read(source.transformed),
            {*session.names.changed, *session.names.removed},
        )
        session.used = tuple(name for name in before if name in read and name not in gone)


class _Session:
    """One run while it lasts: its guard, its capture, and in the end its outcome."""

    def __init__(self, guard: CodeGuard, capture: Capture, limit: int) -> None:
        self.guard = guard
        self.capture = capture
        self.names = NameChanges()
        self.used: tuple[str, ...] = ()
        self.result: ExecutionResult | None = None
        self.abandoned = False
        self._limit = limit

    def outcome(self) -> CodeRun:
        """The run as the tools see it."""
        capture, guard = self.capture, self.guard
        error = self._error()
        if not error and capture.errors:  # reported by a formatter or a callback
            capture.stderr.write("\n".join(capture.errors))
        err_room = max(self._limit // 4, self._limit - capture.stdout.size)
        err, err_dropped = capture.stderr.within(err_room)
        out, out_dropped = capture.stdout.within(self._limit - min(capture.stderr.size, err_room))
        return CodeRun(
            ok=not (error or guard.timed_out or guard.interrupted),
            stdout=out,
            stderr=err,
            result=capture.value,
            traceback=error,
            display=capture.displays.bundles(),
            created=self.names.created,
            changed=self.names.changed,
            removed=self.names.removed,
            used=self.used,
            interrupted=guard.interrupted,
            timed_out=guard.timed_out,
            dropped=out_dropped + err_dropped + capture.value_dropped,
        )

    def _error(self) -> str:
        result = self.result
        if self.abandoned:
            return "the code caught its cancellation and goes on in the background"
        if result is None:
            return "\n".join([*self.capture.errors, "stopped before the code could report it"])
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            return ""
        return "\n".join(self.capture.errors) or _plain_error(error)


class _GuardedCoroutine(Coroutine[Any, Any, T]):
    """A coroutine each step of which runs under a guard, with nothing in between."""

    def __init__(self, coroutine: Coroutine[Any, Any, T], guard: CodeGuard) -> None:
        self._coroutine = coroutine
        self._guard = guard

    def send(self, value: Any) -> Any:  # noqa: ANN401 - the loop's own business
        return self._guard.call(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:  # noqa: ANN401 - the loop's own business
        return self._guard.call(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._coroutine.__await__()


async def _cancelled(task: asyncio.Task[T]) -> bool:
    for _attempt in range(_CANCELS):
        task.cancel()
        done, _pending = await asyncio.wait({task}, timeout=_GRACE_SECONDS)
        if done:
            return True
    return False


def _result_of(task: asyncio.Task[T]) -> T | None:
    if not task.done() or task.cancelled() or isinstance(task.exception(), CodeStopped):
        return None
    return task.result()


def _plain_error(error: BaseException) -> str:
    if isinstance(error, UsageError):
        return "".join(traceback.format_exception_only(error)).rstrip()
    return "".join(traceback.format_exception(error)).rstrip()


def _flush_figures() -> None:
    # The shell does it after a cell, but a widget message on a subshell may get there first.
    backend = sys.modules.get("matplotlib_inline.backend_inline")
    if backend is not None:
        backend.flush_figures()


def _ends_in_semicolon(code: str) -> bool:
    if ";" not in code:
        return False
    try:
        return bool(DisplayHook.semicolon_at_end_of_expression(code))  # type: ignore[no-untyped-call]
    except (SyntaxError, tokenize.TokenError):
        return False
