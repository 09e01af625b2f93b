"""Differences: nothing differs from itself, counts equal brute force, and whatever differs in structure is told."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacelang.api import parse
from spacelang.ir.expr import mentioned_addresses
from spacelang.ir.space import Choice, Node, Operator, Product, Space
from spacelang.serialization.common_structures import count_common_structures
from spacelang.serialization.difference import FactKind, compare_spaces, list_differing_facts
from spacelang.solver.counting import Structures

from . import brute
from .settings import LAW
from .spaces import finite_spaces


@st.composite
def variants(draw: st.DrawFn, space: Space) -> Space:
    """A space with some branches and constraints left out, or another one altogether."""
    if draw(st.integers(0, 4)) == 0:
        return draw(finite_spaces())
    constraints = tuple(each for each in space.constraints if draw(st.booleans()))
    other = replace(space, root=draw(thinned(space.root)), constraints=constraints)
    named = {variable.address for variable in other.variables.values()}
    # What mentions something that is gone is gone as well.
    if any(node.condition is not None for node in other.hyperparameters) and named != space.variables.keys():
        return replace(space, constraints=constraints)
    return replace(other, constraints=tuple(each for each in constraints if set(mentioned(each.expression)) <= named))


def mentioned(expression: object) -> set[str]:
    """The addresses in an expression."""
    found = {expression.address} if hasattr(expression, "address") else set()
    for name in ("left", "right", "item", "term"):
        if hasattr(expression, name):
            found |= mentioned(getattr(expression, name))
    for part in (*getattr(expression, "terms", ()), *getattr(expression, "arguments", ())):
        found |= mentioned(part)
    return found


@st.composite
def thinned(draw: st.DrawFn, node: Node) -> Node:
    match node:
        case Choice():
            kept = [branch for branch in node.branches if draw(st.integers(0, 3))] or [node.branches[0]]
            branches = tuple(replace(branch, node=draw(thinned(branch.node))) for branch in kept)
            return replace(node, branches=branches, default=0)
        case Operator() | Product():
            return replace(node, children=tuple(draw(thinned(child)) for child in node.children))  # type: ignore[misc]
        case _:
            return node


pairs = finite_spaces().flatmap(lambda space: st.tuples(st.just(space), variants(space)))


def by_key(space: Space) -> set[frozenset[tuple[str, str]]]:
    keys = {choice.address: choice.key for choice in space.decisions}
    return {frozenset((keys[address], branch) for address, branch in taken) for taken in brute.structures(space)}


@pytest.mark.parametrize(
    ("pipeline", "shown"),
    [
        ("PCA -> scaler -> model", "PCA -> scaler -> model"),
        ("scaler & (PCA -> PCA) -> model", "(scaler & (PCA -> PCA)) -> model"),
        ("scaler & none -> model", "(scaler & none) -> model"),
        ("permute(scaler, PCA) -> model", "permute(scaler, PCA) -> model"),
        (
            "columns(numeric: scaler -> PCA, categorical: PCA, rest: none) -> model",
            "columns(numeric: scaler -> PCA, categorical: PCA, rest: none) -> model",
        ),
        ("repeat(scaler, 0, 2) -> model", "repeat(scaler, …) -> model"),
        ("(repeat(scaler, 0, 2)) as steps -> model", "(repeat(scaler, …)) as steps -> model"),
    ],
)
def test_a_pipeline_is_shown_as_the_language_writes_it(pipeline: str, shown: str) -> None:
    stages = "stage scaler = StandardScaler | MinMaxScaler\nstage model = GaussianNB | SVC\n"
    written, plain = (parse(f"{stages}pipeline = {each}").checked for each in (pipeline, "model"))
    found = {each.first for each in list_differing_facts(written, plain) if each.aspect is FactKind.PIPELINE}
    assert shown in found


@LAW
@given(finite_spaces())
def test_nothing_differs_from_itself(space: Space) -> None:
    found = compare_spaces(Structures(space), Structures(space))
    assert found.differences == ()
    assert found.structures_in_first == found.structures_in_second == found.structures_in_both
    assert found.structures_only_in_first == found.structures_only_in_second == 0


@LAW
@given(pairs)
def test_counts_equal_brute_force(pair: tuple[Space, Space]) -> None:
    first, second = pair
    ours, theirs = by_key(first), by_key(second)
    for one, other in ((first, second), (second, first)):
        assert count_common_structures(one, other) == len(ours & theirs)


@LAW
@given(pairs)
def test_spaces_without_differences_are_equal_sets(pair: tuple[Space, Space]) -> None:
    first, second = pair
    if not list_differing_facts(first, second):
        assert brute.configurations(first) == brute.configurations(second)


@LAW
@given(pairs)
def test_the_other_way_round_says_the_same(pair: tuple[Space, Space]) -> None:
    first, second = pair
    there, back = list_differing_facts(first, second), list_differing_facts(second, first)
    assert {(d.address, d.aspect, d.first, d.second) for d in there} == {
        (d.address, d.aspect, d.second, d.first) for d in back
    }


@LAW
@given(finite_spaces(), st.data())
def test_a_branch_that_is_left_out_is_told(space: Space, data: st.DataObject) -> None:
    other = replace(space, root=data.draw(thinned(space.root)))
    said = [rule.expression for rule in other.constraints]
    said += [node.condition for node in other.hyperparameters if node.condition is not None]
    assume(
        all(other.variables.keys() >= {*mentioned_addresses(each)} for each in said)
    )  # nothing asks for what is gone
    gone = {d.address for d in list_differing_facts(space, other) if d.aspect is FactKind.ALTERNATIVE}
    kept = {f"{choice.address}.{branch.name}" for choice in other.decisions for branch in choice.branches}
    for choice in other.decisions:
        had = next(each for each in space.decisions if each.address == choice.address)
        assert {f"{had.address}.{branch.name}" for branch in had.branches} - kept <= gone


def test_names_that_are_no_words_are_told_as_texts_have_them() -> None:
    text = """abstract network {{
  `learning-rate` : float[0, 1], momentum : float[0, 1] when `learning-rate` < {}
}}
stage reducer = none | (StandardScaler -> PCA) as "scaled PCA"
stage estimator = network | GaussianNB
forbid reducer is "scaled PCA" and estimator.network.`learning-rate` > 0.7"""
    first, second = (parse(text.format(bound)).checked for bound in (0.1, 0.2))
    (found,) = list_differing_facts(first, second)
    assert found.first == "estimator.network.`learning-rate` < 0.1"
    more = parse(
        "abstract network { `a-b` = 1 }\nstage reducer = none | (PCA -> SelectKBest)\nstage estimator = network"
    )
    less = parse("abstract network { `a-b` = 2 }\nstage reducer = none\nstage estimator = network")
    paths = [each.path for each in list_differing_facts(more.checked, less.checked)]
    assert paths == ['reducer."PCA -> SelectKBest"', "estimator.network.`a-b`"]
    (gone,) = list_differing_facts(first, replace(first, constraints=()))
    assert text.endswith(str(gone.first).removeprefix("forbid "))


def test_numbers_are_shown_as_they_were_written() -> None:
    text = """\
space s
stage e =
  | SVC { C : float[1e-4, 1e4] log = 1e-1, degree : int[2, 1_000]
            when C > 1e-2
          cache_size = 1e3 }
  | GaussianNB
forbid e.SVC.C > 5e-1
"""
    changed = text.replace("1e4]", "2e4]").replace("1e-2", "2e-2").replace("1e3", "2e3").replace("5e-1", "6e-1")
    found = list_differing_facts(parse(text).checked, parse(changed).checked)
    assert {(each.first, each.second) for each in found} == {
        ("float[1e-4, 1e4] log", "float[1e-4, 2e4] log"),
        ("e.SVC.C > 1e-2", "e.SVC.C > 2e-2"),
        ("1e3", "2e3"),
        ("forbid e.SVC.C > 5e-1", None),
        (None, "forbid e.SVC.C > 6e-1"),
    }
    respelled = parse(text.replace("1e-4", "0.0001").replace("1_000", "1000"))
    assert not list_differing_facts(parse(text).checked, respelled.checked)
