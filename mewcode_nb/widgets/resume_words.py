"""The words of the card that a resume leaves, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["resume_card_words"]

_EN = {
    "resumed": "Resumed “{name}”",
    "forked": "Resumed a copy of “{name}”",
    "turn": "1 turn",
    "turns": "{count} turns",
    "messages": "{count} messages",
    "tokens": "{count} tokens in context",
    "you": "You",
    "agent": "Agent",
    "fork_of": "This is a fork of {parent}, which stays as it is.",
    "damaged": "Its file is damaged in part ({reason}); what could be read is here. "
    "%mewcode doctor tells more.",
    "near_limit": "{share}% of the model's window is taken ({tokens} of {window} tokens): the next "
    "turn may not fit. Begin anew with %mewcode new, or go back with %mewcode rewind.",
    "changed_told": "Not as it was; the model is told so with your next prompt:",
    "changed": "Not as it was:",
    "same_told": "Its files and variables are as they were. "
    "The model is told with your next prompt how much time has passed.",
    "same": "Its files and variables are as they were.",
    "git": "Repository",
    "branch": "branch {then} → {now}",
    "commit": "commit {then} → {now}",
    "no_repository": "there is none any more",
    "nothing": "(none)",
    "files_changed": "Files changed since they were read",
    "files_gone": "Files that are gone",
    "files_unreadable": "Files that cannot be read now",
    "files_unchecked": "Files not checked (too big, or too many)",
    "missing": "Variables this kernel lacks",
    "different": "Variables that are something else now",
    "made_by": "made by {cell}",
    "cell_at": "cell {number}: {line}",
    "cell": "cell {id}",
    "was_is": "was {then}, is {now}",
    "more": "and {count} more",
    "next": "The next %%mewcode prompt goes on from here.",
    "next_empty": "Nothing was said in it yet: the next %%mewcode prompt is its first.",
}
_ZH = {
    "resumed": "已恢复“{name}”",
    "forked": "已恢复“{name}”的副本",
    "turn": "1 轮",
    "turns": "{count} 轮",
    "messages": "{count} 条消息",
    "tokens": "上下文 {count} 令牌",
    "you": "你",
    "agent": "助手",
    "fork_of": "这是 {parent} 的分叉，原会话保持不变。",
    "damaged": "其文件有部分损坏（{reason}）；能读出的内容都在这里。%mewcode doctor 可查看详情。",
    "near_limit": "模型的窗口已用 {share}%（{tokens} / {window} 令牌）：下一轮可能放不下。"
    "可用 %mewcode new 重新开始，或用 %mewcode rewind 退回。",
    "changed_told": "以下已与当时不同；模型会随你的下一条提示得知：",
    "changed": "以下已与当时不同：",
    "same_told": "所用的文件和变量与当时相同。模型会随你的下一条提示得知过去了多久。",
    "same": "所用的文件和变量与当时相同。",
    "git": "代码仓库",
    "branch": "分支 {then} → {now}",
    "commit": "提交 {then} → {now}",
    "no_repository": "已不存在",
    "nothing": "（无）",
    "files_changed": "读取之后被更改的文件",
    "files_gone": "已不存在的文件",
    "files_unreadable": "现在无法读取的文件",
    "files_unchecked": "没有检查的文件（太大或太多）",
    "missing": "本内核缺少的变量",
    "different": "现在已不同的变量",
    "made_by": "来自{cell}",
    "cell_at": "第 {number} 个单元格：{line}",
    "cell": "单元格 {id}",
    "was_is": "当时是 {then}，现在是 {now}",
    "more": "另有 {count} 个",
    "next": "下一条 %%mewcode 提示从这里继续。",
    "next_empty": "其中还没有任何对话：下一条 %%mewcode 提示就是第一条。",
}


def resume_card_words(language: str) -> Mapping[str, str]:
    """All words of a language, blanks as `{name}`."""
    return _ZH if language == "zh" else _EN
