from __future__ import annotations

import subprocess

import pytest

from mewcode_nb.session.git import read_git
from mewcode_nb.session.records import Git

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def _files(root, **files):
    for name, text in files.items():
        path = root / ".git" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _git(folder, *words):
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_a_work_tree_and_a_folder_below_the_top_are_read_as_git_says(tmp_path):
    top, tree = tmp_path / "top", tmp_path / "tree"
    top.mkdir()
    _git(top, "init", "-q", "-b", "main")
    _git(top, "commit", "-q", "--allow-empty", "-m", "one")
    _git(top, "worktree", "add", "-q", "-b", "side", str(tree))
    _git(tree, "commit", "-q", "--allow-empty", "-m", "two")
    (top / "notebooks" / "deep").mkdir(parents=True)
    one, two = _git(top, "rev-parse", "HEAD"), _git(tree, "rev-parse", "HEAD")
    assert one != two
    assert read_git(top / "notebooks" / "deep") == Git("main", one)
    assert read_git(tree) == Git("side", two)
    _git(top, "pack-refs", "--all")
    assert read_git(tree) == Git("side", two)


@pytest.mark.parametrize("text", ["", "words", "gitdir: nowhere", "gitdir: //host/share", "\0"])
def test_a_pointer_that_leads_nowhere_is_not_taken_for_no_repository(tmp_path, text):
    (tmp_path / ".git").write_text(text, encoding="utf-8")
    assert read_git(tmp_path) is None


def test_a_real_repository_is_read_as_git_says(tmp_path):
    def git(*words):
        return _git(tmp_path, *words)

    git("init", "-q", "-b", "work/one")
    assert read_git(tmp_path) == Git("work/one", "")
    git("commit", "-q", "--allow-empty", "-m", "one")
    expected = Git("work/one", git("rev-parse", "HEAD"))
    assert read_git(tmp_path) == expected
    git("pack-refs", "--all")
    assert read_git(tmp_path) == expected
    git("checkout", "-q", "--detach")
    assert read_git(tmp_path) == Git("", expected.head)


@pytest.mark.parametrize("name", ["fix#12", "50%-faster!", "a,b&c", "it's(now)", "cost$"])
def test_a_branch_may_be_named_as_git_allows(tmp_path, name):
    _files(tmp_path, HEAD=f"ref: refs/heads/{name}\n")
    _files(tmp_path, **{f"refs__heads__{name}": f"{COMMIT}\n"})
    assert read_git(tmp_path) == Git(name, COMMIT)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "words",
        "ref: refs/heads/../../secret",
        "ref: ../secret",
        "ref: refs/heads/a b",
        "ref: refs/heads/.invalid",
        "\udce9",
    ],
)
def test_a_head_that_names_no_branch_counts_for_nothing(tmp_path, head):
    (tmp_path / "secret").write_text("hidden", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(head.encode("utf-8", "surrogateescape"))
    assert read_git(tmp_path) is None


def test_a_branch_that_holds_no_commit_gives_nothing_of_its_file(tmp_path):
    _files(tmp_path, HEAD="ref: refs/heads/main\n", refs__heads__main="a secret\n")
    assert read_git(tmp_path) == Git("main", "")


def test_links_out_of_the_repository_are_not_followed(tmp_path):
    (tmp_path / "out").write_text(COMMIT, encoding="utf-8")
    _files(tmp_path, HEAD="ref: refs/heads/main")
    (tmp_path / ".git" / "refs" / "heads").mkdir(parents=True)
    (tmp_path / ".git" / "refs" / "heads" / "main").symlink_to(tmp_path / "out")
    assert read_git(tmp_path) == Git("main", "")


def test_no_repository_is_told_from_one_that_cannot_be_read(tmp_path):
    assert read_git(tmp_path) == Git()
    (tmp_path / ".git").mkdir()
    assert read_git(tmp_path) is None
