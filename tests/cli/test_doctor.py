from __future__ import annotations

from mewcode_nb.session.load import load

TORN = b'{"type":"message","ts":1,"id":"m9"'


def _break(project, identity):
    log = project / ".mewcode" / "sessions" / identity / "conversation.jsonl"
    with log.open("ab") as file:
        file.write(TORN)
    return log


def test_a_file_is_examined_where_it_lies(run, project):
    path = project / "old.jsonl"
    path.write_text('{"role":"user","content":"a"}\n', encoding="utf-8")
    assert "Nothing is wrong with it." in run("doctor", str(path))


def test_defects_end_with_status_1(run, project):
    path = project / "old.jsonl"
    path.write_text('{"role":"user","content":"a"}\n{"role":\n', encoding="utf-8")
    assert "line 2: not JSON" in run("doctor", str(path), status=1)


def test_a_repaired_copy_is_written_beside_an_unchanged_original(run, project, new_session):
    log = _break(project, new_session())
    before = log.read_bytes()
    output = run("doctor", "last", "--repair", str(project / "copy"))
    assert "the original is unchanged" in output
    assert log.read_bytes() == before
    assert len(load(project / "copy").messages) == 4
    run("doctor", str(project / "copy"))


def test_without_a_target_all_sessions_are_examined(run, project, new_session):
    sound, broken = new_session(), new_session()
    _break(project, broken)
    lines = run("doctor", status=1).split("\n")
    assert {line.split("  ")[0]: line.split("  ")[1] for line in lines[:2]} == {
        broken: "1 errors, 0 warnings",
        sound: "sound",
    }


def test_an_empty_folder_says_what_to_do(run):
    assert "%%mewcode" in run("doctor")


def test_a_repair_without_a_target_is_one_line(run):
    output = run("doctor", "--repair", "x", status=1)
    assert output == (
        "Error: say which session the repaired copy is of — mewcode-nb doctor ID --repair TARGET\n"
    )


def test_a_session_that_is_not_there_is_one_line(run):
    output = run("doctor", "nope", status=1)
    assert output.startswith("Error: ")
    assert output.count("\n") == 1
