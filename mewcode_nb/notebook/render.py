"""Shows a turn in a notebook: events in, display messages out, at most twelve a second.

Each part of a turn (text block, thinking, tool call, notice) is a display of its own, published
when it begins, so that the order on the page is the order of events; later states update it in
place. Messages are coalesced by time: a delta only marks its part, and the next due moment
publishes what is marked. All bundles are static, so at the end of a turn nothing in the output
needs the kernel.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mewcode_nb.config import Settings
from mewcode_nb.events import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Event,
    Notice,
    Retrying,
    SdkLoading,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolInputDelta,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from mewcode_nb.notebook.plain import PlainRenderer
from mewcode_nb.notebook.status import StatusLine
from mewcode_nb.widgets import cards
from mewcode_nb.widgets.blocks import StreamBlocks
from mewcode_nb.widgets.cards import Bundle, Fold, size_words
from mewcode_nb.widgets.words import Words, choose_language

__all__ = ["DisplayPublisher", "NotebookRenderer", "Renderer", "choose_renderer"]

_INTERVAL = 0.1
"""Seconds between two updates of the text; with the status line's, 12 messages a second at most."""
_STATUS_INTERVAL = 0.5
_BYTES_PER_SECOND = 40_000
"""A long open block (a fence of 20 KB) is shown again less often, so that the page keeps up."""
_DISPLAY_LIMIT = 5_000_000
"""Characters of one rich output that approved code may add to the notebook."""
_NOTICE_TONES = {"info": "quiet", "warning": "warning", "error": "error"}


class DisplayPublisher(Protocol):
    """The part of IPython's `display_pub` that is used."""

    def publish(
        self,
        data: Mapping[str, object],
        metadata: Mapping[str, object] | None = None,
        *,
        transient: Mapping[str, object] | None = None,
        update: bool = False,
    ) -> None:
        """Send a bundle; with `update`, to the displays that carry its id."""
        ...


class Renderer(Protocol):
    """Shows one turn. `show` never waits; `close` ends the turn."""

    def show(self, event: Event) -> None:
        """Take one event."""
        ...

    def close(self, *, interrupted: bool = False) -> None:
        """Show what is pending and settle every part; safe to call twice."""
        ...


@dataclass(slots=True)
class _Tool:
    """One call on the page."""

    display: str
    title: str
    given: str = ""
    """Who allowed or denied it."""
    state: str = ""
    tone: str = "quiet"
    summary: str = ""
    folds: tuple[Fold, ...] = ()
    settled: bool = False


@dataclass(slots=True)
class _Text:
    """The text block or reasoning that is growing."""

    display: str
    blocks: StreamBlocks = field(default_factory=StreamBlocks)
    thinking: bool = False
    whole: list[str] = field(default_factory=list)
    length: int = 0
    published: bool = False
    dirty: bool = False


class NotebookRenderer:
    """Draws one turn through a display publisher. One object a turn."""

    def __init__(
        self,
        publisher: DisplayPublisher,
        words: Words,
        *,
        clock: Callable[[], float] = time.monotonic,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._publisher = publisher
        self._words = words
        self._clock = clock
        self._new_id = new_id
        self._status = StatusLine(words, clock())
        self._status_id = ""
        self._status_shown = ""
        self._tools: dict[str, _Tool] = {}
        self._text: _Text | None = None
        self._text_at = self._status_at = float("-inf")
        self._ticker: asyncio.Task[None] | None = None
        self._closed = False

    def show(self, event: Event) -> None:
        """Take one event; what it changes is shown now or within the next tenth of a second."""
        self._keep_ticking()
        self._status.take(event, self._clock())
        if not self._status_id:
            self._flush_status(force=True)
        match event:
            case TextDelta():
                self._add_text(event.text, thinking=False)
            case ThinkingDelta():
                self._add_text(event.text, thinking=True)
            case ApprovalAsked() | ApprovalGiven() | ToolStarted() | ToolFinished():
                self._end_text()
                self._show_tool(event)
                self._flush_status(force=True)
            case Notice():
                self._end_text()
                words = f"{event.text} — {event.remedy}" if event.remedy else event.text
                self._publish(self._new_id(), cards.line(words, tone=_NOTICE_TONES[event.level]))
            case AssistantMessage():
                self._end_text()
            case TurnFinished():
                self.close()
            case TurnStarted() | SdkLoading() | Retrying():
                self._flush_status(force=True)
            case ToolInputDelta():
                self._end_text()
        self.flush()

    def flush(self) -> None:
        """Publish what is marked and due."""
        now = self._clock()
        if self._text is not None and self._text.dirty and now - self._text_at >= self._pace():
            self._flush_text()
        if not self._closed:
            self._flush_status()

    def close(self, *, interrupted: bool = False) -> None:
        """Show what is pending, settle open calls, and turn the status line into the last line."""
        if self._closed:
            return
        self._closed = True
        if self._ticker is not None:
            self._ticker.cancel()
        self._end_text()
        for tool in self._tools.values():
            if not tool.settled:
                tool.state = self._words("interrupted" if interrupted else "unfinished")
                tool.tone, tool.settled = "warning", True
                self._publish_tool(tool)
        self._status.end(self._clock(), interrupted=interrupted)
        self._flush_status(force=True)

    def _keep_ticking(self) -> None:
        """Let the clock flush too, while nothing arrives; without a loop only events do."""
        if self._ticker is None and not self._closed:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
            self._ticker = loop.create_task(self._tick())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_INTERVAL)
            self.flush()

    def _pace(self) -> float:
        length = self._text.blocks.tail_length if self._text is not None else 0
        if self._text is not None and self._text.thinking:
            return 1.0
        return min(max(_INTERVAL, length / _BYTES_PER_SECOND), 1.0)

    def _add_text(self, delta: str, *, thinking: bool) -> None:
        if not delta:
            return
        if self._text is not None and self._text.thinking is not thinking:
            self._end_text()
        if self._text is None:
            self._text = _Text(self._new_id(), thinking=thinking)
        current = self._text
        current.length += len(delta)
        current.dirty = True
        if thinking:
            current.whole.append(delta)
            return
        for piece in current.blocks.feed(delta):
            if piece.strip():
                self._publish(current.display, cards.text(piece), update=current.published)
                current.display, current.published = self._new_id(), False
                self._text_at = self._clock()

    def _flush_text(self) -> None:
        current = self._text
        if current is None or not current.dirty:
            return
        shown = "".join(current.whole) if current.thinking else current.blocks.tail
        current.dirty = False
        self._text_at = self._clock()
        if not shown.strip():
            return
        bundle = cards.thoughts(self._words, shown) if current.thinking else cards.text(shown)
        self._publish(current.display, bundle, update=current.published)
        current.published = True

    def _end_text(self) -> None:
        self._flush_text()
        self._text = None

    def _show_tool(self, event: ApprovalAsked | ApprovalGiven | ToolStarted | ToolFinished) -> None:
        words = self._words
        match event:
            case ApprovalAsked(proposal):
                tool = self._tool(proposal.tool_use_id, proposal.title)
                # The question itself shows the code; once it is answered, the entry does.
                tool.state, tool.tone = words("asked"), "warning"
            case ApprovalGiven(proposal, decision):
                tool = self._tool(proposal.tool_use_id, proposal.title)
                tool.folds = cards.proposal_fold(words, proposal)
                key = "allowed" if decision.allow else "denied"
                tool.given, tool.state = words(key, by=words.giver(decision.by)), ""
                tool.summary = decision.reason
                tool.tone = "quiet" if decision.allow else "warning"
                tool.settled = not decision.allow
            case ToolStarted():
                tool = self._tool(event.tool_use_id, event.title)
                tool.state, tool.tone, tool.summary = words("running"), "quiet", ""
            case ToolFinished():
                tool = self._tool(event.tool_use_id, event.title)
                self._finish_tool(tool, event)
        self._publish_tool(tool)
        if isinstance(event, ToolFinished):
            for bundle in event.display:
                self._publish_rich(bundle)

    def _finish_tool(self, tool: _Tool, event: ToolFinished) -> None:
        if tool.settled:
            return  # Denied: the line has the reason already.
        tool.state = self._words("failed" if event.is_error else "done")
        tool.tone = "error" if event.is_error else "good"
        took = self._words("seconds", seconds=f"{event.seconds:.1f}")
        tool.summary = f"{event.summary} ({took})" if event.summary else took
        tool.folds += cards.output_fold(self._words, event.output)
        tool.settled = True

    def _tool(self, tool_use_id: str, title: str) -> _Tool:
        known = self._tools.get(tool_use_id)
        if known is None:
            known = self._tools[tool_use_id] = _Tool(self._new_id(), title)
            self._publish(known.display, cards.line(title, tone="quiet"))
        known.title = title or known.title
        return known

    def _publish_tool(self, tool: _Tool) -> None:
        parts = (tool.title, tool.given, tool.state, tool.summary)
        words = " · ".join(part for part in parts if part)
        self._publish(tool.display, cards.entry(words, tool.folds, tone=tool.tone), update=True)

    def _publish_rich(self, bundle: Mapping[str, object]) -> None:
        data, metadata = _parts(bundle)
        if (size := cards.bundle_size(data)) > _DISPLAY_LIMIT:
            cut = self._words("display_cut", size=size_words(size))
            self._publish(self._new_id(), cards.line(cut, tone="warning"))
        elif data:
            self._publisher.publish(data, metadata)

    def _flush_status(self, *, force: bool = False) -> None:
        now = self._clock()
        if not force and now - self._status_at < _STATUS_INTERVAL:
            return
        shown = self._status.words(now)
        if shown == self._status_shown:
            return
        self._status_at, self._status_shown = now, shown
        update = bool(self._status_id)
        self._status_id = self._status_id or self._new_id()
        self._publish(self._status_id, cards.line(shown, tone=self._status.tone), update=update)

    def _publish(self, display: str, bundle: Bundle, *, update: bool = False) -> None:
        self._publisher.publish(bundle, {}, transient={"display_id": display}, update=update)


def choose_renderer(
    shell: Any,  # noqa: ANN401 - IPython has no types
    settings: Settings,
    *,
    prompt: str = "",
    environment: Mapping[str, str] | None = None,
) -> Renderer:
    """The renderer for one turn in this shell: displays in a kernel, plain text elsewhere.

    With `language = auto` our own words follow the script of the prompt, then the locale.
    """
    environment = os.environ if environment is None else environment
    words = Words(choose_language(settings.language, environment, prompt))
    if getattr(shell, "kernel", None) is None:
        return PlainRenderer(_to_stdout, words)
    return NotebookRenderer(shell.display_pub, words)


def _to_stdout(text: str) -> None:
    # The stream is looked up each time: IPython and others swap it.
    sys.stdout.write(text)
    sys.stdout.flush()


def _parts(bundle: Mapping[str, object]) -> tuple[Bundle, Mapping[str, object]]:
    """Data and metadata of a rich output, which may come as one or as both."""
    data, metadata = bundle.get("data"), bundle.get("metadata")
    if isinstance(data, dict):
        return data, metadata if isinstance(metadata, dict) else {}
    return {key: value for key, value in bundle.items() if "/" in key}, {}
