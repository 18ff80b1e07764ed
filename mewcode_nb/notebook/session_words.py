"""Our own words about stored sessions on screen: replays, branches, exports, storage, cost."""

from __future__ import annotations

from mewcode_nb.widgets.sentences import Sentences

__all__ = ["SessionWords"]

_EN = {
    "stored": "stored answer",
    "stored_of": "session {session}, turn {turn}, {when}",
    "nothing_sent": "nothing was sent",
    "run_again": "to run it again: %%mewcode --fresh",
    "again": "Run again",
    "again_hint": "sends the prompt; the new answer takes the place of this one",
    "again_busy": "a turn is running",
    "no_displays": "figures and other displays of that run are not stored",
    "goes_on": "the replayed session {session} goes on here",
    "replaced": "the stored answer left the conversation",
    "replaced_more": "the stored answer left the conversation, with the turns after it ({count})",
    "undo_hint": "%mewcode rewind --undo brings them back",
    "missing": "this kernel lacks variables that the answer made: {names}",
    "missing_unknown": "their code is not stored in one piece: run the cell with --fresh",
    "recorded_title": "run the recorded code again ({count}) to make {names}",
    "recorded_part": "recorded code {number} of {count}",
    "recorded_left": "not run",
    "recorded_how": "to run the recorded code: run this cell with %%mewcode --mode open, "
    "or where you can answer",
    "turns_head": "messages",
    "turns_when": "when",
    "turns_prompt": "prompt",
    "turns_id": "last message",
    "turn_open": "broken off",
    "summary": "summary of earlier turns",
    "branches": "Branches that a rewind left (%mewcode rewind ID brings one back):",
    "branch_head": "messages of its own",
    "rewind_hint": "%mewcode rewind N lets everything after message N leave; 0 leaves nothing.",
    "rewound": "The conversation now ends with message {number}. "
    "%mewcode rewind --undo takes that back.",
    "rewound_all": "The conversation is empty now. %mewcode rewind --undo takes that back.",
    "undone": "The branch is back: the conversation has {count} messages, {turns} turns.",
    "forked": "The next prompt goes on in {session}, a fork of {parent} with {count} messages. "
    "%resume {parent} goes back.",
    "exported": "{path} ({size})",
    "repaired": "A repaired copy is in {path}. The original was not changed.",
    "folder": "folder",
    "sessions": "sessions",
    "log_size": "size",
    "spills": "results apart",
    "trash": "trash",
    "cache": "index",
    "total": "all",
    "largest": "The largest:",
    "free": "%resume ID --delete moves a session to the trash; retention_days in "
    "~/.mewcode/config.toml says how long all are kept; the index may be deleted at any time.",
    "pinned_hint": "%resume ID --pin keeps one for ever.",
    "cost_turn": "turn",
    "cost_input": "input",
    "cost_cached": "from cache",
    "cost_output": "output",
    "cost_all": "all responses",
    "cost_note": "Tokens as the service counted them; replays cost none. "
    "Branches that were left count too, so all may be more than the turns.",
    "cost_project": "Sessions of the project:",
    "cost_session": "session",
    "cost_none": "No session has any answer yet.",
    "next_goes_on": "{session}, replayed: the next prompt goes on in it",
}
_ZH = {
    "stored": "存储的回答",
    "stored_of": "会话 {session}，第 {turn} 轮，{when}",
    "nothing_sent": "没有发送任何内容",
    "run_again": "要重新运行：%%mewcode --fresh",
    "again": "重新运行",
    "again_hint": "发送该提示；新的回答将取代这一个",
    "again_busy": "有一轮正在运行",
    "no_displays": "那次运行的图形等显示内容没有存储",
    "goes_on": "在重现的会话 {session} 中继续",
    "replaced": "存储的回答已离开对话",
    "replaced_more": "存储的回答已离开对话，其后的 {count} 轮也一并离开",
    "undo_hint": "%mewcode rewind --undo 可以恢复",
    "missing": "本内核缺少该回答所建立的变量：{names}",
    "missing_unknown": "其代码没有完整存储：请用 --fresh 运行该单元格",
    "recorded_title": "再次运行记录的代码（{count} 段），以建立 {names}",
    "recorded_part": "记录的代码，第 {number} 段，共 {count} 段",
    "recorded_left": "未运行",
    "recorded_how": "要运行记录的代码：用 %%mewcode --mode open 运行此单元格，"
    "或在可以回答的地方运行它",
    "turns_head": "消息",
    "turns_when": "时间",
    "turns_prompt": "提示",
    "turns_id": "最后一条消息",
    "turn_open": "未完成",
    "summary": "先前各轮的摘要",
    "branches": "回退后离开的分支（%mewcode rewind ID 可恢复）：",
    "branch_head": "自有消息",
    "rewind_hint": "%mewcode rewind N 让第 N 条消息之后的内容离开；0 表示全部离开。",
    "rewound": "对话现在以第 {number} 条消息结束。%mewcode rewind --undo 可撤销。",
    "rewound_all": "对话现在是空的。%mewcode rewind --undo 可撤销。",
    "undone": "分支已恢复：对话有 {count} 条消息，{turns} 轮。",
    "forked": "下一条提示在 {session} 中继续，它是 {parent} 的分叉，有 {count} 条消息。"
    "%resume {parent} 可回到原会话。",
    "exported": "{path}（{size}）",
    "repaired": "修复后的副本在 {path}。原文件没有改动。",
    "folder": "文件夹",
    "sessions": "会话数",
    "log_size": "大小",
    "spills": "其中单独存放的结果",
    "trash": "回收站",
    "cache": "索引",
    "total": "合计",
    "largest": "最大的会话：",
    "free": "%resume ID --delete 把会话移入回收站；~/.mewcode/config.toml 中的 retention_days "
    "决定保存多久；索引可以随时删除。",
    "pinned_hint": "%resume ID --pin 让一个会话一直保留。",
    "cost_turn": "轮",
    "cost_input": "输入",
    "cost_cached": "来自缓存",
    "cost_output": "输出",
    "cost_all": "全部响应",
    "cost_note": "令牌数由服务统计；重现存储的回答不花费令牌。"
    "离开的分支也计算在内，所以合计可能多于各轮之和。",
    "cost_project": "本项目的会话：",
    "cost_session": "会话",
    "cost_none": "还没有任何会话得到过回答。",
    "next_goes_on": "{session}，已重现：下一条提示在其中继续",
}


class SessionWords(Sentences):
    """The words of one language; `words("stored")` gives the sentence, its blanks filled in."""

    def __init__(self, language: str = "en") -> None:
        super().__init__({"en": _EN, "zh": _ZH}, language)
