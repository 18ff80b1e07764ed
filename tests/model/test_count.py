from __future__ import annotations

import asyncio

import pytest

from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.testing.server import FakeServer

pytestmark = pytest.mark.usefixtures("sdk")

SYSTEM = ({"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},)


@pytest.fixture
def count():
    def count(given, request):
        async def counted():
            model = AnthropicModel(given)
            found = await model.count(request)
            await model.close()
            return found

        return asyncio.run(counted())

    return count


def test_the_count_is_what_the_answer_reports_and_asks_for_none(ask, options, count, exchange):
    request = ask("数一数 " * 300, system=SYSTEM)
    with FakeServer() as server:
        found = count(options(server), request)
        assert (server.summary().counted, server.requests) == (1, [])
    events, _, _ = exchange("fine", request=request)
    assert found == events[-1].usage.total_input > 300


@pytest.mark.parametrize("dialect", ["anthropic", "llama"])
def test_a_server_without_the_endpoint_counts_nothing(ask, options, count, dialect):
    with FakeServer(count_tokens=False, dialect=dialect) as server:
        assert count(options(server), ask()) is None


@pytest.mark.parametrize("words", [" ", "\ud800"])
def test_a_request_that_cannot_be_sent_is_not_counted(ask, options, count, words):
    with FakeServer() as server:
        assert count(options(server), ask(words)) is None


def test_a_server_that_is_not_there_and_a_missing_key_count_nothing(ask, options, count):
    with FakeServer() as server:
        gone = options(server)
    assert count(gone, ask()) is None
    assert count(ModelOptions(), ask()) is None
