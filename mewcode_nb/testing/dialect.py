"""How a service words its answers: the vendor's own way, and that of a llama.cpp server.

The second exists because clients must live with it: other ids, other error envelopes, usage without
cache counters, the model's file name in the reply (seen with llama.cpp's `/v1/messages`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mewcode_nb.testing.cache import CacheUse
from mewcode_nb.testing.faults import error_body
from mewcode_nb.testing.limits import Limits
from mewcode_nb.testing.script import Body, Reply

__all__ = ["Dialect", "error", "make_id", "model_record", "too_long", "usage_of"]

Dialect = Literal["anthropic", "llama"]
_LLAMA_MODEL = "/models/local-7b.gguf"


@dataclass(frozen=True, slots=True)
class _Names:
    message: str
    call: str


_IDS = {"anthropic": _Names("msg_", "toolu_"), "llama": _Names("chatcmpl-", "")}


def make_id(dialect: Dialect, kind: Literal["message", "call"], seed: str, number: int) -> str:
    """An id in the dialect's form, unique for seed and number."""
    names = _IDS[dialect]
    prefix = names.message if kind == "message" else names.call
    return f"{prefix}{seed}{number:0{24 if prefix else 32 - len(seed)}d}"


def error(
    dialect: Dialect, status: int, message: str, *, kind: str = "", request_id: str = ""
) -> Body:
    """An error body."""
    if dialect == "llama":
        return {"error": {"code": status, "message": message, "type": kind or _llama_type(status)}}
    return error_body(status, kind, message, request_id)


def too_long(dialect: Dialect, used: int, limits: Limits, request_id: str) -> Body:
    """The refusal of a prompt that is over the window."""
    if dialect == "anthropic":
        message = f"prompt is too long: {used} tokens > {limits.window} maximum"
        return error_body(400, "", message, request_id)
    message = f"request ({used} tokens) exceeds the available context size ({limits.window} tokens)"
    detail = {"code": 400, "message": message, "type": "exceed_context_size_error"}
    return {"error": {**detail, "n_prompt_tokens": used, "n_ctx": limits.window}}


def usage_of(dialect: Dialect, use: CacheUse, output: int, thinking: int, reply: Reply) -> Body:
    """The usage object; a reply's own numbers replace the computed ones."""
    if dialect == "llama":
        usage: Body = {
            "input_tokens": use.total - use.read,
            "output_tokens": output,
            "cache_read_input_tokens": use.read,
        }
    else:
        usage = {
            "input_tokens": use.input_tokens,
            "cache_creation_input_tokens": use.written_5m + use.written_1h,
            "cache_read_input_tokens": use.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": use.written_5m,
                "ephemeral_1h_input_tokens": use.written_1h,
            },
            "output_tokens": output,
            "output_tokens_details": {"thinking_tokens": thinking},
            "service_tier": "standard",
        }
    return {**usage, **dict(reply.usage)}


def model_record(dialect: Dialect, name: str, limits: Limits) -> Body:
    """One entry of `/v1/models`."""
    if dialect == "llama":
        return {"id": _LLAMA_MODEL, "object": "model", "meta": {"n_ctx": limits.window}}
    return {
        "type": "model",
        "id": name,
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-06-01T00:00:00Z",
        "lifecycle": "active",
        "deprecated_at": None,
        "retires_at": None,
        "line": None,
        "capabilities": None,
        "max_input_tokens": limits.window,
        "max_tokens": limits.max_output,
    }


def _llama_type(status: int) -> str:
    return "invalid_request_error" if status < 500 else "server_error"
