from __future__ import annotations

import pytest

from mewcode_nb.config.price_list import read_prices


@pytest.mark.parametrize(
    ("text", "prices"),
    [
        ("", {}),
        ("  ", {}),
        ("my-model=1/5", {"my-model": (1.0, 5.0, None)}),
        (" a=0.5/2 , b=3/15/0.3", {"a": (0.5, 2.0, None), "b": (3.0, 15.0, 0.3)}),
        ("org/name:7b=0/0", {"org/name:7b": (0.0, 0.0, None)}),
        ("odd=name=1/2", {"odd=name": (1.0, 2.0, None)}),
    ],
)
def test_prices_are_read_by_model(text, prices):
    assert read_prices(text) == prices


@pytest.mark.parametrize(
    "text",
    ["model", "model=1", "=1/2", "a b=1/2", "m=1/2/3/4", "m=1/x", "m=-1/2", "m=nan/1", "m=1/2,"],
)
def test_another_form_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 (the caller says what is allowed)
        read_prices(text)
