import pytest

from mewcode_nb.compaction.limits import limits_for


@pytest.mark.parametrize(
    ("window", "auto", "manual", "resume"),
    [
        (1_000_000, 967_000, 977_000, 992_000),
        (200_000, 167_000, 177_000, 192_000),
        (32_000, 26_720, 28_320, 30_720),
        (8_000, 6_680, 7_080, 7_680),
    ],
)
def test_lines(window: int, auto: int, manual: int, resume: int) -> None:
    limits = limits_for(window)
    assert (limits.auto_line, limits.manual_line, limits.resume_line) == (auto, manual, resume)


def test_shares_of_a_window_of_the_usual_size() -> None:
    limits = limits_for(200_000)
    assert (limits.summary, limits.tail, limits.said) == (20_000, 10_000, 20_000)
    assert limits.recovered_file == 5_000


@pytest.mark.parametrize(("window", "automatic"), [(8_000, True), (7_999, False), (0, False)])
def test_small_windows_are_not_compacted_by_themselves(window: int, automatic: bool) -> None:
    assert limits_for(window).automatic is automatic
