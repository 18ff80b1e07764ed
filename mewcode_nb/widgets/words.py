"""Our own words on screen, in English and Chinese, so that no sentence hides in drawing code."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mewcode_nb.widgets.sentences import Sentences

__all__ = ["Words", "choose_language"]

_EN = {
    "starting": "starting",
    "loading": "loading the model client (first time)…",
    "loaded": "model client loaded in {seconds} s",
    "waiting": "waiting {seconds} s…",
    "thinking": "thinking",
    "thoughts": "thinking ({size})",
    "answering": "answering",
    "writing_input": "writing {tool} input, {size}",
    "retrying": "{reason}; attempt {attempt} of {attempts} in {seconds} s",
    "asking": "asking you",
    "unstored": "not stored on disk",
    "asked": "asked",
    "running": "running",
    "done": "done",
    "failed": "error",
    "denied": "denied by {by}",
    "allowed": "allowed by {by}",
    "interrupted": "interrupted",
    "unfinished": "ended without an answer",
    "tokens": "{input} in ({cached}% cached), {output} out",
    "step": "1 step",
    "steps": "{count} steps",
    "call": "1 tool call",
    "calls": "{count} tool calls",
    "seconds": "{seconds} s",
    "output": "output ({size})",
    "proposal": "what it does",
    "cut": "… {size} more not shown; the whole is in the session",
    "display_cut": "an output of {size} was not shown here",
    "card_title": "Allow this?",
    "tool": "tool",
    "risks": "Look twice",
    "too_large": "The proposal is longer than the card shows ({size} left out): deny it if unsure.",
    "allow": "Allow once",
    "session": "Allow for this session",
    "deny": "Deny",
    "reason": "reason (optional, told to the model)",
    "keys": "Inside this card: y allows once, n denies.",
    "sent": "sent: {answer}",
    "closed": "This question is closed; the button does nothing.",
    "expired": "no answer in {seconds} s",
    "no_frontend": "the page did not show the question",
    "page_gone": "the page was reloaded, closed or out of reach while this question was open",
    "headless": "nobody can be asked here; allow it with a mode or a rule",
    "never": "the setting approval = deny answers every question",
    "eof": "the input was closed",
    "unclear": "no clear answer",
    "prompt": "[y]es / [n]o / [a]lways this session: ",
    "prompt_once": "[y]es / [n]o: ",
    "covers_tool": "all edits by {tool} inside the project, this session",
    "covers_exact": "this exact code again, this session",
    "by_user": "you",
    "by_session": "your answer earlier in this session",
    "by_policy": "policy",
    "open_mode": "mode open: the agent's edits, commands and code run WITHOUT asking you",
    "mode_plan": "read only: everything else is refused",
    "mode_ask": "reads are free, the rest asks",
    "mode_edit": "reads and file edits inside the project are free, the rest asks",
    "means": "means",
    "from": "from",
    "new_next": "The next prompt begins a new session.",
    "holds_next": "It holds from the next session on: %mewcode new",
    "tutorial_off": "The tutorial is off. The next prompt goes to the configured model.",
    "tutorial_idle": "{model} at {service} is in use.\n"
    "%mewcode tutorial on switches to recorded answers instead.",
    "tutorial_on": "Recorded tutorial: what answers now is NOT a model.\n"
    "It knows the prompts of its own notebooks only.\n"
    "Nothing leaves this machine. To end it: %mewcode tutorial off",
    "status_session": "session",
    "status_model": "model",
    "status_service": "service",
    "status_key": "key",
    "status_mode": "mode",
    "status_front_end": "front end",
    "status_notebook": "notebook",
    "status_found_by": "found by",
    "status_root": "project root",
    "status_tokens": "tokens",
    "status_sdk": "SDK",
    "no_session": "none yet: the first prompt begins one",
    "in_memory": "{session} (in memory only)",
    "stored_in": "{session} in {folder}",
    "no_key": "not set",
    "no_key_needed": "none needed: recorded answers, not a model",
    "unknown": "unknown",
    "spent": "{input} in, {output} out",
    "sdk_loaded": "loaded",
    "sdk_not_loaded": "not loaded yet",
    "last_answer": "Last answer (turn {turn}):",
}
_ZH = {
    "starting": "开始",
    "loading": "正在载入模型客户端（首次）…",
    "loaded": "模型客户端已载入，用时 {seconds} 秒",
    "waiting": "等待 {seconds} 秒…",
    "thinking": "思考中",
    "thoughts": "思考过程（{size}）",
    "answering": "回答中",
    "writing_input": "正在写 {tool} 的输入，{size}",
    "retrying": "{reason}；{seconds} 秒后进行第 {attempt} 次尝试（共 {attempts} 次）",
    "asking": "等待你的决定",
    "unstored": "未能写入磁盘",
    "asked": "待批准",
    "running": "运行中",
    "done": "完成",
    "failed": "出错",
    "denied": "已拒绝（{by}）",
    "allowed": "已允许（{by}）",
    "interrupted": "已中断",
    "unfinished": "未得到回答就结束了",
    "tokens": "输入 {input}（{cached}% 来自缓存），输出 {output}",
    "step": "1 步",
    "steps": "{count} 步",
    "call": "1 次工具调用",
    "calls": "{count} 次工具调用",
    "seconds": "{seconds} 秒",
    "output": "输出（{size}）",
    "proposal": "将要做的事",
    "cut": "… 另有 {size} 未显示；全文在会话中",
    "display_cut": "有一个 {size} 的输出没有在这里显示",
    "card_title": "允许吗？",
    "tool": "工具",
    "risks": "请留意",
    "too_large": "内容超出卡片所能显示（省略 {size}）：没有把握就拒绝。",
    "allow": "允许一次",
    "session": "本次会话内允许",
    "deny": "拒绝",
    "reason": "理由（可不填，会告诉模型）",
    "keys": "在此卡片内：y 允许一次，n 拒绝。",
    "sent": "已发送：{answer}",
    "closed": "这个问题已经关闭，按钮不再起作用。",
    "expired": "{seconds} 秒内没有回答",
    "no_frontend": "页面没有显示这个问题",
    "page_gone": "问题尚未回答，页面就被重新载入、关闭或断开了",
    "headless": "这里无人可问；请用模式或规则放行",
    "never": "设置 approval = deny 会拒绝所有请求",
    "eof": "输入已关闭",
    "unclear": "没有明确的回答",
    "prompt": "[y] 允许 / [n] 拒绝 / [a] 本次会话内一直允许：",
    "prompt_once": "[y] 允许 / [n] 拒绝：",
    "covers_tool": "本次会话内，{tool} 在项目中的所有修改",
    "covers_exact": "本次会话内，再次运行完全相同的代码",
    "by_user": "你",
    "by_session": "你在本次会话中先前的回答",
    "by_policy": "策略",
    "open_mode": "open 模式：智能体的修改、命令和代码都会直接运行，不再询问你",
    "mode_plan": "只读：其余一律拒绝",
    "mode_ask": "读取不必询问，其余都要问",
    "mode_edit": "读取和项目内的文件修改不必询问，其余都要问",
    "means": "含义",
    "from": "来源",
    "new_next": "下一条提示将开始新的会话。",
    "holds_next": "从下一个会话起生效：%mewcode new",
    "tutorial_off": "教程已关闭。下一条提示将发给所配置的模型。",
    "tutorial_idle": "正在使用 {service} 上的 {model}。\n%mewcode tutorial on 可改用录制好的回答。",
    "tutorial_on": "教程：现在回答的不是模型，而是本机上录制好的内容。\n"
    "它只认得自带笔记本里的提示；没有任何内容离开这台电脑。\n"
    "%mewcode tutorial off 结束教程。",
    "status_session": "会话",
    "status_model": "模型",
    "status_service": "服务",
    "status_key": "密钥",
    "status_mode": "模式",
    "status_front_end": "前端",
    "status_notebook": "笔记本",
    "status_found_by": "定位依据",
    "status_root": "项目根目录",
    "status_tokens": "令牌",
    "status_sdk": "SDK",
    "no_session": "还没有：第一条提示会开始一个",
    "in_memory": "{session}（仅在内存中）",
    "stored_in": "{session}，位于 {folder}",
    "no_key": "未设置",
    "no_key_needed": "不需要：录制好的回答，不是模型",
    "unknown": "未知",
    "spent": "输入 {input}，输出 {output}",
    "sdk_loaded": "已载入",
    "sdk_not_loaded": "尚未载入",
    "last_answer": "上一次的回答（第 {turn} 轮）：",
}
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\d_\u3400-\u9fff]+")
"""A Chinese character, or letters in a row."""


class Words(Sentences):
    """The words of one language; `words("allow")` gives the sentence, its blanks filled in."""

    def __init__(self, language: str = "en") -> None:
        super().__init__({"en": _EN, "zh": _ZH}, language)

    def giver(self, by: str) -> str:
        """Who decided (`Decision.by`): you, an earlier answer, the policy; a mode as it is."""
        return self._table.get(f"by_{by}", by)


def choose_language(setting: str, environment: Mapping[str, str], sample: str = "") -> str:
    """`en` or `zh`: the setting, else the prompt's main script, else the environment's locale."""
    if setting in {"en", "zh"}:
        return setting
    if words := _WORD.findall(sample):
        # One borrowed word does not turn the page into the other language.
        return "zh" if 4 * len(_HAN.findall(sample)) >= len(words) else "en"
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environment.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
