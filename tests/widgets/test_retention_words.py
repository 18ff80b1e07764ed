from __future__ import annotations

import string

import pytest

from mewcode_nb.session.info import SessionInfo, TrashedSession
from mewcode_nb.session.retention import Plan, Policy, Reason, Removal
from mewcode_nb.session.sweep import NOTICE_SECONDS, Outlook, Skipped, SweepReport
from mewcode_nb.widgets.retention_words import (
    outlook_lines,
    outlook_rows,
    report_notices,
    retention_words,
)

NOW = 1_773_480_413.0
DAY = 86_400.0


def removals(count, reason=Reason.AGE):
    return tuple(
        Removal(f"s{at}", f"talk {at}", reason, 1_000, NOW - (90 - at) * DAY) for at in range(count)
    )


def blanks(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_both_languages_have_the_same_sentences_and_blanks():
    english, chinese = retention_words("en"), retention_words("zh")
    assert {key: blanks(text) for key, text in english.items()} == {
        key: blanks(text) for key, text in chinese.items()
    }


def test_where_nothing_happened_nothing_is_said():
    assert report_notices(SweepReport(Policy(), NOW, due=NOW, waiting=3), 30, "en") == ()


def test_a_notice_names_three_and_counts_the_rest():
    (notice,) = report_notices(SweepReport(Policy(), NOW, moved=removals(5)), 30, "en")
    assert notice.text == (
        "5 sessions (5 KB), not used for more than 30 days, are in the trash now, where they stay "
        "30 days: “talk 0” (s0), “talk 1” (s1), “talk 2” (s2) and 2 more"
    )
    assert "--restore" in notice.remedy


@pytest.mark.parametrize(("language", "words"), [("en", "1 session ("), ("zh", "1 个会话（")])
def test_the_preview_says_what_when_and_how_to_keep_it(language, words):
    report = SweepReport(Policy(days=9), NOW, preview=removals(1))
    (notice,) = report_notices(report, 7, language)
    assert words in notice.text
    assert "s0" in notice.text
    assert "2026-03-15" in notice.text
    assert "--pin" in notice.remedy
    assert "retention_days = 0" in notice.remedy
    assert notice.level == "warning"


@pytest.mark.parametrize(("language", "words"), [("en", "1 session ("), ("zh", "1 个会话（")])
def test_what_goes_for_good_is_said_a_day_before(language, words):
    item = TrashedSession(SessionInfo("s0", title="talk"), "unused", NOW - 40 * DAY, NOW - DAY)
    (notice,) = report_notices(SweepReport(Policy(), NOW, doomed=(item,)), 30, language)
    assert words in notice.text
    assert "talk" in notice.text
    assert "2026-03-15" in notice.text
    assert (notice.level, "--restore" in notice.remedy) == ("warning", True)


def test_what_could_not_leave_is_named_with_its_reason():
    report = SweepReport(Policy(), NOW, skipped=(Skipped("s1", "the disk is full"),))
    (notice,) = report_notices(report, 30, "en")
    assert "s1: the disk is full" in notice.text


def test_rows_say_when_each_leaves_the_longest_unused_first():
    told = {"s1": NOW - DAY, "s2": NOW}
    rows = outlook_rows([Outlook(Plan(remove=removals(3)), told)], NOW, "en")
    assert [(row[0], row[4][:10]) for row in rows[1:3]] == [
        ("s0", "a day afte"),
        ("s1", "with the n"),
    ]
    assert rows[3][4].startswith("2026-03-15")
    assert NOTICE_SECONDS == DAY


def test_many_rows_are_cut_and_counted():
    rows = outlook_rows([Outlook(Plan(remove=removals(14)), {})], NOW, "en")
    assert len(rows) == 12
    assert rows[-1][0] == "+4"


def test_the_quota_that_nothing_may_keep_is_said():
    ahead = Outlook(Plan(over=2_000_000), {})
    above, below = outlook_lines([ahead], Policy(quota=1_000_000), (), "en")
    assert "nothing leaves" in above
    assert "The limit of 1 MB for each folder is passed by 2 MB that no rule lets go." in below
