"""Starting and stopping the tutorial's server in this process."""

from __future__ import annotations

from dataclasses import dataclass

from mewcode_nb.testing.script import when
from mewcode_nb.testing.server import FakeServer
from mewcode_nb.tutorial.lessons import answer

__all__ = ["TUTORIAL_MODEL", "TutorialServer", "start"]

TUTORIAL_MODEL = "recorded-tutorial"
"""Its name wherever a model's name stands on screen."""


@dataclass(frozen=True, slots=True)
class TutorialServer:
    """Where the tutorial answers on 127.0.0.1, and the token to send it."""

    base_url: str
    auth_token: str
    model: str
    _server: FakeServer

    def stop(self) -> None:
        """Let go of the port."""
        self._server.stop()


def start() -> TutorialServer:
    """Start answering on a free port of 127.0.0.1, on a daemon thread of this process."""
    server = FakeServer(
        [when(lambda ask: True, answer)], models=(TUTORIAL_MODEL,), window=200_000
    ).start()
    return TutorialServer(server.base_url, server.api_key, TUTORIAL_MODEL, server)
