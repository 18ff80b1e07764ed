from __future__ import annotations

import subprocess
import sys


def test_help_names_every_command(run):
    output = run("--help")
    for name in ("demo", "doctor", "instructions", "sessions"):
        assert f"\n  {name} " in output


def test_the_version_is_the_package_s(run):
    import mewcode_nb

    assert mewcode_nb.__version__ in run("--version")


def test_help_loads_nothing_heavy():
    heavy = ("anthropic", "IPython", "markdown_it", "nbformat", "sqlite3", "pydantic", "yaml")
    code = (
        "import sys; from mewcode_nb.cli import main; main(['--help'], standalone_mode=False); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip().endswith("[]")


def test_instructions_are_shown(run, project):
    (project / "MEWCODE.md").write_text("Be brief.\n", encoding="utf-8")
    output = run("instructions")
    assert f"Project root: {project}" in output
    assert "MEWCODE.md" in output
