"""Settings: their names, defaults and checks, and where each value came from."""

from __future__ import annotations

from mewcode_nb.config.settings import Settings

__all__ = ["Settings"]
