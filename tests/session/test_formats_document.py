from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")


def test_the_record_types_said_to_be_written_are_those_that_code_outside_the_reader_makes() -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "mewcode_nb").rglob("*.py")
        if path.parent.name not in {"session", "testing"}
    )
    made = {name.lower() for name in re.findall(r"\b([A-Z][a-z]+)Record\(", source)}
    said = re.search(r"^Written today: ([^.]+)\.", DOCUMENT, re.MULTILINE)
    assert said is not None
    assert set(re.findall(r"`(\w+)`", said[1])) == made
    described = dict(re.findall(r"^\*\*`(\w+)`\*\*( \(reserved\))?:", DOCUMENT, re.MULTILINE))
    assert {name for name, reserved in described.items() if not reserved} == made
    assert len(described) == 9
