#!/usr/bin/env bash
# Builds the wheel, installs it in a clean environment on the lowest Python at hand and loads the extension there.
set -eu
builder="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$builder" -m build --wheel --no-isolation --outdir "$work/dist" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
python="$(LOWEST=1 scripts/find_python.sh)"
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/dist/*.whl
cd "$work"
"$work/venv/bin/mewcode-nb" --version
"$work/venv/bin/python" - <<'PY'
import sys
from pathlib import Path

import mewcode_nb
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "mewcode_nb")
assert "mewcode" in shell.magics_manager.magics["cell"], "the magic is not registered"
package = Path(mewcode_nb.__file__).parent
for name in ("py.typed", "agent/prompts/system.md", "widgets/static/approval.js"):
    assert (package / name).is_file(), f"{name} is not in the wheel"
for name in ("01_first_steps.ipynb", "02_sessions.ipynb"):
    assert (Path(sys.prefix) / "share/mewcode_nb" / name).is_file(), f"{name} is not in the wheel"
print("wheel: %load_ext works on Python", sys.version.split()[0])
PY
