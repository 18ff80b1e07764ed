"""Random damage: what is whole in a file reaches the model, and the file is left as it is."""

from __future__ import annotations

import json
import os
import random

import pytest

from mewcode_nb.repair import repair
from mewcode_nb.session.branches import read_branches
from mewcode_nb.session.doctor import examine
from mewcode_nb.session.load import load, load_whole
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.records import MessageRecord, SessionRecord, to_line
from mewcode_nb.session.row import read_row

LONG = bool(os.environ.get("MEWCODE_LONG"))
FILES = int(os.environ.get("MEWCODE_DAMAGED", "1000" if LONG else "60"))


def plain_session(source):
    """Lines of a session without rewinds, and the mark of each that is in it alone."""
    lines, marks = [to_line(SessionRecord(1.0, "s", model="m"))], [None]
    for number in range(source.randrange(5, 60)):
        mark = f"<{source.getrandbits(64):016x}>"
        identity = f"{source.getrandbits(64):016x}"
        text = mark + source.choice(
            ["", "你好 " * 30, 'a"b\\c\n' * 20, "x" * 2000, '{"role":"user"}']
        )
        role, block = "user", {"type": "text", "text": text}
        if kind := number % 4:
            call = {"type": "tool_use", "id": f"t{number}", "name": "run", "input": {"code": text}}
            result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": text}
            role = "user" if kind == 2 else "assistant"
            block = {1: call, 2: result, 3: block}[kind]
        origin = {"user": "tool" if kind else "user", "assistant": "assistant"}[role]
        turn = number // 4 + 1
        lines.append(to_line(MessageRecord(1.0 + number, identity, role, (block,), origin, turn)))
        marks.append(mark)
    return lines, marks


def flip(data, source):
    for _ in range(source.randrange(1, 6)):
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)


def zero(data, source):
    start = source.randrange(len(data))
    length = min(source.randrange(1, 4096), len(data) - start)
    data[start : start + length] = bytes(length)


def insert_zeros(data, source):
    start = source.randrange(len(data))
    data[start:start] = bytes(source.randrange(1, 4096))


def cut(data, source):
    del data[len(data) - source.randrange(1, 400) :]


def glue(data, source):
    places = [place for place, byte in enumerate(data) if byte == 10]
    if places:
        del data[source.choice(places)]


def split(data, source):
    start = source.randrange(len(data))
    data[start:start] = b"\n" * source.randrange(1, 3)


def remove(data, source):
    start = source.randrange(len(data))
    del data[start : start + source.randrange(1, 2000)]


def repeat(data, source):
    start, place = source.randrange(len(data)), source.randrange(len(data))
    data[place:place] = data[start : start + source.randrange(1, 1500)]


def litter(data, source):
    start = source.randrange(len(data))
    data[start:start] = source.randbytes(source.randrange(1, 300))


DAMAGES = [flip, zero, insert_zeros, cut, glue, split, remove, repeat, litter]


def damaged(data, source):
    data = bytearray(data)
    for _ in range(source.randrange(1, 5)):
        source.choice(DAMAGES)(data, source)
        if not data:
            break
    return bytes(data)


@pytest.mark.slow
@pytest.mark.timeout(1800 if LONG else 120)
def test_g18_intact_records_of_damaged_files_reach_the_model(tmp_path):
    intact, lost = 0, []
    path = tmp_path / "20260314-092653-1f0a" / "conversation.jsonl"
    path.parent.mkdir()
    for seed in range(FILES):
        source = random.Random(seed)
        lines, marks = plain_session(source)
        data = damaged(b"".join(lines), source)
        path.write_bytes(data)
        sent = repair(load(path.parent).messages).messages
        said = json.dumps([message.content for message in sent], ensure_ascii=False)
        for line, mark in zip(lines, marks, strict=True):
            if mark and line[:-1] in data:
                intact += 1
                if mark not in said:
                    lost.append((seed, mark))
        assert path.read_bytes() == data
    assert intact > 15 * FILES
    assert len(lost) <= intact / 1000, lost


@pytest.mark.slow
@pytest.mark.timeout(1800 if LONG else 120)
def test_g18_no_reader_fails_on_a_damaged_file_with_branches_and_compactions(tmp_path, talk):
    path = tmp_path / "20260314-092653-1f0a" / "conversation.jsonl"
    path.parent.mkdir()
    for seed in range(FILES):
        source = random.Random(-seed)
        made = talk()
        for _ in range(12):
            made.step(source.choice(talk.STEPS), source.randrange(12))
        data = damaged(made.data, source)
        path.write_bytes(data)
        repair(load(path.parent).messages)
        repair(load_whole(path.parent).messages)
        read_branches(read_log(path).records)
        assert read_row(path.parent).info.id == path.parent.name
        examine(path.parent).text("en")
        assert path.read_bytes() == data
