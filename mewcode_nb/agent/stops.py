"""What a stop reason means for the turn: which calls may run, whether to go on, what to say.

Nothing runs from a response whose stop reason is not `tool_use`: a response cut in the middle of a
call can carry a complete-looking input with keys missing (reliability facts, C2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mewcode_nb.events import Notice
from mewcode_nb.messages import message_text, tool_uses
from mewcode_nb.model.protocol import Completion

__all__ = ["INTERRUPTED", "MAX_CUT_CALLS", "PAUSED", "Verdict", "not_run", "read_stop"]

MAX_CUT_CALLS = 2
"""Automatic tries after the output limit cut a tool call (fault catalogue P-07)."""

PAUSED = "The service paused the answer above. Go on from there."

INTERRUPTED = "The user interrupted the turn here. What was not finished was not done."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from one complete response."""

    done: bool
    """The turn ends after the calls, if any, have been answered."""
    refused: Mapping[str, str]
    """Calls that must not run, by id, with the reason for the model."""
    notices: tuple[Notice, ...] = ()
    cut_call: bool = False
    """The output limit cut a tool call."""


def read_stop(completion: Completion, *, tools_off: bool, cut_calls: int) -> Verdict:
    """Judge a response by its stop reason and its calls.

    Args:
        completion: the response.
        tools_off: whether calls are refused in this turn.
        cut_calls: how many responses in a row before this one were cut inside a call.
    """
    calls = tool_uses(completion.content)
    ids = [call["id"] for call in calls]
    match completion.stop_reason:
        case "tool_use":
            off = dict.fromkeys(ids, "Tools are off for this turn. Answer in words.")
            unfit = {key: f"Not run: {why}" for key, why in completion.invalid_inputs.items()}
            if ids:
                return Verdict(done=False, refused=off if tools_off else unfit)
        case "max_tokens" if ids:
            return _cut_call(completion, ids, cut_calls)
    reason = f"Not run: the answer stopped with {completion.stop_reason}, not with a tool call."
    refused = dict.fromkeys(ids, reason)
    if completion.stop_reason == "pause_turn":
        return Verdict(done=False, refused=refused)
    return Verdict(True, refused, _said(completion))


def not_run(name: str) -> str:
    """The result of a call that was open when the turn ended."""
    return f"{name} did not finish: the turn was interrupted. Check what it did before you go on."


def _cut_call(completion: Completion, ids: list[str], cut_calls: int) -> Verdict:
    used = completion.usage.output_tokens
    reason = (
        f"Not run: the answer reached its limit of output tokens ({used}) inside this call, so the "
        "input is incomplete. Do the same in smaller parts: several calls with less text each."
    )
    last = cut_calls >= MAX_CUT_CALLS
    notices = (
        Notice(
            f"a tool call was cut by the output limit {cut_calls + 1} times in a row; nothing ran",
            "warning",
            remedy="raise max_tokens: %mewcode config max_tokens N, or ask for smaller parts",
        ),
    )
    return Verdict(last, dict.fromkeys(ids, reason), notices if last else (), cut_call=True)


def _said(completion: Completion) -> tuple[Notice, ...]:
    """What the user should know of a response that ends the turn."""
    match completion.stop_reason:
        case "end_turn" | "stop_sequence":
            if message_text(completion.content).strip():
                return ()
            return (Notice("the model answered with nothing", "warning", remedy="ask again"),)
        case "max_tokens":
            return (
                Notice(
                    "the answer was cut at its limit of output tokens",
                    "warning",
                    remedy="ask to go on, or raise it: %mewcode config max_tokens N",
                ),
            )
        case "refusal":
            return (Notice("the model declined to answer", "error", remedy="say it another way"),)
        case "model_context_window_exceeded":
            return (
                Notice(
                    "the conversation has filled the model's window",
                    "error",
                    remedy="start a new session: %mewcode new",
                ),
            )
    return (Notice(f"the answer stopped with {completion.stop_reason!r}", "warning"),)
