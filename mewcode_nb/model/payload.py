"""A request as the JSON body that is sent, for the real service and for local servers.

The blocks go out as they are: no copy, no reordering, nothing added. Only the local profile takes
things out (cache marks and thinking, which local servers ignore or refuse).
"""

from __future__ import annotations

from collections.abc import Sequence

from mewcode_nb.messages import Json, JsonObject
from mewcode_nb.model.protocol import Request

__all__ = ["count_body", "request_body"]


def request_body(request: Request, *, local: bool) -> JsonObject:
    """The body of `POST /v1/messages`, streamed; without sampling parameters."""
    keep = _without_marks if local else list
    body: JsonObject = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [_message(message) for message in request.messages]
        if local
        else list(request.messages),
        "stream": True,
    }
    if request.system:
        body["system"] = keep(request.system)
    if request.tools:
        body["tools"] = keep(request.tools)
    if request.thinking is not None and not local:
        body["thinking"] = request.thinking
    return body


def count_body(request: Request, *, local: bool) -> JsonObject:
    """The body of `POST /v1/messages/count_tokens`: what is sent, without what makes an answer."""
    body = request_body(request, local=local)
    del body["max_tokens"], body["stream"]
    return body


def _message(message: JsonObject) -> JsonObject:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [block for block in content if not _is_thinking(block)]
    return {**message, "content": [_unmarked(block) for block in blocks]}


def _without_marks(blocks: Sequence[JsonObject]) -> list[Json]:
    return [_unmarked(block) for block in blocks]


def _unmarked(block: Json) -> Json:
    if not isinstance(block, dict) or "cache_control" not in block:
        return block
    return {key: value for key, value in block.items() if key != "cache_control"}


def _is_thinking(block: Json) -> bool:
    return isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")
