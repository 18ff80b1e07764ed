"""The list of the agent's tools, and how the service is told of them.

The specifications open every request, so their bytes must never change within a session: names in a
fixed order, schemas built from the input models without what a library version may add.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mewcode_nb.messages import JsonObject
from mewcode_nb.model.protocol import ToolSpec
from mewcode_nb.tools.base import Tool, ToolInput
from mewcode_nb.tools.edit_file import EditFile
from mewcode_nb.tools.list_files import ListFiles
from mewcode_nb.tools.read_file import ReadFile
from mewcode_nb.tools.run_python import RunPython
from mewcode_nb.tools.search import Search
from mewcode_nb.tools.shell import Shell
from mewcode_nb.tools.write_file import WriteFile

__all__ = ["default_tools", "input_schema", "specs"]


def default_tools() -> tuple[Tool[Any], ...]:
    """The tools that need nothing but a project folder and a namespace, in their fixed order."""
    return (ReadFile(), WriteFile(), EditFile(), ListFiles(), Search(), Shell(), RunPython())


def specs(tools: Iterable[Tool[Any]]) -> tuple[ToolSpec, ...]:
    """The tools as the service is told of them, in the order given."""
    return tuple(
        ToolSpec(tool.name, tool.description, input_schema(tool.input_model)) for tool in tools
    )


def input_schema(model: type[ToolInput]) -> JsonObject:
    """A plain JSON schema of an input model: no titles, no `null` beside the type of an option."""
    raw = model.model_json_schema()
    schema: JsonObject = {
        "type": "object",
        "properties": {name: _property(value) for name, value in raw["properties"].items()},
        "required": list(raw.get("required", [])),
        "additionalProperties": False,
    }
    if "$defs" in raw:
        schema["$defs"] = _plain(raw["$defs"])
    return schema


def _property(value: dict[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = _plain(value)
    kinds = [kind for kind in plain.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        plain |= kinds[0]
        del plain["anyOf"]
        if plain.get("default", 0) is None:
            del plain["default"]
    return dict(sorted(plain.items()))


def _plain(value: Any) -> Any:  # noqa: ANN401 - walks JSON of any shape
    if isinstance(value, dict):
        return {
            key: _plain(item)
            for key, item in sorted(value.items())
            if not (key == "title" and isinstance(item, str))
        }
    return [_plain(item) for item in value] if isinstance(value, list) else value
