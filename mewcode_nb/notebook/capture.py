"""Everything a run of the agent's code says, kept in bounded memory while it is being said.

`sys.stdout`, `sys.stderr` and the file descriptors under them, displays, the value of the last
expression and error reports are taken aside; `input()`, `getpass()` and `exit()` are refused. Only
what the agent's own code says is taken: text from threads and tasks that were there before passes
on to where it was going. IPython's `capture_output` keeps whole what is written, and lets errors
through.
"""

from __future__ import annotations

import base64
import builtins
import codecs
import getpass
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

from IPython.core.displaypub import DisplayPublisher

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["AgentScope", "Capture", "HeadTail", "capturing", "swapped"]

_DISPLAYS = 200
_DISPLAY_CHARS = 20_000_000
"""The most that is kept of one run's displays; what comes later is counted and named."""
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


class HeadTail:
    """Text that grows without bound while only its first and last parts are kept.

    At most `limit` characters are kept, half of them from the start; memory stays within about
    twice that whatever is written. Safe to write from several threads.
    """

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._head: list[str] = []
        self._head_size = 0
        self._tail: list[str] = []
        self._tail_size = 0
        self._written = 0
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        """Add to the end."""
        with self._lock:
            self._written += len(text)
            room = self._head_limit - self._head_size
            if room > 0:
                self._head.append(text[:room])
                self._head_size += min(room, len(text))
                text = text[room:]
            if text:
                self._tail.append(text[-self._tail_limit :] if self._tail_limit else "")
                self._tail_size += len(self._tail[-1])
                if self._tail_size > 2 * self._tail_limit or len(self._tail) > 65_536:
                    self._shrink()

    @property
    def size(self) -> int:
        """Characters kept."""
        return min(self._written, self._head_limit + self._tail_limit)

    def within(self, limit: int) -> tuple[str, int]:
        """Head, a mark that says how much is missing, and tail; and how many characters are."""
        with self._lock:
            self._shrink()
            head, tail = "".join(self._head), "".join(self._tail)
            written = self._written
        if written <= min(limit, self._head_limit + self._tail_limit):
            return head + tail, 0
        if written == len(head) + len(tail):
            head, tail = head + tail, head + tail
        head, tail = head[: limit // 2], tail[-(limit - limit // 2) :] if limit else ""
        dropped = written - len(head) - len(tail)
        return f"{head}\n[... {dropped:,} characters not kept ...]\n{tail}", dropped

    def _shrink(self) -> None:
        whole = "".join(self._tail)
        kept = whole[-self._tail_limit :] if self._tail_limit else ""
        self._tail, self._tail_size = [kept], len(kept)


class AgentScope:
    """Tells the agent's code from all else that runs in the kernel.

    Inside are the context that entered it with everything that inherits it (tasks, callbacks), and
    threads that were started since.
    """

    def __init__(self, mark: ContextVar[bool]) -> None:
        self._mark = mark
        # Not by their idents: those are given again to new threads.
        self._others = frozenset(threading.enumerate())

    def __call__(self) -> bool:
        """Whether the caller is inside."""
        return self._mark.get(False) or threading.current_thread() not in self._others


class _Stream(io.TextIOBase):
    """A standard stream that keeps the agent's text and passes on everybody else's."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(
        self, sink: HeadTail, original: TextIO, scope: AgentScope, descriptor: int
    ) -> None:
        self._sink = sink
        self._original = original
        self._scope = scope
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if not self._scope():
            return self._original.write(text)
        self._sink.write(text)
        return len(text)

    def flush(self) -> None:
        if not self._scope():
            self._original.flush()

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the kernel's stream has
        return getattr(self._original, name)


class _Descriptor:
    """Takes aside what child processes and C code write to a file descriptor.

    A reader thread empties the pipe into the sink. A child that outlives the run keeps its end of
    the pipe: the thread then reads on and throws away, so that the child does not block.
    """

    def __init__(self, descriptor: int, sink: HeadTail) -> None:
        self._descriptor = descriptor
        self._sink: HeadTail | None = sink
        self._saved = os.dup(descriptor)
        read, write = os.pipe()
        os.dup2(write, descriptor)
        os.close(write)
        self._thread = threading.Thread(target=self._pump, args=(read,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Put the descriptor back and wait a moment for what is still in the pipe."""
        os.dup2(self._saved, self._descriptor)
        os.close(self._saved)
        self._thread.join(0.3)
        self._sink = None

    def _pump(self, read: int) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := os.read(read, 65_536):
            if (sink := self._sink) is not None:
                sink.write(decoder.decode(data))
        os.close(read)


class _Displays:
    """Mime bundles in the order they were shown; an update replaces what it names."""

    def __init__(self) -> None:
        self._bundles: list[tuple[object, dict[str, object]]] = []
        self._size = 0
        self._left_out = 0

    def add(self, data: Mapping[str, object], key: object = None, *, update: bool = False) -> None:
        bundle = {kind: _json_ready(value) for kind, value in data.items()}
        if update and key is not None:
            self._bundles = [(k, bundle if k == key else old) for k, old in self._bundles]
            return
        size = sum(len(value) for value in bundle.values() if isinstance(value, str))
        if len(self._bundles) >= _DISPLAYS or self._size + size > _DISPLAY_CHARS:
            self._left_out += 1
            return
        self._size += size
        self._bundles.append((key, bundle))

    def clear(self) -> None:
        self._bundles.clear()
        self._size = 0

    def bundles(self) -> tuple[dict[str, object], ...]:
        found = [bundle for _key, bundle in self._bundles]
        if self._left_out:
            found.append({"text/plain": f"[{self._left_out:,} more displays not kept]"})
        return tuple(found)


class _Publisher(DisplayPublisher):
    """Keeps what the agent's code displays; the rest goes to the kernel's own publisher."""

    def __init__(self, original: DisplayPublisher, displays: _Displays, scope: AgentScope) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.__dict__.update(_original=original, _displays=displays, _scope=scope)

    def publish(  # type: ignore[override]
        self,
        data: Any,  # noqa: ANN401 - as IPython has it
        metadata: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> None:
        if not self._scope():
            self._original.publish(data, metadata, **options)
            return
        key = (options.get("transient") or {}).get("display_id")
        self._displays.add(data, key, update=bool(options.get("update")))

    def clear_output(self, wait: bool = False) -> None:
        if self._scope():
            self._displays.clear()
        else:
            self._original.clear_output(wait)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the kernel's publisher has
        return getattr(self.__dict__["_original"], name)


class Capture:
    """What was taken aside, to be read once the code has ended."""

    def __init__(self, limit: int) -> None:
        self.stdout = HeadTail(limit)
        self.stderr = HeadTail(limit)
        self.displays = _Displays()
        self.value = ""
        """Plain text of the last value shown, bounded like the streams."""
        self.errors: list[str] = []
        """Error reports as text, without colour."""
        self.value_dropped = 0
        """Characters of the value that were not kept."""
        self._limit = limit

    def show_value(self, data: Mapping[str, object]) -> None:
        """Take the last expression's bundle: its text as the value, the rest as a display."""
        text = HeadTail(self._limit)
        text.write(str(data.get("text/plain", "")))
        self.value, self.value_dropped = text.within(self._limit)
        if set(data) - {"text/plain"}:
            self.displays.add({**data, "text/plain": self.value})


@contextmanager
def capturing(
    shell: InteractiveShell, scope: AgentScope, limit: int, *, show_value: bool = True
) -> Iterator[Capture]:
    """Take aside what the code in `scope` says, at most `limit` characters of each kind."""
    capture = Capture(limit)
    out, err = sys.stdout, sys.stderr
    out.flush()
    err.flush()
    with ExitStack() as stack:
        enter = stack.enter_context
        # Entered first, or the shell would put its own hook over ours where no cell is running.
        enter(shell.display_trap)
        for descriptor, sink in ((1, capture.stdout), (2, capture.stderr)):
            _take_descriptor(stack, descriptor, sink)
        enter(swapped(sys, "stdout", _Stream(capture.stdout, out, scope, 1)))
        enter(swapped(sys, "stderr", _Stream(capture.stderr, err, scope, 2)))
        publisher = _Publisher(shell.display_pub, capture.displays, scope)
        enter(swapped(shell, "display_pub", publisher))
        enter(swapped(sys, "displayhook", _value_hook(shell, capture, scope, show_value)))
        enter(swapped(shell.displayhook, "exec_result", None))
        enter(swapped(shell, "_showtraceback", _error_hook(capture)))
        for swap in _refusals(shell, scope):
            enter(swap)
        yield capture


@contextmanager
def swapped(owner: object, name: str, value: object) -> Iterator[None]:
    """Another value for an attribute, and after that the old one, or none where it had none."""
    # Traits and the like are found on the class but hold the instance's own value.
    own = name in vars(owner) or hasattr(type(getattr(type(owner), name, None)), "__set__")
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def _take_descriptor(stack: ExitStack, descriptor: int, sink: HeadTail) -> None:
    try:
        taken = _Descriptor(descriptor, sink)
    except OSError:  # no such descriptor: nothing can be written to it either
        return
    stack.callback(taken.stop)


def _value_hook(
    shell: InteractiveShell, capture: Capture, scope: AgentScope, show: bool
) -> Callable[[object], None]:
    original = sys.displayhook
    formatter = shell.display_formatter

    def hook(value: object) -> None:
        if not scope():
            original(value)
        elif value is not None and show and formatter is not None:
            data, _metadata = formatter.format(value)  # type: ignore[no-untyped-call]
            capture.show_value(data)

    return hook


def _error_hook(capture: Capture) -> Callable[[object, object, list[str]], None]:
    def hook(_kind: object, _value: object, lines: list[str]) -> None:
        capture.errors.append(_ANSI.sub("", "\n".join(lines)))

    return hook


def _refusals(shell: InteractiveShell, scope: AgentScope) -> Iterator[AbstractContextManager[None]]:
    def refuse(original: Callable[..., str], name: str) -> Callable[..., str]:
        def refused(*args: object, **options: object) -> str:
            if scope():
                raise EOFError(f"{name}() is not available to code the agent runs")
            return original(*args, **options)

        return refused

    def refuse_exit() -> None:
        raise SystemExit("exit() does not end the kernel when the agent calls it")

    yield swapped(builtins, "input", refuse(builtins.input, "input"))
    yield swapped(getpass, "getpass", refuse(getpass.getpass, "getpass"))
    yield swapped(sys, "stdin", io.StringIO())
    yield swapped(shell, "ask_exit", refuse_exit)


def _json_ready(value: object) -> object:
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
