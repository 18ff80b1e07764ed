"""The narrow seam to the model: one request in, a stream of events and one completion out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from mewcode_nb.events import (
    Retrying,
    SdkLoading,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    Usage,
)
from mewcode_nb.messages import Block, JsonObject

__all__ = ["Completion", "Model", "ModelEvent", "ModelLimits", "Request", "ToolSpec"]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the service is told of it; `input_schema` is a JSON schema of an object."""

    name: str
    description: str
    input_schema: JsonObject

    def to_api(self) -> JsonObject:
        """The tool as the API takes it."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the Messages API, whole; cache marks are already in the blocks."""

    model: str
    system: tuple[JsonObject, ...]
    messages: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...]
    max_tokens: int
    thinking: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """What one model can take and give, in tokens, and where the numbers come from."""

    window: int
    max_output: int
    source: str
    """`model record`, `settings`, `known model` or `default`."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A response that arrived whole: its closing event and its stop reason were seen."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    model: str
    message_id: str
    request_id: str | None = None
    invalid_inputs: Mapping[str, str] = field(default_factory=dict)
    """Calls whose input was no JSON object, by `tool_use` id, with the reason for the model.

    Their block carries an empty input, so that it can be stored and sent back; none may run.
    """


ModelEvent: TypeAlias = (
    SdkLoading | TextDelta | ThinkingDelta | ToolInputDelta | Retrying | Completion
)


class Model(Protocol):
    """Anything that answers a `Request`.

    `stream` yields deltas as they come and ends with exactly one `Completion`, or raises one
    `mewcode_nb.errors.ModelError`. It retries by itself what may pass and has shown nothing yet.
    """

    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Send the request; deltas first, one completion last."""
        ...

    async def limits(self, model: str) -> ModelLimits:
        """The model's window and output limit; cached, never raises for an unknown model."""
        ...

    async def count(self, request: Request) -> int | None:
        """Tokens of the request by the service's own count, without an answer to it.

        None where the service has no such count or cannot be asked: the estimate stands in. Never
        raises for either.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
