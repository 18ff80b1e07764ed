"""The engine: one prompt in, a stream of events out.

`Agent.run` is the whole turn, `_step` one request and its tool calls. Nothing here draws, and every
wait can be cancelled. Whatever ends a turn early (an interrupt, a fault, a closed generator),
`_settle` leaves a conversation that the service accepts, on disk and in memory.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, cast

from mewcode_nb.agent.calls import CallOutcome, CallRules, CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.stops import INTERRUPTED, PAUSED, not_run, read_stop
from mewcode_nb.agent.turn import TurnRequest, TurnState
from mewcode_nb.errors import ModelError, OutputLimitTooLarge
from mewcode_nb.events import (
    AssistantMessage,
    Event,
    Notice,
    TextDelta,
    TurnFinished,
    TurnStarted,
)
from mewcode_nb.messages import (
    Block,
    JsonObject,
    Message,
    Origin,
    Role,
    text_block,
    tool_result,
    tool_uses,
)
from mewcode_nb.model.protocol import Completion, Model, ModelLimits, Request
from mewcode_nb.prompt import CacheTtl, mark_messages, reminder
from mewcode_nb.repair import Repairer

__all__ = ["LEAST_OUTPUT", "Agent", "AgentParts"]

LEAST_OUTPUT = 1_024
"""Tokens of output below which asking again with less makes no sense: the window is full."""


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What an agent is made of; fixed for the life of a session."""

    model: Model
    calls: CallRunner
    journal: Journal
    system: tuple[JsonObject, ...]
    """System blocks, cache marks included. Their bytes never change within a session."""
    tools: tuple[JsonObject, ...]
    new_id: Callable[[], str]
    max_tokens: int
    mask: Callable[[str], str] = str
    """Takes secrets out of a prompt before it is stored or sent."""
    cache_ttl: CacheTtl = "5m"
    thinking: Literal["off", "adaptive"] = "off"
    clock: Callable[[], float] = field(default=time.monotonic)


class Agent:
    """A conversation with a model that may act. One turn at a time."""

    def __init__(self, parts: AgentParts, history: Sequence[Message] = (), turns: int = 0) -> None:
        self._parts = parts
        self._journal = parts.journal
        self._history = list(history)
        self._turns = turns
        self._repairer = Repairer()
        self._guessed: set[str] = set()

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation as it stands, before repair for sending."""
        return tuple(self._history)

    def go_on_from(self, history: Sequence[Message], turns: int) -> None:
        """Take another history, `turns` turns long, in place of the one so far; between turns."""
        self._history = list(history)
        self._turns = turns
        self._repairer = Repairer()

    async def run(self, request: TurnRequest) -> AsyncGenerator[Event, None]:
        """Run one turn; the last event is `TurnFinished` unless an error or the caller ends it.

        Raises:
            ModelError: the service failed for good; the conversation stays usable.
        """
        self._turns += 1
        turn = TurnState(request, self._turns, self._parts.clock())
        try:
            for event in self._open(turn):
                yield event
            while not turn.done:
                async with aclosing(self._step(turn)) as events:
                    async for event in events:
                        yield event
            for event in self._journal.flush():
                yield event
            turn.finished = True
            seconds = self._parts.clock() - turn.started
            yield TurnFinished(turn.result(self._journal.session_id, seconds))
        except ModelError as error:
            turn.fault = f"The request failed here ({error.message}). An answer may be incomplete."
            raise
        finally:
            self._settle(turn)

    def request(self, model: str, max_tokens: int) -> Request:
        """The request for the conversation as it stands, repaired and marked for the cache."""
        sound = self._repairer.repair(self._history).messages
        messages = [cast("JsonObject", message.to_api()) for message in sound]
        return Request(
            model=model,
            system=self._parts.system,
            messages=mark_messages(messages, self._parts.cache_ttl),
            tools=self._parts.tools,
            max_tokens=max_tokens,
            thinking={"type": "adaptive"} if self._parts.thinking == "adaptive" else None,
        )

    def _open(self, turn: TurnState) -> Iterator[Event]:
        """Put the prompt on disk before anything is sent."""
        request = turn.request
        if request.reminders:
            told = [text_block(reminder(kind, text)) for kind, text in request.reminders]
            self._journal.keep(self._append(turn, "user", told, "reminder"))
            if request.known is not None:
                self._journal.know(request.known, turn.number)
        blocks = [text_block(self._parts.mask(request.prompt))]
        blocks += [text_block(reminder(kind, text)) for kind, text in request.news]
        self._journal.keep(self._append(turn, "user", blocks, "user"), cell=request.cell)
        notices = tuple(self._journal.flush())
        yield TurnStarted(
            turn=turn.number,
            session=self._journal.session_id,
            model=request.model,
            mode=str(request.mode),
            stored=self._journal.stored,
        )
        yield from notices

    async def _step(self, turn: TurnState) -> AsyncGenerator[Event, None]:
        """One request and the tool calls it asks for."""
        turn.steps += 1
        for notice in self._journal.flush():
            yield notice
        async with aclosing(self._answer(turn)) as answer:
            async for event in answer:
                if isinstance(event, Completion):
                    for said in self._accept(turn, event):
                        yield said
                else:
                    yield event
        async with aclosing(self._run_calls(turn)) as happened:
            async for happening in happened:
                yield happening
        if not turn.done and turn.steps >= turn.request.max_steps:
            turn.done, turn.stop_reason = True, "max_steps"
            yield Notice(
                f"stopped after {turn.steps} requests (max_steps)",
                "warning",
                remedy="ask to go on, or allow more: %%mewcode --max-steps N",
            )

    async def _answer(self, turn: TurnState) -> AsyncGenerator[Event | Completion, None]:
        """The model's answer to the conversation so far; asks once more with less output room."""
        limits = await self._parts.model.limits(turn.request.model)
        for notice in self._assumed(turn.request.model, limits):
            yield notice
        wanted = turn.request.max_tokens or self._parts.max_tokens
        turn.max_tokens = turn.max_tokens or min(wanted, limits.max_output)
        try:
            async with aclosing(self._stream(turn)) as events:
                async for event in events:
                    yield event
        except OutputLimitTooLarge as error:
            if not error.allowed or not LEAST_OUTPUT <= error.allowed < turn.max_tokens:
                raise
            turn.max_tokens = error.allowed
        else:
            return
        async with aclosing(self._stream(turn)) as events:
            async for event in events:
                yield event

    def _assumed(self, model: str, limits: ModelLimits) -> Iterator[Notice]:
        """Say once of each model that its limits are a guess."""
        if limits.source == "default" and model not in self._guessed:
            self._guessed.add(model)
            yield Notice(
                f"the limits of {model} are not known: {limits.window:,} tokens in all and "
                f"{limits.max_output:,} of output are assumed",
                remedy="say better: %mewcode config context_window N",
            )

    async def _stream(self, turn: TurnState) -> AsyncGenerator[Event | Completion, None]:
        request = self.request(turn.request.model, turn.max_tokens)
        async with aclosing(self._parts.model.stream(request)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    turn.partial.append(event.text)
                yield event

    def _accept(self, turn: TurnState, completion: Completion) -> Iterator[Event]:
        """Keep a complete answer and decide what follows from it."""
        verdict = read_stop(completion, tools_off=turn.request.tools_off, cut_calls=turn.cut_calls)
        turn.partial.clear()
        turn.usage += completion.usage
        turn.stop_reason = completion.stop_reason
        turn.answer = completion.content
        turn.blocks.extend(completion.content)
        turn.open_calls = {call["id"]: call["name"] for call in tool_uses(completion.content)}
        turn.refused, turn.done = verdict.refused, verdict.done
        turn.cut_calls = turn.cut_calls + 1 if verdict.cut_call else 0
        message = self._append(turn, "assistant", completion.content, "assistant")
        self._journal.keep(message, completion=completion)
        if not (turn.done or turn.open_calls):
            # A request ends with the user. Said here and kept, not added anew for each request:
            # what was sent once must stand in the next one as well.
            self._remark(turn, "paused", PAUSED)
        yield AssistantMessage(completion.content, completion.usage, completion.stop_reason)
        yield from verdict.notices

    async def _run_calls(self, turn: TurnState) -> AsyncGenerator[Event, None]:
        """Run the step's calls in order; each gets its result, whatever happens."""
        rules = CallRules(turn.request.mode, turn.refused, self._journal.flush_quietly)
        calls = tool_uses(turn.answer) if turn.open_calls else ()
        for call in calls:
            async with aclosing(self._parts.calls.run(call, rules)) as events:
                async for event in events:
                    if isinstance(event, CallOutcome):
                        turn.results[call["id"]] = event.block
                        turn.effects.append(event.result)
                        turn.ran += [call["name"]] if event.ran else []
                        if event.result.interrupted:
                            raise asyncio.CancelledError  # Stop means the turn, not the call.
                    else:
                        yield event
        self._close_calls(turn)

    def _close_calls(self, turn: TurnState) -> None:
        """One user message with a result for each open call, in call order."""
        if not turn.open_calls:
            return
        blocks = [
            turn.results.get(call_id) or tool_result(call_id, not_run(name), is_error=True)
            for call_id, name in turn.open_calls.items()
        ]
        turn.open_calls, turn.results = {}, {}
        self._journal.keep(self._append(turn, "user", blocks, "tool"))
        # After the message, so that a rewind to before it takes them along.
        for result in turn.effects:
            self._journal.note(result, turn.number)
        turn.effects.clear()

    def _settle(self, turn: TurnState) -> None:
        """Leave a conversation that can go on, however the turn ended."""
        if turn.finished:
            return
        partial = "".join(turn.partial)
        if partial.strip():
            message = self._append(turn, "assistant", [text_block(partial)], "assistant")
            self._journal.keep(message, incomplete=True)
        self._close_calls(turn)
        kind = "broken" if turn.fault else "interrupted"
        self._remark(turn, kind, turn.fault or INTERRUPTED)
        self._journal.flush_quietly()

    def _remark(self, turn: TurnState, kind: str, text: str) -> None:
        words = text_block(reminder(kind, text))
        self._journal.keep(self._append(turn, "user", [words], "reminder"))

    def _append(
        self, turn: TurnState, role: Role, content: Sequence[Block], origin: Origin
    ) -> Message:
        """Add to the history; the journal is told by the caller, who knows what else to record."""
        message = Message(role, tuple(content), origin, self._parts.new_id(), turn.number)
        self._history.append(message)
        return message
