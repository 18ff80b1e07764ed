"""An approver for tests: answers by a value, a list or a function, and keeps the proposals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from mewcode_nb.events import Decision, Proposal

__all__ = ["Answer", "AutoApprover"]

Answer: TypeAlias = bool | Decision


class AutoApprover:
    """Answers every proposal at once.

    `answers` is one answer for all, a list taken in order (then denials), or a function of the
    proposal. `proposals` holds what was asked, in order.
    """

    def __init__(
        self, answers: Answer | Iterable[Answer] | Callable[[Proposal], Answer] = True
    ) -> None:
        self.proposals: list[Proposal] = []
        self._choose = _chooser(answers)

    async def ask(self, proposal: Proposal) -> Decision:
        """The answer; a bare bool becomes a decision by `test`."""
        self.proposals.append(proposal)
        answer = self._choose(proposal)
        if isinstance(answer, Decision):
            return answer
        return Decision(allow=answer, by="test", reason="" if answer else "denied by the test")


def _chooser(
    answers: Answer | Iterable[Answer] | Callable[[Proposal], Answer],
) -> Callable[[Proposal], Answer]:
    if isinstance(answers, bool | Decision):
        return lambda proposal: answers
    if callable(answers):
        return answers
    used_up = Decision(allow=False, by="test", reason="the test has no answer left")
    queue = iter(answers)
    return lambda proposal: next(queue, used_up)
