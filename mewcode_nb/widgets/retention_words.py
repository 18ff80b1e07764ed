"""What is said of sessions that have had their time: before, while and after they leave.

The notices of a sweep, and the preview that a page or a terminal shows, in English and Chinese.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from mewcode_nb.events import Notice
from mewcode_nb.session.info import TrashedSession
from mewcode_nb.session.retention import Policy, Reason, Removal
from mewcode_nb.session.sweep import Outlook, Skipped, SweepReport
from mewcode_nb.widgets.cards import size_words

__all__ = ["outlook_lines", "outlook_rows", "report_notices", "retention_words"]

_NAMED = 3
"""Sessions that a notice calls by name."""
_LISTED = 10
_NAME_PLACES = 48

_EN = {
    "one": "1 session",
    "many": "{count} sessions",
    "named": "“{name}” ({id})",
    "and": ", ",
    "more": " and {count} more",
    "preview": "{what} ({size}) here have not been used for more than {days} days. From {when} on "
    "they leave for the trash, and {trash} days later for good: {names}",
    "preview_how": "%resume ID --pin keeps one, retention_days = 0 in ~/.mewcode/config.toml keeps "
    "all, %mewcode storage lists them",
    "moved": "{what} ({size}), not used for more than {days} days, are in the trash now, "
    "where they stay {trash} days: {names}",
    "moved_how": "%resume ID --restore brings one back, %resume ID --pin then keeps it",
    "purged": "{what} ({size}) in the trash had their time and are gone for good: {names}",
    "doomed": "{what} ({size}) in the trash had their time. From {when} on they go for good: "
    "{names}",
    "doomed_how": "%resume ID --restore brings one back",
    "skipped": "{what} could not leave as they should: {names}",
    "stays": "{id}: {reason}",
    "failed": "nothing was cleaned up, the old sessions could not be looked at: {why}",
    "leaves": "Unused for more than {days} days, to leave next ({what}, {size}):",
    "leaves_nothing": "Nothing is unused for more than {days} days: nothing leaves.",
    "leaves_never": "retention_days = 0: no session leaves by itself.",
    "keep_last": "The newest {count} of each folder stay whatever their age.",
    "quota": "The limit of {limit} for each folder is passed by {size} that no rule lets go.",
    "trash_next": "The next of the trash goes for good on {when} or later.",
    "id": "id",
    "name": "name",
    "size": "size",
    "used": "last used",
    "why": "why",
    "when": "leaves",
    "age": "unused",
    "over": "over the quota",
    "unreadable": "unreadable",
    "orphan": "log is gone",
    "untold": "a day after the notice",
    "now": "with the next use",
}
_ZH = {
    "one": "1 个会话",
    "many": "{count} 个会话",
    "named": "“{name}”（{id}）",
    "and": "、",
    "more": " 等，另有 {count} 个",
    "preview": "此处有 {what}（{size}）超过 {days} 天未使用。从 {when} 起它们会移入回收站，"
    "再过 {trash} 天彻底删除：{names}",
    "preview_how": "%resume ID --pin 保留一个，在 ~/.mewcode/config.toml 中设 retention_days = 0 "
    "保留全部，%mewcode storage 列出它们",
    "moved": "{what}（{size}）超过 {days} 天未使用，现已移入回收站，在那里保留 {trash} 天：{names}",
    "moved_how": "%resume ID --restore 可恢复，之后 %resume ID --pin 可一直保留",
    "purged": "回收站中的 {what}（{size}）已到期，现已彻底删除：{names}",
    "doomed": "回收站中的 {what}（{size}）已到期。从 {when} 起它们会被彻底删除：{names}",
    "doomed_how": "%resume ID --restore 可恢复",
    "skipped": "{what} 本应清理但没有成功：{names}",
    "stays": "{id}：{reason}",
    "failed": "没有清理任何内容，无法查看旧会话：{why}",
    "leaves": "超过 {days} 天未使用，接下来会清理（{what}，{size}）：",
    "leaves_nothing": "没有会话超过 {days} 天未使用：不会清理。",
    "leaves_never": "retention_days = 0：不会自动清理任何会话。",
    "keep_last": "每个文件夹中最新的 {count} 个会话不论多久都保留。",
    "quota": "每个文件夹的上限 {limit} 已超出 {size}，但没有规则允许清理它们。",
    "trash_next": "回收站中的下一个将于 {when} 或之后彻底删除。",
    "id": "编号",
    "name": "名称",
    "size": "大小",
    "used": "最近使用",
    "why": "原因",
    "when": "清理时间",
    "age": "未使用",
    "over": "超出上限",
    "unreadable": "无法读取",
    "orphan": "记录文件已丢失",
    "untold": "提示之后一天",
    "now": "下次使用时",
}
_REASONS = {
    Reason.AGE: "age",
    Reason.QUOTA: "over",
    Reason.UNREADABLE: "unreadable",
    Reason.ORPHAN: "orphan",
}


def retention_words(language: str) -> Mapping[str, str]:
    """The sentences by key, with blanks to fill in."""
    return _ZH if language == "zh" else _EN


def report_notices(report: SweepReport, trash_days: float, language: str) -> tuple[Notice, ...]:
    """What the user must be told of a sweep; empty where nothing happened."""
    words, days = retention_words(language), f"{report.policy.days:g}"
    trash = f"{trash_days:g}"
    notices: list[Notice] = []
    if report.purged:
        names = [(item.info.id, item.info.name) for item in report.purged]
        said = _said(words, "purged", names, report.purged_size)
        notices.append(Notice(said))
    if report.moved:
        names = [(item.id, item.name) for item in report.moved]
        said = _said(words, "moved", names, report.moved_size, days=days, trash=trash)
        notices.append(Notice(said, remedy=words["moved_how"]))
    if report.preview:
        names = [(item.id, item.name) for item in report.preview]
        when = _moment(report.preview_due)
        said = _said(
            words, "preview", names, report.preview_size, days=days, trash=trash, when=when
        )
        notices.append(Notice(said, "warning", words["preview_how"]))
    if report.doomed:
        names = [(item.info.id, item.info.name) for item in report.doomed]
        when = _moment(report.preview_due)
        said = _said(words, "doomed", names, report.doomed_size, when=when)
        notices.append(Notice(said, "warning", words["doomed_how"]))
    if report.skipped:
        notices.append(Notice(_stayed(words, report.skipped), "warning"))
    return tuple(notices)


def outlook_rows(outlooks: Sequence[Outlook], now: float, language: str) -> list[tuple[str, ...]]:
    """A heading and a row for each session that is to leave, the longest unused first.

    Columns: id, size, last used, reason, when it leaves, name. Empty where nothing is to leave;
    at most ten sessions, then one row that counts the rest.
    """
    words = retention_words(language)
    pairs = sorted(
        ((item, ahead.due(item)) for ahead in outlooks for item in ahead.plan.remove),
        key=lambda pair: pair[0].active,
    )
    if not pairs:
        return []
    rows = [tuple(words[key] for key in ("id", "size", "used", "why", "when", "name"))]
    rows += [_row(words, item, due, now) for item, due in pairs[:_LISTED]]
    if len(pairs) > _LISTED:
        rows.append((f"+{len(pairs) - _LISTED}", "", "", "", "", ""))
    return rows


def outlook_lines(
    outlooks: Sequence[Outlook],
    policy: Policy,
    trashed: Sequence[TrashedSession],
    language: str,
) -> tuple[str, list[str]]:
    """What is said above the rows of `outlook_rows`, and the lines below them."""
    words, days = retention_words(language), f"{policy.days:g}"
    items = [item for ahead in outlooks for item in ahead.plan.remove]
    if policy.days <= 0 and not items:
        above = words["leaves_never"]
    elif not items:
        above = words["leaves_nothing"].format(days=days)
    else:
        size = sum(item.size for item in items)
        what = _count(words, len(items))
        above = words["leaves"].format(days=days, what=what, size=size_words(size))
    return above, list(_below(words, outlooks, policy, trashed))


def _below(
    words: Mapping[str, str],
    outlooks: Sequence[Outlook],
    policy: Policy,
    trashed: Sequence[TrashedSession],
) -> Iterator[str]:
    if policy.days > 0 and policy.keep_last > 0:
        yield words["keep_last"].format(count=policy.keep_last)
    if over := sum(ahead.plan.over for ahead in outlooks):
        yield words["quota"].format(limit=size_words(policy.quota), size=size_words(over))
    purges = [item.purge_after for item in trashed if 0 < item.purge_after < float("inf")]
    if purges:
        yield words["trash_next"].format(when=_day(min(purges)))


def _row(words: Mapping[str, str], item: Removal, due: float, now: float) -> tuple[str, ...]:
    when = words["untold"] if due <= 0 else words["now"] if due <= now else _moment(due)
    used = _day(item.active) if item.active > 0 else ""
    reason = words[_REASONS[item.reason]]
    return (item.id, size_words(item.size), used, reason, when, _short(item.name))


def _said(
    words: Mapping[str, str],
    key: str,
    named: Sequence[tuple[str, str]],
    size: int,
    **more: str,
) -> str:
    names = [words["named"].format(name=_short(name), id=id_) for id_, name in named]
    what = _count(words, len(named))
    return words[key].format(what=what, size=size_words(size), names=_listed(words, names), **more)


def _stayed(words: Mapping[str, str], skipped: Sequence[Skipped]) -> str:
    names = [words["stays"].format(id=item.id, reason=item.reason) for item in skipped]
    what = _count(words, len(skipped))
    return words["skipped"].format(what=what, names=_listed(words, names))


def _listed(words: Mapping[str, str], names: Sequence[str]) -> str:
    left = len(names) - _NAMED
    more = words["more"].format(count=left) if left > 0 else ""
    return words["and"].join(names[:_NAMED]) + more


def _count(words: Mapping[str, str], count: int) -> str:
    return words["one"] if count == 1 else words["many"].format(count=count)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"{flat[: _NAME_PLACES - 1]}…" if len(flat) > _NAME_PLACES else flat


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(moment))


def _moment(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
