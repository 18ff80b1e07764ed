"""What tokens cost, in USD. Pure.

Prices are the vendor's list prices of 1 December 2026 (its pricing page and the overview page of
each model), per million tokens. They change without notice and leave out discounts, batches, fast
modes and resellers: good for telling a dear turn from a cheap one, not for checking a bill. A model
that is not in the table has no price: a wrong one would mislead more than none. The setting
`prices` adds models and overrules the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mewcode_nb.config.price_list import GivenPrice
from mewcode_nb.usage import Usage

__all__ = ["WRITE_SHARES", "Price", "price_of"]

WRITE_SHARES: Mapping[str, float] = MappingProxyType({"5m": 1.25, "1h": 2.0})
"""What a token written to the cache costs of a plain one, by the entry's lifetime."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens of one model."""

    input: float
    output: float
    read_share: float = 0.1
    """What a token read from the cache costs of a plain one."""
    long_prompt: int = 0
    """Tokens of a prompt above which everything costs `long_factor` times as much; 0 for never."""
    long_factor: float = 1.0

    def cost(self, usage: Usage, ttl: str = "5m") -> float:
        """USD of one response; `ttl` is the lifetime its cache entries were written with."""
        tokens = (
            usage.input_tokens
            + usage.cache_creation_input_tokens * WRITE_SHARES[ttl]
            + usage.cache_read_input_tokens * self.read_share
        )
        return self._usd(tokens, usage)

    def uncached(self, usage: Usage) -> float:
        """USD of the same response if there were no cache."""
        return self._usd(usage.total_input, usage)

    def _usd(self, plain_input: float, usage: Usage) -> float:
        is_long = 0 < self.long_prompt < usage.total_input
        factor = self.long_factor if is_long else 1.0
        both = plain_input * self.input + usage.output_tokens * self.output
        return factor * both / _MILLION


_FABLE = Price(10, 50, read_share=0.025)
_OPUS = Price(5, 25)
_SONNET = Price(3, 15)
_PRICES: Mapping[tuple[str, int, int], Price] = MappingProxyType(
    {
        ("fable", 5, 2): Price(8, 40, read_share=0.025),
        ("fable", 5, 1): _FABLE,
        ("fable", 5, 0): Price(10, 50),
        ("mythos", 5, 2): Price(8, 40, read_share=0.025),
        ("mythos", 5, 1): _FABLE,
        ("mythos", 5, 0): Price(10, 50),
        ("opus", 5, 5): Price(4, 20, read_share=0.05),
        ("opus", 5, 0): _OPUS,
        **{("opus", 4, minor): _OPUS for minor in (5, 6, 7, 8)},
        ("opus", 4, 1): Price(15, 75),
        ("opus", 4, 0): Price(15, 75),
        ("sonnet", 5, 5): Price(2, 10, read_share=0.05),
        ("sonnet", 5, 0): Price(2, 10),
        **{("sonnet", 4, minor): _SONNET for minor in (0, 5, 6)},
        ("sonnet", 3, 7): _SONNET,
        ("sonnet", 3, 5): _SONNET,
        ("haiku", 5, 5): Price(0.1, 0.5, long_prompt=100_000, long_factor=5),
        ("haiku", 4, 5): Price(1, 5),
        ("haiku", 3, 5): Price(0.8, 4),
    }
)
"""By line and version. Prompts of Haiku 5.5 above 100,000 tokens cost five times as much."""
_LINE_FIRST = re.compile(r"claude-([a-z]{4,8})-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_VERSION_FIRST = re.compile(r"claude-(\d{1,2})(?:-(\d{1,2}))?-([a-z]{4,8})")


def price_of(model: str, given: Mapping[str, GivenPrice] | None = None) -> Price | None:
    """The price of a model by its id, in any provider's spelling; None where it is not known.

    `given` comes first, by the id as it is.
    """
    known = _listed(model)
    own = given.get(model) if given else None
    if own is None:
        return known
    plain, answer, read = own
    if read is None or not plain:
        return Price(plain, answer, known.read_share if known else 0.1)
    return Price(plain, answer, read / plain)


def _listed(model: str) -> Price | None:
    name = model.lower().replace(".", "-")
    if found := _LINE_FIRST.search(name):
        return _PRICES.get((found[1], int(found[2]), int(found[3] or 0)))
    if found := _VERSION_FIRST.search(name):
        return _PRICES.get((found[3], int(found[1]), int(found[2] or 0)))
    return None
