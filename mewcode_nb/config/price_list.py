"""The setting `prices`: what models cost, where the user knows better than our table. Pure."""

from __future__ import annotations

__all__ = ["GivenPrice", "read_prices"]

GivenPrice = tuple[float, float, float | None]
"""USD per million tokens: input, output, and input read from the cache where it was given."""

_MOST = 1_000_000.0


def read_prices(text: str) -> dict[str, GivenPrice]:
    """By model, the prices of a list such as `my-model=0.5/2, other=3/15/0.3`.

    Raises ValueError for a text of another form.
    """
    found: dict[str, GivenPrice] = {}
    for part in text.split(",") if text.strip() else ():
        name, _, prices = part.rpartition("=")
        numbers = [_number(number) for number in prices.split("/")]
        if not name.strip() or len(name.split()) != 1 or len(numbers) not in {2, 3}:
            raise ValueError(part)
        found[name.strip()] = (numbers[0], numbers[1], numbers[2] if len(numbers) > 2 else None)
    return found


def _number(text: str) -> float:
    number = float(text)
    if not 0 <= number <= _MOST:
        raise ValueError(text)
    return number
