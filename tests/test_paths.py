from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mewcode_nb.paths import (
    NotRegularFile,
    OutsideFolder,
    TooLarge,
    inside,
    project_root,
    protected_reason,
    read_inside,
    real_path,
    sessions_folder,
    user_home,
    write_gitignore,
)


@pytest.mark.parametrize(
    "marker",
    ["MEWCODE.md", ".mewcode/MEWCODE.md", ".mewcode/config.toml", ".git", "pyproject.toml"],
)
def test_project_root_is_the_nearest_folder_with_a_marker(tmp_path: Path, marker: str) -> None:
    notebook_folder = tmp_path / "project" / "a" / "b"
    notebook_folder.mkdir(parents=True)
    file = tmp_path / "project" / marker
    file.parent.mkdir(exist_ok=True)
    file.touch()
    (tmp_path / ".git").mkdir()
    assert project_root(notebook_folder, None) == tmp_path / "project"


def test_project_root_counts_a_memory_folder_but_not_sessions(tmp_path: Path) -> None:
    folder = tmp_path / "project" / "sub"
    (folder / ".mewcode" / "sessions").mkdir(parents=True)
    (tmp_path / "project" / ".mewcode" / "memory").mkdir(parents=True)
    assert project_root(folder, None) == tmp_path / "project"


def test_project_root_without_a_marker_is_the_folder_itself(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "work"
    folder.mkdir(parents=True)
    assert project_root(folder, tmp_path / "home") == folder


def test_project_root_is_never_found_at_or_above_the_home_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = home / "work"
    folder.mkdir(parents=True)
    (home / ".git").mkdir()
    (home / ".mewcode").mkdir()
    (home / ".mewcode" / "config.toml").touch()
    (tmp_path / "pyproject.toml").touch()
    assert project_root(folder, home) == folder


def test_project_root_knows_the_home_folder_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk" / "work").mkdir(parents=True)
    (tmp_path / "disk" / ".git").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    assert project_root(tmp_path / "home" / "work", tmp_path / "home") == tmp_path / "disk" / "work"


def test_project_root_of_the_file_system_root_is_itself() -> None:
    assert project_root(Path("/"), None) == Path("/")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("project", True),
        ("project/a/b.md", True),
        ("project/../project/a", True),
        ("project-evil/secret.md", False),
        ("project/../other", False),
        (".", False),
    ],
)
def test_i_01_inside_compares_parts_not_prefixes(tmp_path: Path, path: str, expected: bool) -> None:
    (tmp_path / "project").mkdir()
    assert inside(tmp_path / "project", tmp_path / path) is expected


def test_i_03_inside_follows_links_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path / "out")
    (tmp_path / "alias").symlink_to(tmp_path / "project")
    assert not inside(tmp_path / "project", tmp_path / "project" / "link" / "x")
    assert inside(tmp_path / "alias", tmp_path / "project" / "x")


def test_real_path_of_an_impossible_name_does_not_raise() -> None:
    assert real_path(Path("/a/\x00b")) == Path("/a/\x00b")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOME": "/home/ann"}, Path("/home/ann")),
        ({"HOME": "/missing/folder"}, Path("/missing/folder")),
        ({"HOME": ""}, None),
        ({"HOME": "relative"}, None),
        ({}, None),
    ],
)
def test_l_04_user_home_tolerates_a_missing_home(
    environ: dict[str, str], expected: Path | None
) -> None:
    assert user_home(environ) == expected


def test_sessions_lie_beside_the_notebook() -> None:
    assert sessions_folder(Path("/n")) == Path("/n/.mewcode/sessions")


def test_write_gitignore_hides_what_is_private_or_derived(tmp_path: Path) -> None:
    assert write_gitignore(tmp_path) is True
    lines = (tmp_path / ".gitignore").read_text(encoding="utf-8").splitlines()
    for name in ("/sessions/", "/trash/", "/cache/", "/queue/", "history.jsonl"):
        assert name in lines
    assert "/memory/" not in lines
    assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]


def test_write_gitignore_keeps_the_users_own(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n", encoding="utf-8")
    assert write_gitignore(tmp_path) is False
    assert (tmp_path / ".gitignore").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("MEWCODE.md", "instruction file"),
        ("deep/down/agents.MD", "instruction file"),
        ("CLAUDE.md", "instruction file"),
        (".mewcode/MEWCODE.md", "instruction file"),
        (".mewcode/config.toml", "settings file"),
        (".mewcode/settings.local.json", "settings file"),
        (".MewCode/Config.TOML", "settings file"),
        ("sub/.mewcode/rules.toml", "approval rules"),
        (".mewcode/sessions/x/conversation.jsonl", "the agent's own records"),
        (".git/config", ".git"),
        (".GIT/hooks/pre-commit", ".git"),
        (".g\u200cit/config", ".git"),
        (".git./config", ".git"),
        ("bare/hooks/post-checkout", "git hook"),
        (".husky/pre-commit", "git hook"),
        (".pre-commit-config.yaml", "git hook"),
        (".gitattributes", ".git"),
        ("ipython_config.py", "IPython startup file"),
        ("x/profile_default/startup/00.py", "IPython startup file"),
        (".ipython/profile_default/ipython_kernel_config.py", "IPython startup file"),
        ("jupyter_server_config.json", "Jupyter configuration"),
        (".jupyter/lab/user-settings/x", "Jupyter configuration"),
        (".bashrc", "shell start-up file"),
        (".envrc", "shell start-up file"),
        ("sitecustomize.py", "Python start-up file"),
        (".venv/lib/python3.11/site-packages/x.pth", "Python start-up file"),
        (".vscode/settings.json", "editor settings"),
        (".claude/settings.json", "another agent's settings"),
        ("src/main.py", ""),
        ("notes/mewcode.txt", ""),
        ("models/best.pth", ""),
        ("hooks/useState.ts", ""),
        (".github/workflows/ci.yml", ""),
        ("profile_data/x.csv", ""),
        (".gitignore", ""),
    ],
)
def test_protected_reason_by_name_whether_or_not_the_file_exists(
    tmp_path: Path, path: str, reason: str
) -> None:
    assert protected_reason(tmp_path / path, tmp_path, None) == reason


def test_protected_reason_judges_the_target_of_a_link(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "innocent").symlink_to(tmp_path / ".git")
    assert protected_reason(tmp_path / "innocent" / "config", tmp_path, None) == ".git"


@pytest.mark.parametrize(
    ("path", "root", "reason"),
    [
        (".config/systemd/user/x.service", "", "settings in the home folder"),
        (".local/share/jupyter/kernels/x/kernel.json", "work", "settings in the home folder"),
        (".dotfiles/project/a.py", ".dotfiles/project", ""),
        ("work/.hidden", "work", ""),
        ("work/a.py", "", ""),
    ],
)
def test_protected_reason_for_dot_files_of_the_home_folder(
    tmp_path: Path, path: str, root: str, reason: str
) -> None:
    assert protected_reason(tmp_path / path, tmp_path / root, tmp_path) == reason


def test_read_inside_gives_bytes_and_identity(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b.txt"
    file.parent.mkdir()
    file.write_bytes(b"12345")
    found = file.stat()
    assert read_inside(tmp_path, file, limit=5) == (b"12345", (found.st_dev, found.st_ino))


def test_read_inside_refuses_what_lies_outside_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"s")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(OutsideFolder):
        read_inside(tmp_path / "in", tmp_path / "in" / "link", limit=9)


def test_read_inside_refuses_folders_and_pipes_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(NotRegularFile):
            read_inside(tmp_path, path, limit=9)


def test_read_inside_refuses_more_than_the_limit(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"123456")
    with pytest.raises(TooLarge):
        read_inside(tmp_path, tmp_path / "long", limit=5)


def test_row_48_read_inside_tells_a_circle_of_links(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="circle") as raised:
        read_inside(tmp_path, tmp_path / "a", limit=9)
    assert raised.value.errno == errno.ELOOP
