"""Plays a script: which reply a request gets, and whether the request was as expected."""

from __future__ import annotations

from collections import deque

from mewcode_nb.testing.script import Ask, Expectation, Reply, Rule, Script, fail, reply

__all__ = ["Player"]


class Player:
    """Rules first, then the list in order, then the default; one request at a time.

    Not locked: its owner serialises calls.
    """

    def __init__(self, script: Script = (), *, default: str | Reply | None = None) -> None:
        self._rules: list[tuple[Rule, int]] = []
        self._queue: deque[Reply] = deque()
        self._default = reply(default) if isinstance(default, str) else default
        self.failures: list[str] = []
        """Expectations that did not hold, in words."""
        self.add(*script)

    def add(self, *entries: Reply | Rule | str) -> None:
        """Append replies to the list; rules join the rules. A string is a text reply."""
        for entry in entries:
            if isinstance(entry, Rule):
                self._rules.append((entry, 0))
            else:
                self._queue.append(reply(entry) if isinstance(entry, str) else entry)

    @property
    def left(self) -> int:
        """Replies of the list that were not asked for yet."""
        return len(self._queue)

    def next(self, ask: Ask) -> Reply:
        """The reply to this request; a failed expectation is noted, no more."""
        answer = self._by_rule(ask)
        if answer is None and self._queue:
            answer = self._queue.popleft()
        if answer is None:
            answer = self._default
        if answer is None:
            return fail(500, message=f"the script is used up: nothing for request {ask.number}")
        for expectation in answer.expect:
            problem = _problem(expectation, ask)
            if problem:
                self.failures.append(f"request {ask.number}: {problem}")
        return answer

    def _by_rule(self, ask: Ask) -> Reply | None:
        for index, (rule, used) in enumerate(self._rules):
            if (not rule.times or used < rule.times) and rule.matches(ask):
                self._rules[index] = (rule, used + 1)
                return rule.answer if isinstance(rule.answer, Reply) else rule.answer(ask)
        return None


def _problem(expectation: Expectation, ask: Ask) -> str:
    if isinstance(expectation, str):
        return "" if expectation in ask.text else f"{expectation!r} is not in the request"
    try:
        outcome = expectation(ask)
    except AssertionError as error:
        return f"expectation failed: {error}"
    return f"{expectation!r} said no" if outcome is False else ""
