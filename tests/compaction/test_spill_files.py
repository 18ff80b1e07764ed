import errno
import hashlib
import os
import stat
from pathlib import Path

import pytest

from mewcode_nb.compaction.spill_files import SpillFiles, Spilling
from mewcode_nb.errors import SessionError
from mewcode_nb.messages import Block, tool_result
from mewcode_nb.session.files import RealFiles
from mewcode_nb.session.records import MessageRecord, PlacedRecord
from mewcode_nb.session.replay import fold
from mewcode_nb.session.spilled import SPILL_FOLDER, with_preview
from mewcode_nb.tokens import Family

BIG = "".join(f"line {number}\n" for number in range(60_000))


class FullDisk(RealFiles):
    """Takes a part of each content, then fails."""

    __slots__ = ()

    def write(self, fd: int, data: memoryview) -> int:
        if len(data) < 500_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(fd, data[:400_000])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session = tmp_path / "session"
    session.mkdir()
    return session


def spill(folder: Path | None, *blocks: Block, files: RealFiles | None = None) -> Spilling:
    spills = SpillFiles(folder, shown=str(folder), files=files or RealFiles())
    return spills.spill(blocks, 7.0, Family.CLAUDE_3)


def test_the_record_is_what_the_content_and_the_file_are(folder: Path) -> None:
    result = tool_result("toolu_1", BIG)
    done = spill(folder, result)
    (record,), (event,) = done.records, done.events
    data = (folder / record.path).read_bytes()
    assert data == BIG.encode()
    assert (record.bytes, record.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert record.path == f"{SPILL_FOLDER}/toolu_1-{record.sha256[:12]}.txt"
    assert done.content == (with_preview(result, record.target, record.preview),)
    assert f"{folder}/{record.path}" in record.preview
    assert (event.path, event.size, event.target) == (record.path, record.bytes, "result")
    assert event.tokens > 100_000


CALL: Block = {"type": "tool_use", "id": "t1", "name": "write_file", "input": {"content": BIG}}
PARTS = tool_result("t1", [{"type": "text", "text": BIG}, {"type": "image", "source": {}}])


@pytest.mark.parametrize("block", [tool_result("t1", BIG), PARTS, CALL])
@pytest.mark.parametrize("stored", ["as it was", "with its previews"])
def test_a_reader_of_the_records_gets_what_is_sent(folder: Path, block: Block, stored: str) -> None:
    done = spill(folder, block)
    content = (block,) if stored == "as it was" else done.content
    message = MessageRecord(1.0, "m", "user", content, "tool")
    state = fold(PlacedRecord(record, at, at) for at, record in enumerate((message, *done.records)))
    assert state.messages[0].content == done.content != (block,)


def test_a_file_is_on_the_disk_under_its_name_before_its_record_is_made(folder: Path) -> None:
    done: list[str] = []

    class Noted(RealFiles):
        __slots__ = ()

        def sync(self, fd: int) -> None:
            done.append(f"content, {os.fstat(fd).st_size} bytes")
            super().sync(fd)

        def sync_folder(self, path: Path) -> None:
            done.append(f"names in {path.name}")
            super().sync_folder(path)

    spill(folder, tool_result("t", BIG), files=Noted())
    assert done == [f"content, {len(BIG)} bytes", f"names in {SPILL_FOLDER}"]


def test_files_are_for_their_owner_only(folder: Path) -> None:
    (record,) = spill(folder, tool_result("t", BIG)).records
    assert stat.S_IMODE((folder / record.path).stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / SPILL_FOLDER).stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "call", ["../../x", "a/b", "CON", "", "x" * 300, "a\x00b", ".hidden", "数据", "..", "a b"]
)
def test_t01_whatever_the_id_the_file_is_inside_and_the_preview_names_it(
    folder: Path, call: str
) -> None:
    (record,) = spill(folder, tool_result(call, BIG)).records
    (made,) = (folder / SPILL_FOLDER).iterdir()
    assert str(made) in record.preview
    assert made.read_text() == BIG
    assert not made.name.startswith(".")
    assert len(made.name) <= 60


def test_t01_ids_equal_but_for_case_do_not_share_a_file_with_other_content(folder: Path) -> None:
    done = spill(folder, tool_result("AB", BIG), tool_result("ab", BIG + "!"))
    names = {record.path.lower() for record in done.records}
    assert len(names) == 2


def test_c11_the_same_id_with_other_content_gets_another_file(folder: Path) -> None:
    first, second = (spill(folder, tool_result("t", BIG + end)).records[0] for end in ("1", "2"))
    assert first.path != second.path
    for record, end in ((first, "1"), (second, "2")):
        assert (folder / record.path).read_text() == BIG + end


def test_the_same_content_again_is_not_written_again(folder: Path) -> None:
    first, second = (spill(folder, tool_result("t", BIG)).records[0] for _ in range(2))
    assert first == second
    assert len(list((folder / SPILL_FOLDER).iterdir())) == 1


def test_a_file_or_link_of_somebody_else_is_neither_used_nor_followed(folder: Path) -> None:
    (record,) = spill(folder, tool_result("t", BIG)).records
    victim = folder / "victim"
    victim.write_text(BIG)
    (folder / record.path).unlink()
    (folder / record.path).symlink_to(victim)
    again = spill(folder, tool_result("t", BIG)).records[0]
    assert again.path == record.path.replace(".txt", "-2.txt")
    (folder / again.path).write_text("half of it")
    third = spill(folder, tool_result("t", BIG)).records[0]
    assert third.path == record.path.replace(".txt", "-3.txt")
    assert victim.read_text() == BIG


def test_t03_a_link_in_the_place_of_the_folder_gets_no_file(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (folder / SPILL_FOLDER).symlink_to(outside)
    done = spill(folder, tool_result("t", BIG))
    assert done.failed
    assert list(outside.iterdir()) == []


def test_what_cannot_be_written_stays_as_it_is_and_is_tried_again(folder: Path) -> None:
    result = tool_result("t", BIG)
    done = spill(folder, result, files=FullDisk())
    assert done == Spilling((result,), failed="No space left on device")
    assert list((folder / SPILL_FOLDER).iterdir()) == []
    assert spill(folder, result).records


def test_one_that_fails_does_not_keep_the_others(folder: Path) -> None:
    """The disk takes the smaller of two, whichever comes first."""

    class NoBigOnes(RealFiles):
        __slots__ = ()

        def write(self, fd: int, data: memoryview) -> int:
            if len(data) > len(BIG):
                raise OSError(errno.EFBIG, "File too large")
            return super().write(fd, data)

    large = tool_result("large", BIG * 2)
    done = spill(folder, large, tool_result("small", BIG), files=NoBigOnes())
    assert done.content[0] is large
    assert [record.tool_use_id for record in done.records] == ["small"]
    assert done.failed == "File too large"


def test_without_a_folder_nothing_moves() -> None:
    result = tool_result("t", BIG)
    assert spill(None, result) == Spilling((result,))


def test_texts_are_written_and_read_by_their_path(folder: Path) -> None:
    spills = SpillFiles(folder, shown="s", files=RealFiles())
    path = spills.write("said-0123456789ab.md", "你好\n")
    assert path == f"{SPILL_FOLDER}/said-0123456789ab.md"
    assert spills.read(path) == "你好\n"
    assert spills.read("../elsewhere/said-0123456789ab.md") == "你好\n"
    with pytest.raises(SessionError, match=r"gone\.md cannot be read"):
        spills.read(f"{SPILL_FOLDER}/gone.md")
    with pytest.raises(SessionError, match="not stored"):
        SpillFiles(None, shown="", files=RealFiles()).write("a.md", "")
