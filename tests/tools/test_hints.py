from __future__ import annotations

import time

import pytest

from mewcode_nb.tools.hints import python_hints, shell_hints


@pytest.mark.parametrize("piece", ["open(", "find ", "git ", "pip ", "\n", "os.exec", "| ", "'a' "])
def test_no_text_holds_up_the_loop(bench, piece):
    text = piece * (200_000 // len(piece))
    started = time.process_time()
    hints = python_hints(text), shell_hints(text, bench.context)
    assert time.process_time() - started < 1.5
    said = "long: only its first 20,000 characters were checked for risks"
    assert [found[0] for found in hints] == [said, said]
