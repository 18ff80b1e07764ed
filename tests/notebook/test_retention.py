from __future__ import annotations

import json
import os
import time

import pytest

from mewcode_nb.messages import text_block
from mewcode_nb.session.records import MessageRecord, MetaRecord, SessionRecord, to_line
from mewcode_nb.session.sweep import NOTICE_SECONDS
from mewcode_nb.testing import reply

DAY = 86_400.0
LOAD = "%load_ext mewcode_nb"
AGE_ONLY = {"MEWCODE_KEEP_LAST": "0", "MEWCODE_RETENTION_DAYS": "30"}


@pytest.fixture
def server(mewcode_server):
    return mewcode_server(default="fine", models=("claude-sonnet-5-5",))


@pytest.fixture
def home_of_sessions(in_project):
    return in_project.notebooks / ".mewcode"


@pytest.fixture
def put(home_of_sessions):
    """Store a session last used so many days ago, with a result that was spilled."""

    def make(identity, days, facts=None):
        folder = home_of_sessions / "sessions" / identity
        (folder / "tool-results").mkdir(parents=True)
        (folder / "tool-results" / "t1.txt").write_text("spilled", encoding="utf-8")
        ts = time.time() - days * DAY
        records = [
            SessionRecord(ts, identity),
            MessageRecord(ts, "m1", "user", (text_block(f"in {identity}"),), "user", turn=1),
            *([MetaRecord(ts, facts)] if facts else []),
        ]
        log = folder / "conversation.jsonl"
        log.write_bytes(b"".join(map(to_line, records)))
        os.utime(log, (ts, ts))
        return folder

    return make


@pytest.fixture
def loaded_kernel(start_kernel, server):
    def start(**more):
        kernel = start_kernel(server, **AGE_ONLY | more)
        kernel.run(LOAD)
        return kernel

    return start


def a_day_passes(home):
    """What was told of was told of a day earlier."""
    memory = home / "cache" / "retention.json"
    told = json.loads(memory.read_bytes())["told"]
    earlier = {identity: when - NOTICE_SECONDS for identity, when in told.items()}
    memory.write_text(json.dumps({"told": earlier}), encoding="utf-8")


def names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def everything(home):
    return {
        str(path.relative_to(home)): path.read_bytes() if path.is_file() else b""
        for path in home.rglob("*")
    }


def test_s_16_told_first_moved_a_day_later_restored_told_again(
    put, loaded_kernel, home_of_sessions, server
):
    put("20200101-000000-0001", 400)
    put("1500000000-ab12", 40)
    put("20200101-000000-0002", 400, {"pin": True})
    put("young", 3)
    before = everything(home_of_sessions)
    kernel = loaded_kernel()
    assert everything(home_of_sessions) == before
    server.add(reply("the answer"))
    said = kernel.run("%%mewcode\nhello").text
    assert said.index("the answer") < said.index("2 sessions")
    assert "“in 1500000000-ab12” (1500000000-ab12)" in said
    assert "retention_days = 0 in ~/.mewcode/config.toml" in said
    assert "%resume ID --pin" in said
    assert len(names(home_of_sessions / "sessions")) == 5
    assert not (home_of_sessions / "trash").exists()
    assert "2 sessions" not in kernel.run("%%mewcode\nonce more").text

    a_day_passes(home_of_sessions)
    kernel = loaded_kernel()
    assert "2 sessions" not in kernel.run("%mewcode status").text
    said = kernel.run("%resume --list").text
    assert "are in the trash now, where they stay 30 days" in said
    gone = ["1500000000-ab12", "20200101-000000-0001"]
    assert names(home_of_sessions / "trash") == gone
    assert not set(gone) & set(names(home_of_sessions / "sessions"))
    note = json.loads((home_of_sessions / "trash" / gone[0] / "trash.json").read_bytes())
    assert note["purge_after"] - note["trashed"] == 30 * DAY
    assert (home_of_sessions / "trash" / gone[0] / "tool-results" / "t1.txt").is_file()

    kernel.run("%resume 1500000000-ab12 --restore")
    kept = home_of_sessions / "sessions" / "1500000000-ab12"
    for name in ("conversation.jsonl", "tool-results/t1.txt"):
        assert (kept / name).read_bytes() == before[f"sessions/1500000000-ab12/{name}"]
    said = loaded_kernel().run("%mewcode cost").text
    assert "1 session (" in said
    assert "they leave for the trash" in said
    assert kept.is_dir()


def test_the_off_switch_of_the_user_keeps_everything(
    put, loaded_kernel, home_of_sessions, in_project
):
    put("old", 4000)
    own = in_project.home / ".mewcode" / "config.toml"
    own.parent.mkdir(exist_ok=True)
    own.write_text("retention_days = 0\nkeep_last = 0\n", encoding="utf-8")
    kernel = loaded_kernel(MEWCODE_RETENTION_DAYS=None, MEWCODE_KEEP_LAST=None)
    assert "trash" not in kernel.run("%%mewcode\nhello").text
    assert "no session leaves by itself" in kernel.run("%mewcode storage").text
    assert "old" in names(home_of_sessions / "sessions")
    assert not (home_of_sessions / "cache" / "retention.json").exists()


def test_a_project_cannot_make_sessions_vanish(put, loaded_kernel, home_of_sessions, in_project):
    put("used", 10)
    in_project.write(".mewcode/config.toml", "retention_days = 1\nkeep_last = 0\ntrash_days = 1\n")
    kernel = loaded_kernel()
    said = kernel.run("%%mewcode\nhello").text
    assert "ignored: retention_days, keep_last, trash_days" in said
    assert "a project may not set them" in said
    assert "leave for the trash" not in said
    assert "nothing leaves" in kernel.run("%mewcode storage").text
    assert "used" in names(home_of_sessions / "sessions")


def test_row_15_a_session_that_another_kernel_holds_stays(
    put, loaded_kernel, home_of_sessions, server
):
    put("held", 40)
    put("idle", 50)
    assert "2 sessions" in loaded_kernel().run("%mewcode storage").text
    holder = loaded_kernel(MEWCODE_RETENTION_DAYS="0")
    holder.run("%resume held")
    a_day_passes(home_of_sessions)
    said = loaded_kernel().run("%%mewcode\nhello").text
    assert "1 session" in said
    assert names(home_of_sessions / "trash") == ["idle"]
    server.add(reply("still here"))
    assert "still here" in holder.run("%%mewcode\nare you there?").text


@pytest.fixture
def shell(loaded, monkeypatch, capsys):
    """A shell in this process, whose retention has a clock of the test's."""
    for name, value in AGE_ONLY.items():
        monkeypatch.setenv(name, value)
    loaded.ahead = 0.0

    def anew():
        from mewcode_nb.notebook.retention import Retention

        loaded.runtime.retention = Retention(loaded.runtime, lambda: time.time() + loaded.ahead)

    def said(cell):
        assert loaded.run(cell).success
        return capsys.readouterr().out

    anew()
    loaded.anew, loaded.said = anew, said
    return loaded


def test_what_had_its_time_in_the_trash_goes_for_good_and_is_named(
    put, shell, home_of_sessions, monkeypatch
):
    monkeypatch.setenv("MEWCODE_TRASH_DAYS", "7")
    put("gone", 40)
    shell.said("%resume gone --delete")
    shell.anew()
    shell.ahead = 7 * DAY - 60
    assert "for good" not in shell.said("%mewcode cost")
    shell.anew()
    shell.ahead = 7 * DAY + 60
    said = shell.said("%mewcode cost")
    assert "1 session" in said
    assert "had their time. From" in said
    assert "they go for good: “in gone” (gone)" in said
    assert names(home_of_sessions / "trash") == ["gone"]
    shell.anew()
    shell.ahead += NOTICE_SECONDS
    assert "gone for good: “in gone” (gone)" in shell.said("%mewcode cost")
    assert names(home_of_sessions / "trash") == []


def test_over_the_quota_the_newest_no_longer_stay_whatever_their_age(
    put, shell, home_of_sessions, monkeypatch
):
    monkeypatch.setenv("MEWCODE_KEEP_LAST", "20")
    put("big", 40)
    (home_of_sessions / "sessions" / "big" / "tool-results" / "t2").write_bytes(b"x" * 1_100_000)
    assert "nothing leaves" in shell.said("%mewcode storage")
    monkeypatch.setenv("MEWCODE_SESSIONS_QUOTA_MB", "1")
    shell.anew()
    said = shell.said("%mewcode storage")
    assert "over the quota" in said
    assert "1 session (1.1 MB)" in said


def test_row_14_results_without_a_log_are_found(put, shell, home_of_sessions):
    folder = put("lost", 40)
    (folder / "conversation.jsonl").unlink()
    then = time.time() - 40 * DAY
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (then, then))
    said = shell.said("%mewcode storage")
    assert "log is gone" in said
    assert "“lost” (lost)" in said


def test_a_failure_is_a_notice_and_the_answer_stands(put, shell, home_of_sessions):
    put("old", 40)
    shell.said("%mewcode storage")
    shell.anew()
    shell.ahead = DAY + 60
    (home_of_sessions / "trash").write_text("in the way", encoding="utf-8")
    shell.server.add(reply("the answer"))
    said = shell.said("%%mewcode\nhello")
    assert "the answer" in said
    assert "1 session could not leave as they should: old: cannot" in said
    assert "old" in names(home_of_sessions / "sessions")


def test_the_notices_speak_chinese(put, shell, monkeypatch):
    put("old", 40)
    shell.run("%mewcode config language zh")
    said = shell.said("%mewcode storage")
    assert "接下来会清理（1 个会话" in said
    assert "起它们会移入回收站" in said


@pytest.mark.parametrize("line", ["%mewcode status", "%mewcode config", "%resume --help"])
def test_what_uses_no_session_looks_for_none(put, shell, home_of_sessions, line):
    put("old", 40)
    assert "leave for the trash" not in shell.said(line)
    assert names(home_of_sessions) == ["sessions"]


def test_code_that_a_turn_runs_begins_nothing(put, shell, home_of_sessions):
    put("old", 40)
    shell.runtime._busy = True
    shell.runtime.retention.begin()
    shell.runtime._busy = False
    shell.runtime.retention.finish()
    assert names(home_of_sessions) == ["sessions"]
