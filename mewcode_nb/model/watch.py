"""The deadline for a model's next sign of work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["Stalled", "Watch"]

T = TypeVar("T")


class Stalled(Exception):
    """The watchdog ran out."""


class Watch:
    """The deadline for the next sign of work, on the running loop's clock; in seconds."""

    def __init__(self, seconds: float) -> None:
        self._clock = asyncio.get_running_loop().time
        self._seconds = seconds
        self.feed()

    def feed(self) -> None:
        """There was a sign of work: the time starts anew."""
        self._deadline = self._clock() + self._seconds

    async def limit(self, awaitable: Awaitable[T]) -> T:
        """The awaited value, or `Stalled` past the deadline; a cancellation stays itself."""
        try:
            async with asyncio.timeout_at(self._deadline):
                return await awaitable
        except TimeoutError as error:
            raise Stalled from error
