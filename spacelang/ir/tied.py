"""The values of one structure that constraints tie together, drawn jointly under some weights."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from spacelang.ir.compiled import UNREACHED, Compiled
from spacelang.ir.counting import Structures
from spacelang.ir.domain import Simple
from spacelang.ir.elimination import Elimination, State, draw
from spacelang.ir.model import Solution, Weights
from spacelang.ir.space import Choice
from spacelang.ir.walk import Structure

Choose = Callable[[Sequence[float]], int]
"""Picks an index, given the weights of the options."""


class TiedGroups:
    """The groups with constraints over hyperparameters; solutions are kept for the structures that were met."""

    def __init__(self, structures: Structures, weights: Weights) -> None:
        self._model = structures.model
        self._weights = weights
        self._groups = [
            (context, compiled)
            for context, group in structures.model.by_context.items()
            for compiled in group
            if any(constraint.scope for constraint in compiled.group.constraints)
        ]
        self._solution = lru_cache(maxsize=4096)(self._solve)

    def within(self, structure: Structure) -> Iterator[tuple[int, Compiled]]:
        """The groups that a structure reaches, each with its number."""
        for number, (context, compiled) in enumerate(self._groups):
            if all(structure.get(address) == branch for address, branch in context):
                yield number, compiled

    def states(self, number: int, structure: Structure, choose: Choose) -> dict[str, State]:
        """The states of all variables of a group, chosen jointly.

        With comparisons of ranges among them they say which of these are true: that some values in the cells agree.
        """
        taken = tuple(
            (v.address, v.node.places[structure[v.address]] if v.address in structure else UNREACHED)
            for v in self._groups[number][1].group.members
            if isinstance(v.node, Choice)
        )
        return draw(self._solution(number, taken), choose)

    def cells(self, number: int, states: Mapping[str, State]) -> dict[str, Simple]:
        """The cell of every active hyperparameter of a group."""
        cells = self._groups[number][1].cells
        return {a: mine[states[a]] for a, mine in cells.items() if states[a] != UNREACHED}

    def _solve(self, number: int, taken: tuple[tuple[str, State], ...]) -> Elimination:
        compiled = self._groups[number][1]
        choices = {v.address: v.node for v in compiled.group.members if isinstance(v.node, Choice)}
        structure = {a: choices[a].branches[state].name for a, state in taken if state != UNREACHED}
        return Solution(self._model, self._weights, structure).solve(compiled)
