"""When compaction starts by itself, and when it pauses. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mewcode_nb.compaction.limits import POOR_PASSES, TRIES, Limits

__all__ = ["Gate"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What has come of automatic compaction so far. Its failures outlive a restart."""

    failures: int = 0
    """Automatic compactions that failed, in a row."""
    poor: int = 0
    """Of these, the last ones that failed because they would have freed too little."""
    counted: bool = True
    """The service has counted the conversation since it was compacted last.

    Before that, its size is a guess, and a guess must not start the next compaction: two of them
    right after each other is how an agent gets stuck (opencode, issue 27594).
    """
    undone: bool = False
    """A person took the last compaction back: until the next turn is over, only need compacts."""

    @property
    def tripped(self) -> bool:
        """Whether automatic compaction pauses."""
        return self.failures >= TRIES or self.poor >= POOR_PASSES

    def line(self, limits: Limits) -> int:
        """Tokens from which compaction starts by itself."""
        return limits.manual_line if self.undone else limits.auto_line

    def opens(self, tokens: int, limits: Limits) -> bool:
        """Whether a request of so many tokens is to be compacted first."""
        ready = limits.automatic and self.counted and not self.tripped
        return ready and tokens >= self.line(limits)

    def answered(self) -> Gate:
        """After an answer whose tokens the service counted."""
        return self if self.counted else replace(self, counted=True)

    def turned(self) -> Gate:
        """After a turn."""
        return self if not self.undone else replace(self, undone=False)

    def compacted(self) -> Gate:
        """After a compaction that succeeded, whoever asked for it: it closes the breaker."""
        return Gate(counted=False)

    def failed(self, *, poor: bool = False) -> Gate:
        """After an automatic compaction that failed; `poor`: it would have freed too little."""
        return replace(
            self, failures=self.failures + 1, poor=self.poor + 1 if poor else 0, counted=False
        )

    def taken_back(self) -> Gate:
        """After a compaction was undone."""
        return replace(self, undone=True, counted=True)
