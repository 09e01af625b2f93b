"""Random pipelines and configurations without repetition; finite spaces are exhausted by enumeration."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain, count
from math import inf, prod
from typing import Final, Generic, Literal, TypeVar

from numpy.random import Generator, default_rng

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain, parts
from spacelang.ir.membership import first_exclusion
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.trial import Request
from spacelang.ir.value import Value
from spacelang.ir.walk import Structure, assemble_configuration, walk_reached_variables
from spacelang.sampling.sampler import Sampler, SamplingFailedError
from spacelang.targets.blds import DiscrepancyTree, Pipeline

MAX_LISTED_COMBINATIONS: Final = 1_000_000
"""A structure with more combinations of values than this is sampled instead of enumerated."""


@renamed_attributes(each_once="each_once_in_random_order")
class UniqueConfigurations:
    """The configurations of a space: structures drawn uniformly or by `@weight`, values uniformly or by `@prior`."""

    def __init__(self, tree: DiscrepancyTree, rng: Generator) -> None:
        self._tree = tree
        self._draws = HyperparameterSampler(tree)
        self._rng = rng

    def each_once_in_random_order(self) -> Iterator[Configuration]:
        """Yield every configuration once: draws, until `MAX_REPEATED_DRAWS` in a row are repeated, then the others."""
        asked: set[Configuration] = set()
        repeated = 0
        drawn = self._draw_endlessly() if self._tree.leaf_count else iter(())
        while repeated < MAX_REPEATED_DRAWS and (configuration := next(drawn, None)) is not None:
            repeated = repeated + 1 if configuration in asked else 0
            if not repeated:
                asked.add(configuration)
                yield configuration
        for configuration in self._enumerate_all(asked):
            if configuration not in asked:
                asked.add(configuration)
                yield configuration

    def _draw_endlessly(self) -> Iterator[Configuration]:
        # Drawing many configurations in one batch is much faster than drawing them one by one.
        try:
            while True:
                yield from list(self._draws.sampler.configurations(BATCH_SIZE, self._rng))
        except SamplingFailedError:
            pass
        while True:
            yield self._draw_configuration(self._tree.random_leaf(self._rng))

    def _draw_configuration(self, leaf: Pipeline) -> Configuration:
        return self._draws.draw_configuration(leaf, self._rng)

    def _enumerate_all(self, asked: set[Configuration]) -> Iterator[Configuration]:
        """Yield every configuration, leaf by leaf, those in `asked` and repeated ones included.

        The caller skips the configurations in `asked`, and adds the others to it.

        A leaf with too many values is sampled instead, round after round until a whole round adds nothing to `asked`.
        """
        known, is_endless = -1, True
        while is_endless and len(asked) > known:
            known, is_endless = len(asked), False
            for leaf in self._tree.iter_leaves():
                structure = self._tree.structure_of(leaf)
                if _count_combinations(self._tree.space, structure) <= MAX_LISTED_COMBINATIONS:
                    yield from enumerate_members(self._tree.space, structure)
                else:
                    is_endless = True
                    yield from (self._draw_configuration(leaf) for _ in range(MAX_REPEATED_DRAWS))


def enumerate_members(space: Space, structure: Structure) -> Iterator[Configuration]:
    """Yield all members of a structure whose domains are finite, lazily, in the order of their values."""
    places: list[int] = []
    while True:
        sizes: list[int] = []

        def value_of(node: Hyperparameter, sizes: list[int] = sizes) -> Value:
            # Up to the last position the hyperparameters are those of the previous configuration; later ones may vary.
            if len(sizes) == len(places):
                places.append(0)
            assert node.domain.size is not None
            sizes.append(node.domain.size)
            return _value_at(node.domain, places[len(sizes) - 1])

        configuration = assemble_configuration(space, structure, value_of)
        if first_exclusion(space, configuration) is None:
            yield configuration
        while places and places[-1] + 1 == sizes[len(places) - 1]:
            places.pop()
        if not places:
            return
        places[-1] += 1


def _count_combinations(space: Space, structure: Structure) -> float:
    """Return an upper bound on the number of value combinations of a structure; infinity for a continuous range."""
    nodes = [variable.node for variable, _ in walk_reached_variables(space, lambda choice: structure[choice.address])]
    sizes = [node.domain.size for node in nodes if isinstance(node, Hyperparameter)]
    return inf if None in sizes else prod(size for size in sizes if size is not None)


def _value_at(domain: Domain, place: int) -> Value:
    for part in parts(domain):
        assert part.size is not None
        if place < part.size:
            return part.value_at(place)
        place -= part.size
    raise IndexError(place)


class ConfigurationPerPipeline:
    """One configuration per pipeline, the same for every number of rows and every order of requests.

    With the rule `default` every hyperparameter has its default (see `DiscrepancyTree.complete`). With `sample` the
    hyperparameters are drawn as in random search, by a random generator that is seeded per pipeline.
    """

    def __init__(self, tree: DiscrepancyTree, rule: Literal["default", "sample"], rng: Generator) -> None:
        self.configuration_of: Callable[[Pipeline], Configuration] = tree.complete
        """Returns the configuration of a pipeline."""
        if rule == "sample":
            self._seed = int(rng.integers(1 << 63))
            self._draws = HyperparameterSampler(tree)
            self.configuration_of = lru_cache(maxsize=8192)(self._draw)

    def _draw(self, pipeline: Pipeline) -> Configuration:
        return self._draws.draw_configuration(pipeline, default_rng([self._seed, *(place + 1 for place in pipeline)]))


class HyperparameterSampler:
    """A sampler of a pipeline's hyperparameters, each uniform over its domain or drawn from its prior."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self.sampler = Sampler(tree.structures, advised=True)

    def draw_configuration(self, pipeline: Pipeline, rng: Generator) -> Configuration:
        """Draw a configuration of the pipeline; its default if values that satisfy the constraints are too rare."""
        try:
            return self.sampler.configuration(rng, self._tree.structure_of(pipeline))
        except SamplingFailedError:
            return self._tree.complete(pipeline)


MAX_REPEATED_DRAWS: Final = 100
"""After this many repeated draws in a row fewer than 1 % are new, and the rest is enumerated."""
BATCH_SIZE: Final = 128
"""How many leaves or configurations are drawn at a time, and trials started in a round of `daub`."""
MAX_LISTED_LEAVES: Final = 10_000  # A tree with more leaves is never listed in memory


class RandomLeaves:
    """The leaves of a tree in random order after the leaves in `first`; a large tree is never listed in memory."""

    def __init__(self, tree: DiscrepancyTree, rng: Generator, first: tuple[Pipeline, ...] = ()) -> None:
        self._tree, self._rng = tree, rng
        self._first = first
        """The leaves that come first and were not drawn yet."""

    def draw(self, number: int) -> list[Pipeline]:
        """Return `number` different leaves, drawn uniformly after those in `first`; all leaves if there are no more."""
        first, self._first = self._first[:number], self._first[number:]
        return [*dict.fromkeys((*first, *self._draw_distinct(number)))][:number]

    def each_once_in_random_order(self) -> Iterator[Pipeline]:
        """Yield every leaf once: random draws while they find new leaves, then the others in text order."""
        first, self._first = dict.fromkeys(self._first), ()
        yield from first
        yield from (leaf for leaf in self._each_once_without_first() if leaf not in first)

    def _draw_distinct(self, number: int) -> list[Pipeline]:
        wanted = min(number, self._tree.leaf_count)
        if self._tree.leaf_count <= max(MAX_LISTED_LEAVES, 2 * wanted):
            return [self._listed[n] for n in self._rng.choice(len(self._listed), size=wanted, replace=False)]
        found: dict[Pipeline, None] = {}
        while len(found) < wanted:
            found.update(dict.fromkeys(self._tree.random_leaves(wanted - len(found), self._rng)))
        return list(found)

    def _each_once_without_first(self) -> Iterator[Pipeline]:
        if self._tree.leaf_count <= MAX_LISTED_LEAVES:
            yield from self._draw_distinct(self._tree.leaf_count)
            return
        found: set[Pipeline] = set()
        repeated = 0
        drawn = chain.from_iterable(self._tree.random_leaves(BATCH_SIZE, self._rng) for _ in count())
        while repeated < MAX_REPEATED_DRAWS:
            leaf = next(drawn)
            repeated = repeated + 1 if leaf in found else 0
            if not repeated:
                found.add(leaf)
                yield leaf
        yield from (leaf for leaf in self._tree.iter_leaves() if leaf not in found)

    @cached_property
    def _listed(self) -> list[Pipeline]:
        return list(self._tree.iter_leaves())


def repeat_first_unfinished_leaf(tree: DiscrepancyTree, is_finished: Callable[[Pipeline], bool]) -> Iterator[Pipeline]:
    """Yield the first unfinished leaf in text order again and again until it is finished, then the next unfinished one.

    A finished leaf must stay finished.
    """
    for leaf in tree.iter_leaves():
        while not is_finished(leaf):
            yield leaf


K = TypeVar("K", bound=Hashable)
DEFAULT_PATIENCE: Final = 1_000
"""After this many repeated proposals in a row a part is exhausted: fewer than 1 in 100 would be new."""


@renamed_attributes(sits_out="is_exhausted", note="record")
class NoveltyTracker(Generic[K]):
    """The parts of a search (arms, nodes, sub-problems) and the requests that they have proposed.

    A part is exhausted after `patience` proposals in a row that were not new. Its share then goes to the other parts.
    The search is exhausted when all parts are. Without this rule a part without hyperparameters would propose the same
    configuration forever.

    A request is new if no part has proposed it before. Requests of different fidelity are different.
    """

    def __init__(self, parts: Iterable[K] = (), patience: int = DEFAULT_PATIENCE) -> None:
        self._patience = patience
        self._repeated_counts = dict.fromkeys(parts, 0)
        """For each part, in the order of addition, how many proposals in a row were repeated."""
        self._seen: set[Request] = set()

    @property
    def active(self) -> tuple[K, ...]:
        """The parts that are not exhausted, in the order in which they were added."""
        return tuple(part for part in self._repeated_counts if not self.is_exhausted(part))

    def add(self, part: K) -> None:
        """Add a part, unless it is already there."""
        self._repeated_counts.setdefault(part, 0)

    def is_exhausted(self, part: K) -> bool:
        """Return True if a part is exhausted and proposes no more."""
        return self._repeated_counts[part] >= self._patience

    def record(self, part: K, request: Request) -> bool:
        """Record a proposal of a part; return True if it is new."""
        is_new = request not in self._seen
        self._seen.add(request)
        self._repeated_counts[part] = 0 if is_new else self._repeated_counts[part] + 1
        return is_new
