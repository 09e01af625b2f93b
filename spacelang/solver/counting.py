"""Exact counts: structures, configurations, and structures by their discrepancy from a given one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product

from spacelang.facts import fact
from spacelang.grouping import grouped
from spacelang.ir.domain import Simple
from spacelang.ir.expr import scope
from spacelang.ir.space import Choice, Context, Hyperparameter, Space, Variable, said
from spacelang.ir.walk import Structure, default_structure
from spacelang.solver.atoms import is_plain
from spacelang.solver.elimination import FEWEST, Factor, Polynomials, State, Table
from spacelang.solver.model import Model, Solver, Weights
from spacelang.solver.network import UNREACHED, TooTangledError


class Sizes(Weights):
    """Every configuration weighs 1."""

    existential = False

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:  # noqa: ARG002
        """As many as there are values."""
        assert cell.size is not None
        return cell.size


class Discrepancy(Weights):
    """Every structure weighs x^k where k of its decisions differ from a reference."""

    def __init__(self, reference: Structure, polynomials: Polynomials) -> None:
        self.reference = reference
        self.polynomials = polynomials

    def branch(self, choice: Choice, place: int) -> float:
        """1 for the branch of the reference; for a decision that it does not reach, for the default branch."""
        return self.polynomials.power(_differs(choice, place, self.reference))


class Changes(Weights):
    """Every structure weighs 2^k where k is what it costs to change a reference into it: 1 for each decision."""

    semiring = FEWEST

    def __init__(self, reference: Structure, costs: Mapping[str, int] | None = None) -> None:
        """`costs` are those of decisions, by address, that cost something else."""
        self.reference = reference
        self.costs = costs or {}

    def branch(self, choice: Choice, place: int) -> float:
        """1 for the branch of the reference; for a decision that it does not reach, for the default branch."""
        return 1 << self.costs.get(choice.address, 1) * _differs(choice, place, self.reference)


def _differs(choice: Choice, place: int, reference: Structure) -> bool:
    return choice.branches[place].name != reference.get(choice.address, choice.branches[choice.default].name)


def least(weights: Sequence[float]) -> int:
    """The place of the first of the least weights: what is drawn where the fewest changes are wanted."""
    return min(range(len(weights)), key=weights.__getitem__)


class Structures:
    """The admissible structures of a space, counted and tested without being listed."""

    def __init__(self, space: Space) -> None:
        """Compile what decides which structures there are; raises UndecidableError (see `network`)."""
        self.space = space
        self.decisive = Model(_decisive(space), space.constraints)
        """The model without what has no say in which structures there are."""

    def __reduce__(self) -> tuple[type["Structures"], tuple[Space]]:
        """A pickle has the space alone: what was counted depends on what was asked."""
        return type(self), (self.space,)

    @cached_property
    def model(self) -> Model:
        """The counting model of all hyperparameters."""
        if self.decisive.variables is self.space.variables:
            return self.decisive
        return Model(self.space.variables, self.space.constraints)

    @cached_property
    def existence(self) -> Solver:
        """The model with a weight of 1 for each structure."""
        return Solver(self.model, Weights())

    @cached_property
    def count(self) -> int:
        """How many structures have at least one admissible configuration."""
        return int(self._decided.total())

    @cached_property
    def supported_branches(self) -> dict[str, frozenset[int]]:
        """For every decision the places of the branches that some admissible configuration takes.

        Of decisions that no admissible configuration reaches nothing is said.
        """
        return self._decided.supported_branches()

    @cached_property
    def _decided(self) -> Solver:
        return self.existence if self.decisive.variables is self.space.variables else Solver(self.decisive, Weights())

    @cached_property
    def configurations(self) -> int | None:
        """How many configurations there are; None with a continuous hyperparameter.

        Also None where existence is decided, not counted: where large integer ranges are compared with each other, or
        conditions tie too many variables to each other.
        """
        infinite = any(node.domain.size is None for node in self.space.hyperparameters)
        if infinite or self.model.only_existence:
            return None
        try:
            return int(Solver(self.model, Sizes()).total())
        except TooTangledError:
            return None

    def by_discrepancy(self, reference: Structure) -> tuple[int, ...]:
        """How many structures differ from the reference in exactly 0, 1, 2, ... decisions.

        A decision that the reference does not reach differs where it does not take its default.
        """
        polynomials = Polynomials(self.count.bit_length())
        return polynomials.coefficients(int(Solver(self.model, Discrepancy(reference, polynomials)).total()))

    def nearest(self, taken: Structure) -> Structure:
        """The structure nearest to the default that takes the given branches, which some admissible one must take.

        It differs from the default in as few further decisions as possible; where several structures do, which of them
        it is depends on the space alone. Where a decision is nested, the branches that lead to it are given too.
        """
        usual = default_structure(self.space, taken)
        return usual if self.admits(usual) else self._changes.given(taken).structure(least)

    @cached_property
    def _changes(self) -> Solver:
        return Solver(self.model, Changes({}))

    def admits(self, structure: Structure) -> bool:
        """Whether a structure has an admissible configuration; its decisions must be exactly those it reaches."""
        waiting: list[Context] = [()]
        while waiting:
            context = waiting.pop()
            for hurdle in self._hurdles.get(context, ()):
                if not hurdle.table.get(hurdle.places(structure)):
                    return False
            for variable in self._deciding.get(context, ()):
                waiting.append((*variable.owners, (variable.address, structure[variable.address])))
        return True

    def exchanges(self, structure: Structure, choice: Choice) -> list[str]:
        """The other branches that a decision may take in an admissible structure, all other decisions kept.

        Only for a decision inside of which there are no others.
        """
        own = choice.places[structure[choice.address]]
        left = [place for place in range(len(choice.branches)) if place != own]
        for hurdle in self._hurdles_of.get(choice.address, ()):
            places, at = hurdle.places(structure), hurdle.choices.index(choice)
            left = [each for each in left if hurdle.table.get((*places[:at], each, *places[at + 1 :]))]
        return [choice.branches[place].name for place in left]

    def exchanges_depend_on(self, choice: Choice) -> Iterator[str]:
        """The addresses of the decisions that say what `exchanges` gives, its own among them."""
        yield choice.address
        for hurdle in self._hurdles_of.get(choice.address, ()):
            yield from (other.address for other in hurdle.choices)

    @cached_property
    def _hurdles_of(self) -> dict[str, list["_Hurdle"]]:
        """The hurdles that each decision is part of: no context of theirs is below it."""
        hurdles = (each for several in self._hurdles.values() for each in several)
        return grouped((choice.address, hurdle) for hurdle in hurdles for choice in hurdle.choices)

    @cached_property
    def _deciding(self) -> dict[Context, list[Variable]]:
        """The decisions of each context that may have hurdles below them."""
        found: dict[Context, list[Variable]] = {}
        for context in self._hurdles:
            for length in range(len(context)):
                variable = self.space.variables[context[length][0]]
                mine = found.setdefault(context[:length], [])
                if variable not in mine:
                    mine.append(variable)
        return found

    @cached_property
    def _hurdles(self) -> dict[Context, list["_Hurdle"]]:
        """What structures must pass below each context; what all of them pass is left out."""
        found: dict[Context, list[_Hurdle]] = {}
        for context, networks in self.model.by_context.items():
            for network in (each for each in networks if not each.is_free):
                factors = self.existence.decisions(network).factors
                for factor in _together([factor for factor in factors if _excludes(factor, network.states)]):
                    choices = (self.space.variables[address].node for address in factor.scope)
                    hurdle = _Hurdle(tuple(c for c in choices if isinstance(c, Choice)), factor.table)
                    found.setdefault(context, []).append(hurdle)
        return found


def _decisive(space: Space) -> Mapping[str, Variable]:
    """The variables without the conditions that have no say in which structures there are.

    Those are of hyperparameters of which nothing else speaks: whether such a one is active or not, some value exists.
    Thousands of alternatives may have them, each beside what stands elsewhere, and need not be tied to this.
    """
    expressions = said(space.variables.values(), space.constraints)
    mentioned = {address for expression in expressions for address in scope(expression)}
    freed = {
        node.address: replace(space.variables[node.address], node=replace(node, condition=None))
        for node in space.hyperparameters
        if node.condition is not None and node.address not in mentioned and is_plain(node.condition)
    }
    return {**space.variables, **freed} if freed else space.variables


@fact
class _Hurdle:
    """The joint places of some decisions with a positive weight where something admissible has them."""

    choices: tuple[Choice, ...]
    table: Table

    def places(self, structure: Structure) -> tuple[State, ...]:
        """The places of the branches that a structure takes."""
        taken = [(choice, structure.get(choice.address)) for choice in self.choices]
        return tuple([UNREACHED if branch is None else choice.places[branch] for choice, branch in taken])


def _excludes(factor: Factor, states: Mapping[str, Sequence[State]]) -> bool:
    return any(not factor.table.get(joint) for joint in product(*(states[name] for name in factor.scope)))


def _together(factors: Sequence[Factor]) -> Iterator[Factor]:
    """The factors with those over the same variables made one."""
    for first, *others in grouped((frozenset(factor.scope), factor) for factor in factors).values():
        places = [[first.scope.index(name) for name in other.scope] for other in others]
        table: Table = {
            joint: weight
            for joint, weight in first.table.items()
            if all(o.table.get(tuple([joint[p] for p in at])) for o, at in zip(others, places, strict=True))
        }
        yield Factor(first.scope, table)
