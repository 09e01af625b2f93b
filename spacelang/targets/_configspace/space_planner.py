"""The planning of a space for ConfigSpace.

A network is a group of decisions and hyperparameters that conditions and constraints connect. It stays as it is if
ConfigSpace can express all its conditions and constraints. Otherwise it is unfolded into case splits
(`reductions.case_splits`), which become categoricals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from spacelang.grouping import group_by_key
from spacelang.ir import domain as domains
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, contains, parts
from spacelang.ir.expr import InactiveValue, Lookup, Reference, references
from spacelang.ir.space import Choice, Context, Hyperparameter
from spacelang.ir.value import Value, identity_key
from spacelang.reductions import case_splits
from spacelang.reductions.case_splits import (
    Case,
    CaseSplit,
    IndependentHyperparameter,
    RangeComparison,
    SpaceUnfolder,
    UnfoldedPart,
    UnfoldedParts,
)
from spacelang.reductions.case_weights import CaseWeights
from spacelang.reductions.space_questions import VariableNames
from spacelang.solver.constraint_network import ConstraintNetwork, TooManyConnectedVariablesError
from spacelang.solver.counting import CountWeights, Structures
from spacelang.solver.domain_cells import probability_of_cell
from spacelang.solver.model import WeightedModelSolver
from spacelang.targets._configspace import disjunctive_normal_form as dnf
from spacelang.targets._configspace import encoded_domains as cs
from spacelang.targets._configspace.disjunctive_normal_form import NEVER, InexpressibleError, NormalForm, disjunction
from spacelang.targets._configspace.space_plan import (
    MAX_CONDITION_TERMS,
    ConfigSpacePlan,
    DirectNetworkConverter,
    LongConditionError,
    PlanBuilder,
)

MIN_ACCEPTANCE: Final = 0.02
"""The minimum share of draws that must satisfy the constraints of a network: ConfigSpace samples by rejection."""
NOT_ACTIVE: Final = "(not active)"
"""The choice of a categorical for an inactive variable; no literal of the language looks like it."""


class RefusedConstraintsError(Exception):
    """An error for a network whose conditions or constraints ConfigSpace cannot express at all.

    `is_too_long` is true if a condition would only be too long.
    """

    def __init__(self, network: ConstraintNetwork, *, is_too_long: bool = False) -> None:
        super().__init__()
        self.network, self.is_too_long = network, is_too_long


def make_plan(structures: Structures, suffix: str) -> ConfigSpacePlan:
    """Return the plan of a nonempty space, or raise RefusedConstraintsError or UnsupportedHyperparameterError."""
    planner = ConfigSpacePlanner(structures, suffix)
    planner.add_networks(())
    return planner.plan.build()


class ConfigSpacePlanner:
    """A converter of networks into entries of a plan, one network after the other."""

    def __init__(self, structures: Structures, suffix: str) -> None:
        self.plan = PlanBuilder(structures, suffix, VariableNames(structures.space))
        self._structures = structures
        self._unfolder = SpaceUnfolder(structures.model, structures.existence_solver)

    def add_networks(self, context: Context) -> None:
        """Add all networks below a context and, recursively, below the branches of their decisions.

        The decisions of the context must already be in the plan. Raises RefusedConstraintsError.
        """
        for network in self._structures.model.by_context.get(context, ()):
            if not self._is_worth_trying(network) or not self._try_direct(network):
                self.plan.unfolded.append(network)
                try:
                    CaseSplitConverter(self.plan, self._unfolder.parts_of_network(network), context).add_to_plan()
                except (InexpressibleError, TooManyConnectedVariablesError) as error:
                    is_too_long = isinstance(error, LongConditionError)
                    raise RefusedConstraintsError(network, is_too_long=is_too_long) from error
                continue
            for member in network.members:
                decision = self.plan.decisions.get(member.address)
                if decision is not None and self.plan.activity[decision.name] != NEVER:
                    for branch in decision.choices:
                        self.add_networks((*member.owners, (member.address, str(branch))))

    def _is_worth_trying(self, network: ConstraintNetwork) -> bool:
        """Return True unless ConfigSpace would almost always reject its draws for this network.

        That is so if few draws satisfy the constraints, or if they leave single values of a range of floats.
        """
        if not network.constraints:
            return True
        try:
            if (
                WeightedModelSolver(self._structures.model, _AcceptanceProbability()).solve(network).total
                < MIN_ACCEPTANCE
            ):
                return False
            supported = self._structures.existence_solver.supported_states()
        except TooManyConnectedVariablesError:
            return True
        points = {
            address: frozenset(state for state, cell in enumerate(cells) if cell.size == 1)
            for address, cells in network.cells.items()
            if any(isinstance(cell, Real) and cell.size is None for cell in cells)
        }
        return all((supported[address] - {-1}) - mine or not supported[address] for address, mine in points.items())

    def _try_direct(self, network: ConstraintNetwork) -> bool:
        """Try to add a network as it is; return False and restore the plan if ConfigSpace cannot express it."""
        before = self.plan.copy()
        try:
            DirectNetworkConverter(self.plan, network).add_to_plan()
            for name in [*self.plan.parameters][len(before.parameters) :]:
                self.plan.make_order_independent(self.plan.activity[name])
        except InexpressibleError:
            self.plan = before
            return False
        return True


class _AcceptanceProbability(CountWeights):
    def branch_weight(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        return 1 / len(choice.branches)

    def cell_weight(self, hyperparameter: Hyperparameter, cell: SimpleDomain) -> float:
        return probability_of_cell(cell, hyperparameter.domain)


@dataclass(frozen=True)
class CaseSplitCategorical:
    """The categorical hyperparameter that stands for a case split, with the choices that select each case."""

    parameter: cs.FlatHyperparameter
    choices: tuple[frozenset[cs.FlatValue], ...]
    values: Mapping[cs.FlatValue, Value] | None
    """The value in configurations of each choice; None if other hyperparameters hold the value."""

    replaces_pieces: bool  # True if the categorical replaces the hyperparameters of its pieces


class CaseSplitConverter:
    """A conversion of the unfolded parts of one network into entries of a plan."""

    def __init__(self, plan: PlanBuilder, roots: UnfoldedParts, context: Context) -> None:
        self.plan, self.roots, self.context = plan, roots, context
        self.parts = tuple(case_splits.all_parts(roots))
        self.references = _incoming_cases(self.parts)
        self.mergeable = _mergeable_pieces(self.parts, roots)
        self.weights = CaseWeights(plan.structures)
        self.selectors: dict[int, CaseSplitCategorical] = {}
        self.codes: dict[int, cs.EncodedDomain] = {}
        self._activity: dict[int, NormalForm] = {}

    def add_to_plan(self) -> None:
        """Add all parts to the plan; raise InexpressibleError if ConfigSpace cannot express them."""
        for part in self.parts:
            self._add_part(part)
        for active in self._activity.values():
            if len(active) > MAX_CONDITION_TERMS:
                self.plan.make_order_independent(active)
        for part in self.parts:
            if isinstance(part, RangeComparison):
                self.plan.clauses.extend(self._clauses(part))
        self.plan.writers.append(self._write)

    def _write(self, lookup: Lookup, values: dict[str, cs.FlatValue]) -> None:
        if any(lookup(owner) != branch for owner, branch in self.context):
            return
        for part, place in case_splits.parts_on_path(self.roots, lookup):
            if isinstance(part, CaseSplit):
                values[self.selectors[id(part)].parameter.name] = self._choice(part, place, lookup)
            elif id(part) in self.codes:
                assert isinstance(part, IndependentHyperparameter)
                worth = lookup(part.node.address)
                assert not isinstance(worth, InactiveValue)
                values.update(self.codes[id(part)].encode(worth))

    def _choice(self, fork: CaseSplit, place: int, lookup: Lookup) -> cs.FlatValue:
        selector = self.selectors[id(fork)]
        choices = selector.choices[place]
        if len(choices) == 1:
            return next(iter(choices))
        assert selector.values is not None
        assert fork.node is not None
        worth = lookup(fork.node.address)
        assert not isinstance(worth, InactiveValue)
        values = [(choice, selector.values[choice]) for choice in choices if choice in selector.values]
        return next(choice for choice, value in values if identity_key(value) == identity_key(worth))

    def _add_part(self, part: UnfoldedPart) -> NormalForm:
        """Add a part after the parts that lead to it, and return the condition under which it is active."""
        if id(part) in self._activity:
            return self._activity[id(part)]
        is_root = any(part is root for root in self.roots)
        leading: list[NormalForm] = [self.plan.context_reached_condition(self.context)] if is_root else []
        is_said = False
        for fork, place in self.references.get(id(part), ()):
            self._add_part(fork)
            selector = self.selectors[id(fork)]
            is_said = is_said or selector.replaces_pieces
            leading.append(dnf.membership_form(selector.parameter, selector.choices[place], self.plan.activity))
        active = self._activity[id(part)] = disjunction(*leading)
        if isinstance(part, CaseSplit):
            selector = self.selectors[id(part)] = self._selector(part)
            self._add_selector(part, selector, active)
        elif isinstance(part, IndependentHyperparameter) and not (is_said and id(part) in self.mergeable):
            self.codes[id(part)] = self.plan.add_domain(part.node, part.domain, active)
        return active

    def _add_selector(self, fork: CaseSplit, selector: CaseSplitCategorical, active: NormalForm) -> None:
        parameter, node, values = selector.parameter, fork.node, selector.values
        self.plan.add_hyperparameter(parameter, active)
        if node is not None:
            self.plan.coded.append((node, parameter))
        if node is not None and values is not None:
            key, name = node.key, parameter.name
            self.plan.readers[name] = lambda given: None if given[name] == NOT_ACTIVE else (key, values[given[name]])

    def _selector(self, fork: CaseSplit) -> CaseSplitCategorical:
        match fork.node:
            case None:
                labels = [f"case {place + 1}" for place in range(len(fork.cases))]
                return _labelled_categorical(self.plan.names.make_unique("choice"), labels, None, 0, None)
            case Choice() as choice:
                labels = [NOT_ACTIVE if case.branch is None else case.branch for case in fork.cases]
                default = choice.branches[choice.default].name
                first = labels.index(default) if default in labels else 0
                values: dict[cs.FlatValue, Value] = {label: label for label in labels if label != NOT_ACTIVE}
                name = self.plan.names.make_unique(self.plan.preferred_name(choice))
                return _labelled_categorical(name, labels, values, first, self.weights.case_probabilities(fork))
            case Hyperparameter() as node:
                if any(id(case.parts[0]) in self.mergeable for case in fork.cases if case.domain is not None):
                    return self._merged_selector(fork, node)
                return self._selector_of_pieces(fork, node)

    def _selector_of_pieces(self, fork: CaseSplit, node: Hyperparameter) -> CaseSplitCategorical:
        labels = [NOT_ACTIVE if case.domain is None else domains.describe(case.domain) for case in fork.cases]
        weights = [
            1.0 if case.domain is None else cs.piece_probability(case.domain, node.domain) for case in fork.cases
        ]
        first = next((p for p, c in enumerate(fork.cases) if c.domain and contains(c.domain, node.default)), 0)
        name = self.plan.names.make_unique(f"{self.plan.preferred_name(node)}:part")
        return _labelled_categorical(name, labels, None, first, weights)

    def _merged_selector(self, fork: CaseSplit, node: Hyperparameter) -> CaseSplitCategorical:
        name = self.plan.names.make_unique(self.plan.preferred_name(node))
        pieces = [piece for case in fork.cases if case.domain is not None for piece in parts(case.domain)]
        values = [v for part in parts(node.domain) for v in _sorted_values(part, pieces)]
        is_optional = any(case.domain is None for case in fork.cases)
        ordered = not isinstance(node.domain, Categorical) or isinstance(node.domain, Ordinal)
        is_alone = len(parts(node.domain)) == 1 and not is_optional
        choices = (NOT_ACTIVE, *map(domains.literal, values)) if is_optional else cs.distinguishable_choices(values)
        table = dict(zip(choices[is_optional:], values, strict=True))

        def covered(domain: Domain | None) -> list[cs.FlatValue]:
            return [NOT_ACTIVE] if domain is None else [c for c, value in table.items() if contains(domain, value)]

        cases = tuple(frozenset(covered(case.domain)) for case in fork.cases)
        default = next((c for c, v in table.items() if identity_key(v) == identity_key(node.default)), choices[0])
        parameter = cs.make_finite_hyperparameter(name, choices, default, ordered=ordered and is_alone)
        return CaseSplitCategorical(parameter, cases, table, replaces_pieces=True)

    def _clauses(self, part: RangeComparison) -> NormalForm:
        """Return the forbidden clauses that hold where a comparison does not have its required truth value."""
        active, atom, wanted = self._activity[id(part)], part.atom, part.truth
        named = references(atom)
        found: list[NormalForm] = []
        if not all(isinstance(side, Reference) for side in (atom.left, atom.right)):
            raise InexpressibleError
        for joint in product(*(self._codes_of(address) for address in named)):
            # Independent draws from ranges are practically never equal.
            if (atom.relation, wanted) in (("==", True), ("!=", False)):
                raise InexpressibleError
            codes = dict(zip(named, joint, strict=True))
            found.append(dnf.conjunction(active, dnf.atom_normal_form(atom, not wanted, codes, self.plan.activity)))
        return disjunction(*found)

    def _codes_of(self, address: str) -> list[cs.EncodedDomain]:
        forks = (
            part for part in self.parts if isinstance(part, CaseSplit) and part.node and part.node.address == address
        )
        if any(id(fork) in self.selectors and self.selectors[id(fork)].replaces_pieces for fork in forks):
            raise InexpressibleError
        free = (
            part for part in self.parts if isinstance(part, IndependentHyperparameter) and part.node.address == address
        )
        return [self.codes[id(part)] for part in free if id(part) in self.codes]


def _labelled_categorical(
    name: str,
    labels: Sequence[str],
    values: Mapping[cs.FlatValue, Value] | None,
    default: int,
    weights: Sequence[float] | None,
) -> CaseSplitCategorical:
    parameter = cs.make_finite_hyperparameter(name, labels, labels[default], weights)
    return CaseSplitCategorical(
        parameter, tuple(frozenset((label,)) for label in labels), values, replaces_pieces=False
    )


def _incoming_cases(every: Sequence[UnfoldedPart]) -> dict[int, list[tuple[CaseSplit, int]]]:
    cases = (
        (fork, number, case) for fork in every if isinstance(fork, CaseSplit) for number, case in enumerate(fork.cases)
    )
    return group_by_key((id(part), (fork, number)) for fork, number, case in cases for part in case.parts)


def _mergeable_pieces(every: Sequence[UnfoldedPart], roots: UnfoldedParts) -> frozenset[int]:
    """Return the ids (`id(part)`) of the hyperparameters whose values can be choices of the case split above them.

    All pieces of a case split are replaced together, and only if nothing else leads to any of them.
    """
    forks = [part for part in every if isinstance(part, CaseSplit)]
    replaceable: dict[int, set[int]] = {
        id(fork): {id(case.parts[0]) for case in fork.cases if case.domain is not None}
        for fork in forks
        if isinstance(fork.node, Hyperparameter) and _is_listable(fork.node.domain, fork.cases)
    }
    needed = {id(part) for part in roots}
    for fork in forks:
        for case in fork.cases:
            needed.update(id(part) for part in (case.parts if case.domain is None else case.parts[1:]))
            if case.domain is not None and id(fork) not in replaceable:
                needed.add(id(case.parts[0]))
    changed = True
    while changed:
        unmergeable = [fork_id for fork_id, pieces in replaceable.items() if pieces & needed]
        changed = bool(unmergeable)
        for fork_id in unmergeable:
            needed |= replaceable.pop(fork_id)
    return frozenset(piece for pieces in replaceable.values() for piece in pieces)


def _is_listable(whole: Domain, cases: Sequence[Case]) -> bool:
    sizes = [case.domain.size for case in cases if case.domain is not None]
    has_logs = any(isinstance(part, Grid) and part.log for part in parts(whole))
    return not has_logs and None not in sizes and sum(size or 0 for size in sizes) <= cs.MAX_LISTED


def _sorted_values(part: SimpleDomain, pieces: Sequence[SimpleDomain]) -> list[Value]:
    found = [value for piece in pieces for value in domains.members(piece) if contains(part, value)]
    return sorted(found, key=part.index_of if isinstance(part, Categorical) else float)  # type: ignore[arg-type]
