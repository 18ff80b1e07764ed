"""The key for the service: from the environment or the user's own file, and from nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mewcode_nb.config.files import Table, read_table

__all__ = ["Credentials", "load_credentials"]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the service is told to know us; never shown, stored or logged."""

    api_key: str = field(default="", repr=False)
    auth_token: str = field(default="", repr=False)
    origin: str = ""
    """Where it came from, such as `environment ANTHROPIC_API_KEY`; empty without any."""

    @property
    def found(self) -> bool:
        """Whether there is one."""
        return bool(self.api_key or self.auth_token)

    def secrets(self) -> tuple[str, ...]:
        """The values, for a `Redactor`."""
        return tuple(value for value in (self.api_key, self.auth_token) if value)


def load_credentials(environ: Mapping[str, str], user_file: Path | None) -> Credentials:
    """The environment's, else those of the user's file; never a mix of the two. Raises nothing."""
    names = {"api_key": "ANTHROPIC_API_KEY", "auth_token": "ANTHROPIC_AUTH_TOKEN"}
    given = {key: environ.get(name, "").strip() for key, name in names.items()}
    if any(given.values()):
        used = next(names[key] for key, value in given.items() if value)
        return Credentials(given["api_key"], given["auth_token"], f"environment {used}")
    table: Table = read_table(user_file)[0] if user_file is not None else {}
    stored = {key: _text(table.get(key)) for key in names}
    origin = f"user file {user_file}" if any(stored.values()) else ""
    return Credentials(stored["api_key"], stored["auth_token"], origin)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
