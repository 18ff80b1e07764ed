"""How a turn comes to be awaited by the cell, and what happens where it cannot be.

A widget click reaches Python only while the running cell awaits (ipykernel 7.4), so the magic's
call is rewritten in two steps. A *cleanup* transformer claims a cell that starts with our magic
before IPython strips prompts such as `>>> ` from it, so that the text stays verbatim; a *post*
transformer turns each statement that calls the magic into an awaited call of
`MewcodeMagics.awaited`. Running the transformers twice changes nothing, and history keeps the text
that the user typed.

Where awaiting is impossible (autoawait off, an assignment, `run_cell` inside a running cell, as
`%%capture` and `%run` do it) the plain magic runs the same coroutine with `run_on_own_loop`: a new
event loop on this very thread, the outer loop set aside meanwhile. The alternative, a helper
thread, would need the user's code, displays and `input()` handed back to the main thread one by
one; here they are on it already. Widget clicks cannot arrive on that path, so it asks by `input()`.
"""

from __future__ import annotations

import ast
import asyncio
import asyncio.events
import re
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from IPython.core.interactiveshell import InteractiveShell

__all__ = ["MAGIC", "CallAwaiter", "can_await", "claim_cell", "run_on_own_loop"]

MAGIC = "mewcode"

_T = TypeVar("_T")
_CELL = re.compile(rf"%%{MAGIC}(?=\s|$)")
_WORDS_LINE = re.compile(rf"%({MAGIC}(?=\s+ask\s)|resume)\s+(?=[^\s?])")
_AWAITED = "await get_ipython().magics_manager.registry['MewcodeMagics'].awaited"


def claim_cell(lines: list[str]) -> list[str]:
    """The cell as a call of the magic with its body untouched, when it starts with the magic.

    A one-line prompt (`%mewcode ask …`) or title (`%resume …`) that ends in `?` is claimed too:
    IPython would take it for a request for help on its last word.
    """
    start = next((number for number, line in enumerate(lines) if line.strip()), None)
    if start is None:
        return lines
    first = lines[start]
    if _CELL.match(first):
        options = first[2 + len(MAGIC) :].strip()
        body = "".join(lines[start + 1 :])
        return [_call(MAGIC, options, body if body.strip() else "\n")]
    if (line := _WORDS_LINE.match(first)) and first.rstrip().endswith("?"):
        return [_call(line[1], first[line.end() :].strip()), *lines[start + 1 :]]
    return lines


claim_cell.has_side_effects = True  # type: ignore[attr-defined]
# IPython's word for "do not judge by this whether a terminal cell is complete": the claimed form is
# complete after its first line, the user's cell only after an empty one.


class CallAwaiter:
    """The post transformer of one shell. Equal for equal shells, so that a reload replaces it."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def __call__(self, lines: list[str]) -> list[str]:
        """The lines with each statement that calls the magic awaited, if the shell can await."""
        if not any(_is_candidate(line) for line in lines) or not can_await(self._shell):
            return lines
        return _await_statements(lines)


def can_await(shell: InteractiveShell) -> bool:
    """Whether a cell with `await` that is transformed now would run on the shell's asyncio loop."""
    runner = type(shell).loop_runner_map["asyncio"][0]
    if not shell.autoawait or shell.trio_runner or shell.loop_runner is not runner:
        return False
    if asyncio.events._get_running_loop() is None:
        return True
    return getattr(shell, "kernel", None) is not None and not _run_cell_on_stack()


def run_on_own_loop(start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end on a new loop, even while this thread's loop is running."""
    with _outer_loop_aside(), asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(start())


class _LeavingBehind(ThreadPoolExecutor):
    """Does not wait for threads that a stopped turn left busy, such as one importing the SDK."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait=False, cancel_futures=True)


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_LeavingBehind())
    return loop


@contextmanager
def _outer_loop_aside() -> Iterator[None]:
    """Let a second loop run here, with interrupts arriving as they do in a blocking cell."""
    outer = asyncio.events._get_running_loop()
    on_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if on_main else None
    asyncio.events._set_running_loop(None)
    try:
        if on_main:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
    finally:
        if on_main and handler is not None:
            signal.signal(signal.SIGINT, handler)
        asyncio.events._set_running_loop(outer)


def _call(magic: str, options: str, body: str | None = None) -> str:
    kind = "line" if body is None else "cell"
    arguments = ", ".join(repr(part) for part in (magic, options, body) if part is not None)
    return f"get_ipython().run_{kind}_magic({arguments})\n"


def _is_candidate(line: str) -> bool:
    return "_magic(" in line and repr(MAGIC) in line


def _run_cell_on_stack() -> bool:
    """Whether the cell being transformed was started by a synchronous `run_cell`.

    That call cannot use the loop that is running already; a kernel's own request does not make it.
    """
    inside = InteractiveShell._run_cell.__code__
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code is inside:
            return True
    return False


def _await_statements(lines: list[str]) -> list[str]:
    source = "".join(lines)
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return lines  # IPython reports it, with the user's own text
    encoded = source.encode().splitlines(keepends=True)  # split where `ast` counts lines
    for call in sorted(_statement_calls(tree), key=lambda node: -node.lineno):
        row = encoded[call.lineno - 1]
        opening = row.index(b"(", row.index(b"_magic", call.col_offset))
        name_end = row.index(b",", opening)
        head = row[: call.col_offset] + _AWAITED.encode() + b"("
        encoded[call.lineno - 1] = head + row[name_end + 1 :].lstrip()
    return [row.decode() for row in encoded]


def _statement_calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Statements that are nothing but a call of our magic, outside plain functions and classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_ours(node.value):
            yield node.value
        else:
            yield from _statement_calls(node)


def _is_ours(node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute):
        return False
    owner = node.func.value
    named = isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name)
    if not named or ast.unparse(owner) != "get_ipython()" or node.lineno != node.end_lineno:
        return False
    if node.func.attr not in {"run_cell_magic", "run_line_magic"} or len(node.args) < 2:
        return False
    first = node.args[0]
    return isinstance(first, ast.Constant) and first.value == MAGIC
