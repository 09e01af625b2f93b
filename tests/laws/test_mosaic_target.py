"""The structural tree against brute force: what may come next, what is below a node, what is drawn there."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from scipy import stats

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, parts
from spacelang.ir.expr import INACTIVE
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Choice, Space
from spacelang.ir.value import are_same_value
from spacelang.ir.walk import Assignment, structure_of
from spacelang.sampling.batch_builder import BatchBuilder
from spacelang.sampling.neighbours import MOVES_PER_NUMBER
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.sampling.unit_scale import to_unit_function
from spacelang.solver.constraint_network import UndecidableError
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.targets.mosaic import Prefix, StructuralTree

from . import brute
from .crafted import one
from .settings import LAW
from .spaces import finite_spaces, general_spaces

HALF = settings(LAW, max_examples=LAW.max_examples // 2)


@st.composite
def marked(draw: st.DrawFn, spaces: st.SearchStrategy[Space]) -> Space:
    """A drawn space, some of whose stages come first."""
    space = draw(spaces)
    stages = [replace(node, first=draw(st.booleans())) for node in space.root.children]  # type: ignore[union-attr]
    return replace(space, root=replace(space.root, children=tuple(stages)))  # type: ignore[arg-type]


def tree_of(space: Space) -> StructuralTree:
    """The tree of a space that is not empty and can be decided."""
    try:
        structures = Structures(space)
        if structures.count:
            return StructuralTree(structures)
    except UndecidableError:
        pass
    return reject()


def whole_prefixes(tree: StructuralTree) -> set[Prefix]:
    """The branches of each admissible structure in the order of the tree, by brute force."""
    found = (dict(structure) for structure in brute.structures(tree.space))
    return {tuple(s[choice.address] for choice in tree.decisions if choice.address in s) for s in found}


def nodes(tree: StructuralTree) -> list[Prefix]:
    """Every node that actions lead to from the root."""
    found: list[Prefix] = [()]
    for prefix in found:
        found.extend((*prefix, branch) for branch in tree.actions(prefix))
    return found


@pytest.mark.usefixtures("branches")
@settings(LAW)
@given(marked(finite_spaces()))
def test_actions_lead_to_exactly_the_admissible_structures(space: Space) -> None:
    tree = tree_of(space)
    whole = whole_prefixes(tree)
    walked = nodes(tree)
    assert len(set(walked)) == len(walked)
    assert {prefix for prefix in walked if tree.decision_after(prefix) is None} == whole
    assert [*tree.iter_leaves()] == [prefix for prefix in sorted_by_text(tree, walked) if prefix in whole]
    for prefix in walked:
        below = [other for other in whole if other[: len(prefix)] == prefix]
        assert below
        assert tree.count_structures(prefix) == len(below)
        counted = Counter(other[len(prefix)] for other in below if len(other) > len(prefix))
        assert tree.structure_counts(prefix) == counted
        assert [*tree.structure_counts(prefix)] == sorted(counted, key=places_after(tree, prefix).index)


def places_after(tree: StructuralTree, prefix: Prefix) -> list[str]:
    choice = tree.decision_after(prefix)
    return [] if choice is None else [*choice.branch_indices]


def sorted_by_text(tree: StructuralTree, prefixes: list[Prefix]) -> list[Prefix]:
    def key(prefix: Prefix) -> list[int]:
        return [places_after(tree, prefix[:n]).index(branch) for n, branch in enumerate(prefix)]

    return sorted(prefixes, key=key)


@settings(HALF)
@given(marked(st.one_of(finite_spaces(), general_spaces())))
def test_decisions_follow_what_leads_to_them(space: Space) -> None:
    tree = tree_of(space)
    order = [choice.address for choice in tree.decisions]
    assert sorted(order) == sorted(choice.address for choice in space.decisions)
    for choice in tree.decisions:
        for owner, _ in space.variables[choice.address].owners:
            assert order.index(owner) < order.index(choice.address)
    stages = [choice for choice in tree.decisions if not space.variables[choice.address].owners]
    if any(stage.first for stage in space.stages):
        assert stages == sorted(space.stages, key=lambda stage: not stage.first)
    else:
        assert stages == [space.stages[-1], *space.stages[:-1]]
    # Nothing comes between a decision and those below its branches.
    tops = [(space.variables[address].owners or ((address, ""),))[0][0] for address in order]
    assert len([1 for before, after in pairwise(tops) if before != after]) == len(stages) - 1


@settings(LAW)
@given(marked(finite_spaces()), st.data())
def test_default_completions_differ_from_the_defaults_as_little_as_possible(space: Space, data: st.DataObject) -> None:
    tree = tree_of(space)
    prefix = data.draw(st.sampled_from(nodes(tree)))
    usual = {choice.address: choice.branches[choice.default].name for choice in tree.decisions}
    kept = tree.structure_of(prefix)

    def distance(structure: dict[str, str]) -> int:
        return sum(usual[address] != branch for address, branch in structure.items() if address not in kept)

    completed = tree.default_completion(prefix)
    assert first_exclusion(space, completed) is None
    mine = structure_of(space, completed)
    assert mine.items() >= kept.items()
    assert completed == DefaultCompleter(tree.structures).complete(mine)
    others = [dict(structure) for structure in brute.structures(space) if structure >= kept.items()]
    assert distance(mine) == min(map(distance, others))


@settings(HALF)
@given(marked(st.one_of(finite_spaces(), general_spaces())), st.integers(0, 1000), st.data())
def test_draws_below_a_node_are_members_that_begin_with_it(space: Space, seed: int, data: st.DataObject) -> None:
    tree, rng = tree_of(space), np.random.default_rng(seed)
    prefix: Prefix = ()
    for _ in range(data.draw(st.integers(0, 3))):
        if actions := tree.actions(prefix):
            prefix = (*prefix, data.draw(st.sampled_from(actions)))
    try:
        drawn = tree.sample(prefix, 20, rng).configurations()
    except SamplingFailedError:
        return
    assert len(drawn) == 20
    for configuration in drawn:
        assert first_exclusion(space, configuration) is None
        assert tree.prefix_of(configuration)[: len(prefix)] == prefix


@settings(HALF)
@given(marked(finite_spaces()), st.data())
def test_structures_below_a_node_are_drawn_evenly(space: Space, data: st.DataObject) -> None:
    tree = tree_of(space)
    prefix = data.draw(st.sampled_from(nodes(tree)))
    below = [other for other in whole_prefixes(tree) if other[: len(prefix)] == prefix]
    if len(below) == 1:
        return
    drawn = tree.sample(prefix, 40 * len(below), np.random.default_rng(0)).configurations()
    counted = Counter(map(tree.prefix_of, drawn))
    assert stats.chisquare([counted[other] for other in below]).pvalue > 1e-6


@settings(LAW)
@given(marked(st.one_of(finite_spaces(), general_spaces())), st.integers(0, 1000), st.data())
def test_neighbours_stay_below_the_node(space: Space, seed: int, data: st.DataObject) -> None:
    tree, rng = tree_of(space), np.random.default_rng(seed)
    try:
        centre = tree.sample((), 1, rng).configurations()[0]
    except SamplingFailedError:
        return
    whole = tree.prefix_of(centre)
    prefix = whole[: data.draw(st.integers(0, len(whole)))]
    mine = structure_of(space, centre)
    kept, moved = tree.structure_of(prefix), Counter[str]()
    found = tree.neighbours(centre, prefix, rng)
    assert len({*found}) == len(found)
    for other in found:
        assert other != centre
        assert first_exclusion(space, other) is None
        theirs = structure_of(space, other)
        assert theirs.items() >= kept.items()
        if mine == theirs:
            moved[changed_value(space, centre, other)] += 1
        else:
            both = [address for address in mine.keys() & theirs.keys() if mine[address] != theirs[address]]
            assert len(both) == 1
            assert other == DefaultCompleter(tree.structures).complete(theirs)
    for node in space.hyperparameters:
        assert moved[node.address] <= MOVES_PER_NUMBER + sum(
            len(p.values) for p in parts(node.domain) if isinstance(p, Categorical)
        )


def changed_value(space: Space, centre: Configuration, other: Configuration) -> str:
    """The one hyperparameter that is active in both and differs."""
    before, after = Assignment.from_configuration(space, centre), Assignment.from_configuration(space, other)
    worths = [(node.address, before(node.address), after(node.address)) for node in space.hyperparameters]
    (address,) = [
        a for a, old, new in worths if old is not INACTIVE and new is not INACTIVE and not are_same_value(old, new)
    ]
    return address


@settings(LAW)
@given(marked(finite_spaces()), st.data())
def test_every_other_admissible_branch_is_a_neighbour(space: Space, data: st.DataObject) -> None:
    """Also where the decisions inside it cannot take their defaults: the other decisions stay as they are."""
    tree, rng = tree_of(space), np.random.default_rng(0)
    centre = tree.sample((), 1, rng).configurations()[0]
    whole, mine = tree.prefix_of(centre), structure_of(space, centre)
    prefix = whole[: data.draw(st.integers(0, len(whole)))]
    kept = tree.structure_of(prefix)
    expected = {
        exchanged(mine, dict(other))
        for other in brute.structures(space)
        if other >= kept.items() and len(changed_decisions(mine, dict(other))) == 1
    }
    found = {exchanged(mine, structure_of(space, other)) for other in tree.neighbours(centre, prefix, rng)}
    assert found - {()} == expected


def changed_decisions(mine: dict[str, str], theirs: dict[str, str]) -> list[str]:
    return [address for address in mine.keys() & theirs.keys() if mine[address] != theirs[address]]


def exchanged(mine: dict[str, str], theirs: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{address} = {theirs[address]}" for address in changed_decisions(mine, theirs))


# --- vectors -----------------------------------------------------------------------------------------------------


@settings(HALF)
@given(marked(st.one_of(finite_spaces(), general_spaces())), st.integers(0, 1000))
def test_vectors_lose_nothing(space: Space, seed: int) -> None:
    tree = tree_of(space)
    try:
        columns = tree.sample((), 30, np.random.default_rng(seed))
    except SamplingFailedError:
        return
    check_vectors(tree, columns.configurations())
    assert np.array_equal(tree.encode_all(columns), tree.encode_all(columns.configurations()))


@pytest.mark.full
@settings(LAW)
@given(marked(finite_spaces()))
def test_vectors_of_all_members_differ(space: Space) -> None:
    tree = tree_of(space)
    members = [Configuration.from_json(text) for text in sorted(brute.configurations(space))]
    vectors = check_vectors(tree, members)
    assert len({row.tobytes() for row in vectors}) == len(members)


def check_vectors(tree: StructuralTree, members: list[Configuration]) -> np.ndarray:
    vectors, features = tree.encode_all(members), tree.surrogate_features(members)
    assert vectors.shape == features.shape == (len(members), len(tree.feature_names))
    assert tree.decode_all(vectors) == members
    assert [member.identity for member in tree.decode_all(vectors)] == [member.identity for member in members]
    assert BatchBuilder(tree.space).build(members).configurations() == members
    for member, row, scaled in zip(members, vectors, features, strict=True):
        assert np.array_equal(tree.encode(member), row)
        assert tree.decode(row) == member
        assert tree.accepts(row)
        check_row(tree, member, dict(zip(tree.feature_names, scaled.tolist(), strict=True)))
    return vectors


def check_row(tree: StructuralTree, member: Configuration, features: dict[str, float]) -> None:
    """What a surrogate sees of a member: places, numbers on the unit interval, -1 for what is inactive."""
    worth = Assignment.from_configuration(tree.space, member)
    for address, feature in features.items():
        variable = tree.space.variables[address.partition(" ")[0]]
        value = worth(variable.address)
        if value is INACTIVE:
            assert feature == -1
        elif isinstance(variable.node, Choice):
            assert feature == variable.node.branch_indices[str(value)]
        elif address == variable.address:
            check_feature(variable.node.domain, value, feature)
        else:
            assert feature >= 0


def check_feature(domain: Domain, value: object, feature: float) -> None:
    part = next(part for part in parts(domain) if not isinstance(part.find(value), type(INACTIVE)) and has(part, value))
    if isinstance(part, Categorical):
        assert are_same_value(part.values[int(feature)], value)  # type: ignore[arg-type]
    else:
        assert 0 <= feature <= 1
        assert feature == pytest.approx(to_unit_function(part)(value), abs=1e-12)  # type: ignore[arg-type]


def has(part: Domain, value: object) -> bool:
    return repr(part.find(value)) != "MISSING"  # type: ignore[arg-type]


@settings(HALF)
@given(marked(finite_spaces()), st.data())
def test_a_row_is_reached_exactly_if_a_member_has_it(space: Space, data: st.DataObject) -> None:
    tree = tree_of(space)
    members = [Configuration.from_json(text) for text in sorted(brute.configurations(space))]
    vectors = tree.encode_all(members)
    known = {row.tobytes() for row in vectors}
    row = vectors[data.draw(st.integers(0, len(members) - 1))].copy()
    for _ in range(data.draw(st.integers(1, 2))):
        if len(row):
            place = data.draw(st.integers(0, len(row) - 1))
            row[place] = data.draw(st.sampled_from((-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 1e300, np.nan, np.inf)))
    assert tree.accepts(row) == ((row + 0.0).tobytes() in known)


EDGES = (
    (Real(-1.0, 1.0), (-1.0, -0.5, 1e-300, 5e-324, 0.1, 1.0)),
    (Real(-1.0, 1.0, lower_open=True), (-0.9999999999999999, 0.0)),
    (Real(-1e308, 1e308), (-1e308, -1.0, 0.0, 1.5, 1e308)),
    (Real(1e-300, 1e300, log=True), (1e-300, 1.0, 0.1 + 0.2, 1e300)),
    (Grid(-3, 4), (-3, -1, 0, 4)),
    (Grid(1 - 2**53, -1), (1 - 2**53, 2 - 2**53, -1)),
    (Grid(2**52, 2**52 + 100, step=10), (2**52, 2**52 + 100)),
    (Grid(1, 2**53 - 1, log=True), (1, 2**52 + 1, 2**53 - 2, 2**53 - 1)),
    (Union((Categorical((None, "x")), Real(-1.0, 1.0))), (None, "x", -1.0, 0.3)),
    (Union((Real(-2.5, -0.5), Grid(0, 2**50), Categorical((True,)))), (-1.0, 0, 2**50 - 1, True)),
    (Ordinal((1, True, (1, 2), "1", -1)), (1, True, (1, 2), "1", -1)),
    (Grid(5, 5), (5,)),
    (Real(0.25, 0.25), (0.25,)),
)


@pytest.mark.parametrize(("domain", "values"), EDGES, ids=lambda given: str(given)[:40])
def test_values_at_the_edges_of_what_floats_hold(domain: Domain, values: tuple[object, ...]) -> None:
    tree = StructuralTree(Structures(one(domain)))
    members = [Configuration({"s": "A", "s.x0": value}) for value in values]  # type: ignore[dict-item]
    vectors = tree.encode_all(members)
    assert [member.identity for member in tree.decode_all(vectors)] == [member.identity for member in members]
    assert all(map(tree.accepts, vectors))
    features = tree.surrogate_features(members)
    assert ((features >= 0) & np.isfinite(features)).all()
    inactive = tree.encode_all(members)[:, 1] == -1
    assert not inactive.any()
    drawn = tree.sample((), 50, np.random.default_rng(0))
    assert tree.decode_all(tree.encode_all(drawn)) == drawn.configurations()
    assert ((tree.surrogate_features(drawn) >= 0) & (tree.surrogate_features(drawn) <= max(1, len(values)))).all()
