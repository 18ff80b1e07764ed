from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.errors import ModelError
from mewcode_nb.events import SdkLoading
from mewcode_nb.model.client import AnthropicModel, preload
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Request
from mewcode_nb.testing.server import FakeServer

SHELL = {
    "name": "shell",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


@pytest.fixture(scope="session")
def sdk():
    """The SDK is imported, as it is once a first request was sent."""
    preload().join()


@pytest.fixture
def ask():
    """A request with one tool; keyword arguments replace its fields."""

    def make(words="hi", **changes):
        message = {"role": "user", "content": [{"type": "text", "text": words}]}
        fields = {
            "model": "claude-sonnet-5-5",
            "system": (),
            "messages": (message,),
            "tools": (SHELL,),
            "max_tokens": 1000,
        }
        return Request(**{**fields, **changes})

    return make


@pytest.fixture
def options():
    """Options for a server, with waits cut to milliseconds."""

    def make(server, **changes):
        fields = {
            "base_url": server.base_url,
            "api_key": server.api_key,
            "max_retries": 2,
            "max_wait": 0.01,
            "stall_seconds": 5.0,
            "connect_seconds": 5.0,
        }
        return ModelOptions(**{**fields, **changes})

    return make


@pytest.fixture
def exchange(ask, options):
    """Sends one request to a scripted server: the events, the error if any, and the server."""

    def run(*script, request=None, behaviour=None, **changes):
        async def turn(server):
            model = AnthropicModel(options(server, **changes), jitter=lambda: 0.0)
            events = []
            try:
                async for event in model.stream(request or ask()):
                    events.append(event)
            except ModelError as error:
                return events, error
            finally:
                await model.close()
            return events, None

        with FakeServer(script, **(behaviour or {})) as server:
            events, error = asyncio.run(turn(server))
        shown = [event for event in events if not isinstance(event, SdkLoading)]
        return shown, error, server

    return run
