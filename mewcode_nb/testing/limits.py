"""What the fake service refuses by number, and the values it refuses with."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ERROR_TYPES", "Limits", "Violation"]

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in tokens unless named otherwise. Defaults: the vendor's documentation."""

    window: int = 1_000_000
    max_output: int = 128_000
    min_cache: int = 1_024
    """The shortest prefix that is cached."""
    body_bytes: int = 32 * 1024 * 1024
    image_bytes: int = 5 * 1024 * 1024
    """Of one image, as base64 text."""
    cache_marks: int = 4
    messages: int = 100_000
    bind_thinking: bool = True
    """Refuse a thinking block whose earlier conversation is not the one it was issued for."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One reason to refuse a request."""

    message: str
    status: int = 400

    @property
    def type(self) -> str:
        """The service's name for the class of error."""
        return ERROR_TYPES[self.status]
