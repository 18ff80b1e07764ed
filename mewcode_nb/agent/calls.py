"""One tool call, from the model's request to the result block: check, propose, judge, ask, run.

This is one of the two places where any exception is caught: whatever a tool raises becomes a result
marked as an error, so that the conversation stays valid and the turn goes on.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import cast

from pydantic import ValidationError

from mewcode_nb.agent.approval import Approver, Mode, judge
from mewcode_nb.errors import Interrupted, ToolError
from mewcode_nb.events import (
    ApprovalAsked,
    ApprovalGiven,
    Decision,
    Effect,
    Event,
    Proposal,
    ToolFinished,
    ToolStarted,
)
from mewcode_nb.messages import Json, ToolResultBlock, ToolUseBlock, block_text, tool_result
from mewcode_nb.prompt import as_data
from mewcode_nb.redact import Redactor
from mewcode_nb.tools.base import Tool, ToolContext, ToolInput, ToolResult

__all__ = ["CallOutcome", "CallRules", "CallRunner", "refusal"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CallRules:
    """What holds for every call of one step."""

    mode: Mode
    refused: Mapping[str, str]
    """Calls that must not run, by `tool_use` id, with the reason for the model."""
    before_acting: Callable[[], None]
    """Called once a call that may change something is allowed, before it runs."""


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The end of one call: the block for the model and the tool's own result."""

    block: ToolResultBlock
    result: ToolResult
    ran: bool
    """Whether the tool was started; false for refused and unfit calls."""


@dataclass(frozen=True, slots=True)
class _Checked:
    tool: Tool[ToolInput]
    args: ToolInput


@dataclass(slots=True)
class _Attempt:
    """How far one call has come."""

    title: str
    started: float
    """When it began to run, on the runner's clock; the time a person takes to decide is theirs."""
    ran: bool = False
    remark: str = ""
    """What the user said with the approval."""
    result: ToolResult = field(default_factory=lambda: ToolResult("", "", is_error=True))


class CallRunner:
    """Runs calls against a fixed set of tools."""

    def __init__(
        self,
        tools: Sequence[Tool[ToolInput]],
        approver: Approver,
        context: ToolContext,
        redactor: Redactor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._approver = approver
        self._context = context
        self._redactor = redactor
        self._clock = clock

    async def run(
        self, call: ToolUseBlock, rules: CallRules
    ) -> AsyncGenerator[Event | CallOutcome, None]:
        """Yields what happens, and last the outcome; only cancellation gets out."""
        attempt = _Attempt(title=call["name"], started=self._clock())
        try:
            async with aclosing(self._attempt(call, rules, attempt)) as events:
                async for event in events:
                    yield event
        except Interrupted:
            raise
        except ToolError as error:
            attempt.result = _failed(str(error))
        except Exception as error:  # noqa: BLE001 (the tool boundary: see the module's docstring)
            trace = self._redactor.mask("".join(traceback.format_exception(error)))
            _log.error("tool %s failed\n%s", call["name"], trace)
            words = f"{call['name']} failed inside: {type(error).__name__}: {error}"
            attempt.result = _failed(words)
        for read in attempt.result.reads:
            self._context.reads.add(read)
        block = self._block(call, attempt)
        yield self._finished(call, attempt, block)
        yield CallOutcome(block, attempt.result, attempt.ran)

    async def _attempt(
        self, call: ToolUseBlock, rules: CallRules, attempt: _Attempt
    ) -> AsyncGenerator[Event, None]:
        """Check, propose, ask and run; raises whatever goes wrong."""
        checked = self._check(call, rules)
        proposal = checked.tool.propose(call["id"], checked.args, self._context)
        attempt.title = proposal.title
        acting = proposal.effect is not Effect.READ
        decision = self._judged(rules.mode, proposal)
        if decision is None:
            yield ApprovalAsked(proposal)
            decision = await self._approver.ask(proposal)
            yield ApprovalGiven(proposal, decision)
        elif acting:
            yield ApprovalGiven(proposal, decision)
        if not decision.allow:
            raise ToolError(refusal(decision))
        if acting:
            rules.before_acting()
        attempt.ran, attempt.started = True, self._clock()
        attempt.remark = decision.reason if decision.by == "user" else ""
        yield ToolStarted(call["id"], call["name"], attempt.title)
        attempt.result = await checked.tool.run(checked.args, self._context)

    def _finished(
        self, call: ToolUseBlock, attempt: _Attempt, block: ToolResultBlock
    ) -> ToolFinished:
        result = attempt.result
        display = self._redactor.mask_json(cast("Json", list(result.display)))
        return ToolFinished(
            tool_use_id=call["id"],
            name=call["name"],
            title=attempt.title,
            is_error=result.is_error,
            summary=self._redactor.mask(result.summary),
            seconds=self._clock() - attempt.started,
            output=block_text(block),
            display=tuple(cast("list[dict[str, object]]", display)),
        )

    def _check(self, call: ToolUseBlock, rules: CallRules) -> _Checked:
        """The tool and its checked input; raises `ToolError` for the model."""
        reason = rules.refused.get(call["id"])
        if reason:
            raise ToolError(reason)
        tool = self._tools.get(call["name"])
        if tool is None:
            known = ", ".join(self._tools)
            raise ToolError(f"There is no tool named {call['name']!r}. The tools are: {known}.")
        try:
            return _Checked(tool, tool.input_model.model_validate(call["input"]))
        except ValidationError as error:
            raise ToolError(_schema_text(call["name"], error)) from error

    @staticmethod
    def _judged(mode: Mode, proposal: Proposal) -> Decision | None:
        """The policy's own decision, or nothing when a person must be asked."""
        verdict, why = judge(mode, proposal)
        if verdict == "ask":
            return None
        return Decision(allow=verdict == "allow", by=f"mode {mode}", reason=why)

    def _block(self, call: ToolUseBlock, attempt: _Attempt) -> ToolResultBlock:
        result = attempt.result
        content = _escaped(self._redactor.mask_json(result.content))
        if attempt.remark:
            content = _with_remark(content, self._redactor.mask(attempt.remark))
        return tool_result(call["id"], content, is_error=result.is_error)


def refusal(decision: Decision) -> str:
    """What the model is told when a call was not allowed."""
    reason = f" Reason: {decision.reason}." if decision.reason else ""
    return (
        f"Not run: refused by {decision.by}.{reason} "
        "Nothing was changed. Do not try the same call again; look for another way or ask the user."
    )


def _failed(text: str) -> ToolResult:
    first = text.strip().split("\n", 1)[0]
    return ToolResult(content=text, summary=first[:200], is_error=True)


def _schema_text(name: str, error: ValidationError) -> str:
    problems = [
        f"- {'.'.join(str(part) for part in item['loc']) or 'input'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)
    ]
    return f"Not run: the input of {name} does not fit its schema.\n" + "\n".join(problems)


def _with_remark(content: Json, remark: str) -> Json:
    """The result with what the user said when they allowed the call."""
    words = f"[the user allowed this call and said: {as_data(remark)}]"
    if isinstance(content, list):
        return [*content, {"type": "text", "text": words}]
    return f"{content}\n{words}" if content else words


def _escaped(content: Json) -> Json:
    """The content with our own element names escaped in every text part; images stay."""
    if isinstance(content, str):
        return as_data(content)
    if isinstance(content, list):
        return [_escaped_part(part) for part in content]
    return content


def _escaped_part(part: Json) -> Json:
    if not isinstance(part, dict):
        return part
    text = part.get("text")
    return {**part, "text": as_data(text)} if isinstance(text, str) else part
