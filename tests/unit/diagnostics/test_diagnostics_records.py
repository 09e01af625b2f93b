"""Diagnostics are facts: made by name, never changed, equal where they say the same."""

from dataclasses import FrozenInstanceError

import pytest

from spacelang.diagnostics.diagnostic import TextReplacement, sort_without_duplicates
from spacelang.diagnostics.names import ComparedValueNotInDomain, UnknownPipelineStep
from spacelang.text import Source, Span

SOURCE = Source("kinds.space", "a -> b")
FIRST, LAST = Span(SOURCE, 0, 1), Span(SOURCE, 5, 6)


def test_fields_and_defaults() -> None:
    found = UnknownPipelineStep(primary=FIRST, name="a")
    assert (found.primary, found.related, found.notes, found.name, found.near) == (FIRST, (), (), "a", None)
    assert (
        repr(found) == f"UnknownPipelineStep(primary={FIRST!r}, related=(), notes=(), name='a', near=None, hint=None)"
    )
    assert found.fix is None
    assert UnknownPipelineStep(primary=FIRST, name="a", near="b").fix == TextReplacement(FIRST, "b")


@pytest.mark.parametrize("given", [{}, {"name": "a"}, {"primary": FIRST}, {"primary": FIRST, "name": "a", "nome": "b"}])
def test_missing_and_unknown_fields(given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=r"^UnknownPipelineStep: missing or unknown (name|primary|primary, name|nome)$"):
        UnknownPipelineStep(**given)  # type: ignore[arg-type]


def test_never_changed() -> None:
    found = UnknownPipelineStep(primary=FIRST, name="a")
    with pytest.raises(FrozenInstanceError):
        found.name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del found.name
    assert found.name == "a"


def test_equal_where_they_say_the_same() -> None:
    found = UnknownPipelineStep(primary=FIRST, name="a")
    assert found == UnknownPipelineStep(name="a", primary=FIRST)
    assert hash(found) == hash(UnknownPipelineStep(name="a", primary=FIRST))
    assert found != UnknownPipelineStep(primary=LAST, name="a")
    assert found != ComparedValueNotInDomain(primary=FIRST, value="a", name="a", domain="b")
    assert found != "a"


def test_in_order_and_each_once() -> None:
    early, late = UnknownPipelineStep(primary=FIRST, name="a"), UnknownPipelineStep(primary=LAST, name="b")
    assert sort_without_duplicates([late, early, UnknownPipelineStep(primary=LAST, name="b")]) == (early, late)
