"""Which objects a rolled loop may take apart and put together again: those that are their attributes and nothing else."""

from __future__ import annotations

import enum
from abc import ABC
from collections import namedtuple
from dataclasses import dataclass

import pytest

from micrograd import Value
from micrograd.stage import attributes
from micrograd.stage.instances import is_plain_class, structure


class Plain:
    pass


class Abstract(ABC):  # noqa: B024
    pass


class Slotted:
    __slots__ = ("x", "y")


class Both(Slotted):
    """Slots of the class before, and a dict."""


@dataclass(frozen=True)
class Frozen:
    x: float


class Counted:
    def __del__(self):
        pass


class Reads:
    def __getattribute__(self, name):
        return 1.0


class Assigns:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, 2.0 * value)


class Makes:
    def __new__(cls, *args):
        return object.__new__(cls)


class Meta(type):
    pass


class OfMeta(metaclass=Meta):
    pass


class Number(Value):
    pass


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize("kind", [Plain, Abstract, Slotted, Both, Frozen])
def test_objects_that_are_their_attributes(kind):
    assert is_plain_class(kind)


@pytest.mark.parametrize(
    "kind", [object, float, dict, complex, Counted, Reads, Assigns, Makes, OfMeta, Number, Colour, Value]
)
def test_objects_with_rules_of_their_own(kind):
    assert not is_plain_class(kind)
    if kind in (Counted, Assigns, Makes):
        assert structure(kind()) is None


Pair = namedtuple("Pair", "a b")


class Noted(Pair):
    """A named tuple with a dict beside its items."""


def test_what_an_object_is_made_of():
    both = Both()
    both.x, both.z = 1.0, 3.0
    for x in ([1.0, 2.0], (1.0,), Pair(1.0, 2.0), {"a": 1.0, 2: 3.0}, Frozen(4.0), both):
        shape, items = structure(x)
        again = shape.make(list(items))
        assert type(again) is type(x) and again is not x
        assert attributes.attributes(again) == attributes.attributes(x)
        assert structure(again) == (shape, items)
    noted = Noted(1.0, 2.0)
    assert structure(noted) is not None
    noted.more = 3.0
    assert structure(noted) is None and structure({1.5: 2.0}) is None and structure(3.0) is None


def test_attributes_in_slots_and_in_a_dict():
    x = Both()
    x.y, x.z = 2.0, 3.0
    assert attributes.attributes(x) == {"y": 2.0, "z": 3.0}  # x is not assigned
    attributes.replace(x, {"x": 1.0, "w": 4.0})
    assert attributes.attributes(x) == {"x": 1.0, "w": 4.0} and not hasattr(x, "y") and vars(x) == {"w": 4.0}
    attributes.put(x, "y", 5.0)
    attributes.put(x, "v", 6.0)
    assert (x.y, vars(x)["v"]) == (5.0, 6.0)
    assert set(attributes.slots(Both)) == {"x", "y"} and attributes.slots(Plain) == {}
    assert attributes.slots(float) == {} and attributes.slots(slice) == {}


class Property:
    @property
    def x(self):
        return 1.0

    @x.setter
    def x(self, value):
        pass

    y = 2.0


def test_an_attribute_that_the_class_assigns_itself_is_not_kept():
    x = Property()
    assert not attributes.keeps(x, "x") and attributes.keeps(x, "y") and attributes.keeps(x, "z")
    assert attributes.keeps(Slotted(), "x") and not attributes.keeps(Slotted(), "z")
