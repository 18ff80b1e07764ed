from __future__ import annotations

import pytest

from mewcode_nb.testing import reply

pytestmark = pytest.mark.kernel


@pytest.fixture
def kernel(start_kernel, mewcode_server):
    server = mewcode_server()
    server.add(reply("the first answer"), reply("the second"), reply("the third"))
    kernel = start_kernel(server)
    kernel.server = server
    assert kernel.run("%load_ext mewcode_nb").status == "ok"
    return kernel


def said(kernel, line):
    ran = kernel.run(f"%mewcode {line}")
    assert ran.status == "ok", ran.text
    return ran.text


def test_every_subcommand_answers_with_nothing_stored_and_leaves_nothing_behind(kernel, in_project):
    for line in ("rewind", "rewind --undo", "rewind 2", "fork", "export", "doctor"):
        ran = kernel.run(f"%mewcode {line}")
        assert ran.status == "error", line
        assert "%resume" in ran.evalue, ran.evalue
        assert "\n" not in ran.evalue
    assert "nothing" in said(kernel, "storage")
    assert "No session has any answer yet" in said(kernel, "cost")
    assert not (in_project.notebooks / ".mewcode").exists()


def test_a_talk_is_rewound_brought_back_forked_exported_and_counted(kernel, in_project):
    for question in ("first", "second"):
        assert kernel.run(f"%%mewcode\n{question} question").status == "ok"
    (folder,) = (in_project.notebooks / ".mewcode" / "sessions").iterdir()
    listed = said(kernel, "rewind")
    assert "1-2" in listed
    assert "second question" in listed
    said(kernel, "rewind 2")
    (branch,) = [row for row in said(kernel, "rewind").splitlines() if "second question" in row]
    assert "message 4" in said(kernel, f"rewind {branch.split()[0]}")
    assert folder.name in said(kernel, "fork 2")
    assert kernel.run("%%mewcode\nthird question").status == "ok"
    assert len(kernel.server.requests[-1].body["messages"]) == 3
    assert "parent.jsonl (" in said(kernel, f"export parent.jsonl --session {folder.name}")
    exported = (in_project.notebooks / "parent.jsonl").read_text(encoding="utf-8")
    assert "the second" in exported
    assert "third question" not in exported
    assert "third question" in said(kernel, "cost")
    assert folder.name in said(kernel, "storage")
    assert folder.name in said(kernel, f"doctor {folder.name}")
