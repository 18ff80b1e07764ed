from __future__ import annotations

import json
import os
import stat

import pytest

from mewcode_nb.errors import SessionError, UsageError
from mewcode_nb.session.reader import read_log
from mewcode_nb.session.replay import fold
from mewcode_nb.transcript.export import KINDS, export, write_export
from mewcode_nb.transcript.headings import _EN, _ZH, Headings


def test_markdown_has_prompts_answers_code_and_output(talk):
    text = export(talk, "md", "en").decode()
    for piece in (
        "# Why customers leave\n",
        "- Session: 20260314-092653-1f0a\n",
        "## Prompt 1\n\nHow many **rows**?",
        "```python\nlen(df)\n\n```",
        "```text\n40000\n```",
        "Output (error):\n\n```text\nno such file\n```",
        "It has *40,000* rows.",
        "*The answer was broken off here.*",
    ):
        assert piece in text, piece
    assert "mewcode-reminder" not in text
    assert "rows, then" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_what_looks_like_a_key_is_masked_in_every_format(make_state, message, kind):
    key = "sk-ant-api03-AbC_dEf" + "k_" * 10
    said = message("m1", "user", [{"type": "text", "text": f"use {key} please"}], 1)
    text = export(make_state(said), kind, "en").decode()
    assert "sk-ant" not in text
    assert "k_k" not in text.replace("\\", "")
    assert "masked" in text


def test_markdown_folds_thinking_when_asked_for_it(talk):
    text = export(talk, "md", "zh", thinking=True).decode()
    assert "<details><summary>思考过程</summary>\n\n```text\nrows, then\n```\n\n</details>" in text


@pytest.mark.parametrize(
    ("kind", "english", "chinese"),
    [
        ("md", "## Prompt 1", "## 提示 1"),
        ("html", "<h3>Answer</h3>", "<h3>回答</h3>"),
        ("ipynb", "## Prompt 1", "## 提示 1"),
    ],
)
def test_headings_speak_the_reader_s_language(talk, kind, english, chinese):
    assert english in export(talk, kind, "en").decode()
    assert chinese in export(talk, kind, "zh").decode()


def test_both_languages_have_the_same_words():
    assert _EN.keys() == _ZH.keys()
    assert Headings("zh").names() == frozenset(_EN)


@pytest.mark.parametrize("kind", KINDS)
def test_exports_are_the_same_bytes_each_time(talk, kind):
    assert export(talk, kind, "en") == export(talk, kind, "en")


def test_html_stands_alone_with_folds_and_both_themes(talk):
    page = export(talk, "html", "en", thinking=True).decode()
    assert page.startswith("<!DOCTYPE html>")
    assert "prefers-color-scheme:dark" in page
    assert "default-src 'none'" in page
    assert "<details><summary>Thinking</summary><pre>rows, then</pre></details>" in page
    assert "<details><summary>Output</summary><pre>40000</pre></details>" in page
    assert "It has <em>40,000</em> rows." in page
    assert page.count('src="data:image/png;base64,') == 2
    assert "<script" not in page


def test_a_notebook_is_valid_and_keeps_code_output_and_prompts(talk):
    import nbformat

    book = nbformat.reads(export(talk, "ipynb", "en").decode(), 4)
    nbformat.validate(book)
    assert (book.nbformat, book.nbformat_minor) == (4, 5)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert [cell.source for cell in code] == ["len(df)\n"]
    stream, plot = code[0].outputs
    assert (stream.output_type, stream.name, stream.text) == ("stream", "stdout", "40000")
    assert set(plot.data) == {"image/png", "text/plain"}
    prompts = [c.metadata.mewcode.prompt for c in book.cells if "prompt" in c.metadata.mewcode]
    assert prompts == ["How many **rows**?", "and now?"]
    assert "attachment:image-1.png" in book.cells[1].source
    assert set(book.cells[1].attachments) == {"image-1.png"}


def test_a_notebook_never_asks_a_model_when_it_is_run(talk):
    book = json.loads(export(talk, "ipynb", "en"))
    assert not any(cell["source"].startswith("%") for cell in book["cells"])


def test_jsonl_loads_as_the_same_conversation(talk, tmp_path):
    path = write_export(talk, tmp_path / "talk.jsonl")
    contents = read_log(path)
    state = fold(contents.records, contents.damage)
    assert state.damage == ()
    for name in ("header", "records", "meta", "reads", "namespace", "usage", "turns"):
        assert getattr(state, name) == getattr(talk, name), name


def test_jsonl_of_a_compacted_session_sends_the_same(compacted, tmp_path):
    contents = read_log(write_export(compacted, tmp_path / "c.jsonl"))
    assert fold(contents.records).messages == compacted.messages


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_session_exports(make_state, kind):
    assert export(make_state(), kind, "en").endswith(b"\n")


@pytest.mark.parametrize(
    ("name", "begins"),
    [("a.md", b"# "), ("a.HTML", b"<!D"), ("a.htm", b"<!D"), ("a.ipynb", b"{"), ("a.jsonl", b"{")],
)
def test_the_suffix_names_the_format(talk, tmp_path, name, begins):
    assert write_export(talk, tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["a.docx", "a", ".md"])
def test_an_unknown_suffix_is_refused(talk, tmp_path, name):
    with pytest.raises(UsageError, match="md, html, ipynb, jsonl"):
        write_export(talk, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_stays_unless_forced(talk, tmp_path):
    path = tmp_path / "mine.md"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(SessionError, match="--force"):
        write_export(talk, path)
    assert path.read_text(encoding="utf-8") == "mine"
    assert write_export(talk, path, force=True) == path
    assert path.read_text(encoding="utf-8").startswith("# Why")
    assert [item.name for item in tmp_path.iterdir()] == ["mine.md"]


def test_a_link_at_the_target_is_not_followed(talk, tmp_path):
    other = tmp_path / "other"
    other.write_text("mine", encoding="utf-8")
    (tmp_path / "a.md").symlink_to(other)
    with pytest.raises(SessionError, match="there already"):
        write_export(talk, tmp_path / "a.md")
    write_export(talk, tmp_path / "a.md", force=True)
    assert other.read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_the_file_is_its_owner_s(talk, tmp_path):
    path = write_export(talk, tmp_path / "a.md")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_is_not_there_is_one_line(talk, tmp_path):
    with pytest.raises(SessionError, match="cannot write"):
        write_export(talk, tmp_path / "none" / "a.md")
