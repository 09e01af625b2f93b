"""The structural tree: the paper's space, orders of decisions, what is drawn below a node, vectors, what is printed."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import spacelang as sl
from spacelang.analysis import check
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Grid, Real, Union
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Reference
from spacelang.ir.space import Choice, Operator, Product, ProductKind, Space
from spacelang.ir.walk import structure_of
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import Preservation
from spacelang.targets.mosaic import Mosaic, StructuralTree
from spacelang.testing.small_spaces import (
    branch,
    choice,
    conditional_space,
    constrained_space,
    forbid,
    hyperparameter,
    make_space,
    nested_space,
    plain_space,
    span_of,
)
from spacelang.text import Source

PCS = Path(__file__).parents[4] / "shared" / "data" / "pcs" / "mosaic_1_0.pcs"


def tree_of(space: Space) -> StructuralTree:
    return StructuralTree(Structures(space))


def space_of(text: str) -> Space:
    checked = check(Source("made.space", text))
    assert checked.space is not None, checked.diagnostics
    return checked.space


def stages_of(tree: StructuralTree) -> list[str]:
    return [decision.address for decision in tree.decisions]


# --- the paper's space -------------------------------------------------------------------------------------------


def test_the_bundled_space_has_the_estimator_first() -> None:
    tree = tree_of(sl.load("mosaic").checked)
    assert stages_of(tree) == ["estimator", "imputation", "rescaling", "encoding", "preprocessor"]
    assert tree.count_structures(()) == 5_940
    assert len(tree.actions(())) == 16
    # 36 combinations of the other stages for each preprocessor that an estimator may follow.
    assert tree.structure_counts(())["MultinomialNB"] == 36
    assert tree.structure_counts(())["LinearSVC"] == 13 * 36
    assert tree.actions(("MultinomialNB", "mean", "none", "OneHotEncoder")) == ("RandomTreesEmbedding",)
    after = tree.actions(("KNeighborsClassifier", "mean", "none", "OneHotEncoder"))
    assert not {"KernelPCA", "RBFSampler", "Nystroem"} & {*after}


@pytest.mark.skipif(not PCS.exists(), reason="the published space is not beside this repository")
def test_the_published_space_is_the_papers() -> None:
    space = sl.import_space(PCS).space
    tree = tree_of(space.checked)
    assert stages_of(tree)[0] == "classifier"
    assert tree.count_structures(()) == 23_760 == sum(tree.structure_counts(()).values())
    rng = np.random.default_rng(0)
    drawn = tree.sample(("libsvm_svc",), 100, rng).configurations()
    assert all(configuration["classifier"] == "libsvm_svc" and configuration in space for configuration in drawn)


def test_no_structure_is_listed() -> None:
    tree = tree_of(plain_space(*[10] * 60))
    assert tree.count_structures(()) == 10**60
    assert tree.count_structures(("a3",) * 30) == 10**30
    assert json.loads(json.dumps(tree.to_json()))["structures"] == 10**60
    assert len(tree.sample(("a3",) * 30, 10, np.random.default_rng(0))) == 10


# --- the order of decisions --------------------------------------------------------------------------------------


def test_the_estimator_comes_first_and_inner_decisions_below_their_owner() -> None:
    assert stages_of(tree_of(plain_space(2, 3, 2))) == ["s2", "s0", "s1"]
    assert stages_of(tree_of(nested_space())) == ["b", "b.q.in", "b.r.in", "b.r.in.y.at", "a"]


def test_first_says_otherwise() -> None:
    first = Choice("b", "b", "b", choice("b", "p", "q").branches, first=True)
    assert stages_of(tree_of(make_space("m", choice("a", "m", "n"), first, choice("c", "k", "l")))) == ["b", "a", "c"]


def test_the_order_of_steps_is_a_decision() -> None:
    space = space_of(
        "space p\nabstract A\nabstract B\nabstract C\nabstract D\nstage one = A | B\nstage two = C\n"
        "stage last = D | A\npipeline = permute(one, two) -> last\n"
    )
    tree = tree_of(space)
    assert stages_of(tree) == ["last", "order", "one", "two"]
    assert tree.actions(("D",)) == ("one, two", "two, one")
    # Where the steps of a permutation end a pipeline no one step is the last.
    ended = space_of(
        "space p\nabstract A\nabstract B\nstage one = A | B\nstage two = A\npipeline = permute(one, two)\n"
    )
    assert stages_of(tree_of(ended)) == ["order", "one", "two"]


def test_decisions_about_a_given_estimator_come_first() -> None:
    inner = choice("e.inner", "x", "y")
    space = Space("given", Product(ProductKind.SEQUENCE, (choice("s", "m", "n"), Operator("E", "toy.E", (inner,)))))
    assert stages_of(tree_of(space)) == ["e.inner", "s"]


# --- nodes -------------------------------------------------------------------------------------------------------


def test_what_may_follow_has_a_completion() -> None:
    tree = tree_of(constrained_space())
    assert stages_of(tree) == ["c", "a", "b", "b.q.in", "b.r.in", "b.r.in.y.at"]
    assert tree.actions(()) == ("g", "h", "i")
    assert tree.actions(("g",)) == ("m",)  # n and g are forbidden together
    assert tree.actions(("g", "m")) == ("q", "r")  # p asks for i
    assert tree.actions(("g", "m", "r")) == ("z",)
    assert tree.actions(("g", "m", "r", "z")) == ()
    assert tree.decision_after(("g", "m", "r", "z")) is None
    assert tree.decision_after(("g", "m", "q")).address == "b.q.in"  # type: ignore[union-attr]
    assert tree.count_structures(("g", "m")) == 3
    assert tree.count_structures(("g", "m", "r", "z")) == 1


def test_a_node_that_constraints_over_values_empty_is_not_offered() -> None:
    """The values of `a.m` exclude p, those of `b.q` exclude q only together with the third stage."""
    size = hyperparameter("a.m.size", Grid(1, 9), 3)
    rules = (
        forbid(And((BranchTest("b", ("p",)), Compare(">=", Reference("a.m.size"), Constant(0))))),
        forbid(
            And((BranchTest("c", ("k",)), BranchTest("b", ("q",)), Compare("<", Reference("a.m.size"), Constant(99))))
        ),
    )
    stages = (choice("c", "k", "l"), choice("b", "p", "q"), choice("a", branch("m", size), "n"))
    tree = tree_of(make_space("values", *stages, constraints=rules))
    assert stages_of(tree) == ["a", "c", "b"]
    assert tree.actions(("m",)) == ("l",)
    assert tree.actions(("m", "l")) == ("q",)
    assert tree.structure_counts(("n",)) == {"k": 2, "l": 2}


@pytest.mark.parametrize("prefix", [("x",), ("g", "n"), ("g", "m", "r", "z", "z")])
def test_a_prefix_that_no_structure_begins_with_is_named(prefix: tuple[str, ...]) -> None:
    tree = tree_of(constrained_space())
    for ask in (tree.actions, tree.count_structures, tree.default_completion):
        with pytest.raises(ValueError, match=f"no admissible structure begins with .*{prefix[-1]}"):
            ask(prefix)


def test_default_completions_keep_the_prefix_and_what_they_can() -> None:
    tree = tree_of(constrained_space())
    assert tree.default_completion(()) == Configuration({"a": "n", "b": "p", "c": "i"})
    assert tree.default_completion(("h",)) == Configuration({"a": "n", "b": "r", "b.in": "z", "c": "h"})
    assert tree.default_completion(("h", "n", "q")) == Configuration({"a": "n", "b": "q", "b.in": "k", "c": "h"})
    assert tree.default_completion(("g", "m", "r")) == Configuration({"a": "m", "b": "r", "b.in": "z", "c": "g"})
    low = tree_of(conditional_space()).default_completion(("f",))
    assert low == Configuration({"s": "none", "e": "f", "e.f.low": 2, "e.f.high": 3})


# --- draws and neighbours ----------------------------------------------------------------------------------------


def test_structures_below_a_node_are_drawn_evenly_however_they_branch() -> None:
    tree = tree_of(constrained_space())
    drawn = tree.sample(("i", "n"), 3_000, np.random.default_rng(1)).configurations()
    counted = Counter(map(tree.prefix_of, drawn))
    assert set(counted) == {*tree.iter_leaves(("i", "n"))}
    assert len(counted) == 7  # p, two of q, x, z and two of y
    assert stats.chisquare([*counted.values()]).pvalue > 1e-3


def test_values_below_a_node_are_uniform_or_log_uniform() -> None:
    rate = hyperparameter("e.f.rate", Real(1e-3, 1.0, log=True), 0.1)
    share = hyperparameter("e.f.share", Real(0.0, 2.0), 1.0)
    tree = tree_of(make_space("m", choice("s", "none", "scale"), choice("e", branch("f", rate, share), "g")))
    drawn = tree.sample(("f", "scale"), 2_000, np.random.default_rng(2)).configurations()
    assert all(configuration["s"] == "scale" for configuration in drawn)
    assert stats.kstest(np.log10([c["e.f.rate"] for c in drawn]), stats.uniform(-3, 3).cdf).pvalue > 1e-3  # type: ignore[arg-type]
    assert stats.kstest([c["e.f.share"] for c in drawn], stats.uniform(0, 2).cdf).pvalue > 1e-3


def test_neighbours_leave_the_prefix_alone() -> None:
    tree, rng = tree_of(conditional_space()), np.random.default_rng(0)
    centre = Configuration({"s": "none", "e": "g", "e.g.kernel": "poly", "e.g.degree": 2})
    values = [
        Configuration({"s": "none", "e": "g", "e.g.kernel": "rbf"}),
        Configuration({"s": "none", "e": "g", "e.g.kernel": None}),
    ]  # a degree of 3 lies two and a half deviations away
    scaled = Configuration({"s": "scale", "e": "g", "e.g.kernel": "poly", "e.g.degree": 3})
    other = Configuration({"s": "none", "e": "f", "e.f.low": 2, "e.f.high": 3})
    assert {*tree.neighbours(centre, (), rng)} == {*values, scaled, other}
    assert {*tree.neighbours(centre, ("g",), rng)} == {*values, scaled}
    assert {*tree.neighbours(centre, ("g", "none"), rng)} == {*values}


def test_an_alternative_is_a_neighbour_also_where_its_inner_default_is_excluded() -> None:
    inner = choice("e.f.inner", "x", "y", "z")
    rule = forbid(And((BranchTest("s", ("scale",)), BranchTest("e.f.inner", ("x",)))))
    tree = tree_of(
        make_space("m", choice("s", "none", "scale"), choice("e", branch("f", inner), "g"), constraints=(rule,))
    )
    centre = Configuration({"s": "scale", "e": "g"})
    found = tree.neighbours(centre, (), np.random.default_rng(0))
    assert {*found} == {
        Configuration({"s": "none", "e": "g"}),
        Configuration({"s": "scale", "e": "f", "e.f.inner": "y"}),
    }
    assert len(found) == 2
    assert structure_of(tree.space, found[1])["s"] == "scale"


# --- vectors -----------------------------------------------------------------------------------------------------


def test_vectors_hold_places_numbers_and_minus_one() -> None:
    gamma = hyperparameter("e.f.gamma", Union((Categorical(("scale", "auto")), Real(0.01, 100.0, log=True))), "scale")
    shift = hyperparameter("e.f.shift", Real(-1.0, 3.0), 0.0)
    depth = hyperparameter("e.g.depth", Grid(1, 11), 3)
    tree = tree_of(
        make_space("m", choice("s", "none", "scale"), choice("e", branch("f", gamma, shift), branch("g", depth)))
    )
    assert tree.feature_names == (
        "e",
        "s",
        "e.f.gamma (part)",
        "e.f.gamma",
        "e.f.shift (part)",
        "e.f.shift",
        "e.g.depth",
    )
    members = [
        Configuration({"s": "scale", "e": "f", "e.f.gamma": "auto", "e.f.shift": -1.0}),
        Configuration({"s": "none", "e": "f", "e.f.gamma": 10.0, "e.f.shift": 0.0}),
        Configuration({"s": "none", "e": "g", "e.g.depth": 6}),
    ]
    vectors = tree.encode_all(members)
    assert vectors.tolist() == [
        [0, 1, 0, 1, 0, -1, -1],
        [0, 0, 1, 10, 0, 0, -1],
        [1, 0, -1, -1, -1, -1, 6],
    ]
    assert tree.decode_all(vectors) == members
    features = tree.surrogate_features(members)
    assert np.allclose(features, [[0, 1, 0, 1, 0, 0, -1], [0, 0, 1, 0.75, 0, 0.25, -1], [1, 0, -1, -1, -1, -1, 0.5]])


def test_rows_that_no_member_has_are_not_reached() -> None:
    tree = tree_of(conditional_space())
    row = tree.encode(Configuration({"s": "none", "e": "f", "e.f.low": 0, "e.f.high": 1}))
    assert tree.accepts(row)
    for place, entry in (
        (0, 2.0),
        (0, 0.5),
        (1, -1.0),
        (2, 1.0),
        (2, 0.5),
        (2, np.inf),
        (3, np.nan),
        (4, 0.0),
        (4, 9e18),
    ):
        other = row.copy()
        other[place] = entry
        assert not tree.accepts(other)
    assert not tree.accepts(row[:-1])


# --- documents ---------------------------------------------------------------------------------------------------


def test_the_document() -> None:
    document = tree_of(nested_space()).to_json()
    assert document["decisions"] == ["b", "b.q.in", "b.r.in", "b.r.in.y.at", "a"]
    assert document["structures"] == 14
    assert document["default"] == {"a": "n", "b": "p"}
    assert document["root"] == [
        {"alternative": "p", "structures": 2},
        {"alternative": "q", "structures": 4},
        {"alternative": "r", "structures": 8},
    ]
    levels = document["tree"]
    assert levels[1] == {  # type: ignore[index]
        "decision": "b.q.in",
        "stage": "b.in",
        "alternatives": ["k", "l"],
        "default": "k",
        "owner": {"decision": "b", "alternative": "q"},
    }


def test_the_text_is_the_tree_along_the_default_path() -> None:
    lines = tree_of(nested_space()).to_text().splitlines()
    assert lines == [
        "nested: 14 structures",
        "● default path   ○ leaves the path   with the number of structures below",
        "",
        "b",
        "├─ ○ q     4",
        "├─ ○ r     8",
        "└─ ● p     2",
        "   a",
        "   ├─ ○ m  1",
        "   └─ ● n  1",
    ]


def test_the_text_follows_the_nearest_path_where_defaults_are_excluded() -> None:
    rule = forbid(And((BranchTest("s0", ("a0",)), BranchTest("s1", ("a0",)))))
    space = plain_space(2, 2)
    tree = tree_of(Space(space.name, space.root, (rule,)))
    assert tree.to_text().splitlines()[3:] == [
        "s1",
        "├─ ○ a1     2",
        "└─ ● a0     1",
        "   s0",
        "   └─ ● a1  1",
    ]


def test_the_graph_has_the_default_path_and_what_leaves_it() -> None:
    lines = tree_of(plain_space(2, 2)).to_dot().splitlines()
    assert sum("style=dashed" in line for line in lines) == 2
    assert sum("->" in line for line in lines) == 4
    assert sum("2 structures" in line for line in lines) == 2


def test_what_first_can_only_say_inside_a_branch_is_told() -> None:
    text = "stage e = f { inner @first }"
    inner = Choice(
        "inner", "e.f.inner", "e.inner", choice("i", "x", "y").branches, first=True, span=span_of(text, "inner")
    )
    other = choice("e.f.other", "k", "l")
    form = Mosaic().lower(Structures(make_space("m", choice("s", "m"), choice("e", branch("f", other, inner)))))
    assert stages_of(form.form) == ["e", "e.f.inner", "e.f.other", "s"]
    (entry,) = [entry for entry in form.report if entry.construct == "`@first`"]
    assert (entry.status, entry.lines) == (Preservation.APPROXIMATED, (1,))
