"""The discrepancy tree: the paper's counts, large spaces, pruning, and what is printed."""

import json
from itertools import islice

import numpy as np
import pytest

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Real
from spacelang.ir.expr import And, BranchTest, Compare, Constant, Not, Or, Reference
from spacelang.ir.space import Branch, Choice, Constraint, Product, ProductKind, Space
from spacelang.solver.counting import Structures
from spacelang.targets.blds import Blds, DiscrepancyTree, Leaf
from spacelang.testing.small_spaces import (
    conditional_space,
    constrained_space,
    forbid,
    hyperparameter,
    make_space,
    nested_space,
    plain_space,
    require,
    span_of,
)


def tree_of(space: Space) -> DiscrepancyTree:
    return DiscrepancyTree(Structures(space))


@pytest.mark.parametrize(
    ("sizes", "one", "two"),
    [((8, 8, 6, 8), 26, 252), ((8, 11, 7, 11), 33, 402), ((6, 3, 6), 12, 45), ((2, 2, 2), 3, 3)],
)
def test_neighbours_of_the_papers_spaces(sizes: tuple[int, ...], one: int, two: int) -> None:
    tree = tree_of(plain_space(*sizes))
    for pipeline in (tree.default_pipeline, tree.random_leaf(np.random.default_rng(0))):
        assert tree.leaf_count_at(pipeline, 1) == one == len(list(tree.walk(pipeline, 1))) - 1
        assert tree.leaf_count_at(pipeline, 2) == two
        assert tree.leaf_count_within(pipeline, 2) == 1 + one + two == len(set(tree.walk(pipeline, 2)))


def test_the_numbers_of_blds_table_1() -> None:
    tree = tree_of(plain_space(8, 8, 6, 8))
    assert tree.leaf_count == 3072
    assert tree.leaf_count_within(tree.default_pipeline, 2) == 279
    assert len(list(tree.walk(tree.default_pipeline, 1))) + len(list(tree.walk(tree.default_pipeline, 2))) - 2 == 304
    assert tree.leaf_counts_by_discrepancy(tree.default_pipeline) == (1, 26, 252, 1078, 1715)


def test_the_walk_keeps_later_layers_once_the_discrepancy_is_used_up() -> None:
    tree = tree_of(plain_space(2, 3))
    assert list(tree.walk((1, 1), 0)) == [(1, 1)]
    assert list(tree.walk((1, 1), 1)) == [(0, 1), (1, 0), (1, 1), (1, 2)]
    assert list(tree.walk((1, 1), 2)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]


def test_decisions_that_a_neighbour_newly_reaches_take_their_default_at_no_cost() -> None:
    tree = tree_of(nested_space())
    assert [layer.address for layer in tree.layers] == ["a", "b", "b.q.in", "b.r.in", "b.r.in.y.at"]
    assert tree.default_pipeline == (1, 0, -1, -1, -1)
    assert list(tree.walk(tree.default_pipeline, 1)) == [
        (0, 0, -1, -1, -1),
        (1, 0, -1, -1, -1),
        (1, 1, 0, -1, -1),
        (1, 2, -1, 2, -1),
    ]


def test_a_walk_in_a_huge_space_costs_only_what_is_taken_from_it() -> None:
    tree = tree_of(plain_space(*[10] * 20))
    assert tree.leaf_count == 10**20
    assert tree.leaf_count_at(tree.default_pipeline, 1) == 180
    assert tree.leaf_count_at(tree.default_pipeline, 20) == 9**20
    assert list(islice(tree.iter_leaves(), 2)) == [(0,) * 20, (*(0,) * 19, 1)]
    assert len(list(islice(tree.walk(tree.random_leaf(np.random.default_rng(1)), 20), 1000))) == 1000


def test_a_walk_is_not_limited_by_the_depth_of_the_stack() -> None:
    tree = tree_of(plain_space(*[2] * 1500))
    assert len(list(tree.walk(tree.default_pipeline, 1))) == 1501


def test_prefixes_without_a_leaf_are_left_at_once() -> None:
    """The last stages exclude all but one of a million prefixes; without pruning this would not end."""
    stages = plain_space(*[2] * 20).stages
    equal = [
        require(
            Or(
                (
                    And((BranchTest(f"s{n}", ("a1",)), BranchTest(f"s{n + 1}", ("a1",)))),
                    Not(BranchTest(f"s{n + 1}", ("a1",))),
                )
            )
        )
        for n in range(19)
    ]
    space = make_space("chained", *stages, constraints=(*equal, require(BranchTest("s19", ("a1",)))))
    tree = tree_of(space)
    assert tree.leaf_count == 1
    assert list(tree.iter_leaves()) == [(1,) * 20]


def test_a_default_that_a_constraint_excludes_is_no_leaf() -> None:
    space = make_space(
        "s",
        *plain_space(2, 2).stages,
        constraints=(forbid(And((BranchTest("s0", ("a0",)), BranchTest("s1", ("a0",))))),),
    )
    tree = tree_of(space)
    assert not tree.is_leaf(tree.default_pipeline)
    assert tree.leaf_counts_by_discrepancy(tree.default_pipeline) == (0, 2, 1)
    assert list(tree.iter_leaves()) == [(0, 1), (1, 0), (1, 1)]


@pytest.mark.parametrize("pipeline", [(), (0,), (0, 0, 0), (2, 0), (-1, 0), (0, -1)])
def test_what_is_no_pipeline_is_no_leaf(pipeline: tuple[int, ...]) -> None:
    assert not tree_of(plain_space(2, 2)).is_leaf(pipeline)


def test_leaves_are_drawn_uniformly() -> None:
    tree, rng = tree_of(constrained_space()), np.random.default_rng(0)
    leaves = list(tree.iter_leaves())
    drawn = [tree.random_leaf(rng) for _ in range(200 * len(leaves))]
    statistic = sum((drawn.count(leaf) - 200) ** 2 / 200 for leaf in leaves)
    assert statistic < 60, "chi-square, far beyond the 99.9 % quantile for so few leaves"


def test_values_ride_along_and_a_leaf_alone_means_the_defaults() -> None:
    tree = tree_of(conditional_space())
    changed = Configuration({"s": "none", "e": "f", "e.f.low": 0, "e.f.high": 2})
    assert tree.encode(changed) == Leaf((0, 0), (("e.f.high", 2), ("e.f.low", 0)))
    assert tree.decode(Leaf((0, 1))) == Configuration({"s": "none", "e": "g", "e.g.kernel": "rbf"})
    assert tree.encode(tree.decode(Leaf((0, 1)))) == Leaf((0, 1))


def test_a_completion_moves_defaults_that_break_a_constraint() -> None:
    tree = tree_of(conditional_space())
    assert tree.complete((1, 1)) == Configuration({"s": "scale", "e": "g", "e.g.kernel": "poly", "e.g.degree": 3})


def test_the_document() -> None:
    document = tree_of(nested_space()).to_json()
    assert json.loads(json.dumps(document)) == {
        "layers": [
            {"stage": "a", "alternatives": ["m", "n"], "default": "n"},
            {"stage": "b", "alternatives": ["p", "q", "r"], "default": "p"},
            {
                "stage": "b.in",
                "alternatives": ["k", "l"],
                "default": "k",
                "address": "b.q.in",
                "owner": {"address": "b", "alternative": "q"},
            },
            {
                "stage": "b.in",
                "alternatives": ["x", "y", "z"],
                "default": "z",
                "address": "b.r.in",
                "owner": {"address": "b", "alternative": "r"},
            },
            {
                "stage": "b.in.at",
                "alternatives": ["u", "v"],
                "default": "v",
                "address": "b.r.in.y.at",
                "owner": {"address": "b.r.in", "alternative": "y"},
            },
        ],
        "leaves": 14,
        "neighbours": {"1": 3, "2": 5, "3": 4, "4": 1},
    }


def test_the_text() -> None:
    assert tree_of(nested_space()).to_text() == "\n".join(
        [
            "nested: 5 layers, 14 leaves",
            "● the heuristic's choice   ○ one discrepancy",
            "",
            "├─ a",
            "│     ● n  ○ m",
            "└─ b",
            "   │  ● p  ○ q  ○ r",
            "   ├─ b.in (with q)",
            "   │     ● k  ○ l",
            "   └─ b.in (with r)",
            "      │  ● z  ○ x  ○ y",
            "      └─ b.in.at (with y)",
            "            ● v  ○ u",
            "",
            "discrepancy   leaves",
            "          0   1",
            "          1   3",
            "          2   5",
            "          3   4",
            "          4   1",
        ]
    )


def test_long_lists_of_alternatives_are_broken_between_them() -> None:
    stage = Choice("s", "s", "s", tuple(Branch(f"Alternative{n}", Product(ProductKind.SEQUENCE)) for n in range(40)))
    lines = tree_of(make_space("long", stage)).to_text().splitlines()
    assert all(len(line) <= 110 for line in lines)
    assert not any(line.endswith(("●", "○")) for line in lines)


def test_the_graph_of_a_small_tree_has_every_leaf_and_that_of_a_large_one_every_alternative() -> None:
    small, large = tree_of(plain_space(2, 2)).to_dot(), tree_of(plain_space(8, 8, 6, 8)).to_dot()
    assert small.count("shape=plaintext") == 4
    assert small.count("2 discrepancies") == 1
    assert large.count("style=dashed") == 26
    assert "shape=plaintext" not in large


def test_names_are_quoted_in_graphs() -> None:
    space = Space('a "quoted" \\ name', plain_space(2).root)
    assert 'digraph "a \\"quoted\\" \\\\ name" {' in tree_of(space).to_dot()


def test_the_report_is_honest() -> None:
    text = "space s\nstage e = f\n  rate : float[0, 1]\nforbid x\nrequire y"
    stage = Choice("e", "e", "e", plain_space(2).stages[0].branches, 0, first=True, span=span_of(text, "stage"))
    rate = hyperparameter("rate", Real(0.0, 1.0), 0.5)
    space = make_space(
        "s",
        stage,
        rate,
        constraints=(
            forbid(BranchTest("e", ("a1",)), span_of(text, "forbid x")),
            Constraint(Compare("<", Reference("rate"), Constant(0.9)), False, span_of(text, "require y")),
        ),
    )
    report = [(entry.construct, entry.status.value, entry.lines) for entry in Blds().lower(Structures(space)).report]
    assert report == [
        ("decisions", "exact", (2,)),
        ("float ranges", "approximated", ()),
        ("constraints over decisions", "exact", (4,)),
        ("constraints over hyperparameters", "exact", (5,)),
        ("defaults", "exact", (2,)),
        ("`@first`", "approximated", (2,)),
    ]
