"""What an installation brings: the wheel in a clean environment, packages and megabytes counted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.report import Budget, Report, main, ratio

ROOT = Path(__file__).resolve().parents[1]
PEERS = (
    ("jupyter-cc 0.2.0", 517),
    ("jupyter-ai-magics 2.31.7", 477),
    ("notebook-intelligence 6.2.0", 990),
)
"""Megabytes of a clean environment each, as the project measured them in November 2026."""


def measure() -> Report:
    """Build the wheel, install it into a new environment, look at what is there."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq"]
        wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, str(ROOT)]
        subprocess.run([*pip, *wheel], check=True)
        (built,) = Path(folder).glob("*.whl")
        environment = Path(folder, "environment")
        venv.create(environment, with_pip=False)
        site = next(environment.rglob("site-packages"))
        before = _megabytes(site)
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        install = [*pip, "--python", str(python), "install", str(built)]
        subprocess.run(install, check=True, env=compiled)
        packages = len(list(site.glob("*.dist-info")))
        size = _megabytes(environment) - before
        own = built.stat().st_size / 1e6
    rows = [("mewcode-nb", str(packages), f"{size:.0f}", "1.00x")]
    rows += [(name, "", f"{other}", ratio(other, size)) for name, other in PEERS]
    return Report(
        "Installation",
        ("package", "packages", "MB", "vs mewcode-nb"),
        tuple(rows),
        (Budget("packages", packages, 69), Budget("MB", size, 320)),
        (
            f"Our own wheel: {own:.2f} MB. Byte code included.",
            "Other packages' sizes are earlier measurements of ours, not made in this run.",
        ),
    )


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 1e6


if __name__ == "__main__":
    main(measure)
