"""The target `mosaic`: the structural tree that Monte Carlo tree search descends.

A node is a prefix: the branches that the first decisions of the tree take. Nodes below a prefix are not listed. The
next branches, the number of structures and random completions are computed on demand. A structure is a choice of one
alternative for every reached decision.
See spacelang/optimizers/README.md, section "MOSAIC: tree".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from spacelang.encodings.row_encodings import DomainEncoding, EncodedRows, RowEncoding, exact_encoding, to_unit
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, contains
from spacelang.ir.space import Choice, Context, Space
from spacelang.ir.walk import Structure, default_structure, leading_decisions, structure_of
from spacelang.sampling.batch_builder import ConfigurationBatch
from spacelang.sampling.neighbours import MOVE_DEVIATION, Neighbourhood
from spacelang.sampling.sampler import Sampler
from spacelang.solver.counting import Structures
from spacelang.solver.defaults import DefaultCompleter
from spacelang.targets import _lowering
from spacelang.targets._lowering import (
    Construct,
    FormWithTextRepr,
    LoweringResult,
    PreservationTable,
    approximated,
    exact,
)
from spacelang.targets._reduction_chain import preserved_by_reductions
from spacelang.targets._text_and_dot import DEFAULT_MARK, OTHER_MARK, digraph, quote_dot
from spacelang.text import count_with_noun

Prefix: TypeAlias = tuple[str, ...]
"""A node of the tree: the names of the branches taken by the reached decisions above the node, in tree order."""
Vector: TypeAlias = NDArray[np.float64]
MAX_CACHED_NODES: Final = 4_096  # The maximum number of nodes that are cached
_FIRST = exact("the decision comes first in the tree")
_FIRST_INSIDE = approximated("the decision comes first only among those below the branch that leads to it")


class MosaicVectorEncoding(RowEncoding):
    """The vector columns of a space: decisions in the given order, then hyperparameters in text order.

    A domain with several parts, or with -1 as a value, has two columns: one for the part, then one for the value. All
    columns of an inactive variable are -1; the first column of any other variable never is.
    """

    def __init__(self, space: Space, decisions: Sequence[Choice]) -> None:
        addresses = [node.address for nodes in (decisions, space.hyperparameters) for node in nodes]
        variables = [space.variables[address] for address in addresses]
        super().__init__(space, _encoding_of, variables=variables, missing=INACTIVE)
        suffixes = ((field.variable.address, [" (part)"] * field.coding.has_part) for field in self.fields)
        self.names: tuple[str, ...] = tuple(f"{name}{end}" for name, ends in suffixes for end in (*ends, ""))
        """The name of each column: an address, followed by " (part)" for the column of a part."""
        self._ranges = [
            (field, place, part)
            for field in self.fields
            for place, part in enumerate(field.coding.parts)
            if not isinstance(part, Categorical)
        ]

    def scale(self, vectors: EncodedRows) -> EncodedRows:
        """Return vectors with numbers (or logarithms) in [0, 1] for a surrogate; only inactive entries are -1."""
        found = vectors.copy(order="K")
        for field, place, part in self._ranges:
            is_mine = vectors[:, field.start] == place if field.coding.has_part else self.is_active(field, vectors)
            rows = np.flatnonzero(is_mine)
            if len(rows):
                found[rows, field.end - 1] = to_unit(part, vectors[rows, field.end - 1])
        return found


@dataclass(frozen=True, slots=True)
class PathDecision:
    """A decision on a path: the number of structures below each branch, and the branch that the path takes."""

    decision: str
    counts: Mapping[str, int]
    taken: str

    @property
    def other_branches(self) -> list[str]:
        """The names of the branches that the path does not take."""
        return [name for name in self.counts if name != self.taken]


@dataclass(frozen=True, slots=True)
class Mosaic:
    """The structural tree of MOSAIC: a level for each decision, those marked `@first` on top, or else the last step."""

    paper: ClassVar[str] = "Rakotoarison et al., Automated Machine Learning with Monte-Carlo Tree Search, IJCAI 2019"

    preserves: ClassVar[PreservationTable] = {
        **preserved_by_reductions(lambda _: True),
        Construct.DECISIONS: (exact("each decision is a level of the tree, each admissible structure a leaf"),),
        Construct.NESTED: (exact("each nested decision is a level below the branch that leads to it, and only there"),),
        Construct.ORDERS: (exact("the order of the steps is a level"),),
        Construct.LOG: (exact("drawn log-uniformly, log-scaled for the surrogate"),),
        Construct.UNIONS: (exact("one column of the vector for the part and one for the value"),),
        Construct.CONDITIONS: (exact("inactive hyperparameters are not drawn and are -1 in the vector"),),
        Construct.RULES_ON_DECISIONS: (exact("nodes without an admissible completion are not offered"),),
        Construct.RULES_ON_VALUES: (
            exact("a node is offered if some values satisfy the constraints; only such values are drawn"),
        ),
        Construct.TESTED: (exact("draws below a node are repeated until one satisfies the constraints"),),
        Construct.DEFAULTS: (exact("the default completion of a node is the one nearest to all defaults"),),
        Construct.FIRST: (_FIRST, _FIRST_INSIDE),
        Construct.WEIGHTS: (exact("configurations below a node are drawn by the weights"),),
        Construct.PRIORS: (exact("configurations below a node are drawn by the priors"),),
    }

    def lower(self, structures: Structures) -> LoweringResult["StructuralTree", Vector]:
        """Return the structural tree of the space of the structures."""
        _lowering.refuse_oversized_integers(structures.space, self.preserves)
        tree = StructuralTree(structures)
        space = structures.space
        inner = (each for each in space.decisions if each.first and space.variables[each.address].owners)
        findings = (_lowering.Finding(Construct.FIRST, _FIRST_INSIDE, choice.span) for choice in inner)
        report = _lowering.make_report(space, self.preserves, findings)
        return LoweringResult(tree, tree.encode, tree.decode, tree.accepts, tree.sample_vectors, report)


class StructuralTree(FormWithTextRepr):
    """The admissible structures of a space as a lazily walked tree, with the node queries of a search.

    `decisions` are all decisions in the order of the tree. A prefix has the branch names of the decisions that it
    reaches. Methods that take a prefix raise ValueError if no admissible structure begins with it.
    """

    def __init__(self, structures: Structures) -> None:
        """Make the tree over compiled structures; the cost does not depend on their number."""
        self.structures = structures
        self.space: Space = structures.space
        self.decisions: tuple[Choice, ...] = decisions_in_tree_order(self.space)
        self._keys = {choice.address: choice.key for choice in self.decisions}
        inner = (self.space.variables[choice.address].owners for choice in self.decisions)
        self._branches_with_decisions = frozenset(owner for owners in inner for owner in owners)

    def decision_after(self, prefix: Prefix) -> Choice | None:
        """Return the decision to take at a node, or None if the node is a whole structure."""
        return self._node(prefix).decision

    def actions(self, prefix: Prefix) -> tuple[str, ...]:
        """Return the names of the next branches that may follow a prefix, in the order of the text.

        Each has an admissible completion. There are none if the prefix is a whole structure.
        """
        return tuple(self.structure_counts(prefix))

    def structure_counts(self, prefix: Prefix) -> Mapping[str, int]:
        """Return the number of admissible structures below each next branch, by its name."""
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
        """Return the branch of each decision in a prefix, by the address of the decision."""
        return self._node(prefix).taken

    def prefix_of(self, configuration: Configuration) -> Prefix:
        """Return the whole structure of a member, as a prefix."""
        taken = structure_of(self.space, configuration)
        return tuple(taken[choice.address] for choice in self.decisions if choice.address in taken)

    def default_completion(self, prefix: Prefix) -> Configuration:
        """Return the member below a node that is nearest to all defaults (`DefaultCompleter.complete`)."""
        return self._completer.complete(self.structures.nearest_structure(self._node(prefix).taken))

    def sample(self, prefix: Prefix, count: int, rng: Generator) -> ConfigurationBatch:
        """Draw `count` configurations below a node: structures, then values; may raise SamplingFailedError.

        The paper calls this set D(X(s)).
        """
        return self._sampler.batch(count, rng, self._node(prefix).taken)

    def neighbours(
        self, configuration: Configuration, prefix: Prefix, rng: Generator, deviation: float = MOVE_DEVIATION
    ) -> list[Configuration]:
        """Return the neighbours of a member that differ in one variable and stay below the prefix.

        For a hyperparameter, these have each other value of a set, or four draws from a range, normal with this
        standard deviation on the unit interval. For a decision after the prefix, they have each other admissible
        branch, with all hyperparameters inside it, and if possible all decisions, at their defaults.
        """
        fixed = [(self._keys[address], branch) for address, branch in self._node(prefix).taken.items()]
        inside = self._inner_neighbours(structure_of(self.space, configuration))
        found = [*self._neighbourhood.neighbours_of(configuration, rng, deviation=deviation), *inside]
        views = ((other, other.view) for other in found)
        return [other for other, view in views if all(view[key] == branch for key, branch in fixed)]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the vector columns: decisions in the order of the tree, then hyperparameters."""
        return self._vectors.names

    def encode_all(self, configurations: Sequence[Configuration] | ConfigurationBatch) -> Vector:
        """Return members as exact rows, shape (n, d); inactive entries are -1 (see `_vectors`)."""
        return self._vectors.encode(configurations)

    def decode_all(self, vectors: Vector) -> list[Configuration]:
        """Return the members that rows encode."""
        return self._vectors.decode(vectors).configurations()

    def surrogate_features(self, configurations: Sequence[Configuration] | ConfigurationBatch) -> Vector:
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

    def sample_vectors(self, count: int, rng: Generator) -> list[Vector]:
        """Draw `count` configurations from the whole space, as rows."""
        return list(self.encode_all(self.sample((), count, rng)))

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
    def _node_cache(self) -> dict[Prefix, "_Node"]:
        return {(): self._make_node(0, {}, self.structures.count)}

    def _node(self, prefix: Prefix) -> "_Node":
        known = prefix
        while known not in self._node_cache:
            known = known[:-1]
        node = self._node_cache[known]
        for place, branch in enumerate(prefix[len(known) :], len(known) + 1):
            if node.decision is None or branch not in node.counts:
                raise ValueError(f"no admissible structure begins with {', '.join(map(repr, prefix))}")
            taken = {**node.taken, node.decision.address: branch}
            node = self._node_cache[prefix[:place]] = self._make_node(node.level + 1, taken, node.counts[branch])
        if len(self._node_cache) > MAX_CACHED_NODES:
            del self._node_cache
        return node

    def _make_node(self, level: int, taken: Structure, structures: int) -> "_Node":
        for place, choice in enumerate(self.decisions[level:], level):
            if all(taken.get(owner) == branch for owner, branch in self.space.variables[choice.address].owners):
                shares = self.structures.existence_solver.condition(taken).relative_branch_weights(choice)
                whole = sum(shares.values())
                counts = {branch: structures * share // whole for branch, share in shares.items()}
                return _Node(taken, structures, place, choice, counts)
        return _Node(taken, structures, len(self.decisions), None, {})

    def _is_leaf(self, vector: Vector) -> bool:
        prefix: Prefix = ()
        while (node := self._node(prefix)).decision is not None:
            place, branches = float(vector[node.level]), node.decision.branches
            if not (place.is_integer() and 0 <= place < len(branches) and branches[int(place)].name in node.counts):
                return False
            prefix = (*prefix, branches[int(place)].name)
        return True

    def _inner_neighbours(self, structure: Structure) -> Iterator[Configuration]:
        """Yield a neighbour for each other branch inside which constraints exclude the default decisions.

        It takes the nearest admissible structure with this branch.
        """
        for address, taken in structure.items():
            for branch in self.space.variables[address].node.branch_indices:  # type: ignore[union-attr]
                if branch == taken or (address, branch) not in self._branches_with_decisions:
                    continue
                if not self.structures.is_admissible(default_structure(self.space, {**structure, address: branch})):
                    kept = {**self._branches_outside(structure, address), address: branch}
                    if self.structures.existence_solver.condition(kept).has_structures:
                        yield self._completer.complete(self.structures.nearest_structure(kept))

    def _branches_outside(self, structure: Structure, address: str) -> Structure:
        owners = {other: {owner for owner, _ in self.space.variables[other].owners} for other in structure}
        return {other: branch for other, branch in structure.items() if address not in owners[other]}

    def _default_path(self) -> list[PathDecision]:
        # Imported here because it loads the syntax tree, which is not needed unless a tree is shown.
        from spacelang.serialization.syntax_nodes import spelled_names_by_address

        taken, names = self.structures.nearest_structure({}), spelled_names_by_address(self.space)
        path: list[PathDecision] = []
        prefix: Prefix = ()
        while (node := self._node(prefix)).decision is not None:
            branch = taken[node.decision.address]
            path.append(PathDecision(names[node.decision.address], node.counts, branch))
            prefix = (*prefix, branch)
        return path

    def _level_to_json(self, choice: Choice) -> dict[str, object]:
        document: dict[str, object] = {"decision": choice.address, "stage": choice.key}
        document |= {"alternatives": list(choice.branch_indices), "default": choice.branches[choice.default].name}
        owners = self.space.variables[choice.address].owners
        if owners:
            address, branch = owners[-1]
            document["owner"] = {"decision": address, "alternative": branch}
        return document


@dataclass(frozen=True, slots=True)
class _Node:
    """A node of the tree: its branches by address, the number of structures below it, and the next decision.

    `level` is the index of this decision among all, and `counts` has the number of structures below each of its
    branches.
    """

    taken: Structure
    structures: int
    level: int
    decision: Choice | None
    counts: Mapping[str, int]


INACTIVE = -1.0


def _encoding_of(domain: Domain) -> DomainEncoding:
    return exact_encoding(domain, has_part=not isinstance(domain, Categorical) and contains(domain, int(INACTIVE)))


def decisions_in_tree_order(space: Space) -> tuple[Choice, ...]:
    """Return the decisions marked `@first` or else the last step, then the others, each with those inside it."""
    leading = leading_decisions(space)
    first = {choice.address for choice in leading}
    others = (choice for choice in space.stages if choice.address not in first)
    return tuple(each for choice in (*leading, *others) for each in _with_inner_decisions(space, choice, ()))


def _with_inner_decisions(space: Space, choice: Choice, context: Context) -> Iterator[Choice]:
    yield choice
    for branch in choice.branches:
        inside = (*context, (choice.address, branch.name))
        below = (variable.node for variable in space.by_context.get(inside, ()) if isinstance(variable.node, Choice))
        for inner in sorted(below, key=lambda each: not each.first):
            yield from _with_inner_decisions(space, inner, inside)


def outline(name: str, structures: int, path: Sequence[PathDecision]) -> str:
    """Return the decisions of the path as an indented text, each with its branches and structure counts."""
    legend = f"{DEFAULT_MARK} default path   {OTHER_MARK} leaves the path   with the number of structures below"
    lines = [_title(name, structures), *([legend, ""] if path else ())]
    rows: list[tuple[str, int | None]] = []
    for level, indent in ((level, "   " * depth) for depth, level in enumerate(path)):
        rows.append((f"{indent}{level.decision}", None))
        rows += [(f"{indent}├─ {OTHER_MARK} {other}", level.counts[other]) for other in level.other_branches]
        rows.append((f"{indent}└─ {DEFAULT_MARK} {level.taken}", level.counts[level.taken]))
    width = max((len(text) for text, number in rows if number is not None), default=0)
    digits = max((len(f"{number:,}") for _, number in rows if number is not None), default=0)
    aligned = (text if number is None else f"{text:<{width}}  {number:>{digits},}" for text, number in rows)
    return "\n".join([*lines, *aligned])


def dot_graph(name: str, structures: int, path: Sequence[PathDecision]) -> str:
    """Return the path as a graph in the DOT language; dashed edges leave it, with a number of structures."""
    return digraph(name, _title(name, structures), _graph_lines(path))


def _title(name: str, structures: int) -> str:
    return f"{name}: {count_with_noun(structures, 'structure')}"


def _graph_lines(path: Sequence[PathDecision]) -> Iterator[str]:
    yield '"root" [label="", shape=point]'
    above = "root"
    for depth, level in enumerate(path):
        for place, name in enumerate((*level.other_branches, level.taken)):
            node = f"{depth}.{place}"
            label = f"{level.decision}\n{name}\n{count_with_noun(level.counts[name], 'structure')}"
            yield f"{quote_dot(node)} [label={quote_dot(label)}]"
            dashed = "" if name == level.taken else " [style=dashed]"
            yield f"{quote_dot(above)} -> {quote_dot(node)}{dashed}"
        above = f"{depth}.{len(level.other_branches)}"
