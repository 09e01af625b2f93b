"""The parts of MOSAIC: its policy, its surrogate and its playouts, by the numbers."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacelang.ir.domain import Real
from spacelang.ir.space import Space
from spacelang.ir.trial import Request
from spacelang.optimizers._mosaic import (
    Playout,
    RewardSurrogate,
    SearchTree,
    SearchTreeNode,
    TreePolicy,
    max_children,
    order_by_expected_improvement,
    puct_scores,
    rescale_by_reward_range,
)
from spacelang.sampling.value_codes import Array
from spacelang.solver.counting import Structures
from spacelang.surrogates.forest import Forest
from spacelang.targets.mosaic import Prefix, StructuralTree
from spacelang.testing.small_spaces import branch, choice, constrained_space, hyperparameter, make_space, plain_space

LAW = settings(max_examples=6, deadline=None)
SIZES: dict[str, Any] = {"trees": 3, "features": 0.5, "draws": 8}


def equal(prefixes: Sequence[Prefix]) -> Array:
    """A surrogate that promises the same of all."""
    return np.zeros(len(prefixes))


def pair() -> StructuralTree:
    """Two stages, of which an alternative of the first in the tree has a number."""
    rate = hyperparameter("e.f.rate", Real(0.0, 1.0), 0.5)
    return StructuralTree(Structures(make_space("pair", choice("s", "a", "b"), choice("e", branch("f", rate), "g"))))


# ---- the policy


def test_the_scores_of_children() -> None:
    quality, promise, visits = np.array([0.8, 0.7, 0.6]), np.array([0.8, 0.75, 0.7]), np.array([4, 2, 0])
    found = puct_scores(quality, promise, visits, 6, 1.3)
    assert found == pytest.approx([1.022988, 1.053521, 1.608837], abs=1e-6)
    assert found.argmax() == 2
    assert puct_scores(quality, promise + 1e4, visits, 6, 1.3) == pytest.approx(found)


def test_what_is_promised_counts_as_shares() -> None:
    shares = puct_scores(np.zeros(3), np.array([0.8, 0.75, 0.7]), np.zeros(3), 1, 1.0)
    assert shares == pytest.approx([0.350132, 0.333056, 0.316812], abs=1e-6)
    assert shares.sum() == pytest.approx(1)


def test_how_many_children_a_node_may_have() -> None:
    found = [max_children(visits, 0.6) for visits in range(1, 25)]
    assert found == [1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6]
    # Powers that are whole numbers, which floats miss by a little.
    assert [max_children(base**5, 0.6) for base in range(2, 7)] == [base**3 for base in range(2, 7)]


def test_the_quality_of_a_node_is_the_median_of_its_rewards() -> None:
    nodes = SearchTree()
    for reward in (0.2, 0.9, 0.8):
        nodes.start_visit(("a", "b"))
        nodes.finish_visit(("a", "b"), reward)
    assert [(node.median_reward(), node.visits) for node in nodes.root] == [(0.8, 3)] * 3
    assert SearchTreeNode(("x",)).median_reward(0.7) == 0.7


@LAW
@given(st.lists(st.tuples(st.sampled_from([(), ("a",), ("a", "x"), ("b",)]), st.floats(0, 1)), max_size=20))
def test_visits_are_the_rewards_backed_up_through_a_node(visits: list[tuple[Prefix, float]]) -> None:
    nodes = SearchTree()
    for prefix, _ in visits:
        nodes.start_visit(prefix)
    for prefix, reward in visits:
        nodes.finish_visit(prefix, reward)
    for node in nodes.root:
        below = sorted(reward for prefix, reward in visits if prefix[: len(node.prefix)] == node.prefix)
        assert (node.rewards, node.visits, node.running_visits) == (below, len(below), 0)
        assert sum(child.visits for child in node.children.values()) <= node.visits


@pytest.mark.parametrize("rewards", [{"x": 0.9, "y": 0.5, "z": 0.4}, {"x": 0.5, "y": 0.5, "z": 0.5}])
def test_with_a_constant_surrogate_visits_follow_the_formula(rewards: dict[str, float]) -> None:
    """Beside a bandit of a few lines that knows nothing of trees."""
    nodes = SearchTree()
    policy = TreePolicy(nodes, lambda prefix: () if prefix else tuple(rewards), equal, 1.3, 0.6)
    counts = dict.fromkeys(rewards, 1)
    for arm, reward in rewards.items():
        nodes.start_visit((arm,))
        nodes.finish_visit((arm,), reward)
    for _ in range(200):
        total = sum(counts.values())
        best = max(counts, key=lambda arm: rewards[arm] + 1.3 / 3 * total**0.5 / (1 + counts[arm]))
        counts[best] += 1
        prefix = policy.next_playout_prefix()
        assert prefix == (best,)
        nodes.start_visit(prefix)
        nodes.finish_visit(prefix, rewards[best])
    assert {arm: node.visits for arm, node in zip(counts, [*nodes.root][1:], strict=True)} == counts


def test_what_is_under_way_sends_others_elsewhere() -> None:
    nodes = SearchTree()
    policy = TreePolicy(nodes, lambda prefix: () if prefix else ("x", "y", "z"), equal, 1.3, 0.6)
    for arm in ("x", "y", "z"):
        nodes.start_visit((arm,))
        nodes.finish_visit((arm,), 0.5)
    begun = []
    for _ in range(9):
        begun.append(policy.next_playout_prefix())
        assert begun[-1] is not None
        nodes.start_visit(begun[-1])
    assert sorted(map(begun.count, (("x",), ("y",), ("z",)))) == [3, 3, 3]


def test_a_node_is_expanded_by_what_is_promised_most_of() -> None:
    actions = {(): ("a",), ("a",): ("p", "q", "r")}
    nodes = SearchTree()

    def promise(prefixes: Sequence[Prefix]) -> Array:
        return np.array([{"p": 0.1, "q": 0.9, "r": 0.5}.get(prefix[-1], 0.0) for prefix in prefixes])

    policy = TreePolicy(nodes, lambda prefix: actions.get(prefix, ()), promise, 1.3, 0.6)
    nodes.start_visit(("a",))
    nodes.finish_visit(("a",), 0.5)
    expanded = []
    for _ in range(9):
        prefix = policy.next_playout_prefix()
        assert prefix is not None
        if prefix not in expanded:
            expanded.append(prefix)
        nodes.start_visit(prefix)
        nodes.finish_visit(prefix, 0.5)
    assert expanded == [("a", "q"), ("a", "r"), ("a", "p")]


def test_what_is_exhausted_is_not_selected_again() -> None:
    tree = StructuralTree(Structures(constrained_space()))
    nodes = SearchTree()
    policy = TreePolicy(nodes, tree.actions, equal, 1.3, 0.6)
    leaves = []
    while (prefix := policy.next_playout_prefix()) is not None:
        if tree.decision_after(prefix) is None:
            leaves.append(prefix)
            policy.mark_exhausted(prefix, 0.5)
        else:
            nodes.start_visit(prefix)
            nodes.finish_visit(prefix, 0.5)
    assert sorted(leaves) == sorted(tree.iter_leaves())
    assert all(node.is_exhausted for node in nodes.root)
    assert not nodes.mark_exhausted((), 0.5), "a last visit is counted once"


rewards_of_arms = st.lists(
    st.lists(st.integers(0, 1_024).map(lambda n: n / 1_024), min_size=1, max_size=5), min_size=2, max_size=4
)


def visited(arms: list[list[float]]) -> SearchTree:
    nodes = SearchTree()
    for arm, rewards in enumerate(arms):
        for reward in rewards:
            nodes.start_visit((str(arm),))
            nodes.finish_visit((str(arm),), reward)
    return nodes


def policy_of(arms: list[list[float]], backup: Literal["median", "best"], *, c_ucb: float = 1.3) -> TreePolicy:
    nodes = visited(arms)
    names = tuple(str(arm) for arm in range(len(arms)))
    known = nodes.root.rewards
    return TreePolicy(
        nodes, lambda prefix: () if prefix else names, equal, c_ucb, 0.6, backup, lambda: (known[0], known[-1])
    )


@LAW
@given(
    rewards_of_arms,
    st.sampled_from(["median", "best"]),
    st.sampled_from([0.5, 0.25, 0.125]),
    st.sampled_from([0.0, 0.25, 0.5]),
)
def test_rescaled_rewards_select_the_same_on_any_scale(
    arms: list[list[float]], backup: Literal["median", "best"], width: float, origin: float
) -> None:
    """The numbers are sums of powers of two, so that nothing is rounded."""
    scaled = [[origin + width * reward for reward in rewards] for rewards in arms]
    assert policy_of(arms, backup).next_playout_prefix() == policy_of(scaled, backup).next_playout_prefix()


def test_the_best_reward_counts_instead_of_the_median() -> None:
    arms = [[0.1, 0.2, 0.9], [0.4, 0.5, 0.6]]
    assert policy_of(arms, "best", c_ucb=0.0).next_playout_prefix() == ("0",)
    assert policy_of(arms, "median", c_ucb=0.0).next_playout_prefix() == ("1",)


def test_rescaled_values_are_between_the_worst_and_the_best_reward() -> None:
    assert rescale_by_reward_range(np.array([0.0, 0.2, 0.3, 0.9]), (0.2, 0.4)).tolist() == pytest.approx(
        [0.0, 0.0, 0.5, 1.0]
    )
    assert rescale_by_reward_range(np.array([0.3, 0.9]), (0.3, 0.3)).tolist() == [0.5, 0.5]


# ---- the surrogate


@LAW
@given(st.permutations(range(6)), st.integers(0, 5))
def test_what_is_promised_depends_on_no_order_of_asking(order: list[int], count: int) -> None:
    tree = pair()
    prefixes: list[Prefix] = [("f",), ("g",), ("f", "a"), ("f", "b"), ("g", "a"), ("g", "b")]
    first, second = RewardSurrogate(tree, 7, **SIZES), RewardSurrogate(tree, 7, **SIZES)
    members = tree.sample((), 5, np.random.default_rng(0)).configurations()
    for place, member in enumerate(members[:count]):
        for surrogate in (first, second):
            surrogate.record(member, place / 10)
        second.predict_mean_rewards([prefixes[order[0]]])
    asked = [prefixes[place] for place in order]
    alone = np.array([float(first.predict_mean_rewards([prefix])[0]) for prefix in asked])
    assert np.array_equal(alone, second.predict_mean_rewards(asked))
    assert count or not alone.any()


def test_a_promise_is_the_mean_over_the_draws_of_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = pair()
    surrogate = RewardSurrogate(tree, 1, trees=3, features=0.5, draws=200)
    surrogate.record(tree.default_completion(()), 0.5)

    class Identity:
        def posterior(self, features: Array) -> tuple[Array, Array]:
            return features[:, tree.feature_names.index("e.f.rate")], np.ones(len(features))

    monkeypatch.setattr(Forest, "fit", lambda *_: Identity())
    found = surrogate.predict_mean_rewards([("f",), ("f", "b"), ("g",)])
    assert found[:2] == pytest.approx([0.5, 0.5], abs=0.1)
    assert found[2] == -1, "inactive in all draws"
    assert found[0] != found[1], "each node has draws of its own"


def test_points_with_the_same_first_two_decisions_are_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = StructuralTree(Structures(plain_space(2, 2, 2)))
    seen: list[Array] = []

    def fitted(_: Forest, points: Array, numbers: Array, rng: Any, groups: Array) -> Any:
        seen.append(groups)
        return None

    monkeypatch.setattr(Forest, "fit", fitted)
    surrogate = RewardSurrogate(tree, 0, **SIZES)
    members = tree.sample((), 12, np.random.default_rng(0)).configurations()
    for member in members:
        surrogate.record(member, 0.5)
    surrogate.posterior(np.zeros((0, 3)))
    starts = [tree.prefix_of(member)[:2] for member in members]
    assert len(set(starts)) > 2
    assert [starts.index(start) for start in starts] == [[*seen[0]].index(group) for group in seen[0]]


def test_the_forest_is_fitted_again_once_the_data_have_grown_by_a_twentieth(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = StructuralTree(Structures(plain_space(2, 2)))
    sizes: list[int] = []

    def fitted(_: Forest, points: Array, *others: object) -> None:
        sizes.append(len(points))

    monkeypatch.setattr(Forest, "fit", fitted)
    surrogate = RewardSurrogate(tree, 0, **SIZES)
    for _ in range(100):
        surrogate.record(tree.default_completion(()), 0.5)
        surrogate.posterior(np.zeros((0, 2)))
    assert sizes[:40] == [*range(1, 41)]
    assert sizes[40:] == [42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 63, 66, 69, 72, 75, 78, 81, 85, 89, 93, 97]


# ---- playouts


def test_what_promises_more_is_evaluated_first() -> None:
    """An implementation that takes the least improvement would take the other one."""
    assert [*order_by_expected_improvement(0.7, np.array([0.6, 0.9]), np.array([0.05, 0.05]))] == [1, 0]
    assert [*order_by_expected_improvement(0.7, np.array([0.6, 0.6, 0.6]), np.array([0.1, 0.3, 0.2]))] == [1, 2, 0]
    # Without any deviation, and nothing better than the best, the mean decides; then what was drawn first.
    assert [*order_by_expected_improvement(0.7, np.array([0.5, 0.6, 0.6]), np.zeros(3))] == [1, 2, 0]


@LAW
@given(
    st.lists(st.text(), max_size=3).map(tuple),
    st.integers(0, 2**62),
    st.integers(1, 3),
    st.lists(st.tuples(st.lists(st.text(), max_size=2).map(tuple), st.none() | st.floats(0, 1)), max_size=3).map(tuple),
)
def test_a_memo_is_read_as_it_was_meant(prefix: Prefix, seed: int, attempt: int, dry: Any) -> None:
    tree = pair()
    playout = Playout(prefix, seed, attempt, dry)
    assert Playout.from_request(Request(tree.default_completion(()), memo=playout.memo), tree) == playout


def test_without_a_memo_a_trial_belongs_to_its_first_decision() -> None:
    tree = pair()
    assert Playout.from_request(Request(tree.default_completion(("g",))), tree) == Playout(("g",))
    alone = StructuralTree(Structures(make_space("alone", hyperparameter("x", Real(0.0, 1.0), 0.5))))
    assert Playout.from_request(Request(alone.default_completion(())), alone) == Playout(())


def test_spaces_of_one_stage_are_trees_as_well() -> None:
    space: Space = plain_space(3)
    tree = StructuralTree(Structures(space))
    policy = TreePolicy(SearchTree(), tree.actions, equal, 1.3, 0.6)
    assert policy.next_playout_prefix() == ("a0",)
