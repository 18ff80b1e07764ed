from __future__ import annotations

import pytest

from mewcode_nb.widgets.again import AgainLine, parse_message

NONCE = "a" * 32


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "again", "nonce": NONCE}, "again"),
        ({"kind": "rendered", "nonce": NONCE, "more": 1}, "rendered"),
        ({"kind": "again", "nonce": "guess"}, None),
        ({"kind": "again"}, None),
        ({"kind": "allow", "nonce": NONCE}, None),
        ({"kind": ["again"], "nonce": NONCE}, None),
        ("again", None),
        (None, None),
    ],
)
def test_only_the_lines_own_button_is_heard(content, message):
    assert parse_message(content, nonce=NONCE) == message


def test_nothing_is_heard_once_the_plain_line_has_taken_its_place():
    heard = []
    line = AgainLine(heard.append, nonce=NONCE, text="stored", label="Run again", hint="sends it")
    press = {"kind": "again", "nonce": NONCE}
    line._receive(line, press, [])
    line.settle({"text/plain": "stored"})
    line._receive(line, press, [])
    assert heard == ["again"]
