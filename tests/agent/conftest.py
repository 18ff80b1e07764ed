from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import random
import time
import traceback
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mewcode_nb.agent.approval import FixedApprover, Mode
from mewcode_nb.agent.calls import CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.loop import Agent, AgentParts
from mewcode_nb.agent.turn import TurnRequest
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.redact import Redactor
from mewcode_nb.session.load import load
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import SessionRecord
from mewcode_nb.tools.base import CodeRun, FileReads, ToolContext
from mewcode_nb.tools.catalog import default_tools, specs

SYSTEM = ({"type": "text", "text": "You are tested."},)


class PlainNamespace:
    """Runs code in a dictionary, at once and in this thread."""

    def __init__(self):
        self.names = {}

    async def run(self, code, *, seconds, capture):
        out, trace = io.StringIO(), ""
        with contextlib.redirect_stdout(out):
            try:
                exec(code, self.names)
            except Exception:  # noqa: BLE001 (user code may raise anything)
                trace = traceback.format_exc()
        return CodeRun(not trace, out.getvalue()[:capture], "", "", trace)


class Limited:
    """A model whose limits are given."""

    def __init__(self, model, limits):
        self.stream, self._limits = model.stream, limits

    async def limits(self, model):
        return self._limits


@dataclass
class Rig:
    """An agent over a fake server, with all that a test wants to look at."""

    agent: Agent
    server: object
    root: Path
    log: SessionLog
    namespace: PlainNamespace
    model: AnthropicModel
    context: ToolContext
    events: list = field(default_factory=list)

    async def turn(self, prompt, **options):
        """Run a turn on the current loop and gather its events; close connections after."""
        options = {"mode": Mode.OPEN} | options
        request = TurnRequest(prompt, "claude-sonnet-5-5", **options)
        try:
            async with aclosing(self.agent.run(request)) as events:
                async for event in events:
                    self.events.append(event)
        finally:
            await self.model.close()
        return self.events[-1].result

    def run(self, prompt, **options):
        return asyncio.run(self.turn(prompt, **options))

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def replayed(self):
        return load(self.log.folder).messages

    def assert_sound(self):
        """Disk equals memory, and the service refused nothing."""
        assert self.replayed() == self.agent.history
        assert self.server.summary().invalid == []


@pytest.fixture
def rig(mewcode_server, mewcode_project):
    made = []

    def make(
        script=(),
        *,
        approver=None,
        tools=None,
        max_tokens=1000,
        secrets=(),
        client=None,
        limits=None,
        **server,
    ):
        api = mewcode_server(script, **server)
        root = mewcode_project.root
        namespace = PlainNamespace()
        log = SessionLog.create(
            root / ".mewcode" / "sessions",
            SessionRecord(ts=0.0, id="", model="claude-sonnet-5-5"),
            clock=time.time,
            random=random.Random(7),
        )
        context = ToolContext(root, root, FileReads(), namespace)
        redactor = Redactor(secrets)
        offered = default_tools() if tools is None else tools
        runner = CallRunner(
            offered,
            approver or FixedApprover(allow=True, by="user"),
            context,
            redactor,
        )
        options = ModelOptions(base_url=api.base_url, api_key="test-key", max_retries=0)
        model = AnthropicModel(replace(options, **(client or {})))
        counter = itertools.count(1)
        agent = Agent(
            AgentParts(
                model=Limited(model, limits) if limits else model,
                calls=runner,
                journal=Journal(log, log.id, time.time),
                system=SYSTEM,
                tools=tuple(spec.to_api() for spec in specs(offered)),
                new_id=lambda: f"m{next(counter)}",
                max_tokens=max_tokens,
                mask=redactor.mask,
            )
        )
        rig = Rig(agent, api, root, log, namespace, model, context)
        made.append(rig)
        return rig

    yield make
    for rig in made:
        rig.log.close()
