"""The service's prompt cache, simulated: entries at marks, looked up backwards, ageing by clock.

Rules, from the vendor's documentation and reports by users: an entry is written at each mark; a
mark finds entries up to 20 blocks before it; a prefix below the minimum is not cached and gives no
error; use renews an entry; the model is part of the key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mewcode_nb.testing.prompt import Item

__all__ = ["CacheUse", "PromptCache"]

_LOOK_BACK = 20
_SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class CacheUse:
    """How a request's input divides, in tokens; the three inputs do not overlap."""

    input_tokens: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    @property
    def total(self) -> int:
        """All tokens of the prompt."""
        return self.input_tokens + self.read + self.written_5m + self.written_1h


class PromptCache:
    """Entries by prefix, with their lifetime; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float], min_prefix: int = 1024) -> None:
        self._clock = clock
        self._min_prefix = min_prefix
        self._entries: dict[str, tuple[float, float]] = {}

    def use(self, model: str, items: Sequence[Item]) -> CacheUse:
        """Look the prompt up, renew what it hit, write what it marked."""
        keys, ends = _prefixes(model, items)
        total = ends[-1] if ends else 0
        marks = [i for i, item in enumerate(items) if item.ttl and ends[i] >= self._min_prefix]
        hit = self._find(keys, marks)
        read = ends[hit] if hit >= 0 else 0
        written = {"5m": 0, "1h": 0}
        done = read
        for mark in marks:
            self._write(keys[mark], _SECONDS[items[mark].ttl])
            if mark > hit:
                written[items[mark].ttl] += ends[mark] - done
                done = ends[mark]
        return CacheUse(total - done, read, written["5m"], written["1h"])

    def _find(self, keys: Sequence[str], marks: Sequence[int]) -> int:
        now = self._clock()
        for mark in reversed(marks):
            for place in range(mark, max(-1, mark - _LOOK_BACK - 1), -1):
                expires, life = self._entries.get(keys[place], (0.0, 0.0))
                if expires > now:
                    self._entries[keys[place]] = (now + life, life)
                    return place
        return -1

    def _write(self, key: str, life: float) -> None:
        now = self._clock()
        expires, old = self._entries.get(key, (0.0, 0.0))
        life = max(life, old) if expires > now else life
        self._entries[key] = (now + life, life)


def _prefixes(model: str, items: Sequence[Item]) -> tuple[list[str], list[int]]:
    chain = hashlib.blake2b(model.encode(), digest_size=16)
    keys: list[str] = []
    ends: list[int] = []
    size = 0
    for item in items:
        chain.update(item.digest.encode())
        size += item.tokens
        keys.append(chain.hexdigest())
        ends.append(size)
    return keys, ends
