"""The parts of MOSAIC: the search tree, its policy, playouts, the surrogate, and the replay of stored trials."""

import json
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import sqrt
from statistics import median
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng

from spacelang.ir.configuration import Configuration
from spacelang.ir.trial import Memo, Request, Trial
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.sampler import SamplingFailedError
from spacelang.sampling.value_codes import Array
from spacelang.surrogates.forest import FittedForest, Forest
from spacelang.targets.mosaic import Prefix, StructuralTree

MAX_ATTEMPTS: Final = 3  # The maximum number of candidates that a playout tries; if all of them fail, its reward is 0
ExhaustedNode: TypeAlias = tuple[Prefix, float | None]
"""A selected prefix that had nothing new below it, and the best reward known below it; None without one."""


class RewardSurrogate:
    """A random-forest surrogate of the reward, fitted to all successful trials.

    The forest and the draws of a node depend only on the data and the seed, so an interrupted search resumes with the
    same ones. Trials with the same first two decisions form a group, and all groups have the same weight.
    """

    def __init__(self, tree: StructuralTree, seed: int, *, trees: int, features: float, draws: int) -> None:
        """Create a surrogate with `trees`, a share of `features` for each split, and `draws` below each node."""
        self._tree, self._seed = tree, seed
        self._settings, self._draws = Forest(trees, features), draws
        self._features: list[Array] = []
        self._rewards: list[float] = []
        self._groups: list[int] = []
        self._group_numbers: dict[Prefix, int] = {}
        self._fitted: tuple[int, FittedForest] | None = None
        self._predictions: dict[Prefix, float] = {}
        self._cached_features = lru_cache(maxsize=MAX_CACHED_NODES)(self._draw_features)

    @property
    def best_reward(self) -> float:
        """The best known reward; 0 if there is none."""
        return max(self._rewards, default=0.0)

    def reward_range(self) -> tuple[float, float]:
        """Return the smallest and the largest reward of the successful trials; 0 for both if there is none."""
        return min(self._rewards, default=0.0), self.best_reward

    def record(self, configuration: Configuration, reward: float) -> None:
        """Add the reward of a successful trial."""
        group = self._tree.prefix_of(configuration)[:2]
        self._features.append(self._tree.surrogate_features([configuration])[0].astype(np.float32))
        self._rewards.append(reward)
        self._groups.append(self._group_numbers.setdefault(group, len(self._group_numbers)))

    def posterior(self, features: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation over the trees at m points, shape (m,) each; 0 without data."""
        trees = self._current_forest()
        return (np.zeros(len(features)), np.zeros(len(features))) if trees is None else trees.posterior(features)

    def predict_mean_rewards(self, prefixes: Sequence[Prefix]) -> Array:
        """Return the forest's mean over the random draws below each of n prefixes, shape (n,); 0 without data."""
        trees = self._current_forest()
        if trees is None:
            return np.zeros(len(prefixes))
        new = [prefix for prefix in prefixes if prefix not in self._predictions]
        if new:
            mean, _ = trees.posterior(np.vstack([self._cached_features(prefix).to_array() for prefix in new]))
            self._predictions.update(zip(new, mean.reshape(len(new), -1).mean(axis=1).tolist(), strict=True))
        return np.array([self._predictions[prefix] for prefix in prefixes])

    def ranked_candidates(
        self, prefix: Prefix, best: Configuration | None, seed: int, count: int
    ) -> Iterator[Configuration]:
        """Return `count` draws below a prefix and neighbours of `best`, or else of its default, best ones first."""
        rng = default_rng(seed)
        draws = draw_below_prefix(self._tree, prefix, count, rng)
        neighbours = self._tree.neighbours(self._tree.default_completion(prefix) if best is None else best, prefix, rng)
        features = np.vstack([self._tree.surrogate_features(each) for each in (draws, neighbours)])
        order = order_by_expected_improvement(self.best_reward, *self.posterior(features))
        found = [*(draws.configurations() if isinstance(draws, ConfigurationBatch) else draws), *neighbours]
        return (found[place] for place in order)

    def _current_forest(self) -> FittedForest | None:
        """Return the forest, refitted when the data have grown enough; None without data."""
        from spacelang.surrogates.gaussian_process import row_count_at_last_fit

        if not self._rewards:
            return None
        size = row_count_at_last_fit(len(self._rewards), REFIT_DIVISOR)
        if self._fitted is None or self._fitted[0] != size:
            rng = self._generator(FOREST_STREAM, size)
            rewards, groups = np.array(self._rewards[:size]), np.array(self._groups[:size])
            self._fitted = size, self._settings.fit(np.array(self._features[:size]), rewards, rng, groups)
            self._predictions.clear()
        return self._fitted[1]

    def _draw_features(self, prefix: Prefix) -> "_CompressedRows":
        rng = self._generator(NODE_STREAM, *json.dumps(prefix).encode())
        found = self._tree.surrogate_features(draw_below_prefix(self._tree, prefix, self._draws, rng))
        return _CompressedRows.compress(np.resize(found, (self._draws, found.shape[1])).astype(np.float32))

    def _generator(self, *words: int) -> Generator:
        return default_rng([self._seed, *words])


@dataclass(frozen=True, slots=True)
class Playout:
    """A playout below a prefix: the seed of its candidates, and the number of this candidate, counted from 1.

    `exhausted_nodes` are the prefixes that were selected before it and turned out to be exhausted, in their order. An
    evaluation outside a playout has no seed and is not retried.
    """

    prefix: Prefix
    seed: int | None = None
    attempt: int = MAX_ATTEMPTS
    exhausted_nodes: tuple[ExhaustedNode, ...] = ()

    @property
    def is_first_attempt(self) -> bool:
        """True for the first candidate of the playout, and for an evaluation outside a playout."""
        return self.seed is None or self.attempt == 1

    def next_attempt(self, *, is_last: bool) -> "Playout":
        """Return the playout of its next candidate; with `is_last` a failure of this one is not retried."""
        return replace(self, attempt=MAX_ATTEMPTS if is_last else self.attempt + 1, exhausted_nodes=())

    @property
    def memo(self) -> Memo:
        """The memo to store with the request, from which `from_request` restores the playout."""
        assert self.seed is not None, "an evaluation outside a playout has no memo"
        return (self.seed, self.attempt, json.dumps(self.prefix), *map(json.dumps, self.exhausted_nodes))

    @classmethod
    def from_request(cls, request: Request, tree: StructuralTree) -> "Playout":
        """Return the playout of a request, restored from its memo.

        A request without a memo is an evaluation outside a playout. Its prefix has the first decision alone.
        """
        if not request.memo:
            return cls(tree.prefix_of(request.configuration)[:1])
        seed, attempt, *texts = request.memo
        prefix, *dry = (json.loads(str(text)) for text in texts)
        return cls(tuple(prefix), int(seed), int(attempt), tuple((tuple(each), reward) for each, reward in dry))


def order_by_expected_improvement(best: float, mean: Array, deviation: Array) -> Array:
    """Return the indices of m candidates, (m,), by expected improvement of rewards over `best`, then by `mean`."""
    from spacelang.surrogates.gaussian_process import expected_improvement

    # The function assumes minimization, so rewards are negated.
    return np.lexsort((-mean, -expected_improvement(-best, -mean, deviation)))


REFIT_DIVISOR: Final = 20
"""The forest is refitted when the data have grown by one part in `REFIT_DIVISOR`, that is by 5 %."""
MAX_CACHED_NODES: Final = 512
"""The maximum number of nodes whose draws are cached; the draws of other nodes are repeated identically."""
FOREST_STREAM, NODE_STREAM = 0, 1  # Seed words that separate the random streams of forests and of nodes


def draw_below_prefix(
    tree: StructuralTree, prefix: Prefix, count: int, rng: Generator
) -> "ConfigurationBatch | list[Configuration]":
    """Draw `count` configurations below a prefix; its default alone if valid values are too rare to be drawn."""
    try:
        return tree.sample(prefix, count, rng)
    except SamplingFailedError:
        return [tree.default_completion(prefix)]


@dataclass(frozen=True, slots=True, eq=False)
class _CompressedRows:
    """A compressed feature matrix that stores only the columns that vary; most columns are inactive in a node."""

    first: Array
    columns: Array
    values: Array

    @classmethod
    def compress(cls, rows: Array) -> "_CompressedRows":
        columns = np.flatnonzero((rows != rows[0]).any(axis=0))
        return cls(rows[0].copy(), columns, rows[:, columns])

    def to_array(self) -> Array:
        found: Array = np.tile(self.first, (len(self.values), 1))
        found[:, self.columns] = self.values
        return found


NodePrediction: TypeAlias = Callable[[Sequence[Prefix]], Array]
"""A function that predicts the mean rewards below n prefixes, shape (n,)."""
BackupRule: TypeAlias = Literal["median", "best"]
ROUNDING_ERROR: Final = 1e-9  # The tolerance for powers of integers that are slightly below the integer they should be


@dataclass(slots=True)
class SearchTreeNode:
    """A visited prefix of decisions, with its rewards in ascending order and the number of visits still running."""

    prefix: Prefix
    children: dict[str, "SearchTreeNode"] = field(default_factory=dict)
    rewards: list[float] = field(default_factory=list)
    running_visits: int = 0
    is_exhausted: bool = False  # True if nothing new is left below the node; it is then not selected any more

    @property
    def visits(self) -> int:
        """The number of visits, including running ones, so that idle workers are sent to other nodes."""
        return len(self.rewards) + self.running_visits

    def median_reward(self, otherwise: float = 0.0) -> float:
        """Return the median of the rewards; `otherwise` if there are none."""
        return median(self.rewards) if self.rewards else otherwise

    def best_reward(self, otherwise: float = 0.0) -> float:
        """Return the largest reward; `otherwise` if there are none."""
        return self.rewards[-1] if self.rewards else otherwise

    def __iter__(self) -> Iterator["SearchTreeNode"]:
        """Yield the node and all nodes below it, parents before their children."""
        yield self
        for child in self.children.values():
            yield from child


@dataclass(slots=True)
class SearchTree:
    """The search tree: the root and all visited nodes."""

    root: SearchTreeNode = field(default_factory=lambda: SearchTreeNode(()))

    def path_to(self, prefix: Prefix) -> list[SearchTreeNode]:
        """Return the nodes from the root to a prefix, and create those that do not exist."""
        path = [self.root]
        for place, branch in enumerate(prefix, 1):
            children = path[-1].children
            if branch not in children:
                children[branch] = SearchTreeNode(prefix[:place])
            path.append(children[branch])
        return path

    def start_visit(self, prefix: Prefix) -> None:
        """Count a running visit at a prefix and at all nodes above it."""
        for node in self.path_to(prefix):
            node.running_visits += 1

    def finish_visit(self, prefix: Prefix, reward: float) -> None:
        """End a running visit: decrease `running_visits`, and record the reward at the prefix and every node above."""
        for node in self.path_to(prefix):
            node.running_visits -= 1
            insort(node.rewards, reward)

    def mark_exhausted(self, prefix: Prefix, reward: float | None) -> bool:
        """Mark a prefix as exhausted; return False if it was marked already.

        A `reward`, if not None, is recorded as one more visit at the prefix and at all nodes above it.
        """
        node = self.path_to(prefix)[-1]
        if node.is_exhausted:
            return False
        node.is_exhausted = True
        if reward is not None:
            self.start_visit(prefix)
            self.finish_visit(prefix, reward)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class TreePolicy:
    """The tree policy: PUCT and progressive widening.

    `actions` returns the branches that may follow a prefix. `predict` predicts the mean reward below prefixes. `c_ucb`
    is the weight of exploration. A node with n visits has at most n^`pw` children. The value of a node is its median or
    its best reward (`backup`). `reward_range` returns the smallest and the largest reward, which become 0 and 1 in
    values and predictions; without it, rewards are used as they are.
    """

    nodes: SearchTree
    actions: Callable[[Prefix], Sequence[str]]
    predict: NodePrediction
    c_ucb: float
    pw: float
    backup: BackupRule = "median"
    reward_range: Callable[[], tuple[float, float]] | None = None

    def next_playout_prefix(self) -> Prefix | None:
        """Return the prefix for the next playout; None if the whole tree is exhausted.

        The best child is selected, down to a complete structure or a node that may have another child. The missing
        child with the highest predicted reward is then returned.
        """
        node = self.nodes.root
        if node.is_exhausted:
            return None
        while actions := self.actions(node.prefix):
            if self._can_widen(node, len(actions)):
                new = [(*node.prefix, branch) for branch in actions if branch not in node.children]
                return new[int(self.predict(new).argmax())]
            node = self._best_child(node)
        return node.prefix

    def mark_exhausted(self, prefix: Prefix, reward: float | None) -> None:
        """Mark a prefix as exhausted, and so every node above it whose children all exist and are exhausted.

        A `reward`, if not None, is recorded as one more visit of the prefix.
        """
        if self.nodes.mark_exhausted(prefix, reward):
            for node in reversed(self.nodes.path_to(prefix)[:-1]):
                if len(node.children) < len(self.actions(node.prefix)) or not _are_exhausted(node):
                    return
                node.is_exhausted = True

    def _can_widen(self, node: SearchTreeNode, admissible: int) -> bool:
        """Return True if a node gets another child: all its children are exhausted, or it has fewer than it may have.

        It may have `max_children` for its visits, and at most `admissible`, the number of its branches.
        """
        return _are_exhausted(node) or len(node.children) < min(admissible, max_children(node.visits, self.pw))

    def _best_child(self, node: SearchTreeNode) -> SearchTreeNode:
        """Return the child with the highest score that is not exhausted, the first of equal ones."""
        children = [child for child in node.children.values() if not child.is_exhausted]
        quality = np.array([self._value(child, self._value(node)) for child in children])
        visits = np.array([child.visits for child in children])
        promise = self.predict([child.prefix for child in children])
        if self.reward_range is not None:
            known = self.reward_range()
            quality, promise = rescale_by_reward_range(quality, known), rescale_by_reward_range(promise, known)
        return children[int(puct_scores(quality, promise, visits, node.visits, self.c_ucb).argmax())]

    def _value(self, node: SearchTreeNode, otherwise: float = 0.0) -> float:
        return node.best_reward(otherwise) if self.backup == "best" else node.median_reward(otherwise)


def puct_scores(quality: Array, promise: Array, visits: Array, parent: int, c_ucb: float) -> Array:
    """Return quality + c_ucb * softmax(promise) * sqrt(parent) / (1 + visits), the PUCT scores of n children of a node.

    `parent` is the number of visits of the node; the arrays have shape (n,).
    """
    shares = np.exp(promise - promise.max())
    return np.asarray(quality + c_ucb * shares / shares.sum() * sqrt(parent) / (1 + visits))


def rescale_by_reward_range(values: Array, rewards: tuple[float, float]) -> Array:
    """Return n values, (n,), on the scale on which the smallest and the largest reward are 0 and 1, clipped to [0, 1].

    They are all 1/2 if the rewards are equal.
    """
    low, high = rewards
    return np.clip((values - low) / (high - low), 0.0, 1.0) if high > low else np.full(len(values), 0.5)


def max_children(visits: int, pw: float) -> int:
    """Return the maximum number of children after some visits: floor(visits^pw)."""
    return int(visits**pw + ROUNDING_ERROR)


def _are_exhausted(node: SearchTreeNode) -> bool:
    return all(child.is_exhausted for child in node.children.values())


def replay_trials(tree: StructuralTree, trials: Iterable[Trial]) -> SearchTree:
    """Return the search tree after these trials, in their order.

    A playout counts as one visit, whose reward is that of its last candidate. Trials that the search received again
    from the cache are not needed.
    """
    playouts = [(Playout.from_request(trial.request, tree), trial) for trial in trials]
    tried = {(playout.seed, playout.attempt) for playout, _ in playouts}
    nodes = SearchTree()
    for playout, trial in playouts:
        for prefix, reward in playout.exhausted_nodes:
            nodes.mark_exhausted(prefix, reward)
        later = range(playout.attempt + 1, MAX_ATTEMPTS + 1)
        if trial.loss is None and any((playout.seed, attempt) in tried for attempt in later):
            continue
        nodes.start_visit(playout.prefix)
        nodes.finish_visit(playout.prefix, 1.0 - trial.normalized_loss)
    return nodes
