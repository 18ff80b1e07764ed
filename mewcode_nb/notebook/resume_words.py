"""What `%resume` says and takes: its options, its help, its answers, in English and Chinese."""

from __future__ import annotations

from mewcode_nb.widgets.sentences import Sentences

__all__ = ["RESUME_OPTIONS", "ResumeWords", "resume_help"]

RESUME_OPTIONS = (
    "--at",
    "--fork",
    "--list",
    "--project",
    "--search",
    "--rename",
    "--pin",
    "--unpin",
    "--delete",
    "--restore",
    "--help",
)

_HELP: tuple[tuple[str, str, str], ...] = (
    ("", "choose a session in the picker", "在选择器中选择会话"),
    (
        "ID",
        "go on with this session: an id, its start, or a title",
        "继续此会话：编号、编号开头或标题",
    ),
    ("last", "go on with the session used last", "继续最近使用的会话"),
    ("ID --at N", "let what follows message N leave it", "让第 N 条消息之后的内容离开对话"),
    ("ID --fork", "go on in a copy; also with --at N", "在副本中继续；可与 --at N 合用"),
    ("ID --list", "its turns, with the numbers that --at takes", "列出各轮及 --at 所用的编号"),
    (
        "--list [--project]",
        "the sessions of this notebook, or of the project",
        "本笔记本或整个项目的会话",
    ),
    ("--search WORDS", "look inside all sessions of the project", "在项目的所有会话内容中查找"),
    ("ID --rename TITLE", 'give it a title; "" takes it away', '设定标题；"" 去掉标题'),
    ("ID --pin", "keep it for ever; --unpin takes that back", "永久保留；--unpin 撤销"),
    ("ID --delete", "move it to the trash", "移入回收站"),
    (
        "[ID] --restore",
        "take it out of the trash; without ID: what is there",
        "从回收站还原；不带编号则列出其内容",
    ),
)
"""How it is written, what it does, the same in Chinese."""

_EN = {
    "after_help": "Without ID, --at, --fork, --rename, --pin and --unpin are about the session "
    "at hand.",
    "unknown": "option {word} is not known to %resume",
    "meant": "did you mean {near}?",
    "see_help": "see %resume --help",
    "quotes": "the words {line} cannot be read: {error}",
    "close_quotes": "close the quotes, or put the title between double quotes",
    "lacks": "{option} lacks a value",
    "give_at": "give a message's number: %resume ID --list shows them",
    "give_words": "give the words to look for: %resume --search WORDS",
    "give_title": 'give the title; --rename "" takes it away',
    "several": "{first} and {second} do not go together",
    "one_only": "leave out one of them",
    "not_with": "{option} does not go with {action}",
    "no_value": "{option} takes no value: {value}",
    "name_first": "%resume {value} {option}",
    "which": "{option} needs a session",
    "give_id": "name one: %resume ID {option}; %resume --list lists them",
    "none_called": "no session is called {name}",
    "list_them": "%resume --list --project lists all",
    "unreadable": "session {id} cannot be read: {reason}",
    "doctor": "mewcode-nb doctor {id} tells more",
    "deleting_own": "session {id} is the one at hand",
    "end_first": "%mewcode new ends it, then it can be deleted",
    "renamed": "{id} is called “{title}” now.",
    "unnamed": "{id} has no title any more.",
    "pinned": "{id} is pinned: it is never cleaned up by itself.",
    "unpinned": "{id} is no longer pinned.",
    "deleted": "{id} ({name}) is in the trash. %resume {id} --restore brings it back.",
    "by_user": "deleted by you",
    "restored": "{id} ({name}) is back. %resume {id} goes on with it.",
    "trash_empty": "The trash is empty.",
    "trash_hint": "%resume ID --restore brings one back.",
    "in_trash": "it is in the trash: %resume {id} --restore brings it back",
    "not_trashed": "no session {name} in the trash",
    "see_trash": "%resume --restore lists what is there",
    "copied": "session {id} lies in several folders of the project: {places}",
    "from_there": "rename the folder of the copy: a session's id is its folder's name",
    "several_trashed": "{name} fits several in the trash: {ids}",
    "more_id": "give more of the id",
    "no_hits": "Nothing found in {count} sessions. All words must occur in one message; "
    "words between double quotes are looked for as a phrase.",
    "hit_hint": "%resume ID --at N goes on after message N of a session.",
    "not_searched": "not searched: {what}",
    "none_here": "This notebook has no sessions yet; these are the project's.",
    "turns_hint": "%resume {id} --at N goes on after message N; with --fork in a copy.",
    "no_turns": "Session {id} has no turns yet.",
}
_ZH = {
    "after_help": "不给出编号时，--at、--fork、--rename、--pin 和 --unpin 针对当前会话。",
    "unknown": "%resume 没有选项 {word}",
    "meant": "是否想用 {near}？",
    "see_help": "请看 %resume --help",
    "quotes": "无法读取 {line}：{error}",
    "close_quotes": "请补上引号，或把标题放在双引号中",
    "lacks": "{option} 缺少值",
    "give_at": "请给出消息编号：%resume ID --list 会列出",
    "give_words": "请给出要查找的词：%resume --search WORDS",
    "give_title": '请给出标题；--rename "" 去掉标题',
    "several": "{first} 与 {second} 不能同时使用",
    "one_only": "请去掉其中一个",
    "not_with": "{option} 不能与 {action} 合用",
    "no_value": "{option} 不带值：{value}",
    "name_first": "%resume {value} {option}",
    "which": "{option} 需要指明会话",
    "give_id": "请指明：%resume ID {option}；%resume --list 列出会话",
    "none_called": "没有名为 {name} 的会话",
    "list_them": "%resume --list --project 列出全部",
    "unreadable": "会话 {id} 无法读取：{reason}",
    "doctor": "mewcode-nb doctor {id} 可查看详情",
    "deleting_own": "会话 {id} 正在使用",
    "end_first": "先用 %mewcode new 结束它，再删除",
    "renamed": "{id} 现在名为“{title}”。",
    "unnamed": "{id} 不再有标题。",
    "pinned": "{id} 已置顶：不会被自动清理。",
    "unpinned": "{id} 不再置顶。",
    "deleted": "{id}（{name}）已移入回收站。%resume {id} --restore 可以还原。",
    "by_user": "由你删除",
    "restored": "{id}（{name}）已还原。%resume {id} 可以继续。",
    "trash_empty": "回收站是空的。",
    "trash_hint": "%resume ID --restore 可以还原其中一个。",
    "in_trash": "它在回收站中：%resume {id} --restore 可以还原",
    "not_trashed": "回收站中没有会话 {name}",
    "see_trash": "%resume --restore 列出其中的会话",
    "copied": "会话 {id} 存在于项目的多个文件夹中：{places}",
    "from_there": "请重命名副本的文件夹：会话编号就是文件夹名",
    "several_trashed": "{name} 与回收站中的多个会话相符：{ids}",
    "more_id": "请给出更长的编号",
    "no_hits": "在 {count} 个会话中没有找到。所有的词须出现在同一条消息中；"
    "双引号中的词按短语查找。",
    "hit_hint": "%resume ID --at N 从该会话的第 N 条消息之后继续。",
    "not_searched": "未查找：{what}",
    "none_here": "本笔记本还没有会话；以下是整个项目的会话。",
    "turns_hint": "%resume {id} --at N 从第 N 条消息之后继续；加 --fork 则在副本中继续。",
    "no_turns": "会话 {id} 还没有任何一轮对话。",
}


class ResumeWords(Sentences):
    """The words of one language; `words("pinned", id=…)` gives the sentence, its blanks filled."""

    def __init__(self, language: str = "en") -> None:
        super().__init__({"en": _EN, "zh": _ZH}, language)


def resume_help(language: str = "en") -> str:
    """Help for `%resume`, at most a screen."""
    chinese = language == "zh"
    lines = [f"%resume {form:<20} {zh if chinese else en}".rstrip() for form, en, zh in _HELP]
    return "\n".join([*lines, "", ResumeWords(language)("after_help")])
