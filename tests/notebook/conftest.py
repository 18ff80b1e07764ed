from __future__ import annotations

import asyncio
import atexit
import os
import queue
import signal
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from IPython.core.async_helpers import get_asyncio_loop
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from kernel_forks import ForkProvisioner, Forks, can_fork
from traitlets.config import Config


@pytest.fixture
def ipython_shell(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.IPCompleter.use_jedi = False
    config.TerminalInteractiveShell.simple_prompt = True
    shell = TerminalInteractiveShell.instance(config=config)
    try:
        yield shell
    finally:
        TerminalInteractiveShell.clear_instance()
        atexit.unregister(shell.atexit_operations)
        shell.atexit_operations()


@pytest.fixture
def in_project(mewcode_project, monkeypatch):
    monkeypatch.chdir(mewcode_project.notebooks)
    for name in ("MEWCODE_MODE", "MEWCODE_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in mewcode_project.environment().items():
        monkeypatch.setenv(name, value)
    mewcode_project.write("pyproject.toml", "")
    return mewcode_project


@pytest.fixture
def loaded(ipython_shell, in_project, mewcode_server, monkeypatch):
    """A shell with the extension, a server to talk to, and the way to run a cell in it."""
    server = mewcode_server(default="fine", models=("claude-sonnet-5-5", "chosen-model"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    ipython_shell.run_line_magic("load_ext", "mewcode_nb")
    runtime = ipython_shell.magics_manager.registry["MewcodeMagics"].runtime
    try:
        yield SimpleNamespace(
            shell=ipython_shell,
            server=server,
            runtime=runtime,
            project=in_project,
            run=lambda cell: ipython_shell.run_cell(cell, store_history=True),
            sent=lambda: [
                log.body["messages"][-1]["content"][0]["text"] for log in server.requests
            ],
        )
    finally:
        get_asyncio_loop().run_until_complete(runtime.close())
        if runtime.in_tutorial:
            runtime.stop_tutorial()


@dataclass
class Ran:
    status: str = ""
    ename: str = ""
    evalue: str = ""
    seconds: float = 0.0
    messages: list = field(default_factory=list)

    @property
    def text(self):
        parts = [self.evalue]
        for message in self.messages:
            content = message["content"]
            parts.append(content.get("text") or content.get("data", {}).get("text/plain", ""))
            parts.extend(content.get("traceback", ()))
        return "\n".join(parts)


class Kernel:
    """A real kernel, driven over its sockets as a front end does it."""

    def __init__(self, manager, client):
        self.manager = manager
        self.client = client

    def start(self, code, *, allow_stdin=False, cell=""):
        """Send a cell's code; `cell` is its id in the notebook, where it has one."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": allow_stdin,
            "stop_on_error": True,
        }
        metadata = {"cellId": cell} if cell else None
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def finish(self, message, *, answer=None, timeout=30.0):
        ran, deadline, begun = Ran(), time.monotonic() + timeout, time.monotonic()
        idle = False
        while not (idle and ran.status):
            if time.monotonic() > deadline:
                raise TimeoutError(ran.text)
            idle = self._take_output(message, ran) or idle
            self._take_reply(message, ran)
            self._take_question(answer)
        ran.seconds = time.monotonic() - begun
        return ran

    def run(self, code, **options):
        started = {name: options.pop(name) for name in ("allow_stdin", "cell") if name in options}
        return self.finish(self.start(code, **started), **options)

    def interrupt(self):
        self.manager.interrupt_kernel()

    def kill(self):
        """Let the operating system end it, without a word to it, and wait until it has."""
        pid = int(self.run("import os; print(os.getpid())").text)
        self.killed(pid)

    def killed(self, pid):
        os.kill(pid, signal.SIGKILL)
        asyncio.run(asyncio.wait_for(self.manager.provisioner.wait(), 10))

    def _take_output(self, message, ran):
        try:
            got = self.client.get_iopub_msg(timeout=0.02)
        except queue.Empty:
            return False
        if got["parent_header"].get("msg_id") != message:
            return False
        ran.messages.append(got)
        return got["content"].get("execution_state") == "idle"

    def _take_reply(self, message, ran):
        try:
            got = self.client.get_shell_msg(timeout=0)
        except queue.Empty:
            return
        if got["parent_header"].get("msg_id") == message:
            ran.status = got["content"]["status"]
            ran.ename = got["content"].get("ename", "")
            ran.evalue = got["content"].get("evalue", "")

    def _take_question(self, answer):
        if answer is None or not self.client.stdin_channel.msg_ready():
            return
        self.client.get_stdin_msg(timeout=0)
        self.client.input(answer)


@pytest.fixture(scope="session")
def kernel_forks():
    """What forks kernels, once for all tests of a process; None where kernels start as usual."""
    if not can_fork():
        yield None
        return
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture
def start_kernel(in_project, kernel_forks):
    """Start kernels in the project's folder of notebooks; they end with the test.

    Those that are `cold` have imported nothing that they did not import themselves.
    """
    from jupyter_client.manager import KernelManager

    running = []

    def start(server=None, *, cold=False, **more):
        environment = {**os.environ, **in_project.environment(), **more}
        # Compiled once for all kernels, also where this process itself may not.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if server is not None:
            environment["ANTHROPIC_BASE_URL"] = server.base_url
        environment = {name: value for name, value in environment.items() if value is not None}
        manager = KernelManager(kernel_name="python3")
        if kernel_forks is not None and not cold:
            spec = manager.kernel_spec
            manager.provisioner = ForkProvisioner(
                kernel_id="forked", kernel_spec=spec, parent=manager, forks=kernel_forks
            )
        manager.start_kernel(env=environment, cwd=str(in_project.notebooks))
        client = manager.client()
        client.start_channels()
        running.append((manager, client))
        client.wait_for_ready(timeout=60)
        return Kernel(manager, client)

    yield start
    for manager, client in running:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
