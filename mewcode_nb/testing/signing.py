"""Signatures of thinking blocks, and the memory of what was issued.

A signature is a keyed digest of the text, so that a second server (after a restart) still knows a
genuine block from a changed one. What only a memory can tell (which blocks an answer held, in which
order, after which conversation) is kept per server.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence

from mewcode_nb.testing.script import Body

__all__ = ["Issued", "is_genuine", "redacted_data", "sign"]

_KEY = b"mewcode test signatures"
_THINKING = ("thinking", "redacted_thinking")


def sign(text: str) -> str:
    """The signature of a thinking text."""
    digest = hmac.new(_KEY, text.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
    return "EqFake" + base64.b64encode(digest).decode("ascii")


def redacted_data(text: str) -> str:
    """The opaque form of a thinking text: it carries its own signature."""
    hidden = base64.b64encode(text.encode("utf-8")).decode("ascii")
    return f"{hidden}.{sign(hidden)}"


def is_genuine(block: Body) -> bool:
    """Whether a thinking block's text and signature belong together."""
    if block.get("type") == "redacted_thinking":
        hidden, _, signature = str(block.get("data", "")).partition(".")
        return hmac.compare_digest(signature.encode(), sign(hidden).encode())
    signature = str(block.get("signature", ""))
    return hmac.compare_digest(signature.encode(), sign(str(block.get("thinking", ""))).encode())


class Issued:
    """The thinking blocks a server sent: by the tool calls beside them, and what came before."""

    def __init__(self) -> None:
        self._by_call: dict[str, tuple[Body, ...]] = {}
        self._prefixes: dict[str, set[str]] = {}

    def add(self, content: Sequence[Body], prefix: str) -> None:
        """Remember an answer given after the messages whose digest is `prefix`."""
        blocks = tuple(b for b in content if b["type"] in _THINKING)
        for block in content:
            if block["type"] == "tool_use":
                self._by_call[block["id"]] = blocks
        for block in blocks:
            self._prefixes.setdefault(_proof(block), set()).add(prefix)

    def beside(self, call: str) -> tuple[Body, ...] | None:
        """The thinking blocks of the answer that held this call; None for an unknown call."""
        return self._by_call.get(call)

    def fits(self, block: Body, prefix: str) -> bool:
        """Whether the block was issued after these messages, or is none of this server's."""
        known = self._prefixes.get(_proof(block))
        return known is None or prefix in known


def _proof(block: Body) -> str:
    return str(block.get("signature") or block.get("data") or "")
