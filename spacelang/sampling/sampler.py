"""Random sampling of configurations, with or without declared weights and priors, structures first.

A structure is a choice of one alternative for every reached decision. Configurations are drawn in columns, many at
once: first the branches of one decision for all rows that reach it, then the values of one hyperparameter for all rows
in which it is active. A single configuration is a batch of one row.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.random import Generator

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Domain
from spacelang.ir.space import Choice, Context, Space
from spacelang.ir.walk import Structure
from spacelang.sampling.batch_builder import ConfigurationBatch, join_column_pieces
from spacelang.sampling.conditional_sampling import (
    MAX_JOINT_MEMBERS,
    ConditionalSampler,
    ConditionEvaluator,
    split_off_conditional_variables,
)
from spacelang.sampling.draw_acceptance import AcceptanceRate
from spacelang.sampling.independent_sampling import ValueSampler
from spacelang.sampling.joint_sampling import JointSampler
from spacelang.sampling.prior_draws import prior_of
from spacelang.sampling.value_codes import Array, ValueCodes, smallest_integer_dtype
from spacelang.sampling.weighted_sampling import JointWeightedSampler, group_rows_by_state
from spacelang.solver.conditioning_on_decisions import ComponentConditioner, HyperparameterComponent
from spacelang.solver.constraint_network import UNREACHED, ConstraintNetwork, FixedDecisions, SamplingFailedError
from spacelang.solver.counting import Structures
from spacelang.solver.model import DeclaredAlternativeWeights, SolverModel, WeightedModelSolver

__all__ = ["BLOCK_SIZE", "Sampler", "SamplingFailedError"]

BLOCK_SIZE: Final = 1 << 16  # The number of configurations per block of `Sampler.configurations`

DrawnPieces: TypeAlias = dict[str, list[tuple[Array, ValueCodes]]]
"""The values drawn so far and their rows, by the address of the hyperparameter."""


@renamed_attributes(
    places="structure_columns",
    columns="batch",
    approximate_addresses="approximately_sampled_addresses",
    measured_shares="measured_acceptance_rates",
)
class Sampler:
    """A sampler of the configurations of one space; everything that does not depend on the draw is computed once.

    By default draws have the distribution that grammars/REFERENCE.md calls the plain law: structures are uniform over
    all admissible ones; values are uniform or log-uniform over their domains, given the constraints. With `advised`,
    they have that of the advised law: a structure has a probability in proportion to the product of the weights of its
    alternatives (`@weight`), and values follow their priors (`@prior`), given the constraints. Without weights and
    priors both are the same.

    This is exact without rejection if constraints compare hyperparameters with constants or finite hyperparameters with
    each other. Comparisons between ranges use rejection sampling, and so do expressions that the solver cannot decide.
    Drawing raises ValueError if the space is empty, and SamplingFailedError if rejection sampling does not find a valid
    configuration.
    """

    def __init__(self, structures: Structures, *, advised: bool = False) -> None:
        self.space: Space = structures.space
        self.structures = structures
        self.advised = advised and not self.space.plain_draws
        is_weighted = self.advised and any(
            choice.repeats or any(branch.weight != 1 for branch in choice.branches) for choice in self.space.decisions
        )
        self._conditioning = ComponentConditioner(self.space)
        is_large = any(map(_is_large, self._conditioning.component_of.values()))
        model = structures.structure_model if is_large else structures.model
        existence_solver = structures.structure_solver if is_large else structures.existence_solver
        self._solver = existence_solver
        if is_weighted:
            declared = DeclaredAlternativeWeights()
            self._solver = WeightedModelSolver(model, declared)
            if self.space.chains:
                self._solver = WeightedModelSolver(
                    model, declared.with_even_repetition_counts(self._solver, self.space.chains)
                )
        self._value_samplers = {
            node.address: ValueSampler(node.domain, prior_of(node, advised=self.advised))
            for node in self.space.hyperparameters
        }
        self._choices_by_context = {
            context: [variable.node for variable in variables if isinstance(variable.node, Choice)]
            for context, variables in self.space.by_context.items()
        }
        self._nonempty_contexts = {
            context[:length]
            for context in (*self.space.by_context, *self._conditioning.by_context)
            for length in range(1, len(context) + 1)
        }
        self._decision_groups = {
            context: [_DecisionGroup(network) for network in group]
            for context, group in model.decision_networks.items()
        }
        self._decision_sampler = lru_cache(maxsize=8192)(self._make_decision_sampler)
        self._component_sampler = lru_cache(maxsize=8192)(self._make_component_sampler)

    def approximately_sampled_addresses(self, count: int) -> Iterator[tuple[str, ...]]:
        """Yield each group of hyperparameters whose draws are approximate in one of `count` random structures."""
        for component, situation in self._situations(count):
            for tied in self._component_sampler(component, situation).tied:
                yield from tied.approximately_sampled_addresses

    def measured_acceptance_rates(self, count: int) -> Iterator[tuple[ConstraintNetwork, Structure, AcceptanceRate]]:
        """Yield each network with expressions that the solver cannot decide, and the share of draws that pass them.

        Networks whose draws are approximate are yielded too. The networks are those of all components in the situations
        of `count` random structures. The branches that make up the situation are given too.
        """
        for component, situation in self._situations(count):
            for tied in self._component_sampler(component, situation).tied:
                if tied.tests_draws or tied.approximately_sampled_addresses:
                    yield (
                        tied.network,
                        self._conditioning.representative_branches(component, situation),
                        tied.measure_acceptance_rate(),
                    )

    def _situations(self, count: int) -> Iterator[tuple[HyperparameterComponent, tuple[int, ...]]]:
        """Yield each component with a condition or constraint, and its situations in `count` random structures."""
        rng, decisions = np.random.default_rng(0), _BranchColumns(count)
        for context, rows in list(self._draw_decisions(decisions, rng, {})):
            for component in self._conditioning.by_context.get(context, ()):
                for situation, _ in () if component.is_unconstrained else decisions.group_by_situation(component, rows):
                    yield component, situation

    def structure(self, rng: Generator) -> dict[str, str]:
        """Return one random admissible structure: the branch names by decision address."""
        decisions = _BranchColumns(1)
        for _ in self._draw_decisions(decisions, rng, {}):
            pass
        return decisions.structure(self.space)

    def structure_columns(self, count: int, rng: Generator) -> dict[str, Array]:
        """Return `count` random admissible structures as columns.

        The result maps the addresses of decisions to arrays of branch indices, with -1 where a decision is not reached.
        Decisions that no row reaches may be missing.
        """
        decisions = _BranchColumns(count)
        for _ in self._draw_decisions(decisions, rng, {}):
            pass
        return decisions.codes

    def configuration(self, rng: Generator, taken: Structure | None = None) -> Configuration:
        """Return one random configuration; `taken` restricts it to structures with the given branches."""
        return self.batch(1, rng, taken).configurations()[0]

    def configurations(self, count: int, rng: Generator) -> Iterator[Configuration]:
        """Yield `count` random configurations, drawn in blocks of `BLOCK_SIZE`."""
        for start in range(0, count, BLOCK_SIZE):
            yield from self.batch(min(BLOCK_SIZE, count - start), rng).configurations()

    def batch(self, count: int, rng: Generator, taken: Structure | None = None) -> ConfigurationBatch:
        """Return a batch of `count` random configurations.

        If `taken` is given, the structures are drawn from the admissible ones that take these branches.
        If it is a complete structure, all rows have that structure. At least one admissible structure must take the
        branches. If one of the decisions is nested, the branches that lead to it must be given too.
        """
        decisions, pieces = _BranchColumns(count), DrawnPieces()
        reached = list(self._draw_decisions(decisions, rng, taken or {}))
        for context, rows in reached:
            for component in self._conditioning.by_context.get(context, ()):
                self._draw_component(component, rows, decisions, rng, pieces)
        return ConfigurationBatch(
            self.space, count, decisions.codes, {a: join_column_pieces(found) for a, found in pieces.items()}
        )

    def _draw_decisions(
        self, decisions: "_BranchColumns", rng: Generator, taken: Structure
    ) -> Iterator[tuple[Context, Array]]:
        """Draw all decisions; yield each reached context with its rows. Raise ValueError if the space is empty."""
        if not self.structures.count:
            raise ValueError("the space is empty")
        waiting: list[tuple[Context, Array]] = [((), np.arange(decisions.count))] if decisions.count else []
        while waiting:
            context, rows = waiting.pop()
            for deciding in self._decision_groups.get(context, ()):
                for address, places in self._draw_branches(deciding, taken, len(rows), rng):
                    decisions.set_branches(address, rows, places)
            for choice in self._choices_by_context.get(context, ()):
                for place, mine in decisions.group_by_branch(choice, rows):
                    inside = (*context, (choice.address, choice.branches[place].name))
                    if inside in self._nonempty_contexts:
                        waiting.append((inside, mine))
            yield context, rows

    def _draw_branches(
        self, deciding: "_DecisionGroup", taken: Structure, count: int, rng: Generator
    ) -> Iterable[tuple[str, Array]]:
        """Return the branch indices of the decisions of a group, by address."""
        known = deciding.fixed_branches(taken)
        members = deciding.network.fixed_decisions(taken) if known is None else known
        for address, place in members:
            yield address, np.full(count, place, np.int32)
        if known is None:
            yield from self._decision_sampler(deciding, members).draw(count, rng).items()

    def _make_decision_sampler(self, deciding: "_DecisionGroup", members: FixedDecisions) -> JointWeightedSampler:
        network = deciding.network
        return JointWeightedSampler(self._solver.solve(network, members), network.existential_variables)

    def _draw_component(
        self,
        component: HyperparameterComponent,
        rows: Array,
        decisions: "_BranchColumns",
        rng: Generator,
        pieces: DrawnPieces,
    ) -> None:
        if component.is_unconstrained:
            address = component.members[0].address
            pieces.setdefault(address, []).append((rows, self._value_samplers[address].draw(len(rows), rng)))
            return
        for situation, mine in decisions.group_by_situation(component, rows):
            for address, active, codes in self._component_sampler(component, situation).draw(len(mine), rng):
                if active is None or len(active):
                    pieces.setdefault(address, []).append((mine if active is None else mine[active], codes))

    def _make_component_sampler(
        self, component: HyperparameterComponent, situation: tuple[int, ...]
    ) -> "_ComponentSampler":
        if not _is_large(component):
            model, last = self._conditioning.residual_model(component, situation), ConditionalSampler((), {})
        else:
            space = self._conditioning.residual_space(component, situation)
            variables, conditional = split_off_conditional_variables(space)
            model = SolverModel(variables, space.constraints)
            last = ConditionalSampler(conditional, self._value_samplers)
        free: dict[str, ValueSampler] = {}
        tied: list[JointSampler] = []
        for network in model.by_context.get((), ()):
            if network.has_only_unconstrained_hyperparameters:
                free |= {address: self._value_samplers[address] for address in network.cells}
            elif network.cells:
                tied.append(JointSampler(model, network, component.constraints, advised=self.advised))
        domains = {member.address: member.hyperparameter.domain for member in component.members}
        return _ComponentSampler(free, tuple(tied), last, domains)


def _is_large(component: HyperparameterComponent) -> bool:
    return len(component.members) > MAX_JOINT_MEMBERS


@dataclass(frozen=True, slots=True)
class _ComponentSampler:
    """The samplers of a component in one situation.

    Independent hyperparameters (`free`) have a sampler each. Hyperparameters that constraints connect share a sampler
    (`tied`). Those whose activity depends on values are drawn last, by the `conditional` sampler.
    """

    free: Mapping[str, ValueSampler]
    tied: tuple[JointSampler, ...]
    conditional: ConditionalSampler
    domains: Mapping[str, Domain]

    def draw(self, count: int, rng: Generator) -> Iterator[tuple[str, Array | None, ValueCodes]]:
        """Yield the address, the active rows (None: all) and the values of each hyperparameter."""
        known = ConditionEvaluator(self.domains, count)
        for address, active, codes in self._draw_unconditional(count, rng):
            if address in self.conditional.mentioned:
                known.add(address, np.arange(count) if active is None else active, codes)
            yield address, active, codes
        yield from self.conditional.draw(known, rng)

    def _draw_unconditional(self, count: int, rng: Generator) -> Iterator[tuple[str, Array | None, ValueCodes]]:
        for address, sampler in self.free.items():
            yield address, None, sampler.draw(count, rng)
        for group in self.tied:
            yield from group.draw(count, rng)


class _DecisionGroup:
    """A network that has decisions among its members."""

    def __init__(self, network: ConstraintNetwork) -> None:
        self.network = network
        depth = len(network.context)
        self._choices = [(m.node, m.owners[depth:]) for m in network.members if isinstance(m.node, Choice)]

    def fixed_branches(self, taken: Structure) -> FixedDecisions | None:
        """Return the branch index (-1: not reached) of every decision if `taken` determines all of them, else None."""
        places: list[tuple[str, int]] = []
        for choice, owners in self._choices:
            branch = taken.get(choice.address)
            if branch is not None:
                places.append((choice.address, choice.branch_indices[branch]))
            elif any(taken.get(owner, needed) != needed for owner, needed in owners):
                places.append((choice.address, UNREACHED))
            else:
                return None
        return tuple(places)


class _BranchColumns:
    """The branch indices drawn so far for each decision; -1 where a decision is not reached."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.codes: dict[str, Array] = {}

    def set_branches(self, address: str, rows: Array, places: Array) -> None:
        if len(rows) == self.count:
            self.codes[address] = places
            return
        kind = smallest_integer_dtype(-1, max(int(places.max()), 0))
        known = self.codes.get(address, np.full(self.count, -1, kind))
        self.codes[address] = known.astype(np.result_type(known.dtype, places.dtype), copy=False)
        self.codes[address][rows] = places

    def group_by_branch(self, choice: Choice, rows: Array) -> Iterator[tuple[int, Array]]:
        """Yield the rows grouped by branch, for a decision that all of them reach."""
        for key, mine in group_rows_by_state([self.codes[choice.address][rows]], [len(choice.branches) + 1]):
            yield key - 1, rows[mine]

    def group_by_situation(
        self, component: HyperparameterComponent, rows: Array
    ) -> Iterator[tuple[tuple[int, ...], Array]]:
        """Yield the rows grouped by the situation of a component (the classes of its relevant decisions)."""
        if not component.decisions:
            yield (), rows
            return
        classes = [
            np.array(ask.classes)[self.codes[ask.address][rows]]
            if ask.address in self.codes
            else np.full(len(rows), ask.classes[-1])
            for ask in component.decisions
        ]
        for _, mine in group_rows_by_state(classes, [len(ask.examples) + 1 for ask in component.decisions]):
            yield tuple(int(column[mine[0]]) for column in classes), rows[mine]

    def structure(self, space: Space) -> dict[str, str]:
        """Return the branch names of the first row by the addresses of the decisions."""
        found = {}
        for address, codes in self.codes.items():
            choice = space.variables[address].choice
            if codes[0] >= 0:
                found[address] = choice.branches[codes[0]].name
        return found
