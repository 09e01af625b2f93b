"""Networks that ConfigSpace cannot express directly: unfolded, with every fork as a categorical.

The parts that a case leaves to choose are conditional on the categorical.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from spacelang.grouping import grouped
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Simple, contains, describe, literal, members, parts
from spacelang.ir.expr import Inactive, Lookup, Reference, references
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.ir.value import Value, identity
from spacelang.reductions.unfolding import Case, Fork, Free, Parts, RangeComparison, UnfoldedPart, all_parts, route
from spacelang.targets._configspace.codes import written
from spacelang.targets._configspace.native import among, atom_ways
from spacelang.targets._configspace.pieces import LISTED, Coded, FlatHyperparameter, finite, share, weighted
from spacelang.targets._configspace.plan import OpenPlan
from spacelang.targets._configspace.ways import FlatValue, UnsayableError, Ways, both, either

NOT_ACTIVE: Final = "(not active)"
"""The choice of a categorical for an inactive variable; no literal of the language looks like it."""


@dataclass(frozen=True)
class ForkCategorical:
    """The categorical of a fork: the choices of each case, and the values that the choices represent."""

    parameter: FlatHyperparameter
    choices: tuple[frozenset[FlatValue], ...]
    values: Mapping[FlatValue, Value] | None
    """The value in configurations of each choice; None if other hyperparameters hold the value."""

    is_whole: bool
    """True if the categorical replaces the hyperparameters of its pieces."""


class Forks:
    """A conversion of the unfolded parts of one network into entries of a plan."""

    def __init__(self, plan: OpenPlan, roots: Parts, context: Context) -> None:
        self.plan = plan
        self.roots = roots
        self.context = context
        self.parts = tuple(all_parts(roots))
        self.references = _references(self.parts)
        self.whole = _whole(self.parts, roots)
        self.selectors: dict[int, ForkCategorical] = {}
        self.codes: dict[int, Coded] = {}
        self._activity: dict[int, Ways] = {}

    def take(self) -> None:
        """Add all parts to the plan; raise UnsayableError if ConfigSpace cannot express them."""
        for part in self.parts:
            self._introduce(part)
        for part in self.parts:
            if isinstance(part, RangeComparison):
                self.plan.clauses.extend(self._clauses(part))
        self.plan.writers.append(self._write)

    def _write(self, lookup: Lookup, values: dict[str, FlatValue]) -> None:
        if any(lookup(owner) != branch for owner, branch in self.context):
            return
        for part, place in route(self.roots, lookup):
            if isinstance(part, Fork):
                values[self.selectors[id(part)].parameter.name] = self._choice(part, place, lookup)
            elif id(part) in self.codes:
                assert isinstance(part, Free)
                worth = lookup(part.node.address)
                assert not isinstance(worth, Inactive)
                values.update(self.codes[id(part)].encode(worth))

    def _choice(self, fork: Fork, place: int, lookup: Lookup) -> FlatValue:
        selector = self.selectors[id(fork)]
        choices = selector.choices[place]
        if len(choices) == 1:
            return next(iter(choices))
        assert selector.values is not None
        assert fork.node is not None
        worth = lookup(fork.node.address)
        assert not isinstance(worth, Inactive)
        return next(c for c in choices if c in selector.values and identity(selector.values[c]) == identity(worth))

    def _introduce(self, part: UnfoldedPart) -> Ways:
        """Add a part after the parts that lead to it, and return where it is active."""
        if id(part) in self._activity:
            return self._activity[id(part)]
        leading: list[Ways] = [self.plan.active(self.context)] if any(part is root for root in self.roots) else []
        is_said = False
        for fork, place in self.references.get(id(part), ()):
            self._introduce(fork)
            selector = self.selectors[id(fork)]
            is_said = is_said or selector.is_whole
            leading.append(among(selector.parameter, selector.choices[place], self.plan.activity))
        active = self._activity[id(part)] = either(*leading)
        if isinstance(part, Fork):
            selector = self.selectors[id(part)] = self._selector(part)
            self._add(part, selector, active)
        elif isinstance(part, Free) and not (is_said and id(part) in self.whole):
            self.codes[id(part)] = self.plan.code(part.node, part.domain, active)
        return active

    def _add(self, fork: Fork, selector: ForkCategorical, active: Ways) -> None:
        parameter, node, values = selector.parameter, fork.node, selector.values
        self.plan.add(parameter, active)
        if node is not None:
            self.plan.coded.append((node, parameter))
        if node is not None and values is not None:
            key = node.key
            self.plan.readers[parameter.name] = lambda given: _read(key, values, given[parameter.name])

    def _selector(self, fork: Fork) -> ForkCategorical:
        match fork.node:
            case None:
                name = self.plan.names.new("choice")
                return _named(name, [f"case {place + 1}" for place in range(len(fork.cases))], None, 0, None)
            case Choice() as choice:
                labels = [NOT_ACTIVE if case.branch is None else case.branch for case in fork.cases]
                default = choice.branches[choice.default].name
                first = labels.index(default) if default in labels else 0
                values: dict[FlatValue, Value] = {label: label for label in labels if label != NOT_ACTIVE}
                name = self.plan.names.new(self.plan.wish(choice))
                return _named(name, labels, values, first, weighted(fork.weights))
            case Hyperparameter() as node:
                if any(id(case.parts[0]) in self.whole for case in fork.cases if case.domain is not None):
                    return self._merged(fork, node)
                return self._pieces(fork, node)

    def _pieces(self, fork: Fork, node: Hyperparameter) -> ForkCategorical:
        labels = [NOT_ACTIVE if case.domain is None else describe(case.domain) for case in fork.cases]
        weights = [1.0 if case.domain is None else share(case.domain, node.domain) for case in fork.cases]
        first = next((p for p, c in enumerate(fork.cases) if c.domain and contains(c.domain, node.default)), 0)
        name = self.plan.names.new(f"{self.plan.wish(node)}:part")
        return _named(name, labels, None, first, weights)

    def _merged(self, fork: Fork, node: Hyperparameter) -> ForkCategorical:
        """Return one categorical or ordinal of all values of all cases."""
        name = self.plan.names.new(self.plan.wish(node))
        pieces = [piece for case in fork.cases if case.domain is not None for piece in parts(case.domain)]
        values = [v for part in parts(node.domain) for v in _in_order(part, pieces)]
        is_optional = any(case.domain is None for case in fork.cases)
        ordered = not isinstance(node.domain, Categorical) or isinstance(node.domain, Ordinal)
        is_alone = len(parts(node.domain)) == 1 and not is_optional
        choices = (NOT_ACTIVE, *map(literal, values)) if is_optional else written(values)
        table = dict(zip(choices[is_optional:], values, strict=True))
        cases = tuple(
            frozenset([NOT_ACTIVE] if case.domain is None else [c for c, v in table.items() if _has(case, v)])
            for case in fork.cases
        )
        default = next((c for c, v in table.items() if identity(v) == identity(node.default)), choices[0])
        return ForkCategorical(
            finite(name, choices, default, ordered=ordered and is_alone), cases, table, is_whole=True
        )

    def _clauses(self, part: RangeComparison) -> Ways:
        """Return the forbidden clauses where a comparison does not have its required truth value."""
        active, atom, wanted = self._activity[id(part)], part.atom, part.truth
        named = references(atom)
        found: list[Ways] = []
        if not all(isinstance(side, Reference) for side in (atom.left, atom.right)):
            raise UnsayableError
        for joint in _products([self._codes_of(address) for address in named]):
            # Independent draws from ranges are practically never equal.
            if (atom.relation, wanted) in (("==", True), ("!=", False)):
                raise UnsayableError
            codes = dict(zip(named, joint, strict=True))
            found.append(both(active, atom_ways(atom, not wanted, codes, self.plan.activity)))
        return either(*found)

    def _codes_of(self, address: str) -> list[Coded]:
        if any(
            isinstance(part, Fork)
            and id(part) in self.selectors
            and self.selectors[id(part)].is_whole
            and part.node is not None
            and part.node.address == address
            for part in self.parts
        ):
            raise UnsayableError
        return [
            self.codes[id(part)]
            for part in self.parts
            if isinstance(part, Free) and part.node.address == address and id(part) in self.codes
        ]


def _products(several: Sequence[Sequence[Coded]]) -> list[tuple[Coded, ...]]:
    found: list[tuple[Coded, ...]] = [()]
    for each in several:
        found = [(*joint, own) for joint in found for own in each]
    return found


def _named(
    name: str,
    labels: Sequence[str],
    values: Mapping[FlatValue, Value] | None,
    default: int,
    weights: Sequence[float] | None,
) -> ForkCategorical:
    parameter = finite(name, labels, labels[default], weights)
    return ForkCategorical(parameter, tuple(frozenset((label,)) for label in labels), values, is_whole=False)


def _read(key: str, values: Mapping[FlatValue, Value], choice: FlatValue) -> tuple[str, Value] | None:
    if choice == NOT_ACTIVE:
        return None
    return key, values[choice]


def _references(every: Sequence[UnfoldedPart]) -> dict[int, list[tuple[Fork, int]]]:
    """Return the forks that lead to each part, with the indices of their cases."""
    cases = ((fork, number, case) for fork in every if isinstance(fork, Fork) for number, case in enumerate(fork.cases))
    return grouped((id(part), (fork, number)) for fork, number, case in cases for part in case.parts)


def _whole(every: Sequence[UnfoldedPart], roots: Parts) -> frozenset[int]:
    """Return the pieces of hyperparameters that a single categorical of their fork can represent.

    If a piece is also used elsewhere, it needs a hyperparameter of its own, and so do all pieces of the forks that lead
    to it.
    """
    forks = [part for part in every if isinstance(part, Fork)]
    said: dict[int, set[int]] = {
        id(fork): {id(case.parts[0]) for case in fork.cases if case.domain is not None}
        for fork in forks
        if isinstance(fork.node, Hyperparameter) and _is_listable(fork.node.domain, fork.cases)
    }
    bare = {id(part) for part in roots}
    for fork in forks:
        for case in fork.cases:
            bare.update(id(part) for part in (case.parts if case.domain is None else case.parts[1:]))
            if case.domain is not None and id(fork) not in said:
                bare.add(id(case.parts[0]))
    changed = True
    while changed:
        spoiled = [fork for fork, pieces in said.items() if pieces & bare]
        changed = bool(spoiled)
        for fork_id in spoiled:
            bare |= said.pop(fork_id)
    return frozenset(piece for pieces in said.values() for piece in pieces)


def _is_listable(whole: Domain, cases: Sequence[Case]) -> bool:
    domains = [case.domain for case in cases if case.domain is not None]
    if any(isinstance(part, Grid) and part.log for part in parts(whole)):
        return False
    sizes = [domain.size for domain in domains]
    return all(size is not None for size in sizes) and sum(size or 0 for size in sizes) <= LISTED


def _in_order(part: Simple, pieces: Sequence[Simple]) -> list[Value]:
    """Return the values of the pieces that lie in a part of a domain, in the order of the part."""
    found = [value for piece in pieces for value in members(piece) if contains(part, value)]
    if isinstance(part, Categorical):
        return sorted(found, key=part.index_of)
    return sorted(found, key=float)  # type: ignore[arg-type]


def _has(case: Case, value: Value) -> bool:
    return case.domain is not None and contains(case.domain, value)
