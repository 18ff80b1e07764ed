from __future__ import annotations

import hashlib
import itertools
import os

import pytest

from mewcode_nb.session.present import HASHED_BYTES, file_states
from mewcode_nb.session.records import ReadRecord


@pytest.fixture
def seen(tmp_path):
    """A file, and the record of its having been read as it is."""

    def write(name="a.py", data=b"old"):
        path = tmp_path / name
        path.write_bytes(data)
        os.utime(path, (1000.0, 1000.0))
        return path, ReadRecord(
            1.0, str(path), hashlib.sha256(data).hexdigest(), path.stat().st_mtime, len(data)
        )

    return write


def state_of(read, timer=lambda: 0.0):
    return file_states([read], timer=timer)[read.path]


def test_an_untouched_file_is_the_same_without_being_read(seen):
    path, read = seen()
    path.write_bytes(b"new")
    os.utime(path, (1000.0, 1000.0))
    assert state_of(read) == "same"


def test_a_touched_file_is_judged_by_its_content(seen):
    path, read = seen()
    os.utime(path, (2000.0, 2000.0))
    assert state_of(read) == "same"
    path.write_bytes(b"new")
    assert state_of(read) == "changed"


def test_another_size_is_a_change_without_hashing(seen):
    path, read = seen()
    with path.open("r+b") as file:
        file.truncate(HASHED_BYTES + 1)
    assert state_of(read) == "changed"


def test_gone_files_and_what_took_their_place(seen, tmp_path):
    path, read = seen()
    path.unlink()
    assert state_of(read) == "gone"
    os.mkfifo(path)
    assert state_of(ReadRecord(1.0, str(path), "f" * 64)) == "unreadable"
    path.unlink()
    path.symlink_to(path)
    assert state_of(read) == "unreadable"
    assert state_of(ReadRecord(1.0, str(tmp_path / "x" / "y"), "f" * 64)) == "gone"
    assert state_of(ReadRecord(1.0, "a\0b", "f" * 64)) == "unreadable"


def test_what_is_too_big_or_was_not_hashed_then_is_not_checked(seen):
    path, read = seen()
    os.utime(path, (2000.0, 2000.0))
    assert state_of(ReadRecord(1.0, read.path, "")) == "unchecked"
    with path.open("r+b") as file:
        file.truncate(HASHED_BYTES + 1)
    assert state_of(ReadRecord(1.0, read.path, "f" * 64)) == "unchecked"


def test_time_runs_out_for_the_rest(seen):
    reads = [seen(f"{n}.py")[1] for n in range(4)]
    states = file_states(reads, timer=itertools.count(0.0, 0.4).__next__)
    assert list(states.values()) == ["same", "same", "unchecked", "unchecked"]
