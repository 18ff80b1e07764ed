from __future__ import annotations

import time

import pytest

from mewcode_nb.notebook.cells import DefiningCell
from mewcode_nb.notebook.described import describe, known_variables
from mewcode_nb.session.records import Variable


def one(value, cells=None):
    (variable,) = describe({"v": value}, ["v"], cells or {})
    return variable


@pytest.mark.parametrize(
    ("value", "kind", "shape"),
    [
        (None, "NoneType", None),
        (7, "int", None),
        (2.5, "float", None),
        ("words", "str", (5,)),
        ([1, 2], "list", (2,)),
        ({"a": 1}, "dict", (1,)),
        ({3, 1, 2}, "set", (3,)),
        (time, "module", None),
        (object(), "object", None),
    ],
)
def test_type_and_shape(value, kind, shape):
    variable = one(value)
    assert (variable.name, variable.type, variable.shape) == ("v", kind, shape)


def test_names_that_are_not_there_are_left_out():
    assert [v.name for v in describe({"a": 1}, ["gone", "a"], {})] == ["a"]
    then = {"a": Variable("a"), "gone": Variable("gone")}
    assert list(known_variables({"a": 1, "b": 2}, then, {})) == ["a"]


def test_the_defining_cell_is_named():
    variable = one(1, {"v": DefiningCell("c1", "ab" * 32, 7)})
    assert (variable.cell, variable.cell_sha256, variable.cell_count) == ("c1", "ab" * 32, 7)


def test_a_huge_number_is_told_by_its_length():
    assert one(10**5000).fingerprint == one(10**5000 + 1).fingerprint != one(10**6000).fingerprint


@pytest.mark.parametrize(
    ("value", "equal", "other"),
    [
        (1, 1, 2),
        (1, 1, True),
        ("a" * 10_000, "a" * 10_000, "a" * 9_999 + "b"),
        ([1, "x"], [1, "x"], ["x", 1]),
        ({"b", "a"}, {"a", "b"}, {"a", "c"}),
        ({"k": 1}, {"k": 1}, {"k": 2}),
        (b"ab", b"ab", b"ac"),
    ],
)
def test_a_fingerprint_is_of_the_content_alone(value, equal, other):
    assert one(value).fingerprint == one(equal).fingerprint != ""
    assert one(value).fingerprint != one(other).fingerprint
    assert len(one(value).fingerprint) == 8


@pytest.mark.parametrize("value", [object(), [object()], {"k": []}, set(range(1000)), time])
def test_what_cannot_be_told_cheaply_has_no_fingerprint(value):
    assert one(value).fingerprint == ""


def test_code_of_the_users_is_never_run():
    class Trap(list):
        def __repr__(self):
            raise AssertionError

        __len__ = __iter__ = __eq__ = __getattr__ = __repr__
        __hash__ = None

    trap = Trap()
    assert one(trap) == Variable("v", "Trap")
    assert one([trap]).fingerprint == ""
    assert one({"k": trap}).fingerprint == ""


def test_arrays_are_told_apart_by_a_sample():
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(1_000_000.0).reshape(1000, 1000)
    other = array.copy()
    other[0, 0] = 5
    assert one(array).shape == (1000, 1000)
    assert one(array).size == 8_000_000
    assert one(array).fingerprint == one(array.copy()).fingerprint != one(other).fingerprint
    assert one(numpy.array([object()])).fingerprint == ""
    assert one(numpy.float64(1.5)).type == "float64"


def test_frames_are_told_apart_by_labels_types_and_a_sample():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": range(100), "b": ["x"] * 100})
    assert one(frame).shape == (100, 2)
    assert one(frame).fingerprint == one(frame.copy()).fingerprint
    renamed, changed = frame.rename(columns={"b": "c"}), frame.copy()
    changed.loc[50, "b"] = "y"
    prints = {one(value).fingerprint for value in (frame, renamed, changed, frame[:50])}
    assert len(prints) == 4
    assert one(frame["a"]).fingerprint != one(frame["a"] + 1).fingerprint
    assert one(pandas.DataFrame()).shape == (0, 0)


def test_a_very_wide_frame_takes_no_longer_than_its_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({f"c{n}": [1] for n in range(5_000)})
    begun = time.process_time()
    assert one(frame).size is None
    assert time.process_time() - begun < 0.2


def test_big_values_cost_no_more_than_small_ones():
    values = {
        "text": "x" * 50_000_000,
        "list": list(range(2_000_000)),
        "dict": dict.fromkeys(range(1_000_000)),
        "number": 1 << 4_000_000,
    }
    begun = time.process_time()
    for _ in range(10):
        describe(values, values, {})
    assert time.process_time() - begun < 0.5
