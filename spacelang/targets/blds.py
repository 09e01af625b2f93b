"""The target `blds`: the discrepancy tree that limited discrepancy search walks.

Every decision is a layer of the tree, and every admissible structure is a leaf. A structure is a choice of one
alternative for every reached decision. The discrepancy of a leaf from a pipeline is the number of decisions in which
they differ. A decision that the pipeline does not reach counts as different if the leaf does not take its default.
Leaves are generated lazily.
See spacelang/optimizers/README.md, section "Discrepancy search".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Final, TypeAlias

from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.value import Value
from spacelang.ir.walk import Structure, default_structure, structure_of
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.targets import _lowering
from spacelang.targets._blds import (
    ConstraintTable,
    DecisionLayer,
    constraint_tables_by_layer,
    decision_layers,
    dot_graph,
    text_listing,
)
from spacelang.targets._lowering import (
    Construct,
    FormWithTextRepr,
    LoweringResult,
    PreservationTable,
    approximated,
    exact,
)
from spacelang.targets._reduction_chain import DOMAIN_CONSTRUCTS

Pipeline: TypeAlias = tuple[int, ...]
"""For each layer, the index of the branch that its decision takes, or NOT_REACHED if the decision is not reached."""
NOT_REACHED: Final = -1
NOT_SEARCHED = approximated("not searched: hyperparameters stay at their defaults; encoded configurations keep theirs")


@dataclass(frozen=True, slots=True)
class Blds:
    """The discrepancy tree of the admissible structures, with every hyperparameter at its default."""

    paper: ClassVar[str] = (
        "Kishimoto et al., Bandit Limited Discrepancy Search and Application to Machine Learning Pipeline "
        "Optimization, AAAI 2022"
    )

    preserves: ClassVar[PreservationTable] = {
        **_lowering.GUIDANCE,
        Construct.DECISIONS: (exact("each decision is a layer, each admissible structure a leaf"),),
        Construct.NESTED: (
            exact(
                "each nested decision is a layer, which has one placeholder branch where the decision is not reached"
            ),
        ),
        Construct.ORDERS: (exact("the order of the steps is a layer"),),
        **dict.fromkeys(DOMAIN_CONSTRUCTS, (NOT_SEARCHED,)),
        Construct.CONDITIONS: (exact("the configuration of a leaf has exactly the active hyperparameters"),),
        Construct.RULES_ON_DECISIONS: (exact("excluded structures are not in the tree"),),
        Construct.RULES_ON_VALUES: (exact("a structure is a leaf if some values satisfy the constraints"),),
        Construct.TESTED: (exact("`check` has found values that satisfy the constraints for each leaf"),),
        Construct.DEFAULTS: (exact("defaults are the heuristic's choices"),),
        Construct.WEIGHTS: (exact("random leaves are drawn by the weights; the heuristic prefers the defaults"),),
    }

    def lower(self, structures: Structures) -> LoweringResult["DiscrepancyTree", "Leaf"]:
        """Return the discrepancy tree of the space of the structures."""
        tree = DiscrepancyTree(structures)
        report = _lowering.make_report(structures.space, self.preserves)
        return LoweringResult(tree, tree.encode, tree.decode, tree.accepts, tree.sample, report)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A structure, with the values of one of its configurations by key.

    Without values, it stands for the configuration with all defaults.
    """

    pipeline: Pipeline
    values: tuple[tuple[str, Value], ...] = ()


@renamed_attributes(
    leaves="leaf_count", leaves_at="leaf_count_at", leaves_within="leaf_count_within", leaves_in_order="iter_leaves",
    leaves_by_discrepancy="leaf_counts_by_discrepancy", default="default_pipeline", reaches="accepts",
)  # fmt: skip
class DiscrepancyTree(FormWithTextRepr):
    """A lazily walked tree whose leaves are the admissible structures of a space."""

    def __init__(self, structures: Structures) -> None:
        """Make the tree over compiled structures; the cost does not depend on the number of leaves."""
        self.structures, self.space = structures, structures.space
        self.layers: tuple[DecisionLayer, ...] = decision_layers(self.space)
        self._is_flat = all(layer.owner is None for layer in self.layers)
        self._sampler = Sampler(structures, advised=True)
        self._completer = DefaultCompleter(structures)
        count = structures.count_by_discrepancy
        self._counts = lru_cache(maxsize=128)(lambda pipeline: count(self.structure_of(pipeline)))

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        return self.structures.count

    @cached_property
    def default_pipeline(self) -> Pipeline:
        """The pipeline in which every reached decision takes its default; constraints may exclude it."""
        return self.pipeline_of(default_structure(self.space))

    def leaf_counts_by_discrepancy(self, pipeline: Pipeline) -> tuple[int, ...]:
        """Return the numbers of leaves that differ from a pipeline in exactly 0, 1, 2, ... decisions."""
        counts: tuple[int, ...] = self._counts(pipeline)
        return counts

    def leaf_count_at(self, pipeline: Pipeline, discrepancy: int) -> int:
        """Return the number of leaves that differ from a pipeline in exactly `discrepancy` decisions."""
        counts = self.leaf_counts_by_discrepancy(pipeline)
        return counts[discrepancy] if discrepancy < len(counts) else 0

    def leaf_count_within(self, pipeline: Pipeline, discrepancy: int) -> int:
        """Return the number of leaves within a discrepancy of a pipeline, itself included."""
        return sum(self.leaf_counts_by_discrepancy(pipeline)[: discrepancy + 1])

    def walk(self, pipeline: Pipeline, discrepancy: int) -> Iterator[Pipeline]:
        """Yield the leaves within a discrepancy of a pipeline, itself included, in the order of BLDS.SEARCH.

        Layers are taken in order, and alternatives in the order of the text. Once the discrepancy is used up, the
        remaining layers stay as they are in the pipeline.
        """
        waiting: list[tuple[Pipeline, int]] = [((), discrepancy)] if self.leaf_count else []
        while waiting:
            prefix, left = waiting.pop()
            if left == 0 or len(prefix) == len(self.layers):
                leaf = self._leaf_without_discrepancies(prefix, pipeline)
                if self._is_admissible(leaf, start=len(prefix)):
                    yield leaf
                continue
            usual = self._branch_without_discrepancy(prefix, pipeline)
            for place in reversed(self._possible_branches(prefix)):
                child = (*prefix, place)
                if self._is_admissible(child, start=len(prefix)):
                    waiting.append((child, left - (place != usual)))

    def iter_leaves(self) -> Iterator[Pipeline]:
        """Return a lazy iterator over all leaves, in the order in which the text lists their branches."""
        return self.walk(self.default_pipeline, len(self.layers))

    def first_leaf(self, orders: Sequence[Sequence[int]]) -> Pipeline:
        """Return the first leaf if each layer tries its branches in its own order.

        `orders` has the branch indices of each layer, in the order to try. A layer takes the first branch that leads to
        a leaf after the branches of the earlier layers. The order of an unreached layer is ignored. Raises ValueError
        if there is no leaf.
        """
        prefix: Pipeline = ()
        untried = [iter(self._possible_branches(prefix, orders))] if self.leaf_count else []
        while untried and len(prefix) < len(self.layers):
            place = next(untried[-1], None)
            if place is None:
                untried.pop()
                prefix = prefix[:-1]
            elif self._is_admissible((*prefix, place), start=len(prefix)):
                prefix = (*prefix, place)
                untried.append(iter(self._possible_branches(prefix, orders)))
        if not untried:
            raise ValueError("the space is empty")
        return prefix

    def random_leaf(self, rng: Generator) -> Pipeline:
        """Draw a leaf uniformly from all leaves, or by `@weight`; raise ValueError if there is none."""
        return self.pipeline_of(self._sampler.structure(rng))

    def random_leaves(self, count: int, rng: Generator) -> list[Pipeline]:
        """Draw `count` leaves as `random_leaf` does, but at once, which is much faster."""
        places = self._sampler.structure_columns(count, rng)
        unreached = [NOT_REACHED] * count
        columns = [places[layer.address].tolist() if layer.address in places else unreached for layer in self.layers]
        return list(zip(*columns, strict=True)) if columns else [()] * count

    def is_leaf(self, pipeline: Pipeline) -> bool:
        """Return True if a tuple of branch indices is an admissible pipeline."""
        return (
            self.leaf_count > 0
            and len(pipeline) == len(self.layers)
            and all(place in self._possible_branches(pipeline[:number]) for number, place in enumerate(pipeline))
            and self._is_admissible(pipeline)
        )

    def pipeline_of(self, structure: Structure) -> Pipeline:
        """Return the index of the branch in each layer for a structure; `NOT_REACHED` where it has none."""
        taken = ((layer.alternatives, structure.get(layer.address)) for layer in self.layers)
        return tuple(NOT_REACHED if branch is None else names.index(branch) for names, branch in taken)

    def structure_of(self, pipeline: Pipeline) -> dict[str, str]:
        """Return the branches of a pipeline, by the addresses of their decisions."""
        return {layer.address: layer.alternatives[place] for layer, place in self._reached(pipeline)}

    def accepts(self, leaf: Leaf) -> bool:
        """Return True if the tree has the leaf and its values are those of a member."""
        return self.is_leaf(leaf.pipeline) and first_exclusion(self.space, self.decode(leaf)) is None

    def sample(self, count: int, rng: Generator) -> list[Leaf]:
        """Draw `count` leaves without values, each as `random_leaf` does."""
        return [Leaf(self.random_leaf(rng)) for _ in range(count)]

    def complete(self, pipeline: Pipeline) -> Configuration:
        """Return the configuration of a leaf with all active hyperparameters at their defaults (`DefaultCompleter`)."""
        return self._completer.complete(self.structure_of(pipeline))

    def encode(self, configuration: Configuration) -> Leaf:
        """Return the leaf of a member.

        Its values are left out if the member is the default completion of the leaf.
        """
        pipeline = self.pipeline_of(structure_of(self.space, configuration))
        if self.complete(pipeline) == configuration:
            return Leaf(pipeline)
        branches = self._branches(pipeline)
        return Leaf(pipeline, tuple((key, value) for key, value in configuration.items() if key not in branches))

    def decode(self, leaf: Leaf) -> Configuration:
        """Return the member that a leaf represents."""
        # A structure has at most one configuration without hyperparameter values: its default completion.
        if not leaf.values:
            return self.complete(leaf.pipeline)
        return Configuration({**self._branches(leaf.pipeline), **dict(leaf.values)})

    def to_json(self) -> dict[str, object]:
        """Return the layers, the number of leaves, and the number at each discrepancy from the default."""
        counts = enumerate(self.leaf_counts_by_discrepancy(self.default_pipeline))
        return {
            "layers": [_layer_to_json(layer, self.layers) for layer in self.layers],
            "leaves": self.leaf_count,
            "neighbours": {str(discrepancy): count for discrepancy, count in counts if discrepancy},
        }

    def to_text(self) -> str:
        """Return a listing of the layers, defaults first, and of the number of leaves by discrepancy."""
        counts = self.leaf_counts_by_discrepancy(self.default_pipeline)
        return text_listing(self.space.name, self.layers, self.leaf_count, counts)

    def to_dot(self) -> str:
        """Return a graph of the whole tree if it has few leaves, else of its layers."""
        return dot_graph(self.space.name, self.layers, self.leaf_count, self.iter_leaves())

    def _reached(self, pipeline: Pipeline) -> Iterator[tuple[DecisionLayer, int]]:
        for layer, place in zip(self.layers, pipeline, strict=True):
            if place != NOT_REACHED:
                yield layer, place

    def _branches(self, pipeline: Pipeline) -> dict[str, Value]:
        return {layer.stage: layer.alternatives[place] for layer, place in self._reached(pipeline)}

    def _possible_branches(self, prefix: Sequence[int], orders: Sequence[Sequence[int]] | None = None) -> Sequence[int]:
        """Return the branch indices that may follow a prefix if constraints are ignored.

        They are in the order of `orders`, if given.

        If the next layer is not reached, this is `NOT_REACHED` alone; after the last layer there are none.
        """
        number = len(prefix)
        if number == len(self.layers):
            return ()
        layer = self.layers[number]
        given = range(len(layer.alternatives)) if orders is None else orders[number]
        return given if layer.is_reached(prefix) else (NOT_REACHED,)

    def _branch_without_discrepancy(self, prefix: Sequence[int], pipeline: Pipeline) -> int:
        """Return the branch that the layer after a prefix takes without adding to the discrepancy from `pipeline`.

        It is the pipeline's branch, or the default if the pipeline does not reach the layer, or `NOT_REACHED`.
        """
        layer = self.layers[len(prefix)]
        if not layer.is_reached(prefix):
            return NOT_REACHED
        return layer.default if pipeline[len(prefix)] == NOT_REACHED else pipeline[len(prefix)]

    def _leaf_without_discrepancies(self, prefix: Pipeline, pipeline: Pipeline) -> Pipeline:
        if self._is_flat:
            return prefix + pipeline[len(prefix) :]
        leaf = list(prefix)
        while len(leaf) < len(self.layers):
            leaf.append(self._branch_without_discrepancy(leaf, pipeline))
        return tuple(leaf)

    def _is_admissible(self, prefix: Pipeline, start: int = 0) -> bool:
        """Return True if a prefix satisfies the tables of its layers from index `start` on."""
        hurdles = self._constraint_tables
        return not hurdles or all(
            hurdle.is_satisfied(prefix) for number in range(start, len(prefix)) for hurdle in hurdles.get(number, ())
        )

    @cached_property
    def _constraint_tables(self) -> dict[int, tuple[ConstraintTable, ...]]:
        return constraint_tables_by_layer(self.structures, self.layers)


def _layer_to_json(layer: DecisionLayer, layers: Sequence[DecisionLayer]) -> dict[str, object]:
    document: dict[str, object] = {"stage": layer.stage, "alternatives": list(layer.alternatives)}
    document["default"] = layer.alternatives[layer.default]
    if layer.owner is not None:
        owner = layers[layer.owner[0]]
        document["address"] = layer.address
        document["owner"] = {"address": owner.address, "alternative": owner.alternatives[layer.owner[1]]}
    return document
