from __future__ import annotations

from mewcode_nb.messages import text_block, tool_result
from mewcode_nb.transcript.parts import Answer, Call, Other, Prompt, Summary, Thought, chapters
from mewcode_nb.transcript.pictures import INLINE_LIMIT, Picture, pictures


def test_a_turn_is_told_in_order_with_each_result_at_its_call(talk):
    first, second = chapters(talk.records, thinking=True)
    assert [type(part) for part in first.parts] == [Prompt, Thought, Answer, Call, Call, Answer]
    prompt, thought, _, run, shell, answer = first.parts
    assert prompt.text == "How many **rows**?"
    assert prompt.cell.id == "c1"
    assert thought == Thought("rows, then")
    assert (run.name, run.code, run.language, run.output) == (
        "run_python",
        "len(df)\n",
        "python",
        "40000",
    )
    assert (shell.code, shell.language, shell.output, shell.is_error) == (
        "ls nowhere",
        "sh",
        "no such file",
        True,
    )
    assert answer == Answer("It has *40,000* rows.")
    assert second.parts == (Prompt("and now?"), Answer("It st", incomplete=True))


def test_thinking_is_left_out_unless_asked_for(talk):
    parts = [part for chapter in chapters(talk.records) for part in chapter.parts]
    assert not any(isinstance(part, Thought) for part in parts)


def test_images_travel_with_the_prompt_and_the_result(talk, image):
    first = chapters(talk.records)[0]
    data = image["source"]["data"]
    drawn = (Picture("image", "image/png", len(data), data),)
    assert first.parts[0].pictures == drawn
    assert first.parts[2].pictures == drawn


def test_a_summary_stands_for_what_it_replaced(compacted):
    parts = [part for chapter in chapters(compacted.records) for part in chapter.parts]
    assert parts == [Summary("## Intent\ncount rows"), Answer("two"), Prompt("three")]


def test_calls_without_results_and_results_without_calls_are_both_told(message):
    call = {"type": "tool_use", "id": "t1", "name": "search", "input": {}}
    records = (
        message("m1", "user", [tool_result("gone", "lost words"), text_block("go")], 1),
        message("m2", "assistant", [call], 1),
        message("m3", "user", [tool_result("t1", "a"), tool_result("t1", "again")], 1, "tool"),
        message("m4", "assistant", [{**call, "id": "t9"}], 1),
    )
    calls = [part for part in chapters(records)[0].parts if isinstance(part, Call)]
    assert [(call.name, call.output) for call in calls] == [
        ("", "lost words"),
        ("search", "a"),
        ("", "again"),
        ("search", None),
    ]


def test_a_block_of_a_later_version_is_told_as_json(message):
    odd = {"type": "hologram", "depth": 3}
    records = (message("m1", "user", [odd], 1), message("m2", "assistant", [odd], 1))
    parts = [part for part in chapters(records)[0].parts if isinstance(part, Other)]
    assert [part.type for part in parts] == ["hologram", "hologram"]
    assert '"depth": 3' in parts[0].text


def test_only_what_is_an_image_by_its_bytes_and_small_is_carried(image):
    svg = {"type": "base64", "media_type": "image/png", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"}
    quoted = {"type": "base64", "media_type": "image/png", "data": '"><script>alert(1)</script>'}
    huge = {**image["source"], "data": image["source"]["data"] * (INLINE_LIMIT // 50)}
    remote = {"type": "url", "url": "http://127.0.0.1:9/x.png"}
    for source in (svg, quoted, huge, remote, "none", None):
        found = list(pictures([{"type": "image", "source": source}]))
        assert [picture.data for picture in found] == [""]


def test_the_media_type_is_the_one_the_bytes_have(image):
    source = {**image["source"], "media_type": 'text/html" onload="alert(1)'}
    assert [p.media_type for p in pictures([{"type": "image", "source": source}])] == ["image/png"]
