"""One response's stream events, folded into blocks, usage and a stop reason.

The events are the service's own JSON objects, so a block ends up exactly as it was sent: nothing
is parsed into classes and written out again. A tool's input is collected as text and parsed once,
when it is whole, which keeps the cost linear in its size. A body that merely ends is no answer:
only a stream whose closing event, stop reason and blocks all arrived becomes a `Completion`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias, cast

from mewcode_nb.events import TextDelta, ThinkingDelta, ToolInputDelta, Usage
from mewcode_nb.messages import Block, Json, JsonObject, clean_text
from mewcode_nb.model.protocol import Completion

__all__ = ["CONTENT_EVENTS", "Accumulator", "Delta", "StreamDamaged", "parse_event", "read_usage"]

Delta: TypeAlias = TextDelta | ThinkingDelta | ToolInputDelta

CONTENT_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    }
)
"""Events that show the model at work; pings and unknown ones only show the connection alive."""

_SHOWN_OF_BAD_INPUT = 200
"""Characters of an unreadable tool input that are quoted back to the model."""


class StreamDamaged(ValueError):
    """The events do not make a response: one is missing, out of order or not what it should be."""


@dataclass(slots=True)
class _Open:
    """A block being received: its start as sent, and the pieces that will replace its fields."""

    start: JsonObject
    pieces: dict[str, list[str]] = field(default_factory=dict)
    citations: list[Json] = field(default_factory=list)
    size: int = 0
    closed: bool = False

    def add(self, key: str, text: str) -> None:
        self.pieces.setdefault(key, []).append(text)

    def text(self, key: str) -> str:
        first = self.start.get(key)
        head = first if isinstance(first, str) else ""
        return clean_text(head + "".join(self.pieces.get(key, ())))


class Accumulator:
    """Folds events in the order they come; `completion` is asked once, at the end.

    `input_includes_cache` is for gateways that report the cached tokens inside `input_tokens`,
    as the OpenAI API does; the Messages API keeps the three apart.
    """

    def __init__(self, *, input_includes_cache: bool = False) -> None:
        self._blocks: dict[int, _Open] = {}
        self._usage: dict[str, Json] = {}
        self._input_includes_cache = input_includes_cache
        self._id = ""
        self._model = ""
        self._stop_reason = ""
        self.started = False
        self.ended = False

    def add(self, event: Mapping[str, Json]) -> Delta | None:
        """Take one event; the delta to show, if it has one. Raises `StreamDamaged`."""
        kind = event.get("type")
        if kind == "content_block_delta":
            return self._delta(event)
        if kind == "content_block_start":
            self._open(event)
        elif kind == "content_block_stop":
            self._block(event).closed = True
        elif kind == "message_start":
            self._start(event)
        elif kind == "message_delta":
            self._end(event)
        elif kind == "message_stop":
            self.ended = True
        return None

    def missing(self) -> str:
        """What keeps this from being a whole response, in words; empty when it is one."""
        if not self.started:
            return "no answer began"
        if not self.ended:
            return "the closing event never came"
        if not self._stop_reason:
            return "no stop reason came"
        half = [b for b in self._blocks.values() if not b.closed and b.start["type"] != "text"]
        return "a block was left half sent" if half else ""

    def completion(self, request_id: str | None = None) -> Completion:
        """The whole response. Raises `StreamDamaged` when it is not whole."""
        if reason := self.missing():
            raise StreamDamaged(reason)
        invalid: dict[str, str] = {}
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        _part_calls(blocks)
        content = [_finished(block, invalid) for block in blocks]
        return Completion(
            content=tuple(cast(Sequence[Block], content)),
            stop_reason=self._stop_reason,
            usage=self.usage,
            model=self._model,
            message_id=self._id,
            request_id=request_id,
            invalid_inputs=invalid,
        )

    @property
    def usage(self) -> Usage:
        """Tokens as last reported."""
        return read_usage(self._usage, input_includes_cache=self._input_includes_cache)

    def partial(self) -> tuple[Block, ...]:
        """The words that arrived, for an answer that broke off; never half a call or thought."""
        opened = [self._blocks[index] for index in sorted(self._blocks)]
        texts = [block.text("text") for block in opened if block.start["type"] == "text"]
        return tuple({"type": "text", "text": text} for text in texts if text.strip())

    def _start(self, event: Mapping[str, Json]) -> None:
        message = _object(event, "message")
        if self.started:
            raise StreamDamaged("a second answer began inside the first")
        self.started = True
        self._id = _text(message, "id")
        self._model = _text(message, "model")
        self._overwrite_usage(message.get("usage"))

    def _end(self, event: Mapping[str, Json]) -> None:
        stop_reason = _object(event, "delta").get("stop_reason")
        if isinstance(stop_reason, str):
            self._stop_reason = stop_reason
        self._overwrite_usage(event.get("usage"))

    def _overwrite_usage(self, usage: Json) -> None:
        # Each report is cumulative, so adding would count tokens twice; a field that a report
        # leaves out keeps what an earlier one said.
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})

    def _open(self, event: Mapping[str, Json]) -> None:
        block = dict(_object(event, "content_block"))
        index = event.get("index")
        if not isinstance(index, int) or index in self._blocks or not _text(block, "type"):
            raise StreamDamaged("a block began without a place of its own")
        if block["type"] == "tool_use" and not (_text(block, "id") and _text(block, "name")):
            raise StreamDamaged("a tool call came without a name or an id")
        self._blocks[index] = _Open(block)

    def _block(self, event: Mapping[str, Json]) -> _Open:
        index = event.get("index")
        block = self._blocks.get(index) if isinstance(index, int) else None
        if block is None:
            raise StreamDamaged("a piece came for a block that never began")
        return block

    def _delta(self, event: Mapping[str, Json]) -> Delta | None:
        block = self._block(event)
        delta = _object(event, "delta")
        kind = delta.get("type")
        if kind == "text_delta":
            text = _text(delta, "text")
            block.add("text", text)
            return TextDelta(clean_text(text)) if text else None
        if kind == "thinking_delta":
            text = _text(delta, "thinking")
            block.add("thinking", text)
            return ThinkingDelta(clean_text(text)) if text else None
        if kind == "input_json_delta":
            return self._input_delta(event, block, _text(delta, "partial_json"))
        if kind == "signature_delta":
            block.add("signature", _text(delta, "signature"))
        elif kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        return None

    def _input_delta(
        self, event: Mapping[str, Json], block: _Open, text: str
    ) -> ToolInputDelta | None:
        if not text:
            return None
        block.add("input", text)
        block.size += len(text)
        return ToolInputDelta(cast(int, event["index"]), _text(block.start, "name"), block.size)


def parse_event(data: str | bytes) -> JsonObject:
    """The JSON object of one event. Raises `StreamDamaged`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamDamaged("an event was not JSON") from error
    if not isinstance(value, dict):
        raise StreamDamaged("an event was not a JSON object")
    return value


def read_usage(raw: Mapping[str, Json], *, input_includes_cache: bool = False) -> Usage:
    """The service's usage object as the three inputs that do not overlap, and the output.

    `cache_creation` is the same tokens as `cache_creation_input_tokens`, split by lifetime; some
    servers fill only one of the two, so the larger counts.
    """
    split = raw.get("cache_creation")
    by_lifetime = sum(_count(value) for value in split.values()) if isinstance(split, dict) else 0
    created = max(_count(raw.get("cache_creation_input_tokens")), by_lifetime)
    read = _count(raw.get("cache_read_input_tokens"))
    fresh = _count(raw.get("input_tokens"))
    if input_includes_cache:
        fresh = max(0, fresh - created - read)
    return Usage(fresh, created, read, _count(raw.get("output_tokens")))


def _part_calls(blocks: Sequence[_Open]) -> None:
    """Give calls that share one id, as local servers send them, an id each.

    A result names its call by the id alone: two of one name would run twice and be answered once.
    """
    calls = [block.start for block in blocks if block.start["type"] == "tool_use"]
    taken = {_text(call, "id") for call in calls}
    if len(taken) == len(calls):
        return
    used: set[str] = set()
    for call in calls:
        given = name = _text(call, "id")
        number = 2
        while name in used or (name != given and name in taken):
            name, number = f"{given}-{number}", number + 1
        used.add(name)
        call["id"] = name


def _finished(block: _Open, invalid: dict[str, str]) -> JsonObject:
    done = dict(block.start)
    for key in block.pieces:
        if key != "input":
            done[key] = block.text(key)
    if block.citations:
        done["citations"] = [*_list(done.get("citations")), *block.citations]
    if done["type"] == "tool_use" or "input" in block.pieces:
        done["input"], problem = _input(block)
        if problem:
            invalid[_text(done, "id")] = problem
    return done


def _input(block: _Open) -> tuple[Json, str]:
    """The call's input, and what is wrong with it; a wrong input becomes an empty object."""
    raw = "".join(block.pieces.get("input", ()))
    if not raw.strip():
        # A call without arguments sends no pieces; some servers put all of it into the start.
        value = block.start.get("input", {})
        if isinstance(value, dict):
            return value, ""
        return {}, _quoted("not a JSON object", str(value))
    try:
        value = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return {}, _quoted(f"not JSON ({error})", raw)
    if not isinstance(value, dict):
        return {}, _quoted("not a JSON object", raw)
    return (_clean(value) if "\\u" in raw or not raw.isascii() else value), ""


def _quoted(problem: str, raw: str) -> str:
    shown = clean_text(raw[:_SHOWN_OF_BAD_INPUT])
    cut = f"… ({len(raw):,} characters)" if len(raw) > _SHOWN_OF_BAD_INPUT else ""
    return f"the input is {problem}: {shown}{cut}"


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(item) for key, item in value.items()}
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _object(source: Mapping[str, Json], key: str) -> JsonObject:
    value = source.get(key)
    if not isinstance(value, dict):
        raise StreamDamaged(f"an event came without its {key}")
    return value


def _text(source: Mapping[str, Json], key: str) -> str:
    value = source.get(key)
    return value if isinstance(value, str) else ""


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
