"""Diagnostics are facts: made by name, never changed, equal where they say the same."""

from dataclasses import FrozenInstanceError

import pytest

from spacelang.diagnostics.diagnostic import Fix, sort_without_duplicates
from spacelang.diagnostics.names import UnknownStep, UnknownValue
from spacelang.text import Source, Span

SOURCE = Source("kinds.space", "a -> b")
FIRST, LAST = Span(SOURCE, 0, 1), Span(SOURCE, 5, 6)


def test_fields_and_defaults() -> None:
    found = UnknownStep(primary=FIRST, name="a")
    assert (found.primary, found.related, found.notes, found.name, found.near) == (FIRST, (), (), "a", None)
    assert repr(found) == f"UnknownStep(primary={FIRST!r}, related=(), notes=(), name='a', near=None)"
    assert found.fix is None
    assert UnknownStep(primary=FIRST, name="a", near="b").fix == Fix(FIRST, "b")


@pytest.mark.parametrize("given", [{}, {"name": "a"}, {"primary": FIRST}, {"primary": FIRST, "name": "a", "nome": "b"}])
def test_missing_and_unknown_fields(given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"^UnknownStep: missing or unknown (name|primary|primary, name|nome)$"):
        UnknownStep(**given)  # type: ignore[arg-type]


def test_never_changed() -> None:
    found = UnknownStep(primary=FIRST, name="a")
    with pytest.raises(FrozenInstanceError):
        found.name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del found.name
    assert found.name == "a"


def test_equal_where_they_say_the_same() -> None:
    found = UnknownStep(primary=FIRST, name="a")
    assert found == UnknownStep(name="a", primary=FIRST)
    assert hash(found) == hash(UnknownStep(name="a", primary=FIRST))
    assert found != UnknownStep(primary=LAST, name="a")
    assert found != UnknownValue(primary=FIRST, value="a", name="a", domain="b")
    assert found != "a"


def test_in_order_and_each_once() -> None:
    early, late = UnknownStep(primary=FIRST, name="a"), UnknownStep(primary=LAST, name="b")
    assert sort_without_duplicates([late, early, UnknownStep(primary=LAST, name="b")]) == (early, late)
