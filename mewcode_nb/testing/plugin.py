"""Pytest fixtures of the test kit; registered by entry point, so it imports next to nothing.

`mewcode_server` makes servers, stops them after the test and checks each: expectations held, no
request was refused. `mewcode_project` is a temporary project.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from mewcode_nb.testing.project import Project
    from mewcode_nb.testing.script import Script
    from mewcode_nb.testing.server import FakeServer

__all__ = ["ServerMaker", "mewcode_project", "mewcode_server"]


class ServerMaker(Protocol):
    """What the fixture `mewcode_server` gives: call it with what `FakeServer` takes."""

    def __call__(self, script: Script = (), **options: Any) -> FakeServer:  # noqa: ANN401
        """Start a server."""
        ...


@pytest.fixture
def mewcode_server() -> Iterator[ServerMaker]:
    """Start servers; `server.allow_invalid = True` accepts refused requests at the end."""
    from mewcode_nb.testing.server import FakeServer

    servers: list[FakeServer] = []

    def make(script: Script = (), **options: Any) -> FakeServer:  # noqa: ANN401
        servers.append(FakeServer(script, **options).start())
        return servers[-1]

    yield make
    for server in servers:
        server.stop()
    for server in servers:
        server.check()


@pytest.fixture
def mewcode_project(tmp_path: Path) -> Project:
    """Make a temporary home and project."""
    from mewcode_nb.testing.project import make_project

    return make_project(tmp_path)
