"""The composition root: everything one conversation is made of, put together in one place.

Imported at the first prompt, because the tools bring pydantic with them. Settings and credentials
are read again before each turn; the project root, the system prompt, the tools and the settings in
`FIXED_SETTINGS` are fixed when the session begins, so that the bytes already sent stay what they
were.
"""

from __future__ import annotations

import hashlib
import random
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from mewcode_nb.agent.approval import Approver, FixedApprover, Mode
from mewcode_nb.agent.calls import CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.loop import Agent, AgentParts
from mewcode_nb.agent.turn import CellRef, TurnRequest
from mewcode_nb.config.settings import Settings
from mewcode_nb.errors import SessionError
from mewcode_nb.events import Decision, Notice, Proposal
from mewcode_nb.instructions import Instructions, instruction_notices, load_instructions
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.model.protocol import Model, ModelEvent, ModelLimits, Request
from mewcode_nb.notebook.approver import Grants, choose_approver
from mewcode_nb.notebook.briefing import session_sections
from mewcode_nb.notebook.locate import cell_id
from mewcode_nb.notebook.namespace import UserNamespace
from mewcode_nb.notebook.news import Told, news_since
from mewcode_nb.notebook.options import TurnOptions
from mewcode_nb.notebook.project import Project
from mewcode_nb.paths import protected_reason, real_path, sessions_folder, write_gitignore
from mewcode_nb.prompt import CacheTtl, system_blocks
from mewcode_nb.redact import Redactor, child_environment, secret_values
from mewcode_nb.session.git import read_git
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import SessionRecord
from mewcode_nb.tools.base import FileReads, ToolContext
from mewcode_nb.tools.catalog import default_tools, specs

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    "Conversation",
    "LiveModel",
    "TurnApprover",
    "model_options",
    "open_conversation",
    "turn_request",
]


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


@dataclass(slots=True)
class Conversation:
    """One session in use: what the runtime keeps between cells."""

    agent: Agent
    approver: TurnApprover
    namespace: UserNamespace
    context: ToolContext
    redactor: LiveRedactor
    project: Project
    """As of when the session began."""
    session_id: str
    log: SessionLog | None
    """None where no session could be created: the conversation is in memory only."""
    told: Told
    notices: tuple[Notice, ...]
    """What the user should be told with the first turn."""
    grants: Grants = field(default_factory=Grants)
    """What the user allowed for the rest of the session."""

    @property
    def folder(self) -> Path | None:
        """Where the session is stored."""
        return self.log.folder if self.log else None

    def prepare(
        self,
        shell: InteractiveShell,
        project: Project,
        environ: Mapping[str, str],
        *,
        prompt: str,
        clicks: bool,
    ) -> None:
        """Take up what changed since the last turn: secrets, settings, the way of asking.

        Questions are put in the prompt's language, as the rest of the turn is shown. Without
        `clicks` no button could ever be heard, so a line of input asks.
        """
        self.redactor.renew(project, environ)
        self.context.environment = child_environment(environ)
        settings = project.settings
        if not clicks and settings.approval in {"auto", "buttons"}:
            settings = replace(settings, approval="input")
        self.approver.current = choose_approver(
            shell, settings, prompt=prompt, grants=self.grants, environment=environ
        )

    def request(self, request: TurnRequest, project: Project) -> TurnRequest:
        """The turn's request with the news that the model has not been told yet."""
        instructions = _instructions(project)
        now = Told(instructions.sha256, request.mode)
        news = news_since(self.told, now, instructions.text)
        self.told = now
        return replace(request, news=news)

    def take_notices(self) -> tuple[Notice, ...]:
        """What is still to be told, each once."""
        told, self.notices = self.notices, ()
        return told

    def close(self) -> None:
        """End the session: another process may go on with it."""
        if self.log is not None:
            self.log.close()


def open_conversation(shell: InteractiveShell, project: Project, model: Model) -> Conversation:
    """Begin a session: create it on disk, fix its system prompt and tools.

    Never fails for the disk's sake: without a session the conversation is kept in memory, and a
    notice says so.
    """
    log, problems = _create_log(project)
    session_id = log.id if log else f"unstored-{secrets.token_hex(4)}"
    settings, tools = project.settings, default_tools()
    instructions = _instructions(project)
    namespace, approver = UserNamespace(shell), TurnApprover()
    context = _tool_context(project, namespace)
    redactor = LiveRedactor()
    parts = AgentParts(
        model=model,
        calls=CallRunner(tools, approver, context, redactor),
        journal=Journal(log, session_id, time.time),
        system=system_blocks(session_sections(project, instructions.text), _ttl(settings)),
        tools=tuple(spec.to_api() for spec in specs(tools)),
        new_id=lambda: secrets.token_hex(8),
        max_tokens=settings.max_tokens,
        mask=redactor.mask,
        cache_ttl=_ttl(settings),
        thinking=cast("Literal['off', 'adaptive']", settings.thinking),
    )
    return Conversation(
        Agent(parts),
        approver,
        namespace,
        context,
        redactor,
        project,
        session_id,
        log,
        Told(instructions.sha256),
        (*problems, *_opening_notices(project, instructions)),
    )


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


def turn_request(
    shell: InteractiveShell, prompt: str, options: TurnOptions, settings: Settings
) -> TurnRequest:
    """The turn that the cell asks for: its options where given, else the settings."""
    identity = cell_id(shell)
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    return TurnRequest(
        prompt=prompt,
        model=options.model or settings.model,
        mode=options.mode or Mode(settings.mode),
        max_steps=options.max_steps or settings.max_steps,
        max_tokens=settings.max_tokens,
        tools_off=options.no_tools,
        cell=CellRef(identity, digest) if identity else None,
    )


def _create_log(project: Project) -> tuple[SessionLog | None, tuple[Notice, ...]]:
    sessions = sessions_folder(project.place.folder)
    header = SessionRecord(
        ts=0.0,  # the log sets time and id
        id="",
        notebook=str(project.place.path or ""),
        project=str(project.root),
        model=project.settings.model,
        git=read_git(project.root),
    )
    try:
        log = SessionLog.create(sessions, header, clock=time.time, random=random.Random())  # noqa: S311 - a name, no secret
    except SessionError as error:
        text = f"this conversation is kept in memory only: {error.message}"
        return None, (Notice(text, "warning", remedy=error.remedy),)
    notices = [Notice(log.notice, "warning")] if log.notice else []
    try:
        write_gitignore(sessions.parent)
    except OSError as error:
        notices.append(Notice(f"no .gitignore in {sessions.parent}: {error.strerror}", "warning"))
    return log, tuple(notices)


def _instructions(project: Project) -> Instructions:
    fallback = project.settings.instructions_fallback
    return load_instructions(project.root, project.home, fallback=fallback)


def _tool_context(project: Project, namespace: UserNamespace) -> ToolContext:
    root = real_path(project.root)
    return ToolContext(
        root=root,
        cwd=real_path(project.place.folder),
        reads=FileReads(),
        namespace=namespace,
        protected=lambda path: protected_reason(path, root, project.home),
    )


def _opening_notices(project: Project, instructions: Instructions) -> tuple[Notice, ...]:
    place = project.place
    unknown = () if place.path else (Notice(f"{place.source}: {place.folder}"),)
    return (*unknown, *project.loaded.notices, *instruction_notices(instructions.rows))


def _ttl(settings: Settings) -> CacheTtl:
    return "1h" if settings.cache_ttl == "1h" else "5m"
