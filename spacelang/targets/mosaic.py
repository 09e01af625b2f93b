"""The target `mosaic`: the structural tree that Monte Carlo tree search descends.

A node is a prefix: the branches that the first decisions of the tree take. Nodes below a prefix are not listed. The
next branches, the number of structures and random completions are computed on demand. A structure is a choice of one
alternative for every reached decision.

See spacelang/optimizers/README.md, section "MOSAIC: tree".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Space
from spacelang.ir.walk import Structure, default_structure, structure_of
from spacelang.sampling.batch_builder import Batch
from spacelang.sampling.neighbours import Neighbourhood
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.targets._lowering import (
    Construct,
    Finding,
    LoweringResult,
    PreservationTable,
    approximated,
    exact,
    make_report,
    refuse_oversized_integers,
)
from spacelang.targets._mosaic import Level, MosaicVectorEncoding, dot_graph, outline, tree_order
from spacelang.targets._reduction_chain import preserved_by_reductions

if TYPE_CHECKING:
    from numpy.random import Generator

Prefix: TypeAlias = tuple[str, ...]
"""A node of the tree: the names of the branches taken by the reached decisions above the node, in tree order."""
Vector: TypeAlias = NDArray[np.float64]
MAX_CACHED_NODES: Final = 4_096
"""The maximum number of nodes that are cached."""

_FIRST = exact("the decision comes first in the tree")
_FIRST_INSIDE = approximated("the decision comes first only among those below the branch that leads to it")


@dataclass(frozen=True, slots=True)
class Mosaic:
    """The structural tree of MOSAIC: one level for each decision, the estimator first."""

    paper: ClassVar[str] = "Rakotoarison et al., Automated Machine Learning with Monte-Carlo Tree Search, IJCAI 2019"

    preserves: ClassVar[PreservationTable] = {
        **preserved_by_reductions(lambda _: True),
        Construct.DECISIONS: (exact("each decision is a level of the tree, each admissible structure a leaf"),),
        Construct.NESTED: (exact("a level below the branch that leads to it, and only there"),),
        Construct.ORDERS: (exact("the order of the steps is a level"),),
        Construct.LOG: (exact("drawn log-uniformly, log-scaled for the surrogate"),),
        Construct.UNIONS: (exact("one column of the vector for the part and one for the value"),),
        Construct.CONDITIONS: (exact("inactive hyperparameters are not drawn and are -1 in the vector"),),
        Construct.RULES_ON_DECISIONS: (exact("nodes without an admissible completion are not offered"),),
        Construct.RULES_ON_VALUES: (
            exact("a node is offered if some values satisfy them; only such values are drawn"),
        ),
        Construct.DEFAULTS: (exact("the default completion of a node is the one nearest to all defaults"),),
        Construct.FIRST: (_FIRST, _FIRST_INSIDE),
        Construct.WEIGHTS: (exact("configurations below a node are drawn by it"),),
        Construct.PRIORS: (exact("configurations below a node are drawn by it"),),
    }

    def lower(self, structures: Structures) -> LoweringResult["StructuralTree", Vector]:
        """Return the structural tree of the space of the structures."""
        refuse_oversized_integers(structures.space, self.preserves)
        tree = StructuralTree(structures)
        report = make_report(structures.space, self.preserves, _findings(structures.space))
        return LoweringResult(tree, tree.encode, tree.decode, tree.accepts, tree.sample_vectors, report)


class StructuralTree:
    """The admissible structures of a space as a lazily walked tree, with the node queries of a search.

    `decisions` are all decisions in the order of the tree. A prefix has the branch names of the decisions that it
    reaches. Methods that take a prefix raise ValueError if no admissible structure begins with it.
    """

    def __init__(self, structures: Structures) -> None:
        """Make the tree over compiled structures; the cost does not depend on their number."""
        self.structures = structures
        self.space: Space = structures.space
        self.decisions: tuple[Choice, ...] = tree_order(self.space)

    # ---- nodes

    def decision_after(self, prefix: Prefix) -> Choice | None:
        """Return the decision to take at a node, or None if the node is a whole structure."""
        return self._node(prefix).decision

    def actions(self, prefix: Prefix) -> tuple[str, ...]:
        """Return the branches that may follow, in the order of the text; each has an admissible completion."""
        return tuple(self.structure_counts(prefix))

    def structure_counts(self, prefix: Prefix) -> Mapping[str, int]:
        """Return the number of structures below each branch that may follow."""
        return self._node(prefix).counts

    def count_structures(self, prefix: Prefix) -> int:
        """Return the number of admissible structures that begin with the prefix."""
        return self._node(prefix).structures

    def iter_leaves(self, prefix: Prefix = ()) -> Iterator[Prefix]:
        """Yield the whole structures that begin with the prefix, lazily, in the order of the tree."""
        waiting = [prefix]
        while waiting:
            node = waiting.pop()
            if self.decision_after(node) is None:
                yield node
            waiting.extend((*node, branch) for branch in reversed(self.actions(node)))

    def structure_of(self, prefix: Prefix) -> Structure:
        """Return the branch that each decision before a tree node takes, by the decision's address."""
        return self._node(prefix).taken

    def prefix_of(self, configuration: Configuration) -> Prefix:
        """Return the whole structure of a member, as a prefix."""
        return self._prefix_of_structure(structure_of(self.space, configuration))

    # ---- configurations below a node

    def default_completion(self, prefix: Prefix) -> Configuration:
        """Return the member below a node that is nearest to all defaults (`DefaultCompleter.complete`)."""
        return self._completer.complete(self.structures.nearest_structure(self._node(prefix).taken))

    def sample(self, prefix: Prefix, count: int, rng: "Generator") -> Batch:
        """Draw the set D(X(s)) below a node: structures, then values; may raise SamplingFailedError."""
        return self._sampler.batch(count, rng, self._node(prefix).taken)

    def neighbours(self, configuration: Configuration, prefix: Prefix, rng: "Generator") -> list[Configuration]:
        """Return the neighbors of a member by one exchange that stay below the prefix.

        For every active hyperparameter, these have each other value of a set, or four draws from a range. For every
        decision after the prefix, they have each other admissible branch, with all hyperparameters of the pipeline at
        their defaults. Decisions inside such a branch are as close to their defaults as possible.
        """
        kept = self._node(prefix).taken
        fixed = [(self._keys[address], branch) for address, branch in kept.items()]
        inside = self._inner_neighbours(structure_of(self.space, configuration))
        found = [*self._neighbourhood.neighbours_of(configuration, rng), *inside]
        views = ((other, other.view) for other in found)
        return [other for other, view in views if all(view[key] == branch for key, branch in fixed)]

    # ---- vectors

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the vector columns: decisions in the order of the tree, then hyperparameters."""
        return self._vectors.names

    def encode_all(self, configurations: Sequence[Configuration] | Batch) -> Vector:
        """Return members as exact rows, shape (n, d); inactive entries are -1 (see `_vectors`)."""
        return self._vectors.encode(configurations)

    def decode_all(self, vectors: Vector) -> list[Configuration]:
        """Return the members that rows encode."""
        return self._vectors.decode(vectors).configurations()

    def features(self, configurations: Sequence[Configuration] | Batch) -> Vector:
        """Return members as rows for a surrogate (n, d): numbers in [0, 1], indices, and -1 for inactive entries."""
        return self._vectors.scale(self.encode_all(configurations))

    def encode(self, configuration: Configuration) -> Vector:
        """Return the row of one member."""
        row: Vector = self.encode_all([configuration])[0]
        return row

    def decode(self, vector: Vector) -> Configuration:
        """Return the member of one row."""
        return self.decode_all(vector[np.newaxis])[0]

    def accepts(self, vector: Vector) -> bool:
        """Return True if the branches of a row are a leaf of the tree and its other columns are those of a member."""
        is_row = vector.shape == (len(self.feature_names),) and bool(np.isfinite(vector).all())
        return is_row and self._is_leaf(vector) and self._vectors.is_valid_row(vector)

    def sample_vectors(self, count: int, rng: "Generator") -> list[Vector]:
        """Draw `count` configurations from the whole space, as rows."""
        return list(self.encode_all(self.sample((), count, rng)))

    # ---- documents

    def to_json(self) -> dict[str, object]:
        """Return the decisions in tree order, the structure counts of the root, and the vector columns."""
        return {
            "decisions": [choice.address for choice in self.decisions],
            "structures": self.structures.count,
            "default": self.default_completion(()).to_dict(),
            "root": [{"alternative": name, "structures": count} for name, count in self.structure_counts(()).items()],
            "tree": [self._level_to_json(choice) for choice in self.decisions],
            "vector": {"columns": list(self.feature_names), "inactive": -1},
        }

    def to_text(self) -> str:
        """Return the tree along its default path, with the structure count of each branch that leaves the path."""
        return outline(self.space.name, self.structures.count, self._default_path())

    def to_dot(self) -> str:
        """Return the tree along its default path as a graph in the DOT language."""
        return dot_graph(self.space.name, self.structures.count, self._default_path())

    # ---- inside

    @cached_property
    def _completer(self) -> DefaultCompleter:
        return DefaultCompleter(self.structures)

    @cached_property
    def _sampler(self) -> Sampler:
        return Sampler(self.structures, advised=True)

    @cached_property
    def _neighbourhood(self) -> Neighbourhood:
        return Neighbourhood(self.structures)

    @cached_property
    def _vectors(self) -> MosaicVectorEncoding:
        return MosaicVectorEncoding(self.space, self.decisions)

    @cached_property
    def _keys(self) -> dict[str, str]:
        return {choice.address: choice.key for choice in self.decisions}

    @cached_property
    def _branches_with_decisions(self) -> frozenset[tuple[str, str]]:
        """The branches that contain decisions, as pairs of an address and a branch."""
        variables = self.space.variables
        return frozenset(owner for choice in self.decisions for owner in variables[choice.address].owners)

    @cached_property
    def _node_cache(self) -> dict[Prefix, "_Node"]:
        return {(): self._make_node(0, {}, self.structures.count)}

    def _node(self, prefix: Prefix) -> "_Node":
        known = prefix
        while known not in self._node_cache:
            known = known[:-1]
        node = self._node_cache[known]
        for place in range(len(known), len(prefix)):
            node = self._node_cache[prefix[: place + 1]] = self._child_of(node, prefix, prefix[place])
        if len(self._node_cache) > MAX_CACHED_NODES:
            del self._node_cache
        return node

    def _child_of(self, node: "_Node", prefix: Prefix, branch: str) -> "_Node":
        if node.decision is None or branch not in node.counts:
            raise ValueError(f"no admissible structure begins with {', '.join(map(repr, prefix))}")
        taken = {**node.taken, node.decision.address: branch}
        return self._make_node(node.level + 1, taken, node.counts[branch])

    def _make_node(self, level: int, taken: Structure, structures: int) -> "_Node":
        for place, choice in enumerate(self.decisions[level:], level):
            if all(taken.get(owner) == branch for owner, branch in self.space.variables[choice.address].owners):
                shares = self.structures.existence_solver.condition(taken).branch_shares(choice)
                whole = sum(shares.values())
                counts = {branch: structures * share // whole for branch, share in shares.items()}
                return _Node(taken, structures, place, choice, counts)
        return _Node(taken, structures, len(self.decisions), None, {})

    def _prefix_of_structure(self, structure: Structure) -> Prefix:
        return tuple(structure[choice.address] for choice in self.decisions if choice.address in structure)

    def _is_leaf(self, vector: Vector) -> bool:
        prefix: Prefix = ()
        while (node := self._node(prefix)).decision is not None:
            place, branches = float(vector[node.level]), node.decision.branches
            if not (place.is_integer() and 0 <= place < len(branches) and branches[int(place)].name in node.counts):
                return False
            prefix = (*prefix, branches[int(place)].name)
        return True

    def _inner_neighbours(self, structure: Structure) -> Iterator[Configuration]:
        """Yield structural neighbors for branches whose inner decisions cannot all take their defaults."""
        for address, taken in structure.items():
            for branch in self.space.variables[address].node.branch_indices:  # type: ignore[union-attr]
                if branch == taken or (address, branch) not in self._branches_with_decisions:
                    continue
                if not self.structures.is_admissible(default_structure(self.space, {**structure, address: branch})):
                    kept = {**self._branches_outside(structure, address), address: branch}
                    if self.structures.existence_solver.condition(kept).exists:
                        yield self._completer.complete(self.structures.nearest_structure(kept))

    def _branches_outside(self, structure: Structure, address: str) -> Structure:
        variables = self.space.variables
        return {
            other: branch
            for other, branch in structure.items()
            if all(owner != address for owner, _ in variables[other].owners)
        }

    def _default_path(self) -> list[Level]:
        # Imported here because it loads the syntax tree, which is not needed unless a tree is shown.
        from spacelang.serialization.syntax_nodes import spelled_names

        taken, names = self.structures.nearest_structure({}), spelled_names(self.space)
        path: list[Level] = []
        prefix: Prefix = ()
        while (node := self._node(prefix)).decision is not None:
            branch = taken[node.decision.address]
            path.append(Level(names[node.decision.address], node.counts, branch))
            prefix = (*prefix, branch)
        return path

    def _level_to_json(self, choice: Choice) -> dict[str, object]:
        document: dict[str, object] = {
            "decision": choice.address,
            "stage": choice.key,
            "alternatives": list(choice.branch_indices),
            "default": choice.branches[choice.default].name,
        }
        owners = self.space.variables[choice.address].owners
        if owners:
            address, branch = owners[-1]
            document["owner"] = {"decision": address, "alternative": branch}
        return document


@dataclass(frozen=True, slots=True)
class _Node:
    """A node: its branches, the structures below, and the next decision with its level and their counts by branch."""

    taken: Structure
    structures: int
    level: int
    decision: Choice | None
    counts: Mapping[str, int]


def _findings(space: Space) -> Iterator[Finding]:
    for choice in space.decisions:
        if choice.first and space.variables[choice.address].owners:
            yield Finding(Construct.FIRST, _FIRST_INSIDE, choice.span)
