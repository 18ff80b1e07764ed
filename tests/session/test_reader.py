from __future__ import annotations

import io
import json
import random
import tracemalloc

import pytest

from mewcode_nb.errors import SessionError, SessionNotFound
from mewcode_nb.session.reader import read_log, scan_log
from mewcode_nb.session.records import (
    LINE_LIMIT,
    Damage,
    MessageRecord,
    PlacedRecord,
    UnknownRecord,
    to_line,
)

STAMP = b'{"role":"user","content":"%d"}\n'


def scan(data):
    items = list(scan_log(io.BytesIO(data)))
    records = [item for item in items if isinstance(item, PlacedRecord)]
    return records, [item for item in items if isinstance(item, Damage)]


def texts(records):
    return [
        placed.record.content[0]["text"]
        for placed in records
        if isinstance(placed.record, MessageRecord)
    ]


def line(words, **more):
    blocks = ({"type": "text", "text": words},)
    return to_line(MessageRecord(1.0, f"m-{words}", "user", blocks, "user", **more))


def test_s_01_record_glued_to_a_stump_is_recovered_whole():
    records, damage = scan(
        b'{"role":"user","content":"a"}\n'
        b'{"role":"assistant","cont{"role":"assistant","content":"b"}\n'
        b'{"role":"user","content":"c"}\n'
    )
    assert texts(records) == ["a", "b", "c"]
    assert [(d.line, d.recovered) for d in damage] == [(2, 1)]
    assert str(damage[0]).endswith("1 recovered")


def test_s_01_two_records_glued_without_a_newline_are_both_recovered():
    records, damage = scan(line("a").rstrip() + line("b") + line("c"))
    assert texts(records) == ["a", "b", "c"]
    assert [(d.line, d.recovered) for d in damage] == [(1, 2)]


def test_s_02_row_2_a_line_of_zeros_costs_nothing_else():
    good = [line(str(n)) for n in range(6)]
    records, damage = scan(b"".join(good[:3]) + b"\0" * 512 + b"\n" + b"".join(good[3:]))
    assert texts(records) == ["0", "1", "2", "3", "4", "5"]
    assert damage == [Damage(4, "512 zero bytes")]


def test_row_2_zeros_without_a_newline_leave_the_record_after_them():
    good = [line(str(n)) for n in range(6)]
    records, damage = scan(b"".join(good[:3]) + b"\0" * 400 + b"".join(good[3:]))
    assert texts(records) == ["0", "1", "2", "3", "4", "5"]
    assert damage == [Damage(4, "400 zero bytes", 1)]


def test_s_03_row_5_line_cut_inside_a_character_is_the_only_one_lost():
    records, damage = scan(line("a") + line("你好")[:-60] + "好".encode()[:2] + b"\n" + line("b"))
    assert texts(records) == ["a", "b"]
    assert damage == [Damage(2, "not UTF-8, perhaps cut inside a character")]


def test_s_05_a_bad_line_does_not_swallow_the_next():
    records, damage = scan(
        b'{"role":"user","content":"1"}\n{"role":\n{"role":"user","content":"3"}\n'
    )
    assert texts(records) == ["1", "3"]
    assert [d.line for d in damage] == [2]


@pytest.mark.parametrize(
    "bad",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"role":"user","n":1' + b"0" * 5000 + b"}",
        b'{"role":"user","role":"assistant"}',
        b'{"type":"meta","ts":NaN}',
        b'{"type":"meta","ts":1,"x":-Infinity}',
        b'{"type":"meta","ts":1}}',
        b"[1,2]",
        b'"x"',
        b"\xff\xfe",
        b'{"type":"meta","ts":1,"x":"a\tb"}',
        b'{"ts":1}',
    ],
    ids=lambda bad: repr(bad[:20]),
)
def test_s_15_what_python_parses_wrongly_or_chokes_on_is_one_bad_line(bad):
    records, damage = scan(line("a") + bad + b"\n" + line("b"))
    assert texts(records) == ["a", "b"]
    assert [d.line for d in damage] == [2]


def test_s_15_line_over_the_limit_is_one_bad_line_and_costs_little_memory():
    class Stream(io.RawIOBase):
        def __init__(self):
            self.parts = [line("a"), *([b"x" * 2**20] * 64), b"\n" + line("b")]

        def readable(self):
            return True

        def readinto(self, buffer):
            part = self.parts[0][: len(buffer)] if self.parts else b""
            buffer[: len(part)] = part
            if part:
                rest = self.parts.pop(0)[len(part) :]
                self.parts = [rest, *self.parts] if rest else self.parts
            return len(part)

        def seekable(self):
            return False

        def tell(self):
            return 0

    tracemalloc.start()
    items = list(scan_log(io.BufferedReader(Stream())))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert texts(i for i in items if isinstance(i, PlacedRecord)) == ["a", "b"]
    assert [str(i) for i in items if isinstance(i, Damage)] == [
        f"line 2: {64 * 2**20 + 1} bytes, more than the limit of {LINE_LIMIT}"
    ]
    assert items[2].offset == len(line("a")) + 64 * 2**20 + 1
    assert peak < 3 * 64 * 2**20


def test_search_in_a_damaged_line_takes_time_linear_in_its_length():
    records, damage = scan(b'{"type":' * 400_000 + b"\n" + line("b"))
    assert texts(records) == ["b"]
    assert damage[0].line == 1


def test_blocks_and_arguments_inside_a_torn_record_are_not_taken_for_records():
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "write_file",
        "input": {"messages": [{"role": "user", "content": "not ours"}], "z": {"type": "meta"}},
    }
    whole = to_line(MessageRecord(1.0, "m", "assistant", (call, call), "assistant"))
    for cut in range(1, len(whole) - 2):
        records, damage = scan(whole[:cut])
        assert records == []
        assert [d.line for d in damage] == [1]


def test_row_1_last_of_ten_lines_cut_at_every_byte_then_one_more():
    good = b"".join(line(str(n)) for n in range(9))
    last, more = line("你 9"), line("more")
    for cut in range(1, len(last) - 1):
        records, damage = scan(good + last[:cut] + b"\n" + more)
        assert texts(records) == [*map(str, range(9)), "more"]
        assert [d.line for d in damage] == [10]
    assert texts(scan(good + last[:-1])[0])[-1] == "你 9"
    assert scan(good + last[:-1])[1] == []


def test_row_6_stored_lone_surrogate_is_cleaned_on_load():
    records, damage = scan(b'{"role":"user","content":"x \\ud83d y"}\n')
    assert texts(records) == ["x \ufffd y"]
    assert damage == []
    records, _ = scan(b'{"role":"user","content":"\\ud83d\\ude00"}\n')
    assert texts(records) == ["😀"]


def test_s_15_other_line_ends_do_not_end_a_line():
    words = "a\u2028b\u0085c\u000bd"
    data = json.dumps({"role": "user", "content": words}, ensure_ascii=False).encode()
    assert texts(scan(data + b"\n" + data + b"\n")[0]) == [words, words]


def test_offsets_and_line_numbers_are_where_the_lines_are():
    data = line("你") + b"\n" + line("b")
    records, damage = scan(data)
    assert [(p.offset, p.line) for p in records] == [(0, 1), (len(line("你")) + 1, 3)]
    assert damage == []


def test_byte_order_mark_and_carriage_returns_of_an_editor_do_no_harm():
    records, damage = scan(b"\xef\xbb\xbf" + line("a").replace(b"\n", b"\r\n") + line("b"))
    assert texts(records) == ["a", "b"]
    assert damage == []


def test_unknown_types_are_kept_without_complaint():
    records, damage = scan(b'{"type":"later","ts":1,"x":[1]}\n')
    assert records[0].record == UnknownRecord(1.0, "later", {"type": "later", "ts": 1, "x": [1]})
    assert damage == []


def test_file_is_never_altered_by_reading(tmp_path):
    path = tmp_path / "conversation.jsonl"
    data = line("a") + b"\0\0\n" + line("b")[:-5]
    path.write_bytes(data)
    path.chmod(0o400)
    before = path.stat()
    assert len(read_log(path).damage) == 2
    assert path.read_bytes() == data
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_files_that_cannot_be_read_are_a_session_error(tmp_path):
    with pytest.raises(SessionNotFound, match="no session file"):
        read_log(tmp_path / "none.jsonl")
    with pytest.raises(SessionError, match=r"cannot read .*: Is a directory"):
        read_log(tmp_path)


def damaged(lines, random_source):
    """A file with damage of a known kind, and the records that it leaves intact."""
    data, intact = [], []
    for number, text in enumerate(lines):
        match random_source.randrange(12):
            case 0:
                data.append(text[: random_source.randrange(1, len(text) - 2)] + b"\n")
            case 1:
                data.append(text[: random_source.randrange(1, len(text) - 2)])
                continue
            case 2:
                data.append(b"\0" * random_source.randrange(1, 600) + text)
                intact.append(number)
            case 3:
                data.append(
                    bytes(random_source.randrange(11, 256) for _ in range(40)) + b"\n" + text
                )
                intact.append(number)
            case _:
                data.append(text)
                intact.append(number)
    return b"".join(data), intact


def test_g18_whole_records_of_randomly_damaged_files_reach_the_reader():
    random_source = random.Random(18)
    kept = total = 0
    for _ in range(150):
        lines = [line(f"{n} «{'x' * random_source.randrange(80)}») 你") for n in range(30)]
        data, intact = damaged(lines, random_source)
        found = set(texts(scan(data)[0]))
        kept += sum(texts(scan(lines[n])[0])[0] in found for n in intact)
        total += len(intact)
    assert total > 3000
    assert kept / total >= 0.99


def test_g6_mutated_lines_never_raise():
    random_source = random.Random(6)
    source = line("你好 \\ \" { } 'x'") + to_line(
        MessageRecord(
            1.0,
            "m",
            "assistant",
            ({"type": "tool_use", "id": "t", "name": "n", "input": {}},),
            "tool",
        )
    )
    for _ in range(3000):
        data = bytearray(source)
        for _ in range(random_source.randrange(1, 6)):
            at = random_source.randrange(len(data))
            data[at : at + random_source.randrange(3)] = random_source.randbytes(
                random_source.randrange(4)
            )
        scan(bytes(data))
