from __future__ import annotations

import pytest

from mewcode_nb.model.limits import choose_limits, listed_window, read_record
from mewcode_nb.model.protocol import ModelLimits


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"max_input_tokens": 1_000_000, "max_tokens": 128_000}, (1_000_000, 128_000)),
        ({"max_input_tokens": 1_000_000}, (1_000_000, 0)),
        ({"id": "x", "meta": {"n_ctx": 8192, "n_ctx_train": 32768}}, (8192, 0)),
        ({"id": "x", "max_model_len": 32768}, (32768, 0)),
        ({"id": "x", "loaded_context_length": 4096}, (4096, 0)),
        ({"max_input_tokens": None, "max_tokens": None}, (0, 0)),
        ({"max_input_tokens": "many", "max_tokens": True}, (0, 0)),
        ({"meta": 3}, (0, 0)),
        (None, (0, 0)),
        ([], (0, 0)),
    ],
)
def test_a_record_is_read_in_each_servers_form(record, expected):
    assert read_record(record) == expected


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ({"data": [{"id": "/m/a.gguf", "meta": {"n_ctx": 8192}}]}, 8192),
        ({"data": [{"id": "a", "max_model_len": 1}, {"id": "want", "max_model_len": 2}]}, 2),
        ({"data": [{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}]}, 0),
        ({"data": []}, 0),
        ({"data": "x"}, 0),
        ({"data": [3]}, 0),
        (None, 0),
    ],
)
def test_a_listing_answers_for_the_named_model_or_the_only_one(listing, expected):
    assert listed_window(listing, "want") == expected


@pytest.mark.parametrize(
    ("model", "record", "setting", "expected"),
    [
        ("claude-x", (500_000, 64_000), 9_000, ModelLimits(500_000, 64_000, "model record")),
        ("qwen", (8192, 0), 0, ModelLimits(8192, 2048, "model record")),
        ("qwen", (0, 0), 32_000, ModelLimits(32_000, 8_000, "settings")),
        ("qwen", (0, 0), 100_000, ModelLimits(100_000, 8_192, "settings")),
        ("claude-sonnet-5-5", (0, 0), 0, ModelLimits(1_000_000, 128_000, "known model")),
        ("claude-haiku-4-5-20251001", (0, 0), 0, ModelLimits(200_000, 64_000, "known model")),
        ("claude-haiku-4-5", (0, 0), 150_000, ModelLimits(150_000, 64_000, "settings")),
        ("mystery", (0, 0), 0, ModelLimits(200_000, 8_192, "default")),
        ("mystery", (0, 4_000), 0, ModelLimits(200_000, 4_000, "default")),
    ],
)
def test_row_24_limits_come_from_the_best_source_and_name_it(model, record, setting, expected):
    assert choose_limits(model, record, setting) == expected
