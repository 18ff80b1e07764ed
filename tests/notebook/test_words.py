from __future__ import annotations

from dataclasses import fields

from mewcode_nb.agent.approval import Mode
from mewcode_nb.config import Settings
from mewcode_nb.notebook import subcommands
from mewcode_nb.notebook.magics import MewcodeMagics
from mewcode_nb.notebook.options import cell_help
from mewcode_nb.notebook.words import (
    MODES,
    OPTION_HELP,
    SETTING_NAMES,
    SUBCOMMANDS,
    line_help,
    option_help,
    status_words,
    subcommand_help,
)


def test_the_words_mirror_the_types():
    assert tuple(mode.value for mode in Mode) == MODES
    assert tuple(field.name for field in fields(Settings)) == SETTING_NAMES


def test_every_setting_can_be_configured_in_ipython():
    assert set(MewcodeMagics.class_own_traits(config=True)) == set(SETTING_NAMES)


def test_every_subcommand_is_implemented_and_in_the_help():
    assert set(subcommands.COMMANDS) == set(SUBCOMMANDS)
    text = line_help()
    assert [name for name in SUBCOMMANDS if f"  {name} " not in text] == []


def test_help_of_the_line_lists_the_options_of_the_cell_as_well():
    text = line_help()
    assert [option for option in OPTION_HELP if f" {option} " not in text.replace(",", " ")] == []
    assert max(map(len, text.splitlines())) <= 120


def test_each_subcommand_has_help_of_its_own():
    assert subcommand_help("mode").startswith("%mewcode mode [plan|ask|edit|open]\n")
    assert all(name in subcommand_help("config") for name in (*SETTING_NAMES, "default"))
    assert "子命令" in subcommand_help("help", "zh")
    assert status_words("zh").keys() == status_words().keys()


def test_help_is_whole_in_both_languages():
    assert option_help("zh").keys() == option_help("en").keys() == OPTION_HELP.keys()
    rows = zip(line_help("en").splitlines(), line_help("zh").splitlines(), strict=True)
    same = [english for english, chinese in rows if english == chinese]
    assert same == ["%mewcode SUBCOMMAND", "", "", ""]
    assert "逐字" in cell_help("zh")
    assert "word for word" not in cell_help("zh")
