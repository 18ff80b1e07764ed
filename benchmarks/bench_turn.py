"""The overhead of a turn with three tool calls, beside a bare loop over the SDK's create()."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

from anthropic import AsyncAnthropic

from benchmarks.report import Budget, Report, main, middle, ratio
from mewcode_nb.agent.approval import FixedApprover, Mode
from mewcode_nb.agent.calls import CallRunner
from mewcode_nb.agent.journal import Journal
from mewcode_nb.agent.loop import Agent, AgentParts
from mewcode_nb.agent.turn import TurnRequest
from mewcode_nb.events import TurnFinished
from mewcode_nb.model.client import AnthropicModel
from mewcode_nb.model.options import ModelOptions
from mewcode_nb.redact import Redactor
from mewcode_nb.session.log import SessionLog
from mewcode_nb.session.records import SessionRecord
from mewcode_nb.testing import FakeServer, reply, tool_use
from mewcode_nb.tools.base import CodeRun, FileReads, ToolContext
from mewcode_nb.tools.catalog import default_tools, specs

TURNS = 30
CALLS = 3
MODEL = "claude-sonnet-5-5"
BARE, OURS, UNSTORED = "bare SDK create() loop", "mewcode_nb", "mewcode_nb, nothing stored"
LOOPS = (BARE, OURS, UNSTORED)
Taken: TypeAlias = "tuple[float, float]"
SYSTEM = {"type": "text", "text": "You are measured."}


class _NoNamespace:
    async def run(self, code: str, *, seconds: float, capture: int) -> CodeRun:
        raise NotImplementedError


def measure() -> Report:
    """Turns of one growing conversation each, in rotated order; the first turn apart."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder).resolve()
        (root / "a.txt").write_text("alpha\n", encoding="utf-8")
        servers = {name: stack.enter_context(_server()) for name in LOOPS}
        urls = {name: url for name, (url, _process) in servers.items()}
        times = asyncio.run(_measure(root, urls))
        requests = {name: _requests(process) for name, (_url, process) in servers.items()}
    return _report(times, requests)


async def _measure(root: Path, urls: dict[str, str]) -> dict[str, list[Taken]]:
    offered = default_tools()
    tools = tuple(spec.to_api() for spec in specs(offered))
    stored = SessionLog.create(
        root / "sessions",
        SessionRecord(ts=0.0, id="", model=MODEL),
        clock=time.time,
        random=random.Random(1),
    )
    client = AsyncAnthropic(base_url=urls[BARE], api_key="test-key", max_retries=0)
    models = {
        name: AnthropicModel(ModelOptions(base_url=urls[name], api_key="test-key", max_retries=0))
        for name in (OURS, UNSTORED)
    }
    history: list[dict[str, object]] = []
    turns = {
        BARE: lambda: _bare_turn(client, history, tools, root),
        OURS: _turns_of(_agent(root, models[OURS], stored, tools)),
        UNSTORED: _turns_of(_agent(root, models[UNSTORED], None, tools)),
    }
    times = await _take(turns)
    stored.close()
    for closing in (client, *models.values()):
        await closing.close()
    return times


async def _take(turns: dict[str, Callable[[], Awaitable[None]]]) -> dict[str, list[Taken]]:
    times: dict[str, list[Taken]] = {name: [] for name in turns}
    for turn in range(TURNS + 1):
        at = turn % len(LOOPS)
        for name in LOOPS[at:] + LOOPS[:at]:
            start, cpu = time.perf_counter(), time.process_time()
            await turns[name]()
            times[name].append((time.perf_counter() - start, time.process_time() - cpu))
    return times


def _turns_of(agent: Agent) -> Callable[[], Awaitable[None]]:
    async def turn() -> None:
        async for event in agent.run(TurnRequest("go", MODEL, mode=Mode.OPEN)):
            last = event
        assert isinstance(last, TurnFinished)

    return turn


def _agent(
    root: Path, model: AnthropicModel, log: SessionLog | None, tools: tuple[dict, ...]
) -> Agent:
    counter = itertools.count()
    context = ToolContext(root, root, FileReads(), _NoNamespace())
    approver = FixedApprover(allow=True, by="benchmark")
    return Agent(
        AgentParts(
            model=model,
            calls=CallRunner(default_tools(), approver, context, Redactor(())),
            journal=Journal(log, log.id if log else "none", time.time),
            system=(SYSTEM,),
            tools=tools,
            new_id=lambda: f"m{next(counter)}",
            max_tokens=1_000,
        )
    )


async def _bare_turn(
    client: AsyncAnthropic, history: list[dict], tools: tuple[dict, ...], root: Path
) -> None:
    """What anybody would write: stream, gather the blocks, read the file, go on."""
    history.append({"role": "user", "content": "go"})
    while True:
        request = {"model": MODEL, "max_tokens": 1_000, "system": [SYSTEM], "tools": tools}
        stream = await client.messages.create(**request, messages=history, stream=True)
        blocks: list[dict] = []
        parts: list[str] = []
        async for event in stream:
            if event.type == "content_block_start":
                blocks.append(event.content_block.model_dump(exclude_none=True))
                parts.append("")
            elif event.type == "content_block_delta":
                delta = event.delta
                parts[-1] += delta.text if delta.type == "text_delta" else delta.partial_json
        for block, text in zip(blocks, parts, strict=True):
            key, value = ("text", text) if block["type"] == "text" else ("input", json.loads(text))
            block[key] = value
            block.pop("caller", None)
        history.append({"role": "assistant", "content": blocks})
        calls = [block for block in blocks if block["type"] == "tool_use"]
        if not calls:
            return
        results = []
        for call in calls:
            text = (root / call["input"]["path"]).read_text(encoding="utf-8")
            results.append({"type": "tool_result", "tool_use_id": call["id"], "content": text})
        history.append({"role": "user", "content": results})


@contextmanager
def _server() -> Iterator[tuple[str, subprocess.Popen]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bench_turn", "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.terminate()
        process.wait(10)


def _requests(process: subprocess.Popen) -> int:
    return int(process.communicate("\n", timeout=20)[0])


def serve() -> None:
    """Play the same turn for ever; on a line of input, say how many requests came."""
    call = reply(tool_use("read_file", path="a.txt"))
    turn = [*[call] * CALLS, reply("done " * 20)]
    with FakeServer(turn * (TURNS + 1), token_scale=0.01) as server:
        print(server.base_url, flush=True)
        sys.stdin.readline()
        server.check()
        print(len(server.requests), flush=True)


def _report(times: dict[str, list[Taken]], requests: dict[str, int]) -> Report:
    wall = {name: [taken[0] for taken in found[1:]] for name, found in times.items()}
    cpu = {name: [taken[1] for taken in found[1:]] for name, found in times.items()}
    rows = tuple(
        (
            name,
            f"{middle(wall[name]) * 1e3:.1f}",
            f"{min(wall[name]) * 1e3:.1f}",
            f"{middle(cpu[name]) * 1e3:.1f}",
            ratio(middle(wall[name]), middle(wall[BARE])),
            ratio(middle(cpu[name]), middle(cpu[BARE])),
            f"{requests[name] / (TURNS + 1):g}",
            f"{times[name][0][0] * 1e3:.0f}",
        )
        for name in LOOPS
    )
    return Report(
        f"A turn with {CALLS} tool calls",
        (
            "loop",
            "turn p50 ms",
            "min ms",
            "client CPU ms",
            "vs bare loop",
            "CPU vs bare",
            "requests",
            "first turn ms",
        ),
        rows,
        (
            Budget("turn vs bare loop", middle(wall[OURS]) / middle(wall[BARE]), 1.2),
            Budget("the same, nothing stored", middle(wall[UNSTORED]) / middle(wall[BARE]), 1.2),
            Budget("requests per turn", requests[OURS] / (TURNS + 1), CALLS + 1),
        ),
        (
            f"{TURNS} turns after the first, in rotated order; each loop has a server process.",
            "The stored row includes what a durable session costs: its syncs to disk.",
        ),
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(measure)
