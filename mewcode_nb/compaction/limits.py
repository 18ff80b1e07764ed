"""Every number of the context engine, scaled to the model's window.

The sizes for a window of 200,000 tokens are those of the design (its section on the context
engine); each is also a share of the window, so that small windows keep their proportions. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "COVERAGE_ITEMS",
    "LEAST_SUMMARY",
    "MAX_REQUESTS",
    "MIN_GAIN",
    "POOR_PASSES",
    "PREVIEW_BYTES",
    "PREVIEW_LINES",
    "RECOVERED_FILES",
    "SMALLEST_WINDOW",
    "SPILL_IMAGE_BYTES",
    "SPILL_MESSAGE_BYTES",
    "SPILL_RESULT_BYTES",
    "TAIL_MESSAGES",
    "TRIES",
    "Choices",
    "Limits",
    "limits_for",
]

SMALLEST_WINDOW = 8_000
"""Tokens of a window below which compaction does not start by itself."""
SPILL_RESULT_BYTES = 50_000
"""Bytes of UTF-8 above which one result, or one call's input, moves to a file."""
SPILL_MESSAGE_BYTES = 200_000
"""Bytes of UTF-8 of all results of one message above which the largest move to files."""
SPILL_IMAGE_BYTES = 10_000_000
"""Bytes of base64 of all images of one message above which the largest move to files: a third of
what the service takes as one request. A model that reads one of them alone can always see it."""
PREVIEW_LINES, PREVIEW_BYTES = 20, 2_048
"""What stays of a moved text in the conversation, at most."""
TAIL_MESSAGES = 5
"""Messages that stay word for word at least, the last ones."""
RECOVERED_FILES = 5
"""Files that are read again after a compaction, those read last."""
TRIES = 3
"""Automatic compactions that may fail in a row before they pause."""
POOR_PASSES = 2
"""Automatic compactions in a row that would free too little before they pause."""
MAX_REQUESTS = 6
"""Requests one compaction may send, all attempts counted."""
LEAST_SUMMARY = 500
"""Tokens of output below which a summary of nine sections cannot be expected."""
MIN_GAIN = 0.1
"""Share of the tokens before that a compaction must free, or nothing is changed: ten percent, as
another agent that measures its gain asks for (OpenHands SDK, August 2026)."""
COVERAGE_ITEMS = 200
"""Dropped items a coverage appendix lists at most, in windows from 200,000 tokens on; smaller
windows have one for each thousand tokens. What is left out of it is counted."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user chose; sizes in tokens, 0 for the window's own share."""

    automatic: bool = True
    """Whether compaction starts by itself."""
    line: int = 0
    """Where it starts."""
    tail: int = 0
    said: int = 0
    recovered_file: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes that hold for one window, all in tokens."""

    window: int
    summary: int
    """Room kept free for the summary's own output."""
    auto_margin: int
    manual_margin: int
    tail: int
    """Recent messages that stay word for word, at least."""
    said: int
    """The user's words that section 6 holds; what is older goes to a file."""
    recovered_file: int
    """One file that is read again."""
    resume_margin: int
    """What must be free of the window for a session to go on without an offer to compact."""
    coverage_items: int
    """Dropped items that a coverage appendix lists at most."""
    wanted: bool = True
    """Whether the user wants compaction to start by itself."""
    chosen_line: int = 0
    """Where the user wants it to start; 0 where nothing was chosen."""

    @property
    def automatic(self) -> bool:
        """Whether compaction may start by itself in a window of this size."""
        return self.wanted and self.window >= SMALLEST_WINDOW

    @property
    def auto_line(self) -> int:
        """Tokens from which compaction starts by itself: 167,000 of 200,000."""
        own = self.window - self.summary - self.auto_margin
        return min(self.chosen_line, self.manual_line) if self.chosen_line else own

    @property
    def manual_line(self) -> int:
        """Tokens up to which a history is accepted after a manual or an emergency compaction."""
        return self.window - self.summary - self.manual_margin

    @property
    def resume_line(self) -> int:
        """Tokens from which a resumed session is offered a compaction first."""
        return self.window - self.resume_margin


def limits_for(window: int, choices: Choices = Choices()) -> Limits:
    """The sizes for a window of that many tokens; what is chosen is bounded by the window.

    Of the kept tail and the user's words a third of the window each is the most, of one recovered
    file a tenth: more could never fit together.
    """

    def at_most(tokens: int, share: float) -> int:
        return min(tokens, int(window * share))

    return Limits(
        window=window,
        summary=at_most(20_000, 0.1),
        auto_margin=at_most(13_000, 0.065),
        manual_margin=at_most(3_000, 0.015),
        tail=at_most(choices.tail, 1 / 3) or at_most(10_000, 0.05),
        said=at_most(choices.said, 1 / 3) or at_most(20_000, 0.1),
        recovered_file=at_most(choices.recovered_file, 0.1) or at_most(5_000, 0.025),
        resume_margin=at_most(8_000, 0.04),
        coverage_items=at_most(COVERAGE_ITEMS, 0.001),
        wanted=choices.automatic,
        chosen_line=choices.line,
    )
