"""What the doctor says of a session, in English and Chinese: findings, remedies, sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["KINDS", "finding_words", "report_words", "weight"]

KINDS: Mapping[str, tuple[str, str, str, str, str]] = {
    "damage": (
        "error",
        "{reason}",
        "{reason}",
        "what is lost cannot be read; the rest is used",
        "丢失的部分无法读出，其余照常使用",
    ),
    "unreadable": ("error", "{reason}", "{reason}", "look at the file's rights", "请检查文件权限"),
    "replay": (
        "warning",
        "{reason}",
        "{reason}",
        "the record is ignored; a repaired copy leaves it out",
        "该记录被忽略；修复后的副本会去掉它",
    ),
    "unknown": (
        "note",
        "a record of type {type}, not known to this version: kept, not used",
        "类型为 {type} 的记录，此版本不认识：保留但不使用",
        "",
        "",
    ),
    "no_header": (
        "warning",
        "there is no session record",
        "没有 session 记录",
        "a repaired copy gets one",
        "修复后的副本会补上",
    ),
    "legacy": (
        "note",
        "written by MewCode, the Go program: read as it is",
        "由 Go 版 MewCode 写成：可直接读取",
        "",
        "",
    ),
    "late_header": (
        "warning",
        "the session record is not the first",
        "session 记录不在第一行",
        "a repaired copy puts it first",
        "修复后的副本会把它放到最前",
    ),
    "second_header": (
        "warning",
        "a second session record: ignored",
        "第二个 session 记录：被忽略",
        "a repaired copy leaves it out",
        "修复后的副本会去掉它",
    ),
    "other_id": (
        "warning",
        "the session record names {id}, the folder is called {name}",
        "session 记录的编号是 {id}，文件夹名却是 {name}",
        "the folder's name counts",
        "以文件夹名为准",
    ),
    "newer": (
        "note",
        "written in format {v}, newer than this version knows",
        "格式版本 {v} 比此程序认识的新",
        "update mewcode-nb before you go on with it",
        "继续使用之前请升级 mewcode-nb",
    ),
    "twice": (
        "note",
        "message {id} stands here once more: the last counts",
        "消息 {id} 在此重复：以最后一次为准",
        "",
        "",
    ),
    "turn_back": (
        "note",
        "turn {turn} after turn {last}",
        "第 {turn} 轮出现在第 {last} 轮之后",
        "",
        "",
    ),
    "time_back": ("note", "older than the record before it", "时间早于前一条记录", "", ""),
    "open_end": (
        "note",
        "the last line has no end; the next append closes it",
        "最后一行没有结束；下次写入时会补上换行",
        "",
        "",
    ),
    "spill_missing": (
        "error",
        "{path}, a result moved out of the conversation, cannot be read: {reason}",
        "移出对话的结果 {path} 无法读取：{reason}",
        "put the file back, or write a repaired copy without it",
        "把文件放回原处，或写出不含它的修复副本",
    ),
    "spill_changed": (
        "warning",
        "{path} is not the result that was stored (its hash differs)",
        "{path} 已不是当初保存的结果（哈希值不同）",
        "put the old file back if you have it",
        "如有旧文件请放回",
    ),
    "spill_orphan": (
        "warning",
        "{path} belongs to no record",
        "{path} 不属于任何记录",
        "it may be removed; a repaired copy leaves it out",
        "可以删除；修复后的副本不包含它",
    ),
    "read_unhashed": (
        "warning",
        "what was read of {path} has no hash: changes to it go unnoticed",
        "{path} 的读取记录没有哈希值：文件变化无法察觉",
        "read the file again",
        "请重新读取该文件",
    ),
    "sending": (
        "warning",
        "sent differently: {reason}",
        "发送时会调整：{reason}",
        "done for each request by itself; a repaired copy has it done",
        "每次请求时自动处理；修复后的副本已处理好",
    ),
    "joined": ("note", "sent differently: {reason}", "发送时会调整：{reason}", "", ""),
    "mode": (
        "warning",
        "{path} may be read by others (mode {mode})",
        "{path} 其他用户也能读取（权限 {mode}）",
        "chmod {right}",
        "chmod {right}",
    ),
    "link": (
        "warning",
        "{path} is a link: it is not followed when writing",
        "{path} 是链接：写入时不会跟随",
        "replace it by the file itself",
        "请换成文件本身",
    ),
    "empty": ("note", "there are no messages", "没有任何消息", "", ""),
}
"""Weight, English, Chinese, English remedy, Chinese remedy."""

_REPORT = {
    "en": {
        "line": "line {line}: ",
        "sound": "Nothing is wrong with it.",
        "counts": "{errors} errors, {warnings} warnings, {notes} remarks",
        "sizes": "log {log} bytes, results {results} bytes, undo {undo} bytes, total {total} bytes",
        "records": "records: {counts}",
        "messages": "messages in the conversation: {count}",
        "more": "… and {count} more of this kind",
        "error": "error",
        "warning": "warning",
        "note": "remark",
    },
    "zh": {
        "line": "第 {line} 行：",
        "sound": "没有发现问题。",
        "counts": "{errors} 个错误，{warnings} 个警告，{notes} 条说明",
        "sizes": "日志 {log} 字节，结果文件 {results} 字节，撤销副本 {undo} 字节，共 {total} 字节",
        "records": "记录：{counts}",
        "messages": "对话中的消息数：{count}",
        "more": "… 另有 {count} 条同类",
        "error": "错误",
        "warning": "警告",
        "note": "说明",
    },
}
_REASONS = (
    (r"(\d+) zero bytes", r"\1 个零字节"),
    (r"not UTF-8.*", "不是 UTF-8，可能在字符中间断开"),
    (r"not JSON at character (\d+)", r"从第 \1 个字符起不是 JSON"),
    (r"not a JSON object", "不是 JSON 对象"),
    (r"nested too deeply", "嵌套过深"),
    (r"a key occurs twice in one object", "同一对象中键重复"),
    (r"(\S+) is no JSON number", r"\1 不是 JSON 数字"),
    (r"(\d+) bytes, more than the limit of (\d+)", r"\1 字节，超过上限 \2"),
    (r"no record type", "没有记录类型"),
    (r"(\w+) record: no (\w+)", r"\1 记录缺少 \2"),
    (r"(\w+) record: (.*)", r"\1 记录：\2"),
    (r"a compaction keeps messages that are not there", "压缩要保留的消息不存在"),
    (r"no compaction (.*) to take back", r"没有可撤销的压缩 \1"),
    (r"no message (.*) to go back to", r"没有可回到的消息 \1"),
    (r"left out an empty or unusable (.*) block", r"去掉空的或不可用的 \1 块"),
    (r"put a (.*) block into a form that can be sent", r"把 \1 块改成可发送的形式"),
    (r"left out thinking that no answer or call followed", "去掉其后没有回答或调用的思考"),
    (r"left out a repetition of tool call (.*)", r"去掉重复的工具调用 \1"),
    (r"tool call (.*) goes by the id (.*)", r"工具调用 \1 改用编号 \2"),
    (r"left out an empty (\w+) message", r"去掉空的 \1 消息"),
    (r"joined two (\w+) messages in a row", r"合并相邻的两条 \1 消息"),
    (r"a result without its call (.*) became text", r"没有对应调用的结果 \1 变为文字"),
    (r"left out a second result of tool call (.*)", r"去掉工具调用 \1 的第二个结果"),
    (r"tool call (.*) has no result: interrupted", r"工具调用 \1 没有结果：已中断"),
    (r"the conversation began with an answer.*", "对话以回答开头：在前面加一句说明"),
    (r"the conversation ended with an answer.*", "对话以回答结尾：在后面加一句说明"),
)


def weight(kind: str) -> str:
    """`error` where something is lost, `warning`, or `note` for what needs nothing."""
    return KINDS[kind][0]


def finding_words(kind: str, facts: Mapping[str, str], language: str) -> tuple[str, str]:
    """What was found and what can be done, each on one line; the remedy may be empty."""
    _, english, chinese, remedy, remedy_zh = KINDS[kind]
    shown = {key: _shown(value) for key, value in facts.items()}
    if language != "zh":
        return english.format(**shown), remedy.format(**shown)
    if "reason" in shown:
        shown["reason"] = _translated(shown["reason"])
    return chinese.format(**shown), remedy_zh.format(**shown)


def report_words(key: str, language: str, **values: object) -> str:
    """Our words around the findings."""
    return _REPORT["zh" if language == "zh" else "en"][key].format(**values)


def _translated(reason: str) -> str:
    for pattern, chinese in _REASONS:
        found = re.fullmatch(pattern, reason)
        if found:
            return found.expand(chinese)
    return reason


def _shown(text: str) -> str:
    """Text out of a file, fit for a terminal and for one line."""
    cut = text if len(text) <= 300 else text[:300] + "…"
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)
