from __future__ import annotations

import string

import pytest

from mewcode_nb.widgets.words import Words, choose_language


def blanks(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def test_both_languages_have_the_same_sentences_with_the_same_blanks():
    english, chinese = Words("en"), Words("zh")
    assert english.names() == chinese.names()
    echo = {name: f"{{{name}}}" for name in BLANKS}
    for key in english.names():
        assert blanks(english(key, **echo)) == blanks(chinese(key, **echo)), key


BLANKS = [
    "seconds",
    "size",
    "tool",
    "reason",
    "attempt",
    "attempts",
    "by",
    "input",
    "cached",
    "output",
    "count",
    "answer",
    "covers",
    "folder",
    "model",
    "service",
    "session",
    "turn",
]


@pytest.mark.parametrize(
    ("setting", "environment", "sample", "language"),
    [
        ("zh", {"LANG": "en_US.UTF-8"}, "hello", "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "你好", "en"),
        ("auto", {}, "", "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "", "zh"),
        ("auto", {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "", "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "plot this", "en"),
        ("auto", {}, "画一个图 of df", "zh"),
        ("auto", {}, "what does 你好 mean in the greeting of this mail", "en"),
        ("auto", {}, "修复 `load_table()` 里的 bug", "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "1 + 1", "zh"),
    ],
)
def test_language_follows_setting_then_prompt_then_locale(setting, environment, sample, language):
    assert choose_language(setting, environment, sample) == language
