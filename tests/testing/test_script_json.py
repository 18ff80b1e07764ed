from __future__ import annotations

import json

import pytest

from mewcode_nb.testing import Ask, Fault, Rule, load_scene
from mewcode_nb.testing.player import Player
from mewcode_nb.testing.script import Text, Thinking, ToolUse


def test_every_form_of_an_entry_is_read():
    scene = load_scene(
        json.dumps(
            {
                "default": "over",
                "server": {"window": 8000},
                "script": [
                    "plain",
                    {"text": "short", "delay": 0.5, "expect": ["a"], "usage": {"input_tokens": 3}},
                    {"status": 529, "fault": {"headers": {"retry-after": "1"}}},
                    {
                        "blocks": [
                            {"type": "thinking", "thinking": "hm"},
                            {"type": "text", "template": "got {result}"},
                            {"type": "tool_use", "name": "shell", "input": {"command": "ls"}},
                            {"type": "tool_use", "name": "x", "_raw_json": '{"a": "/et'},
                        ],
                        "fault": {"kind": "stall", "after": 3},
                    },
                    {"when": {"regex": "^memo"}, "text": "noted", "times": 2},
                ],
            }
        )
    )
    plain, short, busy, big, rule = scene.script
    assert (scene.default, scene.server) == ("over", {"window": 8000})
    assert plain.parts == (Text("plain"),)
    assert (short.delay, short.expect, short.usage) == (0.5, ("a",), (("input_tokens", 3),))
    assert busy.fault == Fault("status", status=529, headers=(("retry-after", "1"),))
    assert big.parts == (
        Thinking("hm"),
        Text(template="got {result}"),
        ToolUse("shell", {"command": "ls"}),
        ToolUse("x", {}, raw_json='{"a": "/et'),
    )
    assert big.fault == Fault("stall", after=3)
    assert isinstance(rule, Rule)
    assert rule.times == 2


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("[1]", "entry 1: neither"),
        ('["a", {"txt": "b"}]', "entry 2: unknown key 'txt'"),
        ('[{"blocks": [{"type": "poem"}]}]', "entry 1: unknown block type 'poem'"),
        ('[{"fault": {"kind": "eof", "at": 1}}]', "entry 1: unknown key 'at'"),
        ('{"scripts": []}', "script file: unknown key 'scripts'"),
        ("{", "Expecting"),
    ],
)
def test_a_mistake_is_named(script, words):
    with pytest.raises(ValueError, match=words):
        load_scene(script)


def test_a_template_repeats_the_last_results():
    player = Player(load_scene('[{"blocks": [{"type": "text", "template": "<{result}>"}]}]').script)
    result = {"type": "tool_result", "tool_use_id": "t", "content": "42"}
    ask = Ask({"messages": [{"role": "user", "content": [result]}]})
    (part,) = player.next(ask).parts
    assert part.words(ask) == "<42>"
