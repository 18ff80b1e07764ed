"""How many tokens the next request carries: what the service counted last, and what came since.

The last count covers a conversation up to and including one answer. Whatever changes what stands
before that answer (a compaction, a rewind, another model family) leaves nothing to go by, and the
whole is estimated again. Each message is estimated once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from mewcode_nb.messages import Block, JsonObject, Message
from mewcode_nb.model.protocol import Request
from mewcode_nb.session.state import SessionState
from mewcode_nb.tokens import (
    Anchor,
    Correction,
    Family,
    context_tokens,
    estimate_blocks,
    estimate_messages,
    estimate_tools,
    family_of,
)
from mewcode_nb.usage import Usage

__all__ = ["Meter", "counted_answers"]

_LEARNED_FROM = 8
"""Answers of a resumed conversation that the factor is learned from: it forgets older ones."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """The last count: the answer it came with, and the model that gave it."""

    message: str
    model: str
    anchor: Anchor


class Meter:
    """The account of one conversation."""

    def __init__(self) -> None:
        self._mark: _Mark | None = None
        self._corrections: dict[str, Correction] = {}
        self._sizes: dict[tuple[str, Family], tuple[Sequence[Block], int]] = {}
        self._fixed: tuple[object, object, Family, int] | None = None

    def tokens(self, live: Request, history: Sequence[Message]) -> int:
        """Tokens that `live`, the request for `history`, carries; the service has the last word."""
        family = family_of(live.model)
        at = self._marked_place(history, family)
        if at is None or self._mark is None:
            whole = self.fixed(live) + sum(self._estimates(history, family))
            return math.ceil(whole * self.factor(live.model))
        anchor = replace(self._mark.anchor, correction=self._correction(live.model))
        return anchor.total(map(_to_api, history[at + 1 :]), family)

    def answered(self, live: Request, history: Sequence[Message], usage: Usage) -> None:
        """Take the count of the answer that `history` ends with; `live` is what it answered."""
        if not usage.total_input:
            return  # a service that counts nothing
        family, model = family_of(live.model), live.model
        at, before = self._marked_place(history, family), history[:-1]
        known = self._correction(model)
        if at is None or self._mark is None:
            guess = self.fixed(live) + sum(self._estimates(before, family))
            tokens = context_tokens(usage, guess + usage.output_tokens)
            anchor = Anchor(tokens, known.learn(guess, tokens - usage.output_tokens))
        else:
            later = [_to_api(message) for message in before[at + 1 :]]
            anchor = replace(self._mark.anchor, correction=known).moved(usage, later, family)
        self._corrections[model] = anchor.correction
        self._mark = _Mark(history[-1].id, model, anchor)

    def recall(
        self, live: Request, history: Sequence[Message], usages: Mapping[str, Usage]
    ) -> None:
        """Take up a stored conversation: the counts of its answers, by message id."""
        self.forget()
        places = [place for place, message in enumerate(history) if message.id in usages]
        for place in places[-_LEARNED_FROM:]:
            self.answered(live, history[: place + 1], usages[history[place].id])

    def forget(self) -> None:
        """Go by no earlier count: what stood before it has changed."""
        self._mark = None

    def factor(self, model: str) -> float:
        """What real counts have taught of the estimate for this model; 1 before the first."""
        return self._correction(model).factor

    def sizes(self, history: Iterable[Message], model: str) -> list[int]:
        """Tokens of each message, estimated and corrected."""
        factor = self.factor(model)
        return [math.ceil(size * factor) for size in self._estimates(history, family_of(model))]

    def fixed(self, live: Request) -> int:
        """Tokens of system prompt and tools, estimated and not corrected."""
        family, known = family_of(live.model), self._fixed
        if known is None or known[:3] != (live.system, live.tools, family):
            tokens = estimate_blocks(live.system, family) + estimate_tools(live.tools, family)
            known = self._fixed = (live.system, live.tools, family, tokens)
        return known[3]

    def _correction(self, model: str) -> Correction:
        return self._corrections.get(model, Correction())

    def _marked_place(self, history: Sequence[Message], family: Family) -> int | None:
        mark = self._mark
        if mark is None or family_of(mark.model) is not family:
            return None
        places = range(len(history) - 1, -1, -1)
        return next((place for place in places if history[place].id == mark.message), None)

    def _estimates(self, history: Iterable[Message], family: Family) -> list[int]:
        return [self._estimate(message, family) for message in history]

    def _estimate(self, message: Message, family: Family) -> int:
        key = (message.id, family)
        content, size = self._sizes.get(key, ((), 0))
        if content is not message.content:
            size = estimate_messages((_to_api(message),), family)
            self._sizes[key] = (message.content, size)
        return size


def counted_answers(state: SessionState) -> dict[str, Usage]:
    """By message id, the counts that hold for the conversation as it is: since its compaction."""
    since = state.offsets[state.compactions[-1].id] if state.compactions else -1
    return {
        record.id: record.usage
        for record in state.records
        if record.usage is not None and state.offsets[record.id] > since
    }


def _to_api(message: Message) -> JsonObject:
    return cast("JsonObject", message.to_api())
