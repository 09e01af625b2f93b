"""Spaces as texts: the bundled ones come back as they are, and what no text says is refused with the reason."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from spacelang.analysis import CheckSettings, check
from spacelang.files import resource_folder
from spacelang.ir.domain import BOOLEANS, Domain, Grid
from spacelang.ir.expr import BranchTest
from spacelang.ir.space import (
    Branch,
    Choice,
    Constraint,
    Hyperparameter,
    Node,
    Operator,
    Product,
    ProductKind,
    Space,
)
from spacelang.reductions.space_restriction import restrict_space
from spacelang.serialization.space_text import UnwritableSpaceError, space_to_text
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import default_configuration as default_of
from spacelang.syntax.printer import format_text
from spacelang.text import Source

BUNDLED = {path.stem: path for path in sorted(resource_folder("spaces").glob("*.space"))}
DATA = CheckSettings({"n_samples": 400, "n_features": 30, "n_classes": 2})


def read(text: str) -> Space:
    found = check(Source("read.space", text), DATA)
    assert found.space is not None, found.diagnostics
    return found.space


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_spaces_come_back(name: str) -> None:
    space = read(BUNDLED[name].read_text(encoding="utf-8"))
    text = space_to_text(space)
    assert format_text(text) == text
    again = read(text)
    assert again.root == space.root
    assert sorted(map(repr, again.constraints)) == sorted(map(repr, space.constraints))
    assert (again.name, again.title, again.task) == (space.name, space.title, space.task)


@pytest.mark.parametrize("name", BUNDLED)
def test_parts_of_bundled_spaces_come_back(name: str) -> None:
    """Each stage with its first alternatives only, as a search leaves it that works on a part of a space."""
    space = read(BUNDLED[name].read_text(encoding="utf-8"))
    part = replace(space, root=changed(space.root, lambda choice: choice.branches[:2]), constraints=(), task=None)
    assert read(space_to_text(part)).root == part.root


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
    again = read(space_to_text(space))
    assert again.root == space.root
    assert again.constraints == space.constraints


@pytest.mark.parametrize(
    ("restricted", "wanted"),
    [
        ({}, ("int[lo, 9]", "float[0.0, 1 - a]", "int[0, 2 * d]")),
        ({"e.A.hi": Grid(4, 9, 1)}, ("int[4, 9]", "float[0.0, 1 - a]", "int[0, 2 * d]")),
        ({"e.A.lo": Grid(1, 3, 1)}, ("int[1, 9]", "float[0.0, 1 - a]", "int[0, 2 * d]")),
        ({"e.A.other": Grid(1, 2, 1)}, ("int[lo, 9]", "float[0.0, 1 - a]", "int[0, 2 * d]")),
    ],
)
def test_a_bound_stays_where_nothing_in_it_is_restricted(
    restricted: dict[str, Domain], wanted: tuple[str, ...]
) -> None:
    """Otherwise it becomes a constraint, because its range has a number of its own at this end."""
    space = read(
        "abstract A { lo : int[1, 9], hi : int[lo, 9] = 9, a : float[0, 1], b : float[0, 1 - a] = 0\n"
        "d : int[0, 4], c : {9} | int[0, 2 * d] = 9, other : int[1, 5] }\nstage e = A | GaussianNB"
    )
    part = restrict_space(space, {"e": ["A"]}, restricted)
    assert part is not None
    text = space_to_text(part)
    assert all(each in text for each in wanted)
    assert text.count("require") == (wanted[0] != "int[lo, 9]")
    again = read(text)
    assert (again.root, again.constraints) == (part.root, part.constraints)


def test_alternatives_of_any_name_come_back() -> None:
    """Names are the texts of structures that are not there as a whole any more, or what a program made up."""
    space = read("stage e = (StandardScaler -> (PCA { n_components : int[1, 3] = 2 } | FastICA) -> SVC) | GaussianNB")
    name = "StandardScaler -> (PCA | FastICA) -> SVC"
    part = restrict_space(space, {"e": {name}, f"e.{name}.choice_1": {"PCA"}}, {})
    assert part is not None
    written = space_to_text(part)
    assert f'(| PCA {{ n_components : int[1, 3] = 2 }}) as choice_1 -> SVC ) as "{name}"' in " ".join(written.split())
    assert read(written).root == part.root
    named = Choice("e", "e", "e", (Branch('a "b" \\', Operator("SVC", "sklearn")), Branch("c.d", NOTHING_BUT_SVC)))
    made = Space("s", Product(ProductKind.SEQUENCE, (named,)), (Constraint(BranchTest("e", ("c.d",)), forbidden=True),))
    again = check(Source("read.space", space_to_text(made)), DATA)
    assert [each.code for each in again.diagnostics] == ["SL505"]  # all is forbidden that `c.d` leads to
    free = replace(made, constraints=())
    assert read(space_to_text(free)).root == free.root


NOTHING_BUT_SVC = Operator("SVC", "sklearn", (), (("C", 2.0),))


def test_conditions_and_constraints_reach_into_alternatives_of_any_name() -> None:
    text = """\
stage first =
  | (StandardScaler -> PCA { n_components : int[1, 3] = 2, whiten : bool = true when n_components > 1 })
  | none
stage last = SVC { C : float[1, 2], tol : float[0.1, 1] = 0.5 when first is "StandardScaler -> PCA" } | GaussianNB
pipeline = first -> last
forbid first."StandardScaler -> PCA".PCA.n_components == 3 and last is GaussianNB
require first in {"StandardScaler -> PCA", none} or last is SVC
"""
    space = read(text)
    written = space_to_text(space)
    assert 'forbid first."StandardScaler -> PCA".PCA.n_components == 3 and last is GaussianNB' in written
    assert "whiten : bool = true when n_components > 1" in " ".join(written.split())
    again = read(written)
    assert again.root == space.root
    assert again.constraints == space.constraints


@pytest.mark.parametrize(("kept", "default"), [((0,), 0), ((1, 3), 1), ((0, 2, 5), 0)])
def test_orders_that_there_are_not_are_forbidden(kept: tuple[int, ...], default: int) -> None:
    space = read("pipeline = permute(PCA, StandardScaler, PCA?) -> SVC")
    (permutation, *others) = space.root.children  # type: ignore[union-attr]
    assert isinstance(permutation, Product)
    order, *steps = permutation.children
    assert isinstance(order, Choice)
    branches = tuple(order.branches[place] for place in kept)
    fewer = replace(permutation, children=(replace(order, branches=branches, default=default), *steps))
    part = replace(space, root=replace(space.root, children=(fewer, *others)))  # type: ignore[arg-type]
    again = check(Source("read.space", space_to_text(part)), DATA)
    assert again.diagnostics == ()
    assert again.structures is not None
    assert again.space is not None
    assert again.structures.count == Structures(part).count == 2 * len(kept)
    found, wanted = default_of(again.space), default_of(part)
    assert found == wanted


def test_steps_that_orders_call_otherwise_are_labelled() -> None:
    space = read('pipeline = permute("a b": StandardScaler, (PCA | FastICA), last: PCA -> Normalizer) -> SVC')
    (order, _) = space.decisions
    assert order.branches[0].name == "a b, (PCA | FastICA), last"
    assert read(space_to_text(space)).root == space.root
    part = restrict_space(space, {"choice_1": {"PCA"}}, {})
    assert part is not None
    assert read(space_to_text(part)).root == part.root


def test_an_operator_of_which_nothing_is_said_leaves_its_name_to_another() -> None:
    space = read("pipeline = PCA as first -> PCA { n_components : int[1, 3] } -> SVC")
    assert read(space_to_text(space)).root == space.root


def test_the_name_of_a_stage_is_marked_as_an_alternative() -> None:
    text = "stage first = PCA | none\nstage other = ((StandardScaler | (first) @default) & Normalizer) | none\n"
    space = read(f"{text}pipeline = other -> SVC")
    assert read(space_to_text(space)).root == space.root


def test_a_group_stays_one_around_an_operator_of_which_nothing_is_said() -> None:
    body = "{ n_components : int[1, 3] = 2 }"
    space = read(f"pipeline = (PCA {body} -> StandardScaler -> FastICA {body}) as both -> Normalizer -> SVC")
    written = space_to_text(space)
    assert written.count("as both") == 1
    assert read(written).root == space.root


def test_a_stage_that_is_called_like_an_operator_is_declared_by_another_name() -> None:
    space = read(
        "stage scaler = none | StandardScaler\npipeline = scaler as PCA -> PCA as second { whiten : bool } -> SVC"
    )
    assert read(space_to_text(space)).root == space.root


def test_what_no_text_says_is_refused() -> None:
    number = Hyperparameter("n", "n", "n", BOOLEANS, True)
    with pytest.raises(UnwritableSpaceError, match="a hyperparameter outside of any operator"):
        space_to_text(Space("s", Product(ProductKind.SEQUENCE, (number,))))
    unnamed = Operator("SVC", "sklearn", (replace(number, address="e.a.b c.n"),))
    stage = Choice("e", "e", "e", (Branch("a", Product(ProductKind.SEQUENCE, (unnamed, unnamed))),))
    with pytest.raises(UnwritableSpaceError, match=r"`e\.a\.b c` as the name of a step in `e\.a`"):
        space_to_text(Space("s", Product(ProductKind.SEQUENCE, (stage,))))


def test_a_condition_cannot_name_a_stage_that_is_called_like_a_sibling() -> None:
    space = read("stage shrinking = none | PCA\nstage e = SVC { shrinking : bool, C : float[1, 2] when shrinking }")
    (first, second) = space.root.children  # type: ignore[union-attr]
    assert isinstance(second, Choice)
    operator = second.branches[0].node
    assert isinstance(operator, Operator)
    (shrinking, cost) = operator.children
    assert isinstance(cost, Hyperparameter)
    over_stage = replace(operator, children=(shrinking, replace(cost, condition=BranchTest("shrinking", ("PCA",)))))
    changed_stage = replace(second, branches=(replace(second.branches[0], node=over_stage),))
    with pytest.raises(
        UnwritableSpaceError,
        match=r"a condition of `e\.C` on the stage `shrinking`: a parameter of the operator has the same name",
    ):
        space_to_text(replace(space, root=replace(space.root, children=(first, changed_stage))))  # type: ignore[arg-type]
