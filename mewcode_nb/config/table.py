"""The settings in force as a table for `%mewcode config`; no secret is ever in it."""

from __future__ import annotations

from dataclasses import fields

from mewcode_nb.config.credentials import Credentials
from mewcode_nb.config.load import LoadedSettings
from mewcode_nb.config.rules import shown_address
from mewcode_nb.config.settings import Settings

__all__ = ["settings_table"]


def settings_table(loaded: LoadedSettings, credentials: Credentials | None = None) -> str:
    """A line each: name, value, origin. `base_url` without query, of a key whether it is set."""
    rows = [("setting", "value", "from")]
    for item in fields(Settings):
        value = _shown(item.name, getattr(loaded.settings, item.name))
        rows.append((item.name, value, str(loaded.origins[item.name])))
    if credentials is not None:
        rows.append(("key", "set" if credentials.found else "not set", credentials.origin))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    lines = [f"{name:<{widths[0]}}  {value:<{widths[1]}}  {origin}" for name, value, origin in rows]
    return "\n".join(line.rstrip() for line in lines)


def _shown(name: str, value: object) -> str:
    if name == "base_url":
        return shown_address(str(value)) or "(the service's own)"
    return str(value).lower() if isinstance(value, bool) else str(value)
