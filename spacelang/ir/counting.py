"""Exact counts: structures, configurations, and structures by their discrepancy from a given one."""

from functools import cached_property

from spacelang.ir.compiled import UNREACHED, Compiled, TooTangledError
from spacelang.ir.domain import Simple
from spacelang.ir.elimination import Factor
from spacelang.ir.groups import Context
from spacelang.ir.model import Model, Solution
from spacelang.ir.space import Choice, Hyperparameter, Space
from spacelang.ir.walk import Structure


class Existence:
    """Every structure weighs 1 if some values of its hyperparameters are admissible."""

    existential = True

    def branch(self, choice: Choice, place: int) -> float:  # noqa: ARG002
        """Each branch alike."""
        return 1

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:  # noqa: ARG002
        """Each cell alike."""
        return 1


class Sizes(Existence):
    """Every configuration weighs 1."""

    existential = False

    def cell(self, hyperparameter: Hyperparameter, cell: Simple) -> float:  # noqa: ARG002
        """As many as there are values."""
        assert cell.size is not None
        return cell.size


class Discrepancy(Existence):
    """Every branch that differs from a reference weighs a power of two so large that a sum keeps the counts apart."""

    def __init__(self, reference: Structure, shift: int) -> None:
        self.reference = reference
        self.shift = shift

    def branch(self, choice: Choice, place: int) -> float:
        """1 for the branch of the reference; for a decision that it does not reach, for the default branch."""
        usual = self.reference.get(choice.address, choice.branches[choice.default].name)
        return 1 if choice.branches[place].name == usual else 1 << self.shift


class Structures:
    """The admissible structures of a space, counted and tested without being listed."""

    def __init__(self, space: Space) -> None:
        """Compile the counting model; raises UndecidableError (see `compiled`)."""
        self.space = space
        self.model = Model(space)
        self.existence = Solution(self.model, Existence())

    @cached_property
    def count(self) -> int:
        """How many structures have at least one admissible configuration."""
        return int(self.existence.total())

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
            return int(Solution(self.model, Sizes()).total())
        except TooTangledError:
            return None

    def by_discrepancy(self, reference: Structure) -> tuple[int, ...]:
        """How many structures differ from the reference in exactly 0, 1, 2, ... decisions.

        A decision that the reference does not reach differs where it does not take its default.
        """
        shift = self.count.bit_length() + 1
        packed = int(Solution(self.model, Discrepancy(reference, shift)).total())
        counts = []
        while packed:
            counts.append(packed & ((1 << shift) - 1))
            packed >>= shift
        return tuple(counts)

    def admits(self, structure: Structure) -> bool:
        """Whether a structure has an admissible configuration; its decisions must be exactly those it reaches."""
        waiting: list[Context] = [()]
        while waiting:
            context = waiting.pop()
            if not all(self._admits_here(structure, compiled) for compiled in self.model.by_context.get(context, ())):
                return False
            for compiled in self.model.deciding.get(context, ()):
                for variable in compiled.group.members:
                    if isinstance(variable.node, Choice) and variable.address in structure:
                        waiting.append((*variable.owners, (variable.address, structure[variable.address])))
        return True

    def _admits_here(self, structure: Structure, compiled: Compiled) -> bool:
        if id(compiled) not in self._decision_factors:
            self._decision_factors[id(compiled)] = self.existence.decision_factors(compiled)
        places = {
            variable.address: variable.node.places[structure[variable.address]]
            if variable.address in structure
            else UNREACHED
            for variable in compiled.group.members
            if isinstance(variable.node, Choice)
        }
        return all(
            factor.table.get(tuple(places[name] for name in factor.scope), 0)
            for factor in self._decision_factors[id(compiled)]
        )

    @cached_property
    def _decision_factors(self) -> dict[int, tuple[Factor, ...]]:
        return {}
