from __future__ import annotations

import itertools
import os
import time

import pytest

from mewcode_nb.session.places import find_places


@pytest.fixture
def project(tmp_path):
    root = (tmp_path / "project").resolve()
    root.mkdir()
    (root / "pyproject.toml").touch()
    return root


def put_sessions(folder):
    (folder / ".mewcode" / "sessions" / "20260314-120000-0001").mkdir(parents=True)


def found_below(root, home=None):
    found = find_places(root, home, timer=time.monotonic)
    return [str(folder.relative_to(root)) for folder in found.folders], found.stopped


def test_sessions_are_found_at_the_root_and_below(project):
    for name in (".", "b/deep/er", "a", "other"):
        (project / name).mkdir(parents=True, exist_ok=True)
    for name in (".", "b/deep/er", "a"):
        put_sessions(project / name)
    (project / "other" / ".mewcode" / "memory.txt").parent.mkdir()
    assert found_below(project) == ([".", "a", "b/deep/er"], "")


@pytest.mark.parametrize(
    "name", [".hidden/x", "node_modules/x", "a/__pycache__", "lib/site-packages/x"]
)
def test_some_folders_are_never_entered(project, name):
    put_sessions(project / name)
    assert found_below(project) == ([], "")


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
def test_an_environment_is_left_out_whatever_its_name(project, mark):
    put_sessions(project / "tools" / "share")
    (project / "tools" / mark).touch()
    assert found_below(project) == ([], "")


@pytest.mark.parametrize("mark", [".git", "MEWCODE.md", ".mewcode/config.toml"])
def test_a_nested_project_keeps_its_sessions_to_itself(project, mark):
    put_sessions(project / "nested")
    put_sessions(project / "nested" / "notebooks")
    put_sessions(project / "own")
    (project / "nested" / mark).touch()
    assert found_below(project) == (["own"], "")


def test_links_are_not_followed_and_nothing_above_the_root_is_seen(project, tmp_path):
    put_sessions(tmp_path)
    put_sessions(tmp_path / "elsewhere")
    (project / "link").symlink_to(tmp_path / "elsewhere")
    (project / "loop").symlink_to(project)
    assert found_below(project) == ([], "")


def test_a_folder_that_marks_no_project_is_not_walked(tmp_path):
    put_sessions(tmp_path)
    put_sessions(tmp_path / "below")
    assert found_below(tmp_path.resolve()) == (["."], "")


def test_the_home_folder_is_never_walked(project):
    put_sessions(project)
    put_sessions(project / "below")
    assert found_below(project, home=project) == (["."], "")


def test_the_walk_stops_in_time_and_says_so(project):
    for number in range(20):
        put_sessions(project / f"n{number:02}")
    ticks = itertools.count(0.0, 0.3).__next__
    found = find_places(project, None, timer=ticks)
    assert len(found.folders) < 20
    assert found.stopped == (
        f"looked at {found.folders_seen} folders of {project}; "
        "the search ends at 20,000 folders or 2 s"
    )


def test_the_walk_stops_at_a_number_of_folders(project):
    for number in range(20):
        (project / f"n{number:02}").mkdir()
    found = find_places(project, None, timer=time.monotonic, limit=5)
    assert found.folders_seen == 5
    assert found.stopped.startswith("looked at 5 folders")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every folder"
)
def test_an_unreadable_folder_is_counted(project):
    put_sessions(project / "own")
    (project / "shut").mkdir(mode=0o000)
    assert found_below(project) == (["own"], f"1 folders of {project} could not be read")
