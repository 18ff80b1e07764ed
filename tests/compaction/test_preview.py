from hypothesis import given
from hypothesis import strategies as st

from mewcode_nb.compaction.limits import PREVIEW_BYTES, PREVIEW_LINES
from mewcode_nb.compaction.preview import head_of, tail_of, text_preview


def test_ordinary_output_shows_its_first_twenty_lines_its_size_and_its_file() -> None:
    text = "".join(f"row {number}\n" for number in range(9_000))
    shown = text_preview(text, len(text), "s/tool-results/a.txt", failed=False)
    words, _, head = shown.partition("]\n")
    assert f"{len(text):,} bytes (9,000 lines)" in words
    assert "s/tool-results/a.txt" in words
    assert "before concluding anything" in words
    assert head.split("\n") == [f"row {number}" for number in range(20)]


def test_a_failure_shows_both_ends_since_tracebacks_end_with_the_error() -> None:
    text = "Traceback\n" + "  frame\n" * 9_000 + "ValueError: bad shape (3, 4)\n"
    shown = text_preview(text, len(text), "p", failed=True)
    assert shown.endswith("ValueError: bad shape (3, 4)")
    assert "]\nTraceback\n" in shown
    assert "bytes left out" in shown


def test_c10_sixty_thousand_chinese_characters_are_cut_between_characters() -> None:
    text = "数" * 60_000
    shown = text_preview(text, 180_000, "p", failed=False)
    head = shown.partition("]\n")[2]
    assert "180,000 bytes (1 lines)" in shown
    assert head == "数" * (PREVIEW_BYTES // 3)


def test_row6_an_emoji_at_the_limit_goes_whole_or_not_at_all() -> None:
    for before in range(PREVIEW_BYTES - 5, PREVIEW_BYTES + 1):
        head = head_of("x" * before + "😀" * 9, PREVIEW_LINES, PREVIEW_BYTES)
        assert head == "x" * before + "😀" * ((PREVIEW_BYTES - before) // 4)


@given(st.text(), st.integers(1, 5), st.integers(1, 40))
def test_both_ends_are_parts_of_the_text_within_their_limits(
    text: str, lines: int, size: int
) -> None:
    head, tail = head_of(text, lines, size), tail_of(text, lines, size)
    assert text.startswith(head)
    assert tail in text
    for part in (head, tail):
        assert len(part.encode()) <= size
        assert part.count("\n") < lines
