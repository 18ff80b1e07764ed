"""How much a model can take and give, from the best source at hand.

The model's own record comes first, since a window in a table is wrong as soon as a new model
appears; then the user's setting, then what is published of known models, then a stated default.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mewcode_nb.messages import Json
from mewcode_nb.model.protocol import ModelLimits

__all__ = [
    "DEFAULT_MAX_OUTPUT",
    "DEFAULT_WINDOW",
    "choose_limits",
    "listed_window",
    "read_count",
    "read_record",
]

DEFAULT_WINDOW = 200_000
DEFAULT_MAX_OUTPUT = 8_192

_WINDOW_KEYS = ("max_input_tokens", "n_ctx", "max_model_len", "loaded_context_length")
"""Messages API, llama.cpp (inside `meta`), vLLM and LM Studio."""

_KNOWN: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "claude-haiku-4-5": (200_000, 64_000),
        "claude-opus-5": (1_000_000, 128_000),
        "claude-sonnet-5": (1_000_000, 128_000),
        "claude-haiku-5": (1_000_000, 128_000),
        "claude-fable-5": (1_000_000, 128_000),
    }
)
"""By the start of the name: window and output, as the vendor's model pages gave them in 2026."""


def read_record(record: Json) -> tuple[int, int]:
    """Window and output limit of a `/v1/models/{id}` answer; 0 for what it does not say."""
    if not isinstance(record, dict):
        return 0, 0
    meta = record.get("meta")
    sources = [record, meta] if isinstance(meta, dict) else [record]
    windows = [_count(source.get(key)) for source in sources for key in _WINDOW_KEYS]
    return next((window for window in windows if window), 0), _count(record.get("max_tokens"))


def listed_window(listing: Json, model: str) -> int:
    """The window in a `/v1/models` answer: of the named model, or of the only one there is.

    Local servers have no record per model, and serve what they have whatever name is asked for.
    """
    entries = listing.get("data") if isinstance(listing, dict) else None
    if not isinstance(entries, list):
        return 0
    named = [e for e in entries if isinstance(e, dict) and e.get("id") == model]
    chosen = named or (entries if len(entries) == 1 else [])
    return read_record(chosen[0])[0] if chosen else 0


def read_count(answer: Json) -> int | None:
    """The tokens of a `count_tokens` answer; None where it says none."""
    counted = _count(answer.get("input_tokens")) if isinstance(answer, dict) else 0
    return counted or None


def choose_limits(model: str, record: tuple[int, int], setting: int) -> ModelLimits:
    """The limits and their source, from a record (0 where unknown) and the setting (0 for none)."""
    window, output = record
    known = next((limits for name, limits in _KNOWN.items() if model.startswith(name)), None)
    if window:
        return ModelLimits(window, output or _output(window, None), "model record")
    if setting > 0:
        return ModelLimits(setting, output or _output(setting, known), "settings")
    if known is not None:
        return ModelLimits(known[0], known[1], "known model")
    return ModelLimits(DEFAULT_WINDOW, output or DEFAULT_MAX_OUTPUT, "default")


def _output(window: int, known: tuple[int, int] | None) -> int:
    # A quarter leaves room for a conversation in the small windows of local models.
    return known[1] if known and known[1] < window else min(DEFAULT_MAX_OUTPUT, window // 4)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
