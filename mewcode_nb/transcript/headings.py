"""Our own words in a transcript, in English and Chinese."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from mewcode_nb.widgets.sentences import Sentences

__all__ = ["Headings"]

_EN = {
    "session": "Session",
    "begun": "begun",
    "last": "last record",
    "model": "model",
    "notebook": "notebook",
    "project": "project",
    "branch": "git branch",
    "fork": "fork of",
    "tokens": "tokens",
    "spent": "{input:,} in, {output:,} out",
    "turns": "turns",
    "prompt": "Prompt {number}",
    "answer": "Answer",
    "earlier": "Summary of what came before",
    "incomplete": "The answer was broken off here.",
    "thoughts": "Thinking",
    "call": "Tool call: {name}",
    "input": "Input",
    "output": "Output",
    "failed": "Output (error)",
    "nothing": "Nothing came back from this call.",
    "lone": "Result without its call",
    "image": "image",
    "not_kept": "[{kind}, {type}, {size}: not in this file]",
    "other": "Block of type {type}",
    "empty": "This session has no messages.",
}
_ZH = {
    "session": "会话",
    "begun": "开始于",
    "last": "最后一条记录",
    "model": "模型",
    "notebook": "笔记本",
    "project": "项目",
    "branch": "git 分支",
    "fork": "分叉自",
    "tokens": "令牌",
    "spent": "输入 {input:,}，输出 {output:,}",
    "turns": "轮数",
    "prompt": "提示 {number}",
    "answer": "回答",
    "earlier": "此前内容的摘要",
    "incomplete": "回答在此处中断。",
    "thoughts": "思考过程",
    "call": "工具调用：{name}",
    "input": "输入",
    "output": "输出",
    "failed": "输出（出错）",
    "nothing": "这次调用没有返回任何内容。",
    "lone": "没有对应调用的结果",
    "image": "图片",
    "not_kept": "[{kind}，{type}，{size}：不在此文件中]",
    "other": "类型为 {type} 的块",
    "empty": "此会话没有消息。",
}


class Headings(Sentences):
    """The words of one language; `headings("answer")` gives one, its blanks filled in."""

    def __init__(self, language: str = "en", zone: tzinfo | None = None) -> None:
        super().__init__({"en": _EN, "zh": _ZH}, language)
        self._zone = zone

    def moment(self, ts: float) -> str:
        """A time in seconds since 1970, to the minute and with its zone; empty for none."""
        if ts <= 0:
            return ""
        try:
            when = datetime.fromtimestamp(ts, UTC).astimezone(self._zone)
        except (ValueError, OverflowError, OSError):  # beyond the calendar
            return ""
        return when.strftime("%Y-%m-%d %H:%M %z")
