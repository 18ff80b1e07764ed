"""What the Messages API refuses: a request body in, the reasons for a 400 out, in order.

Pure. The wordings follow those of the service where they are known, because clients match on them.
Messages and their blocks are judged in `history` and `blocks`; here is everything around them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from mewcode_nb.testing.blocks import check_blank
from mewcode_nb.testing.history import check_messages
from mewcode_nb.testing.limits import Limits, Violation
from mewcode_nb.testing.prompt import blocks_of
from mewcode_nb.testing.schema import check_output_config, check_schema
from mewcode_nb.testing.script import Body
from mewcode_nb.testing.signing import Issued

__all__ = ["parse", "validate"]

_FIELDS = frozenset(
    {"model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream", "metadata"}
    | {"stop_sequences", "thinking", "cache_control", "container", "diagnostics"}
    | {"inference_geo", "output_config", "service_tier", "speed"}
)
_SAMPLING = ("temperature", "top_p", "top_k")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_TOOL_FIELDS = frozenset(
    {"type", "name", "description", "input_schema", "cache_control", "strict", "input_examples"}
    | {"defer_loading", "eager_input_streaming", "allowed_callers"}
)
_THINKING_TYPES = ("adaptive", "disabled", "between_tools")
_EXTRA = "Extra inputs are not permitted"


def parse(raw: bytes) -> Body | Violation:
    """The body as JSON, or why it is none. A lone surrogate escape is no text."""
    try:
        body = json.loads(raw)
        json.dumps(body, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        column = error.start + 1
        return Violation(
            "The request body is not valid JSON: no low surrogate in string: "
            f"line 1 column {column} (char {error.start})"
        )
    except (ValueError, RecursionError) as error:
        return Violation(f"The request body is not valid JSON: {error}")
    if not isinstance(body, dict):
        return Violation("Input should be a valid dictionary or object")
    return body


def validate(
    body: Body, limits: Limits, issued: Issued | None = None, *, counting: bool = False
) -> list[Violation]:
    """Every reason to refuse the body; `counting` for count_tokens, which needs no `max_tokens`."""
    found: list[str] = []
    found += _check_fields(body)
    if not counting:
        found += _check_max_tokens(body, limits)
    found += _check_system(body.get("system"))
    found += _check_tools(body)
    found += _check_thinking(body)
    found += check_output_config(body.get("output_config"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        found.append(
            "messages: Field required"
            if messages is None
            else "messages: at least one message is required"
        )
    elif len(messages) > limits.messages:
        found.append(f"messages: at most {limits.messages} messages are permitted")
    else:
        found += check_messages(messages, limits, issued or Issued())
        found += _check_marks(body, limits)
    return [Violation(message) for message in found]


def _check_fields(body: Body) -> Iterator[str]:
    for name in body:
        if name in _SAMPLING:
            yield f"`{name}` is deprecated for this model."
        elif name not in _FIELDS:
            yield f"{name}: {_EXTRA}"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: Field required"
    if not isinstance(body.get("stream", False), bool):
        yield "stream: Input should be a valid boolean"
    stops = body.get("stop_sequences", [])
    if not isinstance(stops, list) or not all(isinstance(s, str) and s.strip() for s in stops):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    metadata = body.get("metadata") or {}
    if not isinstance(metadata, dict) or set(metadata) - {"user_id"}:
        yield f"metadata: {_EXTRA}"


def _check_max_tokens(body: Body, limits: Limits) -> Iterator[str]:
    size = body.get("max_tokens")
    if size is None:
        yield "max_tokens: Field required"
    elif not isinstance(size, int) or isinstance(size, bool):
        yield "max_tokens: Input should be a valid integer"
    elif size < 1:
        yield "max_tokens: must be greater than or equal to 1"
    elif size > limits.max_output:
        yield (
            f"max_tokens: {size} > {limits.max_output}, which is the maximum allowed number of "
            f"output tokens for {body.get('model')}"
        )


def _check_system(system: object) -> Iterator[str]:
    if system is None or system == "":
        return
    if not isinstance(system, str | list):
        yield "system: Input should be a valid list"
        return
    for index, block in enumerate(blocks_of(system)):
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            yield f"system.{index}.type: Input should be 'text'"
            continue
        for name in set(block) - {"type", "text", "cache_control", "citations"}:
            yield f"system.{index}.{name}: {_EXTRA}"
        yield from check_blank(block["text"], "system")


def _check_tools(body: Body) -> Iterator[str]:
    tools = body.get("tools")
    if tools is not None and not isinstance(tools, list):
        yield "tools: Input should be a valid list"
        return
    names: list[str] = []
    for index, tool in enumerate(tools or []):
        yield from _check_tool(f"tools.{index}", tool)
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(name, str) and name in names:
            yield "tools: Tool names must be unique."
        names.append(str(name))
    if body.get("tool_choice") is not None:
        yield from _check_choice(body["tool_choice"], names)


def _check_choice(choice: object, names: list[str]) -> Iterator[str]:
    if not isinstance(choice, dict):
        yield "tool_choice: Input should be a valid dictionary or object"
    elif choice.get("type") not in ("auto", "any", "tool", "none"):
        yield "tool_choice: Input tag does not match any of: 'any', 'auto', 'none', 'tool'"
    elif not names:
        yield "tool_choice may only be specified while providing tools"
    elif choice["type"] == "tool" and choice.get("name") not in names:
        yield f"Tool '{choice.get('name')}' not found in provided tools"


def _check_tool(where: str, tool: object) -> Iterator[str]:
    if not isinstance(tool, dict):
        yield f"{where}: Input should be a valid dictionary"
        return
    if tool.get("type", "custom") not in (None, "custom"):
        return
    for name in set(tool) - _TOOL_FIELDS:
        yield f"{where}.custom.{name}: {_EXTRA}"
    if not isinstance(tool.get("name"), str) or not _TOOL_NAME.fullmatch(tool["name"]):
        yield f"{where}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    if not isinstance(tool.get("description", ""), str):
        yield f"{where}.custom.description: Input should be a valid string"
    schema = tool.get("input_schema")
    if not isinstance(schema, dict):
        yield f"{where}.custom.input_schema: Field required"
    elif schema.get("type") != "object":
        yield f"{where}.custom.input_schema.type: Input should be 'object'"
    elif tool.get("strict"):
        yield from check_schema(f"{where}.custom.input_schema", schema)


def _check_thinking(body: Body) -> Iterator[str]:
    thinking = body.get("thinking")
    if thinking is None:
        return
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind == "enabled":
        yield (
            '"thinking.type.enabled" is not supported for this model. '
            'Use "thinking.type.adaptive" instead.'
        )
    elif kind not in _THINKING_TYPES:
        yield "thinking: Input tag does not match any of the expected tags"


def _check_marks(body: Body, limits: Limits) -> Iterator[str]:
    marks = list(_marks(body))
    if len(marks) > limits.cache_marks:
        yield (
            f"A maximum of {limits.cache_marks} blocks with cache_control may be provided. "
            f"Found {len(marks)}."
        )
    shorter = False
    for where, mark in marks:
        if not isinstance(mark, dict) or mark.get("type") != "ephemeral":
            yield f"{where}.cache_control.type: Input should be 'ephemeral'"
            continue
        ttl = mark.get("ttl") or "5m"
        if ttl not in ("5m", "1h"):
            yield f"{where}.cache_control.ttl: Input should be '5m' or '1h'"
        if ttl == "1h" and shorter:
            yield (
                f"{where}.cache_control.ttl: a ttl='1h' cache_control block must not come after a "
                "ttl='5m' cache_control block. Note that blocks are processed in the following "
                "order: `tools`, `system`, `messages`."
            )
        shorter = shorter or ttl == "5m"


def _marks(body: Body) -> Iterator[tuple[str, object]]:
    for where, block in _all_blocks(body):
        if block.get("cache_control") is not None:
            yield where, block["cache_control"]
    if body.get("cache_control") is not None:
        yield "request", body["cache_control"]


def _all_blocks(body: Body) -> Iterator[tuple[str, Body]]:
    tools = body.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else []):
        if isinstance(tool, dict):
            yield f"tools.{index}", tool
    for index, block in enumerate(blocks_of(body.get("system"))):
        yield f"system.{index}", block
    for index, message in enumerate(body["messages"]):
        content = message.get("content") if isinstance(message, dict) else None
        for place, block in enumerate(blocks_of(content)):
            where = f"messages.{index}.content.{place}"
            for inner, part in enumerate(blocks_of(block.get("content"))):
                yield f"{where}.content.{inner}", part
            yield where, block
