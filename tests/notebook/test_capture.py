from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.notebook.capture import HeadTail, swapped


@given(st.lists(st.text(max_size=30)), st.integers(0, 60), st.integers(0, 80))
def test_head_and_tail_of_what_was_written(parts, limit, room):
    sink = HeadTail(limit)
    for part in parts:
        sink.write(part)
    whole = "".join(parts)
    kept, dropped = sink.within(room)
    least = min(limit, room)
    if len(whole) <= least:
        assert (kept, dropped) == (whole, 0)
        return
    head, tail = whole[: least // 2], whole[len(whole) - (least - least // 2) :]
    assert dropped == len(whole) - least
    assert kept == f"{head}\n[... {dropped:,} characters not kept ...]\n{tail}"


def test_one_long_write_is_cut_at_once():
    sink = HeadTail(10)
    sink.write("abcdefghijklmnopqrstuvwxyz")
    assert sink.within(10) == ("abcde\n[... 16 characters not kept ...]\nvwxyz", 16)
    assert sink.size == 10


class Owner:
    inherited = "class"

    def __init__(self) -> None:
        self.own = "instance"


@pytest.mark.parametrize("name", ["own", "inherited"])
def test_swapped_attribute_comes_back_as_it_was(name):
    owner = Owner()
    state = dict(vars(owner))
    with swapped(owner, name, "new"):
        assert getattr(owner, name) == "new"
    assert vars(owner) == state
