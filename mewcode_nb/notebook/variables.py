"""Which names of the user's namespace a run created, changed or removed, at little cost.

A change is a new object under the name, or the same object whose fingerprint differs. Fingerprints
are cheap and hash nothing: small plain values by value; lists, tuples, dicts and sets by length and
the identity of their first 1,000 members; arrays, tensors and data frames by shape, types and a few
sampled elements. Not seen: changes inside other objects (attributes of an instance), deeper than
one level, beyond the first 1,000 members, or of elements that were not sampled.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

__all__ = ["NameChanges", "Snapshot", "changes", "names_read", "own_names", "snapshot"]

Snapshot: TypeAlias = "Mapping[str, tuple[object, ...]]"

_MEMBERS = 1_000
_COLUMNS = 32
_SMALL_TEXT = 1_000
_SHELL_NAMES = frozenset({"In", "Out", "exit", "quit", "get_ipython"})


@dataclass(frozen=True, slots=True)
class NameChanges:
    """Names in the order the namespace holds them."""

    created: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def snapshot(namespace: Mapping[str, object], hidden: Mapping[str, object]) -> Snapshot:
    """The fingerprint of each name a user would call their own, imported modules included."""
    return {name: _fingerprint(value) for name, value in own_names(namespace, hidden)}


def own_names(
    namespace: Mapping[str, object], hidden: Mapping[str, object]
) -> Iterator[tuple[str, object]]:
    """The names a user would call their own, with their values.

    Left out are names with a leading underscore and those the shell put there (`hidden`, as long as
    they still hold what the shell gave them).
    """
    for name, value in tuple(namespace.items()):
        given = name in hidden and hidden[name] is value
        if not (given or name.startswith("_") or name in _SHELL_NAMES):
            yield name, value


def changes(before: Snapshot, after: Snapshot) -> NameChanges:
    """What differs between two snapshots."""
    return NameChanges(
        created=tuple(name for name in after if name not in before),
        changed=tuple(name for name in after if name in before and before[name] != after[name]),
        removed=tuple(name for name in before if name not in after),
    )


def names_read(code: str) -> frozenset[str]:
    """Every name that plain Python code reads anywhere in it; none where it cannot be parsed."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    )


def _fingerprint(value: object) -> tuple[object, ...]:
    kind: type = type(value)
    if kind in (int, bool):
        return (kind, value)  # not its digits: of a huge number the conversion fails
    if value is None or kind in (float, complex):
        return (kind, repr(value))  # a NaN equals itself that way
    if isinstance(value, (str, bytes)):
        return (kind, value) if len(value) <= _SMALL_TEXT else (kind, id(value), len(value))
    if kind in (list, tuple, set, frozenset):
        return (id(value), *_members(value))
    if type(value) is dict:
        return (id(value), *_members(value), *_members(value.values()))
    sample = _SAMPLERS.get(f"{kind.__module__}.{kind.__qualname__}")
    return (id(value),) if sample is None else (id(value), *sample(value))


def _members(values: Any) -> tuple[int, ...]:  # noqa: ANN401 - any sized collection
    return (len(values), *map(id, islice(values, _MEMBERS)))


def _array(array: Any) -> tuple[object, ...]:  # noqa: ANN401 - numpy is not ours to import
    step = max(1, array.size // 64)
    sample = () if array.dtype.hasobject else array.flat[::step].tobytes()
    return (array.shape, str(array.dtype), sample)


def _frame(frame: Any) -> tuple[object, ...]:  # noqa: ANN401 - pandas is not ours to import
    rows, columns = frame.shape
    picked = {0, rows // 2, rows - 1} if rows else ()
    cells = [repr(frame.iat[row, column]) for row in picked for column in range(columns)[:_COLUMNS]]
    labels = [str(label) for label in frame.columns[:_MEMBERS]]
    return (frame.shape, *labels, *map(str, frame.dtypes.iloc[:_MEMBERS]), *cells)


def _series(series: Any) -> tuple[object, ...]:  # noqa: ANN401 - pandas is not ours to import
    size = len(series)
    step = max(1, size // 16)
    return (size, str(series.dtype), *(repr(series.iat[row]) for row in range(0, size, step)))


def _tensor(tensor: Any) -> tuple[object, ...]:  # noqa: ANN401 - torch is not ours to import
    return (tuple(tensor.shape), str(tensor.dtype), tensor._version)


_SAMPLERS: Mapping[str, Callable[[Any], tuple[object, ...]]] = {
    "numpy.ndarray": _array,
    "pandas.DataFrame": _frame,
    "pandas.Series": _series,
    "pandas.core.frame.DataFrame": _frame,
    "pandas.core.series.Series": _series,
    "torch.Tensor": _tensor,
}
