from __future__ import annotations

import pytest


class Cells:
    """A kernel whose cells have ids, as in a notebook."""

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, cell, code, *, answer=None, allow_stdin=True):
        return self.kernel.finish(self.start(cell, code, allow_stdin), answer=answer)

    def start(self, cell, code, allow_stdin=True):
        kernel = self.kernel
        message = kernel.client.session.msg(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": allow_stdin,
                "stop_on_error": True,
            },
            metadata={"cellId": cell},
        )
        kernel.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def restart(self):
        self.kernel.manager.restart_kernel(now=True)
        self.kernel.client.wait_for_ready(timeout=60)
        assert self("load", "%load_ext mewcode_nb").status == "ok"

    def value(self, expression):
        return self("value", f"print({expression})").text.strip()


@pytest.fixture
def server(mewcode_server):
    return mewcode_server()


@pytest.fixture
def begin(start_kernel, server):
    """Start a kernel with the extension; questions come as a line of input unless told so."""

    def begin(**more):
        cells = Cells(start_kernel(server, **{"MEWCODE_APPROVAL": "input", **more}))
        assert cells("load", "%load_ext mewcode_nb").status == "ok"
        return cells

    return begin


@pytest.fixture
def sessions(in_project):
    folder = in_project.notebooks / ".mewcode" / "sessions"
    return lambda: sorted(folder.glob("*/conversation.jsonl"))
