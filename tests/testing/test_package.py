from __future__ import annotations

import json
import subprocess
import sys

import pytest

import mewcode_nb.testing as kit
from mewcode_nb.testing.tokens import IMAGE_TOKENS, count_text, count_value

HEAVY = ["anthropic", "pydantic", "httpx2", "IPython", "numpy", "ipywidgets"]


@pytest.mark.parametrize("name", kit.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(kit, name).__module__.startswith("mewcode_nb.testing.")
    assert name in dir(kit)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        kit.Nothing  # noqa: B018


def test_neither_the_package_nor_a_running_server_loads_anything_heavy():
    code = (
        "import json, sys\n"
        "import mewcode_nb.testing as kit\n"
        "early = [m for m in sys.modules if m.startswith('http')]\n"
        "kit.AutoApprover, kit.ScriptedModel\n"
        "with kit.FakeServer(): pass\n"
        f"print(json.dumps([early, [m for m in {HEAVY} if m in sys.modules]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert json.loads(done.stdout) == [[], []]


def test_the_project_fixture_has_folders_apart_from_each_other(mewcode_project):
    project = mewcode_project
    assert project.notebooks.is_relative_to(project.root)
    assert not project.outside.is_relative_to(project.root)
    assert str(project.outside).startswith(str(project.root))
    path = project.write("src/a.py", "x = '二'\r\n")
    assert path.read_bytes() == "x = '二'\r\n".encode()
    assert project.environment("http://127.0.0.1:1")["HOME"] == str(project.home)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0.0), ("a" * 35, 10.0), ("数" * 10, 11.0), ("é" * 10, 6.0), ("a" * 35 + "数", 11.1)],
)
def test_tokens_are_counted_by_character_class(text, tokens):
    assert count_text(text) == pytest.approx(tokens)


def test_an_image_counts_the_same_whatever_its_size():
    def block(size):
        source = {"type": "base64", "media_type": "image/png", "data": "A" * size}
        return {"type": "tool_result", "content": [{"type": "image", "source": source}]}

    assert count_value(block(40)) == count_value(block(4_000_000)) > IMAGE_TOKENS
