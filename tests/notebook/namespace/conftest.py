from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import pytest
from jupyter_client.manager import start_new_kernel

from mewcode_nb.tools.base import CodeRun

SETUP = """
import asyncio, time
import dataclasses as _dataclasses, json as _json
from mewcode_nb.notebook.namespace import UserNamespace as _UserNamespace
_namespace = _UserNamespace(get_ipython())
async def _agent(code, seconds=30, capture=20_000):
    run = await _namespace.run(code, seconds=seconds, capture=capture)
    return _json.dumps(_dataclasses.asdict(run))
"""


@dataclass
class Cell:
    """What a front end would have got from one executed cell."""

    streams: dict[str, str] = field(default_factory=lambda: {"stdout": "", "stderr": ""})
    errors: list[str] = field(default_factory=list)
    displays: list[dict] = field(default_factory=list)
    status: str = ""
    seconds: float = 0.0

    @property
    def stdout(self) -> str:
        return self.streams["stdout"]

    def add(self, kind: str, content: dict) -> None:
        if kind == "stream":
            self.streams[content["name"]] += content["text"]
        elif kind == "error":
            self.errors.append(content["ename"])
        elif kind in ("display_data", "execute_result"):
            self.displays.append(content["data"])


class Kernel:
    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        self.cell(SETUP)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def cell(self, code: str, *, interrupt_on: str = "") -> Cell:
        cell, started = Cell(), time.monotonic()

        def on_message(message: dict) -> None:
            cell.add(message["msg_type"], message["content"])
            if interrupt_on and interrupt_on in cell.stdout and not cell.seconds:
                cell.seconds = time.monotonic()
                self.manager.interrupt_kernel()

        reply = self.client.execute_interactive(code, timeout=60, output_hook=on_message)
        cell.status = reply["content"]["status"]
        cell.seconds = time.monotonic() - (cell.seconds or started)
        return cell

    def agent(self, code: str, **options: object) -> tuple[CodeRun, Cell]:
        interrupt_on = str(options.pop("interrupt_on", ""))
        arguments = "".join(f", {name}={value!r}" for name, value in options.items())
        cell = self.cell(
            f"print('RUN' + await _agent({code!r}{arguments}))", interrupt_on=interrupt_on
        )
        before, _, answer = cell.stdout.rpartition("RUN")
        cell.streams["stdout"] = before
        run = json.loads(answer)
        return CodeRun(**{k: tuple(v) if isinstance(v, list) else v for k, v in run.items()}), cell


@pytest.fixture(scope="module")
def kernel():
    kernel = Kernel()
    yield kernel
    kernel.close()
