from __future__ import annotations

import json

import pytest

from mewcode_nb.session.load import load


class Talk:
    """A kernel of one notebook, and what the service was sent by it."""

    def __init__(self, kernel, server):
        self.kernel = kernel
        self.server = server
        self.pid = int(self.cell("%load_ext mewcode_nb\nimport os; print(os.getpid())").text)

    def start(self, code, cell="c"):
        return self.kernel.start(code, cell=cell, allow_stdin=True)

    def cell(self, code, cell="c"):
        ran = self.kernel.finish(self.start(code, cell))
        assert ran.status == "ok", ran.text
        return ran

    def failing(self, code, cell="c"):
        ran = self.kernel.finish(self.start(code, cell))
        assert ran.status == "error", ran.text
        return ran

    def kill(self):
        self.kernel.killed(self.pid)

    def value(self, expression):
        return self.cell(f"print({expression})").text.strip()

    def sent(self):
        """All texts of the last request's messages, in order, results and inputs included."""
        return [text for message in self.server.requests[-1].messages for text in texts(message)]

    def said(self):
        """The same without what was told of modes and changes: the words of user and model."""
        return [text for text in self.sent() if not text.startswith("<mewcode-reminder")]

    def reminders(self):
        """What the last request tells of changes; each reminder once."""
        return [text for text in self.sent() if 'kind="resume"' in text]


def texts(message):
    content = message["content"]
    if isinstance(content, str):
        return [content]
    return [block.get("text") or json.dumps(block, ensure_ascii=False) for block in content]


@pytest.fixture
def server(mewcode_server):
    server = mewcode_server()
    yield server
    assert server.summary().invalid == []


@pytest.fixture
def begin(start_kernel, server, in_project):
    """Start a kernel of the notebook, by its path below the project's folder of notebooks."""

    def begin(notebook="analysis.ipynb", *, service=server, **more):
        path = in_project.notebooks / notebook
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
        environment = {"JPY_SESSION_NAME": str(path), "MEWCODE_MODE": "open", **more}
        return Talk(start_kernel(service, **environment), service)

    return begin


@pytest.fixture
def stored(in_project):
    """The sessions on disk by id, oldest first, as their records leave them."""
    folder = in_project.notebooks / ".mewcode" / "sessions"
    return lambda: {path.name: load(path) for path in sorted(folder.iterdir())}
