"""The settings as one value: what `Agent`, magics and command line are built from.

Which values are allowed is said in `rules`, where they may come from in `load`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, with its default. Durations in seconds, sizes in tokens."""

    model: str = "claude-sonnet-5-5"
    mode: str = "ask"
    """plan, ask, edit or open."""
    base_url: str = ""
    """The Messages API to talk to; empty for the SDK's own. Never from the project."""
    max_tokens: int = 32_000
    """The most one response may have; the model's own limit also holds."""
    context_window: int = 0
    """The model's window, where its record cannot be read; 0 for unknown."""
    max_steps: int = 50
    """Requests in one turn before it stops."""
    max_retries: int = 4
    """Attempts after the first for failures that may pass."""
    max_wait: float = 60.0
    """The longest wait before a retry; a longer `retry-after` ends the turn with a message."""
    stall_seconds: float = 120.0
    """Silence in a stream (pings do not count) after which it is given up."""
    connect_seconds: float = 15.0
    cache_ttl: str = "5m"
    """5m or 1h."""
    thinking: str = "off"
    """off or adaptive."""
    approval: str = "auto"
    """auto, buttons, input or deny: how a person is asked."""
    approval_seconds: float = 900.0
    """How long an approval card stays open before it counts as denied."""
    language: str = "auto"
    """auto, en or zh: the language of our own words on screen."""
    preload: bool = True
    """Import the SDK on a quiet kernel after the loading cell has ended."""
    instructions_fallback: bool = True
    """Read AGENTS.md or CLAUDE.md of the root where there is no MEWCODE.md."""
    rerun: str = "stored"
    """stored or fresh: what a cell gets that is run again unchanged."""
    retention_days: int = 30
    """Days without use after which a session may leave for the trash; 0 keeps all for ever."""
    keep_last: int = 20
    """So many of the newest sessions of a folder stay whatever their age."""
    sessions_quota_mb: int = 0
    """Megabytes for the sessions of a folder, beyond which `keep_last` gives way; 0 for none."""
    trash_days: int = 30
    """Days that a session stays in the trash at least."""
    count_tokens: str = "off"
    """off or on: ask the service to count a request where the estimate is close to a limit."""
    prices: str = ""
    """USD per million tokens, `MODEL=INPUT/OUTPUT[/CACHED], ...`; they overrule the table."""
    local: bool = False
    """For small local models: recover tool calls written as text, no cache marks, no thinking."""
