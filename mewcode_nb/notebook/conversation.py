"""The composition root: everything one conversation is made of, put together in one place.

Imported at the first prompt, because the tools bring pydantic with them. Settings and credentials
are read again before each turn; the project root, the system prompt, the tools and the settings in
`FIXED_SETTINGS` are fixed when the session begins, or goes on in this kernel, so that the bytes
already sent stay what they were.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from mewcode_nb.agent.approval import Mode
from mewcode_nb.agent.calls import CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.loop import Agent, AgentParts
from mewcode_nb.agent.turn import CellRef, TurnRequest
from mewcode_nb.config.settings import Settings
from mewcode_nb.errors import SessionError
from mewcode_nb.events import Notice
from mewcode_nb.instructions import Instructions, instruction_notices, load_instructions
from mewcode_nb.model.protocol import Model
from mewcode_nb.notebook.approver import Grants, choose_approver
from mewcode_nb.notebook.beginning import Beginning
from mewcode_nb.notebook.briefing import session_sections
from mewcode_nb.notebook.cells import kept_cells
from mewcode_nb.notebook.locate import cell_id
from mewcode_nb.notebook.namespace import UserNamespace
from mewcode_nb.notebook.news import Told, news_since
from mewcode_nb.notebook.options import TurnOptions
from mewcode_nb.notebook.parts import LiveRedactor, TurnApprover
from mewcode_nb.notebook.project import Project
from mewcode_nb.notebook.resume import told_mode
from mewcode_nb.paths import protected_reason, real_path
from mewcode_nb.prompt import CacheTtl, system_blocks
from mewcode_nb.redact import child_environment
from mewcode_nb.session.git import read_git
from mewcode_nb.session.records import Git, MetaRecord, NamespaceRecord, ReadRecord
from mewcode_nb.session.state import SessionState
from mewcode_nb.tools.base import FileRead, FileReads, ToolContext
from mewcode_nb.tools.catalog import default_tools, specs

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from mewcode_nb.messages import JsonObject
    from mewcode_nb.session.info import SessionInfo
    from mewcode_nb.session.store import SessionWriter

__all__ = ["Conversation", "open_conversation", "turn_request"]


@dataclass(slots=True)
class Conversation:
    """One session in use: what the runtime keeps between cells."""

    agent: Agent
    approver: TurnApprover
    namespace: UserNamespace
    context: ToolContext
    redactor: LiveRedactor
    project: Project
    """As of when the session began, or was resumed here."""
    session_id: str
    log: SessionWriter | None
    """None where no session could be created: the conversation is in memory only."""
    folder: Path | None
    """Where the session is stored."""
    journal: Journal
    begun_with: str
    """SHA-256 of the instructions in the system prompt, in hexadecimal."""
    told: Told
    notices: tuple[Notice, ...]
    """What the user should be told with the first turn."""
    reminders: tuple[tuple[str, str], ...] = ()
    """What the model should be told with the next prompt, as a message of its own."""
    known: NamespaceRecord | None = None
    """What those say of the user's variables."""
    git: Git | None = None
    """Where the repository stood, as far as it is recorded."""
    resumed: SessionState | None = None
    """The session as it was taken up here, until its first turn."""
    grants: Grants = field(default_factory=Grants)
    """What the user allowed for the rest of the session."""

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
        self._note_git(project)
        request = replace(request, news=news, reminders=self.reminders, known=self.known)
        self.reminders, self.known = (), None
        return request

    def _note_git(self, project: Project) -> None:
        """Record with the prompt where the repository stands, when it moved since the last turn."""
        now = read_git(project.root)
        if now is not None and now != (self.git or Git()):
            place: JsonObject = {"branch": now.branch, "head": now.head}
            self.journal.precede((MetaRecord(time.time(), {"git": place}),))
            self.git = now

    def take_notices(self) -> tuple[Notice, ...]:
        """What is still to be told, each once."""
        told, self.notices = self.notices, ()
        return told

    def go_on_from(self, beginning: Beginning) -> None:
        """Take the conversation as the records leave it, after a resume, a rewind or its undoing.

        What the next prompt has to tell the model is then what the beginning says, and only that.
        """
        state, self.git = beginning.state, beginning.git
        self.reminders, self.known, self.resumed = beginning.reminders, beginning.known, state
        if state is None:
            return
        self.told = Told(self.begun_with, told_mode(state))
        self.agent.go_on_from(state.messages, state.turns)
        self.context.reads = _file_reads(state.reads)

    def as_it_stands(self, state: SessionState) -> Beginning:
        """What `go_on_from` brings back to here; `state` is that of the stored session."""
        reminders, known = self.reminders, self.known
        return Beginning(self.log, self.folder, state, reminders, known, git=self.git)

    def is_stored_as(self, info: SessionInfo) -> bool:
        """Whether this is that session, and not a copy of it in another folder."""
        if self.folder is None or self.session_id != info.id:
            return False
        return real_path(self.folder) == real_path(Path(info.location))

    def require_stored(self, what: str) -> Path:
        """The folder that keeps the conversation, all of it; raises SessionError."""
        self.journal.flush_quietly()
        if self.folder is None or not self.journal.stored:
            raise SessionError(f"cannot {what}: this conversation is not stored on disk")
        return self.folder

    def close(self) -> None:
        """End the session: another process may go on with it.

        What could not be stored so far is tried once more.
        """
        if self.log is not None:
            self.journal.flush_quietly()
            self.log.close()


def open_conversation(
    shell: InteractiveShell, project: Project, model: Model, beginning: Beginning
) -> Conversation:
    """The conversation of a session: its system prompt and tools are fixed here."""
    writer = beginning.writer
    session_id = writer.id if writer else f"unstored-{secrets.token_hex(4)}"
    instructions = _instructions(project)
    namespace, approver = UserNamespace(shell, kept_cells(shell)), TurnApprover()
    context = _tool_context(project, namespace)
    redactor = LiveRedactor()
    journal = Journal(writer, session_id, time.time, namespace.describe)
    runner = CallRunner(default_tools(), approver, context, redactor)
    parts = _agent_parts(project, model, runner, journal, instructions.text)
    conversation = Conversation(
        agent=Agent(replace(parts, mask=redactor.mask)),
        approver=approver,
        namespace=namespace,
        context=context,
        redactor=redactor,
        project=project,
        session_id=session_id,
        log=writer,
        folder=beginning.folder,
        journal=journal,
        begun_with=instructions.sha256,
        told=Told(instructions.sha256),
        notices=(*beginning.notices, *_opening_notices(project, instructions)),
    )
    conversation.go_on_from(beginning)
    return conversation


def turn_request(
    shell: InteractiveShell, prompt: str, options: TurnOptions, settings: Settings
) -> TurnRequest:
    """The turn that the cell asks for: its options where given, else the settings."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()
    return TurnRequest(
        prompt=prompt,
        model=options.model or settings.model,
        mode=options.mode or Mode(settings.mode),
        max_steps=options.max_steps or settings.max_steps,
        max_tokens=settings.max_tokens,
        tools_off=options.no_tools,
        cell=CellRef(cell_id(shell), digest),
    )


def _agent_parts(
    project: Project, model: Model, runner: CallRunner, journal: Journal, instructions: str
) -> AgentParts:
    settings = project.settings
    return AgentParts(
        model=model,
        calls=runner,
        journal=journal,
        system=system_blocks(session_sections(project, instructions), _ttl(settings)),
        tools=tuple(spec.to_api() for spec in specs(default_tools())),
        new_id=lambda: secrets.token_hex(8),
        max_tokens=settings.max_tokens,
        cache_ttl=_ttl(settings),
        thinking=cast("Literal['off', 'adaptive']", settings.thinking),
    )


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


def _file_reads(records: Mapping[str, ReadRecord]) -> FileReads:
    reads = FileReads()
    for record in records.values():
        reads.add(FileRead(record.path, record.sha256, record.mtime, record.bytes))
    return reads


def _opening_notices(project: Project, instructions: Instructions) -> tuple[Notice, ...]:
    place = project.place
    unknown = () if place.path else (Notice(f"{place.source}: {place.folder}"),)
    return (*unknown, *project.loaded.notices, *instruction_notices(instructions.rows))


def _ttl(settings: Settings) -> CacheTtl:
    return "1h" if settings.cache_ttl == "1h" else "5m"
