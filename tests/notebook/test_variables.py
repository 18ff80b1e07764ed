from __future__ import annotations

import pytest

from mewcode_nb.notebook.variables import NameChanges, changes, names_read, snapshot


def changed_by(namespace: dict, statement: str, hidden: dict | None = None) -> NameChanges:
    before = snapshot(namespace, hidden or {})
    exec(statement, namespace)
    return changes(before, snapshot(namespace, hidden or {}))


@pytest.mark.parametrize(
    ("value", "statement"),
    [
        (1, "x = 2"),
        (1, "x = 1.0"),
        ("a", "x = 'b'"),
        ("a" * 2_000, "x = x + 'b'"),
        ([1, 2], "x.append(3)"),
        ([1, 2], "x[0] = 'new'"),
        ({"a": 1}, "x['a'] = 'new'"),
        ({"a": 1}, "x['b'] = 1"),
        ({1}, "x.add(2)"),
        (object(), "x = object()"),
    ],
)
def test_change_is_seen(value, statement):
    assert changed_by({"x": value, "__builtins__": {"object": object}}, statement).changed == ("x",)


@pytest.mark.parametrize(
    ("value", "statement"),
    [(1_000, "x = 999 + 1"), ("ab", "x = 'a' + 'b'"), (float("nan"), "x = -x"), ([[1]], "x[0]")],
)
def test_equal_plain_value_is_no_change(value, statement):
    assert changed_by({"x": value}, statement) == NameChanges()


def test_names_of_the_shell_and_private_names_are_left_out():
    hidden = {"display": print}
    namespace = {"display": print, "_": 1, "__x": 1, "In": [], "Out": {}, "mine": 1}
    assert list(snapshot(namespace, hidden)) == ["mine"]
    namespace["display"] = 5
    assert list(snapshot(namespace, hidden)) == ["display", "mine"]


def test_created_and_removed():
    found = changed_by({"a": 1, "b": 2}, "import json\ndel a\nc = 3")
    assert found == NameChanges(created=("json", "c"), removed=("a",))


@pytest.mark.parametrize(
    "statement", ["x += 1", "x[5, 5] = 7", "x = x.astype('int64')", "x.shape = (4, 25)"]
)
def test_arrays_changed_in_place(statement):
    numpy = pytest.importorskip("numpy")
    assert changed_by({"x": numpy.zeros((10, 10))}, statement.replace("5, 5", "0, 0")).changed


@pytest.mark.parametrize(
    "statement",
    ["x['a'] *= 2", "x['c'] = 1", "x.columns = ['p', 'q']", "x.loc[100] = [1, 't']"],
)
def test_frames_changed_in_place(statement):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(1, 101), "b": "text"})
    assert changed_by({"x": frame}, statement).changed == ("x",)
    assert changed_by({"x": frame}, "x.sum()") == NameChanges()


def test_series_changed_in_place():
    pandas = pytest.importorskip("pandas")
    assert changed_by({"x": pandas.Series(range(100))}, "x += 1").changed == ("x",)


def test_a_number_too_long_to_be_written_out_is_compared_all_the_same():
    assert changed_by({"x": 10**5000}, "x = x + 1").changed == ("x",)
    assert changed_by({"x": 10**5000}, "x = 10 ** 5000") == NameChanges()


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("x = y + z.w", {"y", "z"}),
        ("def f(a):\n    return a + b", {"a", "b"}),
        ("[n for n in rows]", {"n", "rows"}),
        ("del x", set()),
        ("'y'", set()),
        ("x +", set()),
        ("\0", set()),
        ("await fetch(url)", {"fetch", "url"}),
    ],
)
def test_the_names_that_code_reads(code, names):
    assert names_read(code) == names
