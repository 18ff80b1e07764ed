"""One shell's agent: what outlives a cell, and the life of one turn.

The runtime hangs on the shell (`shell.meta`), so a reload of the extension keeps the conversation.
It builds nothing before the first prompt. A turn ends in one of four ways, and after each the next
prompt is accepted: it finishes; an interrupt stops it (`Interrupted`) or it fails (any other
`MewcodeError`), which IPython shows as one line and which stops Run All; anything else is a fault
of ours, with an ordinary traceback.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, aclosing
from typing import TYPE_CHECKING

from mewcode_nb.errors import ConfigError, Interrupted, UsageError
from mewcode_nb.events import AssistantMessage, Event, TurnFinished, TurnResult, Usage
from mewcode_nb.notebook.authority import from_a_users_cell
from mewcode_nb.notebook.options import TurnOptions
from mewcode_nb.notebook.rerun import Reruns
from mewcode_nb.notebook.retention import Retention
from mewcode_nb.notebook.ticker import interruptible
from mewcode_nb.widgets.words import Words, choose_language

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from mewcode_nb.agent.turn import TurnRequest
    from mewcode_nb.events import Notice
    from mewcode_nb.notebook.beginning import Beginning
    from mewcode_nb.notebook.conversation import Conversation
    from mewcode_nb.notebook.parts import LiveModel
    from mewcode_nb.notebook.project import Project
    from mewcode_nb.notebook.render import Renderer
    from mewcode_nb.notebook.rerun import Plan
    from mewcode_nb.notebook.resume import Held, Resumed
    from mewcode_nb.session.info import SessionInfo
    from mewcode_nb.session.library import Library
    from mewcode_nb.session.replay import SessionState
    from mewcode_nb.session.store import SessionStore
    from mewcode_nb.tutorial import TutorialServer

__all__ = ["Runtime"]

_IN_A_CELL = "run it in a cell"


class Runtime:
    """The agent of one shell. `clock` gives seconds and never goes back."""

    def __init__(
        self, shell: InteractiveShell, environ: Mapping[str, str], clock: Callable[[], float]
    ) -> None:
        self.shell = shell
        self.environ = environ
        self.configured: Callable[[], Mapping[str, object]] = dict
        """What IPython's configuration sets, by setting name."""
        self.conversation: Conversation | None = None
        self.last: TurnResult | None = None
        self.spent = Usage()
        """Tokens of the session's complete responses, those of broken turns included."""
        self.reruns = Reruns(self)
        """What is known of cells that ran or were replayed."""
        self.retention = Retention(self)
        """Lets sessions go that have had their time, once in a kernel's life."""
        self._chosen: dict[str, object] = {}
        self._model: LiveModel | None = None
        self._tutorial: TutorialServer | None = None
        self._library: Library | None = None
        self._before: Beginning | None = None
        """The conversation as it stands on disk, while a rewind waits for the next prompt."""
        self._clock = clock
        self._busy = False
        self._thread = threading.current_thread()
        # Where the first cell ran, all of them run; in most kernels it is the main thread.

    @property
    def busy(self) -> bool:
        """Whether the caller may be code that a turn runs, or something such code left behind."""
        return self._busy or not from_a_users_cell(self._thread)

    @property
    def in_tutorial(self) -> bool:
        """Whether recorded answers stand in for a model."""
        return self._tutorial is not None

    def require_idle(self, what: str) -> None:
        """Raise `UsageError` where `what` may not be done: only a user's cell may do it."""
        if threading.current_thread() is not self._thread:
            raise UsageError(f"{what} is not possible from another thread", remedy=_IN_A_CELL)
        if self.busy:
            raise UsageError(
                f"{what} is not possible from a running turn, nor from what its code left behind",
                remedy=_IN_A_CELL,
            )

    def project(self) -> Project:
        """Place, root and settings as they are now; the root of an open session stays its own."""
        from mewcode_nb.notebook.project import Choices, find_project

        known = self.conversation.project if self.conversation else None
        environ, chosen = self.environ, self._chosen
        if server := self._tutorial:
            secrets = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": server.auth_token}
            environ = {**environ, **secrets}
            chosen = {**chosen, "base_url": server.base_url, "model": server.model}
        return find_project(self.shell, environ, Choices(self.configured(), chosen), known)

    def words(self) -> Words:
        """Our own words, in the language of the settings."""
        return Words(choose_language(self.project().settings.language, self.environ))

    def choose(self, name: str, value: object) -> None:
        """Choose a setting for this kernel, over every other source.

        Raises:
            ConfigError: no such setting, or not one of its values.
            UsageError: not a cell of the user's.
        """
        self.require_idle(f"changing {name}")
        before = dict(self._chosen)
        self._chosen[name] = value
        try:
            self.project()
        except ConfigError:
            self._chosen = before
            raise

    def new_session(self) -> None:
        """Let the next prompt begin a session of its own."""
        self.require_idle("a new session")
        self._end_session()

    def library(self) -> Library:
        """The sessions of the project; one object for as long as folder and root stay the same."""
        from mewcode_nb.notebook.project import open_library
        from mewcode_nb.paths import real_path

        project = self.project()
        here, root, known = real_path(project.place.folder), project.root, self._library
        days = project.settings.trash_days
        if known is None or (known.here, known.root, known.trash_days) != (here, root, days):
            known = self._library = open_library(project, here)
        return known

    def resume(self, info: SessionInfo, *, at: str = "", fork: bool = False) -> Resumed:
        """Go on with a session of the library, or with a fork of it, in place of the present one.

        `at` is the number or id of the last message that stays. A session that another process
        holds is forked, and `notices` say so.

        Raises:
            SessionError: it is not there, cannot be read, or has no such message; the present
                session stays.
            UsageError: not a cell of the user's.
        """
        from mewcode_nb.notebook.resume import Held, hold, rewound

        self.require_idle("resuming a session")
        store, current = self.library().store_of(info), self.conversation
        if current is not None and current.log is not None and current.is_stored_as(info):
            if fork:
                return self.fork(at)
            current.require_stored("go on")
            log = current.log
            held = rewound(store, log, at) if at else Held(log, store.load(info.id))
            return self._look_again(info, held)
        return self._go_on(info, hold(store, info, at=at, fork=fork))

    def rewind(self, to: str, *, with_next: bool = False) -> SessionState:
        """Let everything after message `to` leave the conversation; empty for all of it.

        `to` is a number, an id, or the id of the last message of a branch that an earlier rewind
        left: that branch then is the conversation again, so nothing is ever lost. The new state.
        `with_next` writes it in one batch with the next prompt, and a turn that does not get so far
        takes it back.

        Raises:
            SessionError: there is no such message, or the session is not stored.
            UsageError: not a cell of the user's.
        """
        from mewcode_nb.notebook.resume import rewound

        self.require_idle("a rewind")
        conversation, store = self._stored("rewind")
        assert conversation.log is not None
        info = store.find(conversation.session_id)
        held = rewound(store, conversation.log, to)
        before = conversation.as_it_stands(store.load(info.id)) if with_next else None
        state = self._look_again(info, held, with_next=with_next).state
        self._before = before  # only now: what failed above changed nothing
        return state

    def fork(self, at: str = "") -> Resumed:
        """Go on in a new session that shares this one's messages up to `at` (a number or an id).

        Raises:
            SessionError: there is no such message, or the session is not stored.
            UsageError: not a cell of the user's.
        """
        from mewcode_nb.notebook.resume import hold

        self.require_idle("a fork")
        conversation, store = self._stored("fork")
        info = store.find(conversation.session_id)
        return self._go_on(info, hold(store, info, at=at, fork=True))

    def start_tutorial(self) -> None:
        """Let recorded answers stand in for a model, in a session of their own."""
        from mewcode_nb import tutorial

        self.require_idle("the tutorial")
        if self._tutorial is None:
            self._end_session()
            self._tutorial = tutorial.start()

    def stop_tutorial(self) -> None:
        """Go back to the configured model, in a new session."""
        self.require_idle("the tutorial")
        if self._tutorial is not None:
            self._end_session()
            self._tutorial.stop()
            self._tutorial = None

    async def close(self) -> None:
        """End the session and let go of the running loop's connections."""
        self._end_session()
        if self._model is not None:
            await self._model.close()

    def preload(self) -> None:
        """Import the SDK on a thread, where the setting allows it and it is not there yet."""
        from mewcode_nb.model.client import preload

        if not self.sdk_loaded() and self.project().settings.preload:
            preload()

    @staticmethod
    def sdk_loaded() -> bool:
        """Whether the SDK has been imported, or is just being."""
        return "anthropic" in sys.modules

    async def turn(
        self, prompt: str, options: TurnOptions, *, awaited: bool, plan: Plan | None = None
    ) -> TurnResult:
        """Run one turn and show it, or show the answer that the cell has already.

        `plan` says which of the two where that was decided before.

        Raises:
            MewcodeError: the turn could not begin, broke or was interrupted; the conversation stays
                usable.
        """
        from mewcode_nb.notebook.replay import show_stored

        self.require_idle("a turn")
        plan = plan or self.reruns.plan(prompt, options)
        notices = () if plan.replay else self.reruns.begin(plan, options, prompt)
        self._busy = True
        try:
            async with interruptible(self._clock):
                if plan.replay is not None:
                    return await show_stored(self, plan, prompt, options, clicks=awaited)
                return await self._turn(prompt, options, awaited, notices)
        finally:
            self._busy = False
            if plan.replay is None and not self._taken_back():
                self.reruns.ran(prompt)

    async def _turn(
        self, prompt: str, options: TurnOptions, awaited: bool, notices: tuple[Notice, ...]
    ) -> TurnResult:
        from mewcode_nb.notebook.beginning import begin_session
        from mewcode_nb.notebook.conversation import open_conversation, turn_request
        from mewcode_nb.notebook.parts import model_options
        from mewcode_nb.notebook.render import choose_renderer
        from mewcode_nb.notebook.room import room_notices

        project = self.project()
        model = self._live_model()
        await model.use(project)
        model_options(project).require_credentials()
        if self.conversation is None:
            beginning = begin_session(project, self.library().store)
            self.conversation = open_conversation(self.shell, project, model, beginning)
        conversation = self.conversation
        request = turn_request(self.shell, prompt, options, project.settings)
        language = choose_language(project.settings.language, self.environ, prompt)
        near = await room_notices(conversation, model, request.model, language)
        conversation.notices = (*notices, *near, *conversation.notices)
        request = conversation.request(request, project)
        conversation.prepare(self.shell, project, self.environ, prompt=prompt, clicks=awaited)
        renderer = choose_renderer(
            self.shell, project.settings, prompt=prompt, environment=self.environ
        )
        try:
            return await self._shown(conversation, request, renderer)
        finally:
            if not awaited:
                # This loop ends with the turn, and connections belong to their loop.
                await model.close()

    async def _shown(
        self, conversation: Conversation, request: TurnRequest, renderer: Renderer
    ) -> TurnResult:
        stopped = False
        try:
            for notice in conversation.take_notices():
                renderer.show(notice)
            async with aclosing(conversation.agent.run(request)) as events:
                async for event in events:
                    renderer.show(event)
                    self._take(event)
        except (asyncio.CancelledError, Interrupted):
            stopped = True
            raise
        finally:
            renderer.close(interrupted=stopped)
        assert self.last is not None
        return self.last

    def _take(self, event: Event) -> None:
        match event:
            case AssistantMessage():
                self.spent += event.usage
            case TurnFinished():
                self.last = event.result

    def _go_on(self, info: SessionInfo, held: Held) -> Resumed:
        """Make the held session the shell's own, and end the one it had."""
        from mewcode_nb.notebook.beginning import go_on_in
        from mewcode_nb.notebook.conversation import open_conversation

        with ExitStack() as undo:
            undo.callback(held.writer.close)
            project = self.project()
            beginning, resumed = go_on_in(self.shell, project, info, held, self._clock)
            conversation = open_conversation(self.shell, project, self._live_model(), beginning)
            if held.rewind:
                held.writer.append(held.rewind)
            undo.pop_all()
        self._end_session()
        self.conversation = conversation
        self._take_state(held.state, conversation.session_id)
        return resumed

    def _look_again(self, info: SessionInfo, held: Held, *, with_next: bool = False) -> Resumed:
        """Let the conversation at hand go on from another state of its own."""
        from mewcode_nb.notebook.beginning import go_on_in

        conversation = self.conversation
        assert conversation is not None
        beginning, resumed = go_on_in(self.shell, self.project(), info, held, self._clock)
        if held.rewind:
            (conversation.journal.precede if with_next else held.writer.append)(held.rewind)
        conversation.go_on_from(beginning)
        self._take_state(held.state, conversation.session_id)
        return resumed

    def _taken_back(self) -> bool:
        """Whether the rewind of a turn that never began was undone."""
        conversation, before = self.conversation, self._before
        self._before = None
        if conversation is None or before is None or not conversation.journal.withdraw():
            return False
        assert before.state is not None
        conversation.go_on_from(before)
        self._take_state(before.state, conversation.session_id)
        return True

    def _stored(self, what: str) -> tuple[Conversation, SessionStore]:
        """The present conversation, all of it on disk, and the store that keeps it."""
        conversation = self.conversation
        # One that was rewound to its very beginning has no messages, and branches to go back to.
        if conversation is None or not (conversation.agent.history or conversation.folder):
            raise UsageError(
                f"there is no conversation to {what} yet", remedy="%resume lists the stored ones"
            )
        return conversation, self.library().store_in(conversation.require_stored(what).parent)

    def _take_state(self, state: SessionState, session: str) -> None:
        from mewcode_nb.notebook.resume import last_result

        self.last, self.spent = last_result(state, session), state.usage

    def _live_model(self) -> LiveModel:
        from mewcode_nb.notebook.parts import LiveModel

        self._model = self._model or LiveModel()
        return self._model

    def _end_session(self) -> None:
        self.reruns.left()
        if self.conversation is not None:
            self.conversation.close()
        self.conversation, self.last, self.spent = None, None, Usage()
