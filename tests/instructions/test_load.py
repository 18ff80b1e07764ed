from __future__ import annotations

import codecs
import hashlib
import os
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mewcode_nb.instructions import (
    IncludeLimits,
    InstructionRow,
    Instructions,
    instruction_notices,
    instructions_markdown,
    instructions_table,
    load_instructions,
)
from mewcode_nb.instructions.find import find_file


def _load(root: Path, **options: IncludeLimits) -> Instructions:
    return load_instructions(root, None, **options)


def _outcomes(loaded: Instructions) -> list[tuple[str, str, str]]:
    rows = [row for row in loaded.rows if row.outcome != "absent"]
    return [(Path(row.file).name, row.outcome, row.reason) for row in rows]


def _skips(loaded: Instructions) -> list[InstructionRow]:
    return [row for row in loaded.rows if row.outcome in ("skipped", "repeated")]


def test_levels_come_in_order_project_first_and_are_listed(tmp_path, project, write) -> None:
    write(
        {
            "P/MEWCODE.md": "one\n",
            "P/.mewcode/MEWCODE.md": "\ntwo\n\n",
            "home/.mewcode/MEWCODE.md": "three",
        }
    )
    loaded = load_instructions(project, tmp_path / "home")
    assert loaded.text == "one\n\ntwo\n\nthree"
    assert loaded.sha256 == hashlib.sha256(b"one\n\ntwo\n\nthree").hexdigest()
    assert [(row.level, row.outcome, row.size, row.depth, row.line) for row in loaded.rows] == [
        (1, "loaded", 4, 1, 0),
        (2, "loaded", 6, 1, 0),
        (3, "loaded", 5, 1, 0),
    ]
    assert loaded.rows[0].sha256 == hashlib.sha256(b"one\n").hexdigest()
    assert loaded.files[0] == str(project / "MEWCODE.md")


def test_levels_without_a_file_are_listed_and_leave_no_text(project) -> None:
    loaded = _load(project)
    assert loaded.text == ""
    assert [(row.level, row.outcome, row.reason) for row in loaded.rows] == [
        (1, "absent", "no such file"),
        (2, "absent", "no such file"),
    ]
    assert instruction_notices(loaded.rows) == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["MEWCODE.md", "AGENTS.md", "CLAUDE.md"], "MEWCODE.md"),
        (["AGENTS.md", "CLAUDE.md"], "AGENTS.md"),
        (["CLAUDE.md"], "CLAUDE.md"),
    ],
)
def test_other_agents_files_stand_in_where_there_is_no_own(project, write, names, expected) -> None:
    write({f"P/{name}": name for name in names})
    assert _load(project).text == expected
    own_only = load_instructions(project, None, fallback=False)
    assert own_only.text == ("MEWCODE.md" if "MEWCODE.md" in names else "")


def test_l_04_without_a_home_folder_the_project_is_still_read(project, write) -> None:
    write({"P/MEWCODE.md": "one"})
    assert load_instructions(project, None).text == "one"


def test_a_project_in_the_home_folder_is_not_read_twice(tmp_path, write) -> None:
    write({".mewcode/MEWCODE.md": "mine"})
    loaded = load_instructions(tmp_path, tmp_path)
    assert loaded.text.startswith("mine\n\n<!-- @include skipped:")
    assert loaded.text.count("mine") == 1


@pytest.mark.parametrize(
    "path",
    ["../P-evil/secret.md", "./x/../../P-evil/secret.md", "{tmp}/P-evil/secret.md", "/etc/passwd"],
)
def test_i_01_seed_defect_sibling_with_the_same_prefix_is_outside(
    tmp_path, project, write, path
) -> None:
    target = path.format(tmp=tmp_path)
    write({"P/MEWCODE.md": f"a\n@include {target}\nb", "P-evil/secret.md": "SECRET"})
    loaded = _load(project)
    assert loaded.text.split("\n")[0::2] == ["a", "b"]
    assert loaded.text.split("\n")[1].startswith("<!-- @include skipped: ")
    assert "SECRET" not in loaded.text
    assert "root:" not in loaded.text
    assert [row.reason for row in _skips(loaded)] == ["outside the folder this level may read"]


def test_i_01_a_missing_file_outside_reads_the_same_as_an_existing_one(project, write) -> None:
    write({"P/MEWCODE.md": "@include ../nothing.md", "P-evil/x": ""})
    assert [row.reason for row in _skips(_load(project))] == [
        "outside the folder this level may read"
    ]


def test_i_01_a_tilde_is_not_the_home_folder(tmp_path, project, write) -> None:
    write({"P/MEWCODE.md": "@include ~/secret.md", "home/secret.md": "SECRET"})
    loaded = load_instructions(project, tmp_path / "home")
    assert "SECRET" not in loaded.text
    assert _skips(loaded)[0].reason == "no such file (~ is not expanded)"


def test_an_absolute_path_inside_the_boundary_is_read(project, write) -> None:
    write({"P/MEWCODE.md": f"@include {project}/a.md", "P/a.md": "A"})
    assert _load(project).text == "A"


def test_the_users_level_reads_nothing_outside_its_own_folder(tmp_path, project, write) -> None:
    write({"home/.mewcode/MEWCODE.md": "@include ../x.md\n@include y.md"})
    write({"home/x.md": "SECRET", "home/.mewcode/y.md": "Y"})
    loaded = load_instructions(project, tmp_path / "home")
    assert "SECRET" not in loaded.text
    assert loaded.text.endswith("\nY")


def test_i_02_seed_defect_a_diamond_is_no_loop(project, write) -> None:
    write(
        {
            "P/MEWCODE.md": "@include b.md\n@include c.md",
            "P/b.md": "B\n@include d.md",
            "P/c.md": "C\n@include d.md",
            "P/d.md": "D",
        }
    )
    loaded = _load(project)
    assert loaded.text == ("B\nD\nC\n<!-- @include skipped: d.md (already included above) -->")
    assert _outcomes(loaded)[-1] == ("d.md", "repeated", "already included above")
    assert instruction_notices(loaded.rows) == ()


def test_i_02_a_real_loop_is_reported_once(project, write) -> None:
    write({"P/MEWCODE.md": "A\n@include b.md", "P/b.md": "B\n@include MEWCODE.md\nend"})
    loaded = _load(project)
    assert loaded.text == (
        "A\nB\n<!-- @include skipped: MEWCODE.md (loop: this file is being included) -->\nend"
    )
    assert len(_skips(loaded)) == 1


def test_i_02_a_file_is_known_again_under_another_name(project, write) -> None:
    write({"P/MEWCODE.md": "@include a.md\n@include link.md\n@include hard.md", "P/a.md": "A"})
    (project / "link.md").symlink_to("a.md")
    (project / "hard.md").hardlink_to(project / "a.md")
    loaded = _load(project)
    assert loaded.text.count("A\n") == 1
    assert [row.outcome for row in _skips(loaded)] == ["repeated", "repeated"]


def test_i_03_row_48_links_are_judged_by_where_they_lead(tmp_path, project, write) -> None:
    write({"out/secret.md": "SECRET", "P/inner/x.md": "X"})
    (project / "link.md").symlink_to(tmp_path / "out" / "secret.md")
    (project / "dir").symlink_to(tmp_path / "out")
    (project / "ok").symlink_to("inner")
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")
    names = ["link.md", "dir/secret.md", "ok/x.md", "a", "dir", "ok/../dir/../secret.md"]
    write({"P/MEWCODE.md": "".join(f"@include {name}\n" for name in names)})
    loaded = _load(project)
    assert "SECRET" not in loaded.text
    assert [row.reason for row in loaded.rows if row.depth == 2] == [
        "outside the folder this level may read",
        "outside the folder this level may read",
        "",
        "a link that leads nowhere or in a circle",
        "outside the folder this level may read",
        "outside the folder this level may read",
    ]


def test_i_03_the_top_file_may_not_be_a_link_that_leads_outside(tmp_path, project, write) -> None:
    write({"out/secret.md": "SECRET"})
    (project / "MEWCODE.md").symlink_to(tmp_path / "out" / "secret.md")
    loaded = _load(project)
    assert "SECRET" not in loaded.text
    assert loaded.text.count("<!--") == 1


def test_a_top_file_that_links_inside_includes_relative_to_the_real_one(project, write) -> None:
    write({"P/docs/agents.md": "@include more.md", "P/docs/more.md": "M"})
    (project / "AGENTS.md").symlink_to("docs/agents.md")
    assert _load(project).text == "M"


def test_i_05_seed_defect_quoted_paths_and_line_ends(project, write) -> None:
    write(
        {
            "P/MEWCODE.md": "@include \"a b.md\"\r\n@include a.md   \r\n@include 'c.md'\r\nend\r\n",
            "P/a b.md": "AB",
            "P/a.md": "A",
            "P/c.md": "C",
        }
    )
    assert _load(project).text == "AB\nA\nC\nend"


def test_i_05_what_names_no_path_leaves_one_note_each(project, write) -> None:
    write({"P/MEWCODE.md": "@include\n@include a.md # why", "P/a.md": "A"})
    loaded = _load(project)
    assert loaded.text.count("<!-- @include skipped:") == 2
    assert [(row.line, row.file) for row in _skips(loaded)] == [(1, ""), (2, "a.md # why")]


def test_i_06_seed_defect_an_include_in_a_code_block_is_text(project, write) -> None:
    text = "```\n@include a.md\n```\n\n    @include a.md\n\n`@include a.md` me@include.com"
    write({"P/MEWCODE.md": text, "P/a.md": "A"})
    assert _load(project).text == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x00binary", "a binary file"),
        (b"x" * 511 + b"\x00", "a binary file"),
        ("café".encode("latin-1"), "not UTF-8 (line 1); save it as UTF-8"),
        ("约定\n".encode("gbk"), "not UTF-8 (line 1); save it as UTF-8"),
        (b"a\nb\n\xff", "not UTF-8 (line 3); save it as UTF-8"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", "not valid UTF-16"),
    ],
)
def test_i_07_seed_defect_the_top_file_is_checked_like_every_other(
    project, write, data, reason
) -> None:
    write({"P/MEWCODE.md": data, "P/.mewcode/MEWCODE.md": "@include ../MEWCODE.md\nok"})
    loaded = _load(project)
    assert [row.reason for row in _skips(loaded)] == [reason, reason]
    assert loaded.text.count("<!-- @include skipped:") == 2
    assert loaded.text.endswith("\nok")
    (notice,) = instruction_notices(loaded.rows)
    assert reason in notice.text
    assert notice.text.endswith("(and 1 more)")
    assert notice.level == "warning"


@pytest.mark.parametrize(
    ("data", "remark"),
    [
        (codecs.BOM_UTF8 + "约定".encode(), ""),
        (codecs.BOM_UTF16_LE + "约定".encode("utf-16-le"), "read as UTF-16"),
        (codecs.BOM_UTF16_BE + "约定".encode("utf-16-be"), "read as UTF-16"),
        (codecs.BOM_UTF32_LE + "约定".encode("utf-32-le"), "read as UTF-32"),
    ],
)
def test_i_07_marked_encodings_are_read(project, write, data, remark) -> None:
    write({"P/MEWCODE.md": data})
    loaded = _load(project)
    assert loaded.text == "约定"
    assert loaded.rows[0].reason == remark


def test_i_07_a_late_nul_is_replaced_so_that_the_text_can_be_sent(project, write) -> None:
    write({"P/MEWCODE.md": b"x" * 600 + b"\x00"})
    assert _load(project).text == "x" * 600 + "\ufffd"


def test_i_07_twenty_megabytes_are_not_read(project) -> None:
    with (project / "MEWCODE.md").open("wb") as file:
        file.truncate(20_000_000)
    loaded = _load(project)
    assert len(loaded.text) < 300
    assert _skips(loaded)[0].reason == (
        "20,000,000 bytes: over the limit of 65,536 bytes for a file"
    )


def test_i_08_an_expansion_bomb_stops_at_the_stated_limits(project, write) -> None:
    for level in range(6):
        below = "".join(f"@include {level + 1}-{n}.md\n" for n in range(30))
        write({f"P/{level}-{n}.md": below + "x" * 500 for n in range(30)})
    write({"P/MEWCODE.md": "".join(f"@include 0-{n}.md\n" for n in range(30))})
    started = time.process_time()
    loaded = _load(project)
    assert time.process_time() - started < 1
    assert len(loaded.files) <= 64
    assert len(loaded.text.encode()) < 200_000
    assert len(_skips(loaded)) == 201
    assert _skips(loaded)[-1].reason == (
        "over the limit of 200 skipped includes; no further ones are read"
    )
    assert loaded.text.count("<!-- @include skipped:") == 201


def test_i_08_files_and_bytes_have_limits_of_their_own(project, write) -> None:
    write({f"P/{n}.md": "x" * 40 for n in range(4)})
    write({"P/MEWCODE.md": "".join(f"@include {n}.md\n" for n in range(4))})
    by_files = _load(project, limits=IncludeLimits(files=3))
    by_bytes = _load(project, limits=IncludeLimits(total_bytes=160))
    assert [row.reason for row in _skips(by_files)] == ["over the limit of 3 files"] * 2
    assert [row.reason for row in _skips(by_bytes)] == [
        "over the limit of 160 bytes for this level"
    ] * 2


def test_i_08_one_level_cannot_use_up_anothers_limits(tmp_path, project, write) -> None:
    write({"P/MEWCODE.md": "x" * 40, "home/.mewcode/MEWCODE.md": "y" * 40})
    loaded = load_instructions(project, tmp_path / "home", limits=IncludeLimits(total_bytes=40))
    assert loaded.text == "x" * 40 + "\n\n" + "y" * 40


def test_nesting_ends_at_five_files(project, write) -> None:
    write({f"P/{n}.md": f"{n}\n@include {n + 1}.md" for n in range(2, 8)})
    write({"P/MEWCODE.md": "1\n@include 2.md"})
    assert _load(project).text == (
        "1\n2\n3\n4\n5\n<!-- @include skipped: 6.md (nested deeper than 5 files) -->"
    )


@pytest.mark.parametrize(("stored", "asked"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_i_09_letters_composed_another_way_are_found(project, write, stored, asked) -> None:
    name = "dé/Café.md"
    write({f"P/{unicodedata.normalize(stored, name)}": "coffee"})
    write({"P/MEWCODE.md": f"@include {unicodedata.normalize(asked, name)}"})
    assert _load(project).text == "coffee"


def test_i_09_folders_outside_the_boundary_are_not_looked_through(tmp_path, project, write) -> None:
    write({unicodedata.normalize("NFD", "outé/x.md"): "SECRET"})
    asked = project / ".." / unicodedata.normalize("NFC", "outé") / "x.md"
    if not asked.exists():
        assert find_file(asked, project) == asked
    write({"P/MEWCODE.md": f"@include ../{unicodedata.normalize('NFC', 'outé')}/x.md"})
    loaded = _load(project)
    assert "SECRET" not in loaded.text
    assert _skips(loaded)[0].reason == "outside the folder this level may read"


def test_i_09_another_case_is_found_or_named(project, write) -> None:
    write({"P/MEWCODE.MD": "@include Notes.md", "P/notes.md": "N"})
    loaded = _load(project)
    if (project / "mewcode.md").exists():
        assert loaded.text == "N"
    else:
        assert loaded.rows[0].outcome == "absent"
        assert loaded.rows[0].reason == "found MEWCODE.MD: the name must be MEWCODE.md"
    write({"P/.mewcode/MEWCODE.md": "@include ../Notes.md"})
    assert "N" in _load(project).text or "there is notes.md" in _load(project).text


def test_i_11_front_matter_configures_nothing_and_says_so(project, write) -> None:
    write({"P/MEWCODE.md": "---\nbase_url: http://evil\nmode: open\n---\ntext"})
    loaded = _load(project)
    assert loaded.rows[0].reason == "front matter has no effect (base_url, mode)"
    (notice,) = instruction_notices(loaded.rows)
    assert "front matter has no effect (base_url, mode)" in notice.text
    assert notice.level == "info"


def test_i_12_paths_are_relative_to_the_including_file(project, write, monkeypatch) -> None:
    write(
        {
            "P/MEWCODE.md": "@include docs/a.md",
            "P/docs/a.md": "@include b.md\n@include ../c.md",
            "P/docs/b.md": "B",
            "P/c.md": "C",
            "P/sub/docs/a.md": "wrong",
        }
    )
    monkeypatch.chdir(project / "sub")
    loaded = _load(project)
    assert loaded.text == "B\nC"
    assert [row.file for row in loaded.rows if row.outcome == "loaded"] == [
        str(project / name) for name in ("MEWCODE.md", "docs/a.md", "docs/b.md", "c.md")
    ]
    assert [row.included_from for row in loaded.rows][:3] == [
        "",
        str(project / "MEWCODE.md"),
        str(project / "docs/a.md"),
    ]


def test_row_46_each_unresolved_include_is_listed_with_line_and_reason(project, write) -> None:
    write({"P/MEWCODE.md": "a\n@include gone.md\n@include dir\n@include broken.md\n@include pipe"})
    (project / "dir").mkdir()
    (project / "broken.md").symlink_to("gone.md")
    os.mkfifo(project / "pipe")
    loaded = _load(project)
    assert [(row.line, Path(row.file).name, row.reason) for row in _skips(loaded)] == [
        (2, "gone.md", "no such file"),
        (3, "dir", "is a folder"),
        (4, "gone.md", "a link that leads nowhere"),
        (5, "pipe", "not a regular file"),
    ]
    assert loaded.text.count("\n<!-- @include skipped:") == 4


@contextmanager
def _without_root() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_row_46_an_unreadable_file_is_listed() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o755)
        (root / "MEWCODE.md").write_text("@include locked.md\nok", encoding="utf-8")
        (root / "locked.md").write_text("x", encoding="utf-8")
        (root / "MEWCODE.md").chmod(0o644)
        (root / "locked.md").chmod(0)
        with _without_root():
            loaded = _load(root)
    assert [row.reason for row in _skips(loaded)] == ["no permission to read it"]
    assert loaded.text.endswith("\nok")


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000, "\ufffd", "a\u202eb", "con:", "..", "."])
def test_strange_paths_leave_one_note_and_no_exception(project, write, name) -> None:
    write({"P/MEWCODE.md": f"@include {name}\nok"})
    loaded = _load(project)
    assert len(_skips(loaded)) == 1
    assert loaded.text.count("<!--") == 1
    assert loaded.text.endswith("\nok")


def test_a_path_cannot_break_out_of_its_comment(project, write) -> None:
    write({"P/MEWCODE.md": "@include x--><script>alert(1)</script>\n@include y--!>.md"})
    for line in _load(project).text.split("\n"):
        assert line.startswith("<!-- ")
        assert line.endswith(" -->")
        assert line.count("-->") == 1
        assert "<script" not in line


def test_a_missing_root_is_no_error(tmp_path) -> None:
    assert _load(tmp_path / "nowhere").text == ""


def test_the_table_names_every_file_and_hides_nothing(project, write) -> None:
    write({"P/MEWCODE.md": "@include a\x1b[31m|b.md"})
    rows = _load(project).rows
    plain = instructions_table(rows)
    assert plain.splitlines()[0].split() == [
        *("level", "file", "from", "line", "depth", "outcome", "reason", "size", "sha256"),
    ]
    assert len(plain.splitlines()) == 1 + len(rows)
    assert rows[0].sha256[:12] in plain
    assert "\x1b" not in plain
    assert r"a\u{1b}[31m|b.md" in plain
    markdown = instructions_markdown(rows)
    assert all(line.count("|") == 9 for line in markdown.splitlines())
    assert "&#124;b.md" in markdown


_NAMES = ["MEWCODE.md", "a.md", "d/b.md", "d/e/c.md"]
_TARGETS = st.sampled_from(
    [
        *_NAMES,
        *("b.md", "../a.md", "../../a.md", "e/c.md", "out", "out/s.md", "../out/s.md", "link.md"),
        *("../../OUT/s.md", "../OUT/s.md", "../P-x/s.md", "../../P-x/s.md", "{tmp}/OUT/s.md"),
        *("d/../link.md", "up/OUT/s.md", "up/P/a.md", "loop", "chain/s.md", "../chain/s.md"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    st.fixed_dictionaries({name: st.lists(_TARGETS, max_size=4) for name in _NAMES}),
    st.lists(st.sampled_from(["", "d/", "d/e/"]), min_size=5, max_size=5),
)
def test_i_01_no_tree_of_includes_reads_outside_its_boundary(tree, places) -> None:
    with tempfile.TemporaryDirectory() as name:
        tmp = Path(name).resolve()
        root = tmp / "P"
        (root / "d" / "e").mkdir(parents=True)
        for outside in (tmp / "OUT", tmp / "P-x"):
            outside.mkdir()
            (outside / "s.md").write_text("SECRET", encoding="utf-8")
        for file, targets in tree.items():
            lines = [f"@include {target.format(tmp=tmp)}" for target in targets]
            (root / file).write_text("\n".join([f"<{file}>", *lines]), encoding="utf-8")
        for place, (link, target) in zip(
            places,
            [
                ("out", tmp / "OUT"),
                ("link.md", tmp / "OUT" / "s.md"),
                ("up", tmp),
                ("loop", Path("loop")),
                ("chain", Path("out")),
            ],
            strict=True,
        ):
            (root / place / link).symlink_to(target)
        loaded = _load(root)
        assert "SECRET" not in loaded.text
        assert all(Path(file).is_relative_to(root) for file in loaded.files)
        assert len(set(loaded.files)) == len(loaded.files)
        for file in loaded.files:
            assert loaded.text.count(f"<{Path(file).relative_to(root)}>") == 1
        assert loaded.text.count("<!-- @include skipped:") == len(_skips(loaded))
