"""Pytest fixtures of the test kit."""

from __future__ import annotations

__all__: list[str] = []
