"""What the command line says of sessions, in English and Chinese."""

from __future__ import annotations

from mewcode_nb.widgets.sentences import Sentences

__all__ = ["Words"]

_EN = {
    "none_here": "No sessions in this folder yet: the first %%mewcode prompt of a notebook here "
    "begins one.",
    "elsewhere": "No sessions in this folder. Other folders of the project have some: "
    "mewcode-nb sessions list --project",
    "none_project": "No sessions in this project yet: the first %%mewcode prompt of a notebook "
    "begins one.",
    "no_hits": "Nothing found in {count} sessions. All words must occur in one message; "
    '"two words" looks for a phrase.',
    "renamed": "{id} is called “{title}” now.",
    "unnamed": "{id} has no title any more.",
    "pinned": "{id} is pinned: it stays until you remove it yourself.",
    "unpinned": "{id} is no longer pinned.",
    "deleted": "{id} is in the trash. To have it back: mewcode-nb sessions restore {id}",
    "by_user": "removed by you",
    "restored": "{id} is back.",
    "trash_empty": "The trash is empty. mewcode-nb sessions delete ID puts a session there.",
    "not_trashed": "no session {id} in the trash",
    "see_trash": "mewcode-nb sessions trash lists what is there",
    "several_trashed": "{id!r} fits several in the trash: {ids}",
    "more_id": "give more of the id",
    "purge_sure": "Remove {id} ({name}) for good?",
    "purged": "{id} is gone for good.",
    "forked": "{new} goes on from {id}. To resume it in a notebook: %resume {new}",
    "exported": "Written: {path}",
    "imported": "{id}: {count} messages. To resume it in a notebook: %resume {id}",
    "nothing_inside": "{path} holds no messages",
    "import_what": "give a session file, or a transcript of Claude Code (.jsonl)",
    "turn": "Turn {number} (messages {first} to {last}), {when}",
    "call": "  [{name}] {first}",
    "broken": "(broken off)",
    "summary": "Summary of what came before:",
    "folder": "folder",
    "sessions": "sessions",
    "size": "size",
    "trashed": "in the trash",
    "trash_size": "size",
    "total": "together",
    "storage_hint": "Deleted sessions stay in the trash until their time is over: "
    "mewcode-nb sessions purge ID removes one now.",
    "repaired": "Repaired copy: {path} (the original is unchanged)",
    "repair_one": "say which session the repaired copy is of",
    "doctor_usage": "mewcode-nb doctor ID --repair TARGET",
    "sound": "sound",
    "defects": "{errors} errors, {warnings} warnings",
    "see_doctor": "mewcode-nb doctor ID tells all of one.",
}
_ZH = {
    "none_here": "此文件夹中还没有会话：这里的笔记本第一次使用 %%mewcode 时会开始一个。",
    "elsewhere": "此文件夹中没有会话。项目的其他文件夹中有：mewcode-nb sessions list --project",
    "none_project": "此项目中还没有会话：笔记本第一次使用 %%mewcode 时会开始一个。",
    "no_hits": "在 {count} 个会话中没有找到。所有的词须出现在同一条消息中；"
    '“"两个 词"”表示按短语查找。',
    "renamed": "{id} 现在名为“{title}”。",
    "unnamed": "{id} 不再有标题。",
    "pinned": "{id} 已置顶：除非你自己删除，它会一直保留。",
    "unpinned": "{id} 不再置顶。",
    "deleted": "{id} 已移入回收站。恢复：mewcode-nb sessions restore {id}",
    "by_user": "由你删除",
    "restored": "{id} 已恢复。",
    "trash_empty": "回收站是空的。mewcode-nb sessions delete ID 会把会话移到那里。",
    "not_trashed": "回收站中没有会话 {id}",
    "see_trash": "mewcode-nb sessions trash 列出其中的会话",
    "several_trashed": "{id!r} 与回收站中的多个会话相符：{ids}",
    "more_id": "请给出更长的编号",
    "purge_sure": "彻底删除 {id}（{name}）？",
    "purged": "{id} 已彻底删除。",
    "forked": "{new} 从 {id} 分叉而来。在笔记本中继续：%resume {new}",
    "exported": "已写入：{path}",
    "imported": "{id}：{count} 条消息。在笔记本中继续：%resume {id}",
    "nothing_inside": "{path} 中没有消息",
    "import_what": "请给出会话文件，或 Claude Code 的记录文件（.jsonl）",
    "turn": "第 {number} 轮（消息 {first} 至 {last}），{when}",
    "call": "  [{name}] {first}",
    "broken": "（中断）",
    "summary": "此前内容的摘要：",
    "folder": "文件夹",
    "sessions": "会话",
    "size": "大小",
    "trashed": "回收站中",
    "trash_size": "大小",
    "total": "合计",
    "storage_hint": "删除的会话到期前留在回收站：mewcode-nb sessions purge ID 可立即清除一个。",
    "repaired": "修复后的副本：{path}（原件未变）",
    "repair_one": "请说明为哪个会话写修复副本",
    "doctor_usage": "mewcode-nb doctor ID --repair TARGET",
    "sound": "完好",
    "defects": "{errors} 个错误，{warnings} 个警告",
    "see_doctor": "mewcode-nb doctor ID 显示某个会话的全部问题。",
}


class Words(Sentences):
    """The words of one language; `words("forked", id=..., new=...)` gives the sentence."""

    def __init__(self, language: str = "en") -> None:
        super().__init__({"en": _EN, "zh": _ZH}, language)
