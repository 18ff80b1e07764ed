from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import os
import random
import secrets
import subprocess
import time
import traceback
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mewcode_nb.agent.approval import Mode
from mewcode_nb.agent.calls import CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.loop import Agent, AgentParts
from mewcode_nb.agent.turn import TurnRequest
from mewcode_nb.events import Decision
from mewcode_nb.messages import Message, text_block, tool_result
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.redact import Redactor
from mewcode_nb.session.load import load
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import SessionRecord
from mewcode_nb.tools.base import CodeRun, FileReads, ToolContext
from mewcode_nb.tools.catalog import specs
from mewcode_nb.tools.run_python import RunPython

HERE = Path(__file__).parent
WINDOW = 8_192
MODEL = "a-name-the-server-never-heard-of"
ALIAS = "tiny"
TOOLS = tuple(spec.to_api() for spec in specs([RunPython()]))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running server: where, and with which key."""

    base_url: str
    key: str = field(repr=False)

    def model(self, **options):
        """Our client for it, as the local profile sets it up."""
        chosen = {"auth_token": self.key, "local": True} | options
        return AnthropicModel(ModelOptions(base_url=self.base_url, **chosen))


@contextmanager
def serving(gguf, template=""):
    python = named("MEWCODE_LOCAL_PYTHON")
    key = secrets.token_urlsafe(24)
    wanted = {"gguf": gguf, "key": key, "alias": ALIAS, "window": WINDOW, "template": template}
    with subprocess.Popen(
        [python, str(HERE / "serve.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            process.stdin.write(json.dumps(wanted) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            assert line, f"the server ended at once with {process.wait()}"
            yield Endpoint(json.loads(line)["base_url"], key)
        finally:
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def named(variable, command="make local-model"):
    if not (value := os.environ.get(variable)):
        pytest.skip(f"{variable} is not set: `{command}` brings a real model and sets it")
    return value


@pytest.fixture(scope="session")
def smollm():
    template = (HERE / "tools.jinja").read_text(encoding="utf-8")
    with serving(named("MEWCODE_LOCAL_GGUF"), template) as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def qwen():
    with serving(named("MEWCODE_QWEN_GGUF", "MEWCODE_QWEN=1 make local-model")) as endpoint:
        yield endpoint


class PlainNamespace:
    """Runs code in a dictionary, at once and in this thread."""

    def __init__(self, **names):
        self.names = names
        self.codes = []

    async def run(self, code, *, seconds, capture):
        self.codes.append(code)
        out, trace = io.StringIO(), ""
        with contextlib.redirect_stdout(out):
            try:
                exec(code, self.names)
            except Exception:  # noqa: BLE001 (a model's code may raise anything)
                trace = traceback.format_exc()
        return CodeRun(not trace, out.getvalue()[:capture], "", "", trace)


class NotingApprover:
    """Gives one answer to everything and keeps what it was asked."""

    def __init__(self, allow):
        self.allow = allow
        self.proposals = []

    async def ask(self, proposal):
        self.proposals.append(proposal)
        return Decision(allow=self.allow, by="user", reason="" if self.allow else "not now")


@dataclass
class Rig:
    """An agent over a real model, with all that a test wants to look at."""

    agent: Agent
    model: AnthropicModel
    log: SessionLog
    namespace: PlainNamespace
    approver: NotingApprover
    events: list = field(default_factory=list)

    def run(self, prompt, max_steps=3):
        return asyncio.run(self._turn(TurnRequest(prompt, MODEL, Mode.ASK, max_steps)))

    async def _turn(self, request):
        try:
            async with aclosing(self.agent.run(request)) as events:
                async for event in events:
                    self.events.append(event)
        finally:
            await self.model.close()
        return self.events[-1].result

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    def replayed(self):
        return load(self.log.folder).messages


@pytest.fixture
def rig(mewcode_project):
    with contextlib.ExitStack() as stack:

        def make(endpoint, *, system, history=(), names=None, allow=True):
            root = mewcode_project.root
            log = stack.enter_context(closing(_log(root)))
            model, namespace = endpoint.model(), PlainNamespace(**(names or {}))
            approver, redactor = NotingApprover(allow), Redactor(())
            context = ToolContext(root, root, FileReads(), namespace)
            counter = itertools.count(1)
            parts = AgentParts(
                model=model,
                calls=CallRunner([RunPython()], approver, context, redactor),
                journal=Journal(log, log.id, time.time),
                system=(text_block(system),),
                tools=TOOLS,
                new_id=lambda: f"m{next(counter)}",
                max_tokens=200,
            )
            return Rig(Agent(parts, history), model, log, namespace, approver)

        yield make


def _log(root):
    return SessionLog.create(
        root / ".mewcode" / "sessions",
        SessionRecord(ts=0.0, id="", model=MODEL),
        clock=time.time,
        random=random.Random(7),
    )


@pytest.fixture(scope="session")
def worked_example():
    """One question, the call that answers it, its result and the report."""

    def turn(number, question, code, output, answer):
        call_id = f"toolu_example_{number}"
        call = {"type": "tool_use", "id": call_id, "name": "run_python", "input": {"code": code}}
        return [
            Message("user", (text_block(question),), "user"),
            Message("assistant", (call,), "assistant"),
            Message("user", (tool_result(call_id, output),), "tool"),
            Message("assistant", (text_block(answer),), "assistant"),
        ]

    return turn
