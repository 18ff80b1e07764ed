"""The words a user may type: options, modes, subcommands with one line of help, setting names.

The words are the same in every language, the help is not. Plain literals, so that completion and
loading need nothing else; a test holds them against the types they mirror (`Mode`, `Settings`).
"""

from __future__ import annotations

__all__ = [
    "FIXED_SETTINGS",
    "MODES",
    "OPTION_HELP",
    "SETTING_NAMES",
    "SUBCOMMANDS",
    "line_help",
    "option_help",
    "status_words",
    "subcommand_help",
]

MODES = ("plan", "ask", "edit", "open")

SETTING_NAMES = (
    "model",
    "mode",
    "base_url",
    "max_tokens",
    "context_window",
    "max_steps",
    "max_retries",
    "max_wait",
    "stall_seconds",
    "connect_seconds",
    "cache_ttl",
    "thinking",
    "approval",
    "approval_seconds",
    "language",
    "preload",
    "instructions_fallback",
    "rerun",
    "retention_days",
    "keep_last",
    "sessions_quota_mb",
    "trash_days",
    "count_tokens",
    "prices",
    "local",
)

FIXED_SETTINGS = frozenset({"cache_ttl", "thinking"})
"""What a session keeps as it was when it began."""

_FORMS = {
    "-m, --model MODEL": "--model",
    "--mode MODE": "--mode",
    "--new": "--new",
    "--session ID": "--session",
    "--fresh": "--fresh",
    "--no-tools": "--no-tools",
    "--max-steps N": "--max-steps",
    "-o NAME": "-o",
    "-h, --help": "--help",
}
"""How an option is written, to its name."""

OPTION_HELP: dict[str, str] = {
    "-m": "model for this turn",
    "--model": "model for this turn",
    "--mode": "plan, ask, edit or open, for this turn",
    "--new": "begin a new session first",
    "--session": "go on in this session: an id, its start, a title, or last",
    "--fresh": "run again although the cell's answer is stored",
    "--no-tools": "refuse every tool call of this turn",
    "--max-steps": "requests after which the turn stops",
    "-o": "bind the turn's result to this name",
    "--help": "show this help and send nothing",
}
_OPTION_HELP_ZH: dict[str, str] = {
    "-m": "本轮使用的模型",
    "--model": "本轮使用的模型",
    "--mode": "本轮的模式：plan、ask、edit 或 open",
    "--new": "先开始新的会话",
    "--session": "在这个会话中继续：编号、编号开头、标题或 last",
    "--fresh": "即使已有存储的回答也重新运行",
    "--no-tools": "拒绝本轮的所有工具调用",
    "--max-steps": "本轮最多发出的请求数",
    "-o": "把本轮的结果绑定到这个变量名",
    "--help": "只显示帮助，什么也不发送",
}

SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("TEXT", "one turn with the text of this line; x = %mewcode ask … keeps its result"),
    "status": ("", "session, model, mode, notebook, tokens, and the last answer again"),
    "new": ("", "begin a new session with the next prompt"),
    "rewind": ("[N|ID|--undo]", "list the turns, or let what follows message N leave; --undo"),
    "fork": ("[N|ID]", "go on in a new session that shares this one's messages up to N"),
    "export": (
        "[PATH|md|html|ipynb|jsonl]",
        "write the session to a file; --force replaces one, --session ID takes another",
    ),
    "doctor": ("[ID]", "what is wrong with a stored session; --repair TARGET writes a sound copy"),
    "storage": ("", "what is kept on disk, how much, and what would leave next"),
    "cost": ("", "tokens of this session by turn, and of the project's sessions"),
    "model": ("[NAME]", "show or choose the model"),
    "mode": ("[plan|ask|edit|open]", "show or choose what may run without asking"),
    "config": (
        "[KEY [VALUE|default]]",
        "settings and their origins; VALUE holds in this kernel, default takes it back",
    ),
    "instructions": ("", "the MEWCODE.md files in force"),
    "tutorial": ("[on|off]", "practise on recorded answers, without a key"),
    "help": ("[SUBCOMMAND]", "this help, or that of one subcommand"),
}
"""Name to (arguments, help)."""


_SUBCOMMAND_HELP_ZH: dict[str, str] = {
    "ask": "用本行文字进行一轮对话；x = %mewcode ask … 会保留结果",
    "status": "会话、模型、模式、笔记本、令牌数，并重现上一次的回答",
    "new": "下一条提示开始新的会话",
    "rewind": "列出各轮，或让第 N 条消息之后的内容离开对话；--undo 撤销",
    "fork": "在新会话中继续，与本会话共享到第 N 条为止的消息",
    "export": "把会话写入文件；--force 覆盖已有文件，--session ID 选择别的会话",
    "doctor": "检查存储的会话有何问题；--repair TARGET 写出修复后的副本",
    "storage": "磁盘上保存了什么、占多少、接下来会清理什么",
    "cost": "本会话每一轮以及本项目各会话的令牌数",
    "model": "查看或选择模型",
    "mode": "查看或选择哪些操作不必询问",
    "config": "各项设置及其来源；VALUE 只在本内核生效，default 撤销它",
    "instructions": "正在生效的 MEWCODE.md 文件",
    "tutorial": "用录制好的回答练习，不需要密钥",
    "help": "显示本帮助，或某个子命令的帮助",
}


def option_help(language: str = "en") -> dict[str, str]:
    """Help by option."""
    return _OPTION_HELP_ZH if language == "zh" else OPTION_HELP


def line_help(language: str = "en") -> str:
    """Help for the line magic."""
    cell = (
        "提示请写在以 %%mewcode [options] 开头的单元格里："
        if language == "zh"
        else "A prompt goes into a cell that starts with %%mewcode [options]:"
    )
    options = option_help(language)
    return "\n".join(
        [
            "%mewcode SUBCOMMAND",
            "",
            *(f"  {usage:<32} {text}" for usage, text in _usages(language).values()),
            "",
            cell,
            "",
            *(f"  {form:<32} {options[option]}" for form, option in _FORMS.items()),
        ]
    )


def subcommand_help(name: str, language: str = "en") -> str:
    """Help for one subcommand; a name that is none is a `KeyError`."""
    usage, text = _usages(language)[name]
    values = f"\n\n  KEY: {', '.join(SETTING_NAMES)}" if name == "config" else ""
    return f"%mewcode {usage}\n\n  {text}{values}"


def status_words(language: str = "en") -> dict[str, str]:
    """The names of rows that `%mewcode status` shows only where they apply."""
    if language == "zh":
        return {"last_turn": "上一轮", "stands_in": "未知；以工作目录代替：{folder}"}
    return {"last_turn": "last turn", "stands_in": "unknown; the working folder {folder} stands in"}


def _usages(language: str) -> dict[str, tuple[str, str]]:
    """Subcommand to (how it is written, what it does)."""
    chinese = _SUBCOMMAND_HELP_ZH if language == "zh" else {}
    return {
        name: (f"{name} {arguments}".strip(), chinese.get(name, text))
        for name, (arguments, text) in SUBCOMMANDS.items()
    }
