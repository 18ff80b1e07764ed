from __future__ import annotations

import string

import pytest

from mewcode_nb.errors import UsageError
from mewcode_nb.notebook.resume_options import ResumeOptions, parse_resume_options
from mewcode_nb.notebook.resume_words import RESUME_OPTIONS, ResumeWords, resume_help

ENGLISH, CHINESE = ResumeWords("en"), ResumeWords("zh")
Options = ResumeOptions


def parse(line):
    return parse_resume_options(line, ENGLISH)


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("", Options()),
        ("--project", Options(project=True)),
        ("last", Options(name="last")),
        ("  2026  ", Options(name="2026")),
        ("Rainfall, by month", Options(name="Rainfall, by month")),
        ('"two -- words"', Options(name="two -- words")),
        ("why?", Options(name="why?")),
        ("清理 销售表", Options(name="清理 销售表")),
        ("last --at 4", Options(name="last", at="4")),
        ("--at 4 last", Options(name="last", at="4")),
        ("last --at=4 --fork", Options(name="last", at="4", fork=True)),
        ("--fork", Options(fork=True)),
        ("--list", Options("list")),
        ("--list --project", Options("list", project=True)),
        ("last --list", Options("list", name="last")),
        ("--search join slow", Options("search", text="join slow")),
        ("--search=join", Options("search", text="join")),
        ('--search "join slow" x', Options("search", text='"join slow" x')),
        ("--search --project wet", Options("search", text="wet", project=True)),
        ("join --search slow", Options("search", text="join slow")),
        ("2026 --rename Q3  plan", Options("rename", name="2026", text="Q3 plan")),
        ("--rename Q3", Options("rename", text="Q3")),
        ('2026 --rename ""', Options("rename", name="2026")),
        ("2026 --rename=", Options("rename", name="2026")),
        ("--pin 2026", Options("pin", name="2026")),
        ("--unpin", Options("unpin")),
        ("--delete a b", Options("delete", name="a b")),
        ("--restore", Options("restore")),
        ("2026 --restore", Options("restore", name="2026")),
        ("2026 --help --frok", Options("help")),
        ("-h", Options("help")),
    ],
)
def test_what_the_line_asks_for(line, options):
    assert parse(line) == options


@pytest.mark.parametrize("line", ["--at 3", "x --at 3", "--fork", "--list", "x", "--pin"])
def test_only_a_bare_line_is_the_picker(line):
    assert parse("").picks
    assert parse("--project").picks
    assert not parse(line).picks


@pytest.mark.parametrize(
    ("line", "message", "remedy"),
    [
        ("--frok", "option '--frok' is not known to %resume", "did you mean --fork?"),
        ("x --zzz", "option '--zzz' is not known to %resume", "see %resume --help"),
        ("it's", "No closing quotation", "close the quotes"),
        ("x --at", "--at lacks a value", "%resume ID --list"),
        ("--search", "--search lacks a value", "give the words"),
        ("--search '  '", "--search lacks a value", "give the words"),
        ("--rename", "--rename lacks a value", '--rename ""'),
        ("--pin=2026", "--pin takes no value: '2026'", "%resume 2026 --pin"),
        ("x --pin --unpin", "--pin and --unpin do not go together", "leave out one"),
        ("x --at 3 --pin", "--at does not go with --pin", "leave out one"),
        ("x --fork --list", "--fork does not go with --list", "leave out one"),
        ("x --pin --project", "--project does not go with --pin", "leave out one"),
        ("--delete", "--delete needs a session", "%resume ID --delete"),
    ],
)
def test_a_mistake_names_the_word_and_the_remedy(line, message, remedy):
    with pytest.raises(UsageError) as caught:
        parse(line)
    assert message in caught.value.message
    assert remedy in caught.value.remedy
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError) as chinese:
        parse_resume_options(line, CHINESE)
    assert any(ord(character) > 0x3000 for character in str(chinese.value))


def test_both_languages_have_the_same_sentences_with_the_same_blanks():
    assert ENGLISH.names() == CHINESE.names()
    for key in ENGLISH.names():
        blanks = [
            {name for _, name, _, _ in string.Formatter().parse(words._table[key]) if name}
            for words in (ENGLISH, CHINESE)
        ]
        assert blanks[0] == blanks[1], key


@pytest.mark.parametrize("language", ["en", "zh"])
def test_help_fits_a_screen_and_names_every_option(language):
    text = resume_help(language)
    assert len(text.splitlines()) <= 20
    assert max(map(len, text.splitlines())) <= 90
    assert [option for option in RESUME_OPTIONS if option not in text] == ["--help"]
