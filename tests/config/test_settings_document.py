from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from mewcode_nb.config import Settings
from mewcode_nb.config.credentials import load_credentials
from mewcode_nb.config.load import Sources, load_settings
from mewcode_nb.config.rules import RULES

DOCUMENT = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")
EXAMPLES = {"word": "some-model", "url": "http://127.0.0.1", "prices": "some-model=1/5"}
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in DOCUMENT.splitlines()
    if line.startswith("| `")
]


def test_the_table_names_every_setting_with_its_default_and_no_other() -> None:
    shown = {row[0].strip("`"): row[1].strip("`") for row in ROWS}
    defaults = {name: getattr(Settings(), name) for name in RULES}
    words = {True: "true", False: "false", "": "empty"}
    assert shown == {
        name: words[value] if isinstance(value, bool) or value == "" else str(value)
        for name, value in defaults.items()
    }


def test_the_table_names_the_allowed_values_and_what_a_project_may_do() -> None:
    use = {"free": "yes", "lower": "may lower it", "never": "no"}
    assert [(row[2], row[5]) for row in ROWS] == [
        (rule.allowed, use[rule.project]) for rule in RULES.values()
    ]
    assert [row for row in ROWS if len(row) != 6 or len(row[3]) < 10] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_each_variable_of_the_table_sets_its_setting(row: list[str]) -> None:
    name = row[0].strip("`")
    rule = RULES[name]
    value = rule.words[0] if rule.words else EXAMPLES.get(rule.check, "1")
    variables = re.findall(r"`(\w+)`", row[4])
    assert variables[0] == f"MEWCODE_{name.upper()}"
    for variable in variables:
        loaded = load_settings(Sources(environ={variable: value}))
        assert str(loaded.origins[name]) == f"environment {variable}"
        assert loaded.notices == ()


def test_the_examples_of_the_users_file_are_read_without_a_notice(tmp_path: Path) -> None:
    examples = re.findall(r"```toml\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(examples) == 2
    for text in examples:
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        file.chmod(0o600)
        assert load_settings(Sources(user_file=file)).notices == ()
        assert load_credentials({}, file).found
        assert set(tomllib.loads(text)) <= {*RULES, "api_key", "auth_token"}


def test_the_named_traits_of_ipython_are_settings() -> None:
    names = re.findall(r"MewcodeMagics\.([a-z_]+)", DOCUMENT)
    assert set(names) <= set(RULES)
    assert len(names) >= 3
