"""What a variable is, as a session records it: type, shape, size, fingerprint and defining cell.

Cheap and bounded: values are sampled, never copied, and no code of the user's runs (`repr`, `len`
and the like are asked of well-known types only). What is sampled of a collection is taken in one
step, so that a thread that changes it meanwhile does no harm. A fingerprint depends on the content
alone, so that the same data loaded in another kernel has the same one; it is 32 bits, enough to
tell a change and too few to betray a value. A value of another type has none.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from mewcode_nb.session.records import Variable

if TYPE_CHECKING:
    from mewcode_nb.notebook.cells import DefiningCell

__all__ = ["describe", "known_variables"]

_MEMBERS = 64
"""Members, elements or cells that a fingerprint looks at."""
_TEXT = 4_096
"""Characters or bytes it takes of one text, half of them from the end."""
_COLUMNS = 16
_COUNTED_COLUMNS = 256


@dataclass(frozen=True, slots=True)
class _Look:
    """What is known of a value; `size` in bytes, `content` None where it has no fingerprint."""

    shape: tuple[int, ...] | None = None
    size: int | None = None
    content: tuple[object, ...] | None = None


def describe(
    namespace: Mapping[str, object], names: Iterable[str], cells: Mapping[str, DefiningCell]
) -> tuple[Variable, ...]:
    """The variables of these names; those that are not in the namespace are left out."""
    return tuple(
        _variable(name, namespace[name], cells.get(name)) for name in names if name in namespace
    )


def known_variables(
    namespace: Mapping[str, object],
    then: Mapping[str, Variable],
    cells: Mapping[str, DefiningCell],
) -> dict[str, Variable]:
    """The variables of a conversation as this kernel has them now, by name."""
    return {variable.name: variable for variable in describe(namespace, then, cells)}


def _variable(name: str, value: object, cell: DefiningCell | None) -> Variable:
    kind = type(value)
    look = _looked_at(kind, value)
    known = Variable(name, kind.__name__, look.shape, look.size)
    if look.content is not None:
        text = repr((kind.__qualname__, *look.content))
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        known = replace(known, fingerprint=digest[:8])
    if cell is not None:
        known = replace(known, cell=cell.id, cell_sha256=cell.sha256, cell_count=cell.count)
    return known


def _looked_at(kind: type, value: object) -> _Look:
    look = _LOOKS.get(f"{kind.__module__}.{kind.__qualname__}")
    return look(value) if look is not None else _Look()


def _plain(value: Any) -> _Look:  # noqa: ANN401 - of one of the types in `_LOOKS`
    return _Look(None, sys.getsizeof(value), (_shown(value),))


def _text(value: Any) -> _Look:  # noqa: ANN401
    return _Look((len(value),), sys.getsizeof(value), (len(value), _shown(value)))


def _members(value: Any) -> _Look:  # noqa: ANN401
    """A list or tuple: the first members, as far as they are plain."""
    size = sys.getsizeof(value)
    shown = [_shown(item) for item in list(islice(value, _MEMBERS))]
    return _Look((len(value),), size, None if None in shown else (len(value), *shown))


def _unordered(value: Any) -> _Look:  # noqa: ANN401
    # Sets come in another order in each kernel: only a small one can be looked at whole.
    shown = [_shown(item) for item in list(islice(value, _MEMBERS + 1))]
    known = len(value) <= _MEMBERS and None not in shown
    content = (len(value), *sorted(map(str, shown))) if known else None
    return _Look((len(value),), sys.getsizeof(value), content)


def _mapping(value: Any) -> _Look:  # noqa: ANN401
    pairs = list(islice(value.items(), _MEMBERS // 2))
    shown = [_shown(item) for pair in pairs for item in pair]
    content = None if None in shown else (len(value), *shown)
    return _Look((len(value),), sys.getsizeof(value), content)


def _array(array: Any) -> _Look:  # noqa: ANN401 - numpy is not ours to import
    content = None
    if not array.dtype.hasobject:
        step = max(1, array.size // _MEMBERS)
        content = (array.shape, str(array.dtype), array.flat[::step].tobytes().hex())
    return _Look(_numbers(array.shape), int(array.nbytes), content)


def _frame(frame: Any) -> _Look:  # noqa: ANN401 - pandas is not ours to import
    rows, columns = frame.shape
    picked = sorted({0, rows // 2, rows - 1}) if rows else []
    shown = [
        _shown(frame.iat[row, column]) for row in picked for column in range(min(columns, _COLUMNS))
    ]
    labels = [_shown(label) for label in frame.columns[:_MEMBERS]]
    kinds = [str(kind) for kind in frame.dtypes.iloc[:_MEMBERS]]
    content = (rows, columns, *labels, *kinds, *shown)
    # Counted column by column: a very wide frame would take seconds.
    known = columns <= _COUNTED_COLUMNS
    size = int(frame.memory_usage(deep=False).sum()) if known else None
    return _Look((rows, columns), size, content)


def _series(series: Any) -> _Look:  # noqa: ANN401 - pandas is not ours to import
    size = len(series)
    step = max(1, size // (_MEMBERS // 4))
    shown = [_shown(series.iat[row]) for row in range(0, size, step)]
    content = (size, str(series.dtype), *shown)
    return _Look((size,), int(series.memory_usage(deep=False)), content)


def _tensor(tensor: Any) -> _Look:  # noqa: ANN401 - torch is not ours to import
    shape = _numbers(tensor.shape)
    return _Look(shape, int(tensor.nelement() * tensor.element_size()), None)


def _numbers(shape: Iterable[Any]) -> tuple[int, ...]:
    return tuple(int(number) for number in shape)


def _shown(value: object) -> str | None:
    """A plain value in bounded words; None for any other."""
    kind = type(value)
    if kind in (str, bytes):
        text: Any = value
        if len(text) > _TEXT:
            text = text[: _TEXT // 2] + text[-_TEXT // 2 :]
        return f"{len(text)} {text!r}"
    if kind is int:
        number: Any = value
        return repr(number) if number.bit_length() < _TEXT else f"{number.bit_length()} bits"
    if value is None or kind in (bool, float, complex):
        return repr(value)
    # Elements of arrays and frames, and nothing that runs code of the user's.
    if kind.__module__.partition(".")[0] in ("numpy", "pandas", "datetime"):
        return repr(value)[:_TEXT] if not hasattr(value, "__len__") else None
    return None


_LOOKS: Mapping[str, Callable[[Any], _Look]] = {
    "builtins.NoneType": _plain,
    "builtins.bool": _plain,
    "builtins.int": _plain,
    "builtins.float": _plain,
    "builtins.complex": _plain,
    "builtins.str": _text,
    "builtins.bytes": _text,
    "builtins.list": _members,
    "builtins.tuple": _members,
    "builtins.set": _unordered,
    "builtins.frozenset": _unordered,
    "builtins.dict": _mapping,
    "numpy.ndarray": _array,
    "pandas.DataFrame": _frame,
    "pandas.Series": _series,
    "pandas.core.frame.DataFrame": _frame,
    "pandas.core.series.Series": _series,
    "torch.Tensor": _tensor,
}
