"""Every error this package raises on purpose, sorted by who must react.

MewcodeError                     the user: one line, no traceback
├── ConfigError                  a setting: names the key and where it came from
├── UsageError                   a magic or command was typed wrong
├── Interrupted                  the user stopped the turn: queued cells stop as well
├── SessionError                 a session could not be written, read or found
│   ├── SessionNotFound
│   ├── AmbiguousSession         a name that fits several sessions: lists them
│   ├── RecordTooLarge           a record that no session can hold
│   └── SessionLocked            another process holds it
├── CompactionError              a conversation could not be compacted: it is what it was
└── ModelError                   the service, or the way to it
    ├── ContextTooLong           prompt over the window, in any of its wordings
    ├── MalformedHistory         the service refused the shape of the conversation
    ├── OutputLimitTooLarge      input plus max_tokens over the window: ask for less output
    ├── Refused                  the model declined for safety reasons
    ├── AuthenticationFailed     no key, a wrong key, no permission, no credit
    └── ModelUnavailable         overloaded, unreachable, cut off, or not a Messages API
        └── StreamBroken         the answer had begun when it broke; carries what was shown
ToolError                        the model: becomes a tool_result marked as an error
(anything else)                  the developer: an ordinary traceback
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mewcode_nb.messages import Block

__all__ = [
    "AmbiguousSession",
    "AuthenticationFailed",
    "CompactionError",
    "ConfigError",
    "ContextTooLong",
    "Interrupted",
    "MalformedHistory",
    "MewcodeError",
    "ModelError",
    "ModelUnavailable",
    "OutputLimitTooLarge",
    "RecordTooLarge",
    "Refused",
    "SessionError",
    "SessionLocked",
    "SessionNotFound",
    "StreamBroken",
    "ToolError",
    "UsageError",
]


class MewcodeError(Exception):
    """An error for the user: what happened, and what can be done about it."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} — {self.remedy}" if self.remedy else self.message

    def _render_traceback_(self) -> list[str]:
        """One line instead of a traceback: IPython asks an exception for this by name.

        A service's own words may be in it, so what is not printable is shown as an escape.
        """
        text = f"{type(self).__name__}: {self}"
        return ["".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)]


class ConfigError(MewcodeError):
    """A setting has a value that cannot be used."""


class UsageError(MewcodeError):
    """A magic or a command was called with words it does not know."""


class Interrupted(MewcodeError):
    """The user stopped the turn. An error to the front end, so that Run All stops with it."""


class SessionError(MewcodeError):
    """A session could not be written, read or found."""


class SessionNotFound(SessionError):
    """No stored session answers to that name."""


class AmbiguousSession(SessionError):
    """A name that fits more than one session; the message lists them."""


class SessionLocked(SessionError):
    """Another process is writing this session."""


class RecordTooLarge(SessionError):
    """A record that cannot be stored however often it is tried."""


class CompactionError(MewcodeError):
    """A conversation could not be compacted; it is what it was.

    `poor` says that it could have been, but would have freed too little.
    """

    def __init__(self, message: str, *, remedy: str = "", poor: bool = False) -> None:
        super().__init__(message, remedy=remedy)
        self.poor = poor


class ModelError(MewcodeError):
    """The service refused, failed, or could not be reached."""

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        status: int | None = None,
        kind: str = "",
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status
        self.kind = kind
        self.request_id = request_id


class ContextTooLong(ModelError):
    """The prompt does not fit the window; `used` and `limit` in tokens where the service says."""

    used: int | None = None
    limit: int | None = None


class MalformedHistory(ModelError):
    """The service refused the shape of the request (400)."""


class OutputLimitTooLarge(ModelError):
    """Input plus `max_tokens` is over the window: cured by a smaller output, not a compaction."""

    allowed: int | None = None


class Refused(ModelError):
    """The model declined to answer."""


class AuthenticationFailed(ModelError):
    """The key is missing, wrong, without permission or without credit."""


class ModelUnavailable(ModelError):
    """Overloaded, unreachable, broken off, or something that is not a Messages API."""


class StreamBroken(ModelUnavailable):
    """The answer had begun to arrive when the connection or the service failed."""

    partial: tuple[Block, ...] = ()
    """The words that had arrived, as text blocks; never half a call or half a thought."""


class ToolError(Exception):
    """A tool's refusal or failure, told to the model in a result marked as an error."""
