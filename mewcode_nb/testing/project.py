"""A project to test in: a home, a root and a folder for notebooks, all in one temporary place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Project", "make_project"]


@dataclass(frozen=True, slots=True)
class Project:
    """Folders that exist, real paths. `home` and `root` are siblings: neither holds the other."""

    home: Path
    root: Path
    notebooks: Path
    """Inside the root."""
    outside: Path
    """A sibling of the root whose name begins with the root's name."""

    def write(self, name: str, text: str) -> Path:
        """Create a file of the project in UTF-8, folders included, and return its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
        return path

    def environment(self, base_url: str = "", api_key: str = "test-key") -> dict[str, str]:
        """Variables for a child process or a kernel that must see only this project."""
        return {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "IPYTHONDIR": str(self.home / ".ipython"),
            "JUPYTER_CONFIG_DIR": str(self.home / ".jupyter"),
            "ANTHROPIC_API_KEY": api_key,
            "ANTHROPIC_BASE_URL": base_url,
        }


def make_project(base: Path) -> Project:
    """Make the folders below `base`, which exists."""
    base = base.resolve()
    project = Project(
        home=base / "home",
        root=base / "project",
        notebooks=base / "project" / "notebooks",
        outside=base / "project-other",
    )
    for folder in (project.home, project.notebooks, project.outside):
        folder.mkdir(parents=True)
    return project
