from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Write = Callable[[Mapping[str, str | bytes]], None]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "P"
    folder.mkdir()
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(files: Mapping[str, str | bytes]) -> None:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return put
