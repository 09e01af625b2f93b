"""Spaces as texts: the bundled ones come back as they are, and what no text says is refused with the reason."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from spacelang.analysis import Surroundings, check
from spacelang.ir.as_text import UnwritableError, as_text
from spacelang.ir.space import Choice, Node, Operator, Product, Space
from spacelang.resources import folder
from spacelang.text import Source

BUNDLED = {path.stem: path for path in sorted(folder("spaces").glob("*.space"))}
DATA = Surroundings({"n_samples": 400, "n_features": 30, "n_classes": 2})


def read(text: str) -> Space:
    found = check(Source("read.space", text), DATA)
    assert found.space is not None, found.diagnostics
    return found.space


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_spaces_come_back(name: str) -> None:
    space = read(BUNDLED[name].read_text(encoding="utf-8"))
    again = read(as_text(space))
    assert again.root == space.root
    assert sorted(map(repr, again.constraints)) == sorted(map(repr, space.constraints))
    assert (again.name, again.title, again.task) == (space.name, space.title, space.task)


@pytest.mark.parametrize("name", BUNDLED)
def test_parts_of_bundled_spaces_come_back(name: str) -> None:
    """Each stage with its first alternatives only, as a search leaves it that works on a part of a space."""
    space = read(BUNDLED[name].read_text(encoding="utf-8"))
    part = replace(space, root=changed(space.root, lambda choice: choice.branches[:2]), constraints=(), task=None)
    assert read(as_text(part)).root == part.root


def changed(node: Node, kept: Callable[[Choice], tuple]) -> Node:  # type: ignore[type-arg]
    """The tree in which the decisions of the pipeline have some of their branches, without conditions on others."""
    match node:
        case Choice():
            return replace(node, branches=kept(node), default=0)
        case Product():
            return replace(node, children=tuple(changed(child, kept) for child in node.children))
        case _:
            return node


def test_names_keys_and_marks_are_kept() -> None:
    text = """\
space kept "with a \\"title\\""
stage first = none | (StandardScaler -> PCA as axes { n_components : int[1, 3] = 2 }) as whitened @weight(2) @default
stage second @first = (SelectKBest { k : int[1, 3] @split(2) } & PCA { whiten : bool when first is none })? | PCA
pipeline = columns(numeric: first, "^x\\"": OneHotEncoder -> Normalizer) -> second -> PCA
           -> PCA { n_components : int[1, 2] } -> permute(PCA, Normalizer?)
           -> BaggingClassifier { estimator : (MinMaxScaler -> SVC { C : float[0.1, 10] log @prior(normal, 0, 1) }) }
forbid first is whitened and second is none and PCA_2.n_components == 2
"""
    space = read(text)
    again = read(as_text(space))
    assert again.root == space.root
    assert again.constraints == space.constraints


def test_what_no_text_says_is_refused() -> None:
    space = read("pipeline = permute(PCA, StandardScaler) -> (SVC | GaussianNB)")
    (permutation, *others) = space.root.children  # type: ignore[union-attr]
    assert isinstance(permutation, Product)
    order, *steps = permutation.children
    assert isinstance(order, Choice)
    fewer = replace(permutation, children=(replace(order, branches=order.branches[:1]), *steps))
    with pytest.raises(UnwritableError, match="some of the orders of `order`"):
        as_text(replace(space, root=replace(space.root, children=(fewer, *others))))  # type: ignore[arg-type]
    renamed = Choice("e", "e", "e", (replace(others[0].branches[0], name="a b", node=Operator("SVC", "sklearn")),))
    with pytest.raises(UnwritableError, match="the alternative of `e` that is called `a b`"):
        as_text(Space("s", Product(space.root.kind, (renamed,))))  # type: ignore[union-attr]
