from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from mewcode_nb.events import Usage
from mewcode_nb.session.quick import quick_maker
from mewcode_nb.session.records import MessageRecord, PlacedRecord


@pytest.mark.parametrize("kind", [Usage, MessageRecord, PlacedRecord])
def test_what_is_made_fast_is_the_same_as_what_is_made_slowly(kind):
    values = range(len(fields(kind)))
    made = quick_maker(kind)(*values)
    assert type(made) is kind
    assert made == kind(*values)
    with pytest.raises(FrozenInstanceError):
        setattr(made, fields(kind)[0].name, 9)


def test_every_field_must_be_given():
    with pytest.raises(TypeError):
        quick_maker(Usage)(1, 2, 3)
