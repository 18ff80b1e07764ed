from __future__ import annotations

import pytest

from mewcode_nb.model.prices import Price, price_of
from mewcode_nb.usage import Usage

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("model", "plain", "answer", "read"),
    [
        ("claude-sonnet-5-5", 2, 10, 0.1),
        ("claude-opus-5-5", 4, 20, 0.2),
        ("claude-opus-5", 5, 25, 0.5),
        ("claude-fable-5-1", 10, 50, 0.25),
        ("claude-haiku-4-5-20251001", 1, 5, 0.1),
        ("claude-sonnet-4-20250514", 3, 15, 0.3),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", 15, 75, 1.5),
        ("anthropic/claude-opus-4.7", 5, 25, 0.5),
        ("claude-3-5-haiku-20241022", 0.8, 4, 0.08),
        ("anthropic/claude-3.7-sonnet", 3, 15, 0.3),
    ],
)
def test_list_prices_by_model_in_any_spelling(model, plain, answer, read):
    price = price_of(model)
    assert (price.input, price.output) == (plain, answer)
    assert price.cost(Usage(cache_read_input_tokens=MILLION)) == pytest.approx(read)


@pytest.mark.parametrize(
    "model", ["", "qwen2.5-coder:7b", "claude-opus-6", "claude-opus-5-9", "claude-2.1", "sonnet"]
)
def test_a_model_that_is_not_in_the_table_has_no_price(model):
    assert price_of(model) is None


@pytest.mark.parametrize(("ttl", "written"), [("5m", 6.25), ("1h", 10.0)])
def test_what_is_written_costs_by_its_lifetime_and_what_is_read_a_tenth(ttl, written):
    usage = Usage(MILLION, MILLION, MILLION, MILLION)
    assert price_of("claude-opus-5").cost(usage, ttl) == pytest.approx(5 + written + 0.5 + 25)
    assert price_of("claude-opus-5").uncached(usage) == pytest.approx(15 + 25)


@pytest.mark.parametrize(("tokens", "usd"), [(100_000, 0.01), (100_001, 0.0500005)])
def test_a_long_prompt_costs_more_where_the_vendor_says_so(tokens, usd):
    assert price_of("claude-haiku-5-5").cost(Usage(tokens)) == pytest.approx(usd)


def test_given_prices_add_models_and_overrule_the_table():
    given = {"my-model": (1.0, 5.0, None), "claude-opus-5-5": (3.0, 9.0, None)}
    assert price_of("my-model", given) == Price(1, 5)
    assert price_of("claude-opus-5-5", given) == Price(3, 9, read_share=0.05)
    assert price_of("m", {"m": (2.0, 9.0, 0.5)}) == Price(2, 9, read_share=0.25)
    assert price_of("m", {"m": (0.0, 0.0, 0.0)}) == Price(0, 0)
    assert price_of("claude-opus-5", given) == price_of("claude-opus-5")
