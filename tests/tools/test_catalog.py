from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mewcode_nb.tools.catalog import default_tools, input_schema, specs
from mewcode_nb.tools.read_file import ReadFileInput

DUMP = """
import json
from mewcode_nb.tools.catalog import default_tools, specs
print(json.dumps([spec.to_api() for spec in specs(default_tools())]))
"""


def test_the_tools_have_their_names_in_a_fixed_order():
    assert [tool.name for tool in default_tools()] == [
        "read_file", "write_file", "edit_file", "list_files", "search", "shell", "run_python",
    ]  # fmt: skip


def test_the_schema_is_plain():
    assert input_schema(ReadFileInput) == {
        "type": "object",
        "properties": {
            "path": {
                "description": "File to read; relative to the working folder, or absolute.",
                "type": "string",
            },
            "offset": {
                "description": "First line to give, counted from 1. Default: 1.",
                "minimum": 1,
                "type": "integer",
            },
            "limit": {
                "description": "Most lines to give. Default: as many as fit.",
                "minimum": 1,
                "type": "integer",
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("spec", specs(default_tools()), ids=lambda spec: spec.name)
def test_every_tool_describes_itself_and_each_of_its_inputs(spec):
    assert len(spec.description) > 80
    assert spec.input_schema["additionalProperties"] is False
    for value in spec.input_schema["properties"].values():
        assert value["description"]
        assert "title" not in value
        assert "anyOf" not in value


def test_the_bytes_are_the_same_in_every_process():
    def dump(seed: str) -> bytes:
        return subprocess.run(
            [sys.executable, "-c", DUMP],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout

    here = json.dumps([spec.to_api() for spec in specs(default_tools())]).encode()
    assert dump("1").strip() == dump("2").strip() == here


@pytest.mark.parametrize("value", [{"path": "a", "offset": None}, {"path": "a", "limit": "5"}])
def test_an_option_given_as_null_or_as_text_is_understood(value):
    ReadFileInput.model_validate(value)
