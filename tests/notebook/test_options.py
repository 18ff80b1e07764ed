from __future__ import annotations

import pytest

from mewcode_nb.agent.approval import Mode
from mewcode_nb.errors import UsageError
from mewcode_nb.notebook.options import TurnOptions, cell_help, parse_turn_options


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("", TurnOptions()),
        ("-m claude-x", TurnOptions(model="claude-x")),
        ("--model=claude-x --mode plan", TurnOptions(model="claude-x", mode=Mode.PLAN)),
        (
            "--new --no-tools --max-steps 3 -o answer",
            TurnOptions(new=True, no_tools=True, max_steps=3, output="answer"),
        ),
        ("--session 20261201-0", TurnOptions(session="20261201-0")),
        ("--session 'my talk' --fresh", TurnOptions(session="my talk", fresh=True)),
        ("--help", TurnOptions(help=True)),
        ("-o 名前", TurnOptions(output="名前")),
    ],
)
def test_options_are_read(line, options):
    assert parse_turn_options(line) == options


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--quux", ["'--quux'", "--help"]),
        ("--session ' '", ["--session", "%resume --list"]),
        ("--new --session x", ["--new and --session", "leave out one"]),
        ("--dry-run", ["'--dry-run'"]),
        ("--fres", ["'--fres'", "did you mean --fresh?"]),
        ("please fix", ["'please'", "lines below"]),
        ("--mode yolo", ["'yolo'", "plan, ask, edit or open"]),
        ("--max-steps 0", ["--max-steps 0", "must be 1 or more"]),
        ("--max-steps -3", ["--max-steps -3", "must be 1 or more"]),
        ("--max-steps 10001", ["10001", "must be 10,000 or less"]),
        (f"--max-steps {'9' * 5000}", ["must be 10,000 or less"]),
        ("--max-steps many", ["'many'", "not a whole number"]),
        ("-m ''", ["--model ''", "a name without spaces"]),
        ("--model ' '", ["--model ' '", "a name without spaces"]),
        ("--max-step 3", ["'--max-step'", "did you mean --max-steps?"]),
        ("--max-steps ²", ["'²'"]),
        ("-o a-b", ["'a-b'", "letters"]),
        ("-o class", ["'class'"]),
        ("-o", ["-o", "--help"]),
        ("--mod x", ["'--mod'"]),
        ("-m 'x", ["quotes"]),
    ],
)
def test_a_mistake_is_one_line_that_names_the_word_and_the_remedy(line, words):
    with pytest.raises(UsageError) as caught:
        parse_turn_options(line)
    text = str(caught.value)
    assert "\n" not in text
    assert [word for word in words if word not in text] == []


def test_help_lists_every_option_and_no_other():
    text = cell_help()
    options = ("--model", "--mode", "--new", "--session", "--fresh", "--no-tools", "--max-steps")
    assert [option for option in (*options, "-o") if option not in text] == []
    assert "--dry-run" not in text
