"""A fact is what the standard library's frozen data class is, however late its methods are compiled."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

from spacelang.frozen import frozen


@dataclass(frozen=True, slots=True)
class Standard:
    """What facts are compared with."""

    a: int
    b: "tuple[Any, ...]"
    span: str = field(default="", compare=False, repr=False)
    many: "list[int]" = field(default_factory=list, hash=False)
    last: float = 1.5


@frozen
class Fact:
    """The same fields."""

    a: int
    b: "tuple[Any, ...]"
    span: str = field(default="", compare=False, repr=False)
    many: "list[int]" = field(default_factory=list, hash=False)
    last: float = 1.5


@frozen
class Named:
    """A fact with methods of its own."""

    name: str

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and self.name.lower() == other.name.lower()

    def __hash__(self) -> int:
        return hash(self.name.lower())


@frozen
class Nothing:
    """A fact without fields."""


MADE: tuple[Callable[[Any], Any], ...] = (
    lambda kind: kind(1, ()),
    lambda kind: kind(1, (2,), "here"),
    lambda kind: kind(1, (2,), span="there", last=2.5),
    lambda kind: kind(b=(2,), a=1, many=[3]),
    lambda kind: kind(1, ("x", (kind(2, ()),)), "", [], 0.0),
)


def test_facts_have_the_same_values_and_representations() -> None:
    for make in MADE:
        standard, own = make(Standard), make(Fact)
        assert repr(own) == repr(standard).replace("Standard", "Fact")
        assert all(getattr(own, name) == getattr(standard, name) for name in ("a", "span", "many", "last"))


def test_facts_are_equal_when_data_classes_are() -> None:
    for one in MADE:
        for other in MADE:
            assert (one(Fact) == other(Fact)) is (one(Standard) == other(Standard))
        assert one(Fact) != one(Standard)
        assert Fact(1, ()) != Nothing()
    assert hash(Fact(1, (), "here")) == hash(Standard(1, (), "there"))
    assert Fact(1, ()).many is not Fact(1, ()).many
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(())


@pytest.mark.parametrize("arguments", [(), (1,), (1, (), "", [], 1.0, 2)])
def test_facts_refuse_the_same_arguments(arguments: tuple[Any, ...]) -> None:
    for kind in (Standard, Fact, Fact):
        with pytest.raises(TypeError, match=rf"{kind.__name__}.__init__\(\)"):
            kind(*arguments)


def test_facts_are_frozen() -> None:
    own = Fact(1, ())
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        own.a = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'a'"):
        del own.a  # type: ignore[misc]
    assert own.a == 1
    assert not hasattr(own, "__dict__")


def test_facts_are_copied_pickled_replaced_and_matched() -> None:
    for make in MADE:
        own = make(Fact)
        assert copy.copy(own) == copy.deepcopy(own) == pickle.loads(pickle.dumps(own)) == own
        assert replace(own, a=7) == Fact(7, own.b, own.span, own.many, own.last)
        match own:
            case Fact(a, b, many=many):
                assert (a, b, many) == (own.a, own.b, own.many)
    assert is_dataclass(Fact)
    assert [each.name for each in fields(Fact)] == [each.name for each in fields(Standard)]


def test_methods_of_its_own_stay() -> None:
    assert repr(Named("A")) == "A"
    assert Named("A") == Named("a")
    assert len({Named("A"), Named("a")}) == 1
