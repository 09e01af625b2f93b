"""Seeded random draws: structures uniformly and without rejection, values uniformly or log-uniformly.

Everything is drawn in columns, many configurations at once: the branches of one decision for all rows that reach it,
then the values of one hyperparameter for all rows in which it is active. One configuration is columns of one row.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.random import Generator

from spacelang.ir.codes import Array, Codes, concatenated, integer_type
from spacelang.ir.columns import Column, Columns
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.groups import Context
from spacelang.ir.lottery import JointLottery, partition
from spacelang.ir.priors import Prior
from spacelang.ir.situations import Component, Situations
from spacelang.ir.space import Choice, Space
from spacelang.ir.tied import Tied, UnlikelyError
from spacelang.ir.walk import Structure

__all__ = ["BLOCK", "Sampler", "UnlikelyError"]

BLOCK: Final = 1 << 16
"""How many configurations are drawn together where a stream of them is asked for."""

Pieces: TypeAlias = dict[str, list[tuple[Array, Codes]]]
"""Values that were drawn so far, with their rows, by the address of the hyperparameter."""


class Sampler:
    """Draws members of a space; everything that does not depend on the draw is computed once.

    Structures are uniform over all admissible ones. Values follow their priors, uniform or log-uniform, conditional on
    the constraints: exactly where constraints compare hyperparameters with constants or finite ones with each other,
    by drawing again where they compare ranges. Draws raise ValueError where the space is empty, and UnlikelyError
    where drawing again does not end.
    """

    def __init__(self, structures: Structures) -> None:
        self.space: Space = structures.space
        self.structures = structures
        self._situations = Situations(self.space)
        self._priors = {node.address: Prior(node.domain) for node in self.space.hyperparameters}
        self._choices = {
            context: [variable.node for variable in variables if isinstance(variable.node, Choice)]
            for context, variables in self.space.by_context.items()
        }
        self._inhabited = {
            context[:length]
            for context in (*self.space.by_context, *self._situations.by_context)
            for length in range(1, len(context) + 1)
        }
        self._lotteries = lru_cache(maxsize=None)(self._make_lotteries)
        self._drawers = lru_cache(maxsize=8192)(self._make_drawers)

    def structure(self, rng: Generator) -> dict[str, str]:
        """A structure, uniformly from all admissible ones."""
        decisions = _Decisions(1)
        for _ in self._decide(decisions, rng, None):
            pass
        return decisions.structure(self.space)

    def configuration(self, rng: Generator, structure: Structure | None = None) -> Configuration:
        """A configuration of an admissible structure, of a uniformly drawn one where none is given."""
        return self.columns(1, rng, structure).configurations()[0]

    def configurations(self, count: int, rng: Generator) -> Iterator[Configuration]:
        """So many configurations, drawn in blocks."""
        for start in range(0, count, BLOCK):
            yield from self.columns(min(BLOCK, count - start), rng).configurations()

    def columns(self, count: int, rng: Generator, structure: Structure | None = None) -> Columns:
        """So many configurations as columns; all of one admissible structure where one is given."""
        decisions, pieces = _Decisions(count), Pieces()
        reached = list(self._decide(decisions, rng, structure))
        for context, rows in reached:
            for component in self._situations.by_context.get(context, ()):
                self._draw(component, rows, decisions, rng, pieces)
        return Columns(self.space, count, decisions.codes, {a: _column(found) for a, found in pieces.items()})

    def _decide(
        self, decisions: "_Decisions", rng: Generator, structure: Structure | None
    ) -> Iterator[tuple[Context, Array]]:
        """Take all decisions; gives every context that is reached, with its rows."""
        if structure is None and not self.structures.count:
            raise ValueError("the space is empty")
        waiting: list[tuple[Context, Array]] = [((), np.arange(decisions.count))] if decisions.count else []
        while waiting:
            context, rows = waiting.pop()
            if structure is None:
                for lottery in self._lotteries(context):
                    for address, states in lottery.draw(len(rows), rng).items():
                        decisions.take(address, rows, states)
            for choice in self._choices.get(context, ()):
                if structure is not None:
                    place = choice.places[structure[choice.address]]
                    decisions.take(choice.address, rows, np.full(len(rows), place, np.int32))
                for place, mine in decisions.split(choice, rows):
                    inside = (*context, (choice.address, choice.branches[place].name))
                    if inside in self._inhabited:
                        waiting.append((inside, mine))
            yield context, rows

    def _make_lotteries(self, context: Context) -> tuple[JointLottery, ...]:
        existence = self.structures.existence
        deciding = self.structures.model.deciding.get(context, ())
        return tuple(JointLottery(existence.solve(compiled), compiled.existential) for compiled in deciding)

    def _draw(self, component: Component, rows: Array, decisions: "_Decisions", rng: Generator, pieces: Pieces) -> None:
        if component.is_free:
            address = component.members[0].address
            pieces.setdefault(address, []).append((rows, self._priors[address].draw(len(rows), rng)))
            return
        for situation, mine in decisions.situations(component, rows):
            free, tied = self._drawers(component, situation)
            for address in free:
                pieces.setdefault(address, []).append((mine, self._priors[address].draw(len(mine), rng)))
            for group in tied:
                for address, active, codes in group.draw(len(mine), rng):
                    if len(active):
                        pieces.setdefault(address, []).append((mine[active], codes))

    def _make_drawers(
        self, component: Component, situation: tuple[int, ...]
    ) -> tuple[tuple[str, ...], tuple[Tied, ...]]:
        model = self._situations.model(component, situation)
        free: list[str] = []
        tied: list[Tied] = []
        for compiled in model.by_context.get((), ()):
            if compiled.is_free:
                free.extend(compiled.cells)
            elif compiled.cells:
                tied.append(Tied(model, compiled, component.constraints))
        return tuple(free), tuple(tied)


class _Decisions:
    """The places of the branches that are taken so far, -1 where a decision is not reached."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.codes: dict[str, Array] = {}

    def take(self, address: str, rows: Array, places: Array) -> None:
        if len(rows) == self.count:
            self.codes[address] = places
            return
        kind = integer_type(-1, max(int(places.max()), 0))
        known = self.codes.get(address, np.full(self.count, -1, kind))
        self.codes[address] = known.astype(np.result_type(known.dtype, places.dtype), copy=False)
        self.codes[address][rows] = places

    def split(self, choice: Choice, rows: Array) -> Iterator[tuple[int, Array]]:
        """The rows by the branch of a decision that all of them reach."""
        for key, mine in partition([self.codes[choice.address][rows]], [len(choice.branches) + 1]):
            yield key - 1, rows[mine]

    def situations(self, component: Component, rows: Array) -> Iterator[tuple[tuple[int, ...], Array]]:
        """The rows by the situation of a component."""
        if not component.decisions:
            yield (), rows
            return
        classes = [
            np.array(ask.classes)[self.codes[ask.address][rows]]
            if ask.address in self.codes
            else np.full(len(rows), ask.classes[-1])
            for ask in component.decisions
        ]
        for _, mine in partition(classes, [len(ask.examples) + 1 for ask in component.decisions]):
            yield tuple(int(column[mine[0]]) for column in classes), rows[mine]

    def structure(self, space: Space) -> dict[str, str]:
        """The branches of the first row by the addresses of the decisions."""
        found = {}
        for address, codes in self.codes.items():
            choice = space.variables[address].node
            assert isinstance(choice, Choice)
            if codes[0] >= 0:
                found[address] = choice.branches[codes[0]].name
        return found


def _column(pieces: list[tuple[Array, Codes]]) -> Column:
    if len(pieces) == 1:
        return Column(*pieces[0])
    return Column(np.concatenate([rows for rows, _ in pieces]), concatenated([codes for _, codes in pieces]))
