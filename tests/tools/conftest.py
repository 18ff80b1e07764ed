from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mewcode_nb.events import Proposal
from mewcode_nb.tools.base import (
    CodeRun,
    FileReads,
    Tool,
    ToolContext,
    ToolLimits,
    ToolResult,
)


@dataclass
class ScriptedNamespace:
    """A namespace that gives one prepared answer and remembers how it was asked."""

    answer: CodeRun = field(default_factory=lambda: CodeRun(True, "", "", "", ""))
    asked: list[tuple[str, float, int]] = field(default_factory=list)

    async def run(self, code: str, *, seconds: float, capture: int) -> CodeRun:
        self.asked.append((code, seconds, capture))
        return self.answer


def protected_by_name(path: Path) -> str:
    if ".git" in path.parts:
        return ".git"
    if path.name == "MEWCODE.md":
        return "instructions file"
    if path.parent.name == ".mewcode":
        return "settings file"
    return "startup file" if "startup" in path.parts else ""


@dataclass
class Bench:
    """A project, a folder outside of it, and a context; calls tools as the loop does."""

    root: Path
    out: Path
    context: ToolContext
    namespace: ScriptedNamespace

    def file(self, name: str, data: bytes | str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def propose(self, tool: Tool[Any], **args: object) -> Proposal:
        return tool.propose("call", tool.input_model.model_validate(args), self.context)

    async def run_async(self, tool: Tool[Any], **args: object) -> ToolResult:
        self.propose(tool, **args)
        result = await tool.run(tool.input_model.model_validate(args), self.context)
        for read in result.reads:
            self.context.reads.add(read)
        return result

    def run(self, tool: Tool[Any], **args: object) -> ToolResult:
        return asyncio.run(self.run_async(tool, **args))

    def text(self, tool: Tool[Any], **args: object) -> str:
        content = self.run(tool, **args).content
        assert isinstance(content, str)
        return content


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return make_bench(tmp_path)


@pytest.fixture
def new_bench(tmp_path: Path) -> Callable[[str], Bench]:
    return lambda name: make_bench(tmp_path / name)


def make_bench(folder: Path) -> Bench:
    root, out = folder / "P", folder / "OUT"
    root.mkdir(parents=True)
    out.mkdir()
    namespace = ScriptedNamespace()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "H")}
    context = ToolContext(
        root=root.resolve(),
        cwd=root.resolve(),
        reads=FileReads(),
        namespace=namespace,
        limits=ToolLimits(),
        protected=protected_by_name,
        environment=environment,
    )
    return Bench(root.resolve(), out.resolve(), context, namespace)
