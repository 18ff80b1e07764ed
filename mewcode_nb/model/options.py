"""What the client is told about the way to a service: address, key, patience.

The caller reads the environment and the user's settings; nothing here does, so a project's files
can neither redirect a request nor lend it a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from mewcode_nb.errors import AuthenticationFailed, ConfigError
from mewcode_nb.model.retry import RetryPolicy

__all__ = ["DEFAULT_BASE_URL", "LEAST_SECRET", "ModelOptions"]

DEFAULT_BASE_URL = "https://api.anthropic.com"

LEAST_SECRET = 8
"""Characters; a shorter token, such as the placeholder `ollama`, is a word and no secret."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Everything `AnthropicModel` needs to know; times in seconds, sizes in tokens."""

    base_url: str = ""
    """Empty for Anthropic's own service."""
    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    """Sent in place of a key, as local servers and gateways expect; the key wins."""
    max_retries: int = 4
    """Attempts after the first."""
    max_wait: float = 60.0
    """The longest single wait before an attempt."""
    stall_seconds: float = 120.0
    """Silence of the model, pings aside, after which a stream is given up."""
    connect_seconds: float = 15.0
    context_window: int = 0
    """The window where the model's record does not say; 0 for unknown."""
    local: bool = False
    """The profile for small local models."""
    input_includes_cache: bool = False
    """For gateways whose `input_tokens` contain the cached ones."""

    def __post_init__(self) -> None:
        """Refuse an address that no request could reach."""
        if not _is_address(self.url):
            raise ConfigError(
                f"base_url is not an http(s) address: {self.base_url!r}",
                remedy="give one such as http://localhost:11434, without /v1",
            )

    @property
    def url(self) -> str:
        """The address requests go to."""
        return self.base_url or DEFAULT_BASE_URL

    @property
    def host(self) -> str:
        """The address as messages name it: host and port, without user, path or query."""
        parts = urlsplit(self.url)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)

    @property
    def retry(self) -> RetryPolicy:
        """How often and how long to wait for another attempt."""
        return RetryPolicy(self.max_retries, self.max_wait)

    def masked(self, text: str) -> str:
        """The text with the key and the token taken out."""
        for secret in (self.api_key, self.auth_token):
            if len(secret) >= LEAST_SECRET:
                text = text.replace(secret, "•••")
        return text

    def require_credentials(self) -> None:
        """Raise `AuthenticationFailed` when there is nothing to authenticate with."""
        secret = self.api_key or self.auth_token
        if not secret:
            raise AuthenticationFailed(
                f"no key for {self.host}",
                remedy="set ANTHROPIC_API_KEY; for a local server ANTHROPIC_BASE_URL and "
                "ANTHROPIC_AUTH_TOKEN; or try %mewcode tutorial, which needs neither",
            )
        if not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise AuthenticationFailed(
                "the key holds a character that cannot be sent, such as a space or a line break",
                remedy="set ANTHROPIC_API_KEY again, without anything around the key",
            )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
