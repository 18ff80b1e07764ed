from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import mewcode_nb.testing as kit
from mewcode_nb.testing import load_scene
from mewcode_nb.testing.script import FaultKind

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_each_python_example_runs(example, mewcode_server, mewcode_project):
    names: dict[str, object] = {}
    exec(compile(example, "docs/testing.md", "exec"), names)
    for name, made in names.items():
        if name.startswith("test_"):
            made(mewcode_server, mewcode_project)


def test_the_json_example_is_a_script():
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(load_scene(example).script) == 7


def test_every_kind_of_fault_has_its_row():
    kinds = {
        kind
        for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
        for kind in re.findall(r"`(\w+)`", row)
    }
    assert set(get_args(FaultKind)) <= kinds


def test_every_function_of_the_kit_is_named():
    functions = [name for name in kit.__all__ if name[0].islower() and name != "load_scene"]
    assert [name for name in functions if f"`{name}" not in PAGE] == []
