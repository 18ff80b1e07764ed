"""The parts of a conversation that may change between its turns, each behind what uses it.

A key is set late, an address changes, a new secret turns up, a click replaces a line of input: the
agent keeps one model, one approver and one redactor, and these turn to what holds now.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping

from mewcode_nb.agent.approval import Approver, FixedApprover
from mewcode_nb.events import Decision, Proposal
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import ModelEvent, ModelLimits, Request
from mewcode_nb.notebook.project import Project
from mewcode_nb.redact import Redactor, secret_values

__all__ = ["LiveModel", "LiveRedactor", "TurnApprover", "model_options"]


class LiveModel:
    """A `Model` whose way to the service may change between turns: a key set late, another host."""

    def __init__(self) -> None:
        self._model = AnthropicModel(ModelOptions())

    async def use(self, project: Project) -> None:
        """Go the way the project's settings describe; connections of another way are closed."""
        options = model_options(project)
        if options != self._model.options:
            await self._model.close()
            self._model = AnthropicModel(options)

    def stream(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """As `Model.stream`."""
        return self._model.stream(request)

    async def limits(self, model: str) -> ModelLimits:
        """As `Model.limits`."""
        return await self._model.limits(model)

    async def count(self, request: Request) -> int | None:
        """As `Model.count`."""
        return await self._model.count(request)

    async def close(self) -> None:
        """Close the connections of the running loop."""
        await self._model.close()


class TurnApprover:
    """An `Approver` that asks in the way that fits the turn at hand."""

    def __init__(self) -> None:
        self.current: Approver = FixedApprover(allow=False, by="no turn")

    async def ask(self, proposal: Proposal) -> Decision:
        """The current way's answer."""
        return await self.current.ask(proposal)


class LiveRedactor(Redactor):
    """A `Redactor` that learns of secrets set while the session lasts."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()

    def renew(self, project: Project, environ: Mapping[str, str]) -> None:
        """Mask the secrets there are now, and those there were: an old key may work yet."""
        self._seen |= {*project.credentials.secrets(), *secret_values(environ)}
        super().__init__(self._seen)


def model_options(project: Project) -> ModelOptions:
    """The way to the service that the settings and credentials describe."""
    settings = project.settings
    return ModelOptions(
        base_url=settings.base_url,
        api_key=project.credentials.api_key,
        auth_token=project.credentials.auth_token,
        max_retries=settings.max_retries,
        max_wait=settings.max_wait,
        stall_seconds=settings.stall_seconds,
        connect_seconds=settings.connect_seconds,
        context_window=settings.context_window,
        local=settings.local,
    )
