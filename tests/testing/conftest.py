from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import anthropic
import pytest

from mewcode_nb.testing import FakeServer


@pytest.fixture
def client_of() -> Iterator[Callable[..., anthropic.Anthropic]]:
    with ExitStack() as stack:

        def connect(server: FakeServer, **options: object) -> anthropic.Anthropic:
            settings = {"api_key": server.api_key, "max_retries": 0, **options}
            client = anthropic.Anthropic(base_url=server.base_url, **settings)
            return stack.enter_context(client)

        yield connect
