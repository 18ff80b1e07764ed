from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from mewcode_nb.messages import text_block
from mewcode_nb.session.records import MessageRecord, SessionRecord, to_line

DAY = 86_400.0


@pytest.fixture
def put(project):
    """Store a session last used so many days ago."""

    def make(identity, days):
        folder = project / ".mewcode" / "sessions" / identity
        folder.mkdir(parents=True)
        ts = time.time() - days * DAY
        said = (text_block(f"in {identity}"),)
        records = [SessionRecord(ts, identity), MessageRecord(ts, "m1", "user", said, "user", 1)]
        (folder / "conversation.jsonl").write_bytes(b"".join(map(to_line, records)))
        return folder

    return make


@pytest.fixture
def command(project):
    """The command as a process of its own, in the project's folder; what it prints."""

    def call(*words, status=0, **variables):
        done = subprocess.run(
            [sys.executable, "-m", "mewcode_nb", "sessions", *words],
            check=False,
            cwd=project,
            env={**os.environ, "PYTHONIOENCODING": "utf-8", **variables},
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    return call


def test_storage_previews_what_leaves_and_touches_nothing(project, put, command):
    put("1500000000-ab12", 40)
    put("new", 1)
    before = sorted((project / ".mewcode").rglob("*"))
    shown = command("storage", MEWCODE_KEEP_LAST="0")
    assert "to leave next (1 session, " in shown
    (row,) = [line for line in shown.splitlines() if "1500000000-ab12" in line]
    assert "a day after the notice" in row
    assert "接下来会清理（1 个会话" in command("storage", MEWCODE_KEEP_LAST="0", LANG="zh_CN.UTF-8")
    shown = command("storage")
    assert "nothing leaves" in shown
    assert "The newest 20 of each folder stay" in shown
    assert "no session leaves by itself" in command("storage", MEWCODE_RETENTION_DAYS="0")
    assert sorted((project / ".mewcode").rglob("*")) == before


def test_storage_heeds_the_users_file_and_not_the_projects(project, put, command):
    put("old", 40)
    project_file = project / ".mewcode" / "config.toml"
    project_file.write_text("keep_last = 0\nretention_days = 1\n", encoding="utf-8")
    assert "nothing leaves" in command("storage")
    own = project.parent / ".mewcode" / "config.toml"
    own.parent.mkdir()
    own.write_text("keep_last = 0\n", encoding="utf-8")
    assert "to leave next (1 session, " in command("storage")


def test_to_the_trash_and_back_and_gone_for_good(project, put, command):
    folder = put("1500000000-ab12", 40)
    log = (folder / "conversation.jsonl").read_bytes()
    command("delete", "1500000000-ab12", MEWCODE_TRASH_DAYS="7")
    trashed = project / ".mewcode" / "trash" / "1500000000-ab12"
    note = json.loads((trashed / "trash.json").read_bytes())
    assert note["purge_after"] - note["trashed"] == 7 * DAY
    assert "1500000000-ab12" in command("trash")
    assert "The next of the trash goes for good on" in command("storage")
    command("restore", "1500000000-ab12")
    assert (folder / "conversation.jsonl").read_bytes() == log
    assert "1500000000-ab12" in command("list")
    command("delete", "1500000000")
    command("purge", "1500000000-ab12", "--yes")
    assert not trashed.exists()
    assert "no session 1500000000-ab12 in the trash" in command(
        "restore", "1500000000-ab12", status=1
    )
