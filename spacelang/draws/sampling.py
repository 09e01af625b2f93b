"""Seeded random draws: structures uniformly and without rejection, values uniformly or log-uniformly.

Everything is drawn in columns, many configurations at once: the branches of one decision for all rows that reach it,
then the values of one hyperparameter for all rows in which it is active. One configuration is columns of one row.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
from numpy.random import Generator

from spacelang.draws.batch import Batch, column_of
from spacelang.draws.codes import Array, Codes, integer_type
from spacelang.draws.joint import JointDraw, UnlikelyError
from spacelang.draws.lottery import JointLottery, partition
from spacelang.draws.uniform import UniformDraw
from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Choice, Context, Space
from spacelang.ir.walk import Structure
from spacelang.solver.conditioning import Component, Conditioning
from spacelang.solver.counting import Structures
from spacelang.solver.network import UNREACHED, Fixed, Network

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
        self._conditioning = Conditioning(self.space)
        self._uniform = {node.address: UniformDraw(node.domain) for node in self.space.hyperparameters}
        self._choices = {
            context: [variable.node for variable in variables if isinstance(variable.node, Choice)]
            for context, variables in self.space.by_context.items()
        }
        self._inhabited = {
            context[:length]
            for context in (*self.space.by_context, *self._conditioning.by_context)
            for length in range(1, len(context) + 1)
        }
        self._deciding = {
            context: [_Deciding(network) for network in group] for context, group in structures.model.deciding.items()
        }
        self._lotteries = lru_cache(maxsize=8192)(self._make_lottery)
        self._drawers = lru_cache(maxsize=8192)(self._make_drawers)

    def structure(self, rng: Generator) -> dict[str, str]:
        """A structure, uniformly from all admissible ones."""
        decisions = _Decisions(1)
        for _ in self._decide(decisions, rng, {}):
            pass
        return decisions.structure(self.space)

    def places(self, count: int, rng: Generator) -> dict[str, Array]:
        """So many structures as columns, each uniformly from all admissible ones.

        The places of the branches by the addresses of the decisions, -1 where a decision is not reached; decisions
        that none of them reaches may be missing.
        """
        decisions = _Decisions(count)
        for _ in self._decide(decisions, rng, {}):
            pass
        return decisions.codes

    def configuration(self, rng: Generator, taken: Structure | None = None) -> Configuration:
        """A configuration of a uniformly drawn structure, of those that take some branches where these are given."""
        return self.columns(1, rng, taken).configurations()[0]

    def configurations(self, count: int, rng: Generator) -> Iterator[Configuration]:
        """So many configurations, drawn in blocks."""
        for start in range(0, count, BLOCK):
            yield from self.columns(min(BLOCK, count - start), rng).configurations()

    def columns(self, count: int, rng: Generator, taken: Structure | None = None) -> Batch:
        """So many configurations as columns.

        Where branches are given, all have a structure with these, uniformly from those that there are (all of one,
        where the branches are those of a whole structure). Some admissible structure must have them, and where one is
        that of a nested decision, those that lead to it are among them.
        """
        decisions, pieces = _Decisions(count), Pieces()
        reached = list(self._decide(decisions, rng, taken or {}))
        for context, rows in reached:
            for component in self._conditioning.by_context.get(context, ()):
                self._draw(component, rows, decisions, rng, pieces)
        return Batch(self.space, count, decisions.codes, {a: column_of(found) for a, found in pieces.items()})

    def _decide(self, decisions: "_Decisions", rng: Generator, taken: Structure) -> Iterator[tuple[Context, Array]]:
        """Take all decisions; gives every context that is reached, with its rows."""
        if not self.structures.count:
            raise ValueError("the space is empty")
        waiting: list[tuple[Context, Array]] = [((), np.arange(decisions.count))] if decisions.count else []
        while waiting:
            context, rows = waiting.pop()
            for deciding in self._deciding.get(context, ()):
                for address, places in self._places(deciding, taken, len(rows), rng):
                    decisions.take(address, rows, places)
            for choice in self._choices.get(context, ()):
                for place, mine in decisions.split(choice, rows):
                    inside = (*context, (choice.address, choice.branches[place].name))
                    if inside in self._inhabited:
                        waiting.append((inside, mine))
            yield context, rows

    def _places(
        self, deciding: "_Deciding", taken: Structure, count: int, rng: Generator
    ) -> Iterable[tuple[str, Array]]:
        """The places of the branches that the decisions of a group take."""
        known = deciding.known(taken)
        members = deciding.network.fixed(taken) if known is None else known
        for address, place in members:
            yield address, np.full(count, place, np.int32)
        if known is None:
            yield from self._lotteries(deciding, members).draw(count, rng).items()

    def _make_lottery(self, deciding: "_Deciding", members: Fixed) -> JointLottery:
        network = deciding.network
        return JointLottery(self.structures.existence.solve(network, members), network.existential)

    def _draw(self, component: Component, rows: Array, decisions: "_Decisions", rng: Generator, pieces: Pieces) -> None:
        if component.is_free:
            address = component.members[0].address
            pieces.setdefault(address, []).append((rows, self._uniform[address].draw(len(rows), rng)))
            return
        for situation, mine in decisions.situations(component, rows):
            free, tied = self._drawers(component, situation)
            for address in free:
                pieces.setdefault(address, []).append((mine, self._uniform[address].draw(len(mine), rng)))
            for group in tied:
                for address, active, codes in group.draw(len(mine), rng):
                    if len(active):
                        pieces.setdefault(address, []).append((mine[active], codes))

    def _make_drawers(
        self, component: Component, situation: tuple[int, ...]
    ) -> tuple[tuple[str, ...], tuple[JointDraw, ...]]:
        model = self._conditioning.model(component, situation)
        free: list[str] = []
        tied: list[JointDraw] = []
        for network in model.by_context.get((), ()):
            if network.is_free:
                free.extend(network.cells)
            elif network.cells:
                tied.append(JointDraw(model, network, component.constraints))
        return tuple(free), tuple(tied)


class _Deciding:
    """A group with decisions among its members."""

    def __init__(self, network: Network) -> None:
        self.network = network
        depth = len(network.context)
        self._choices = [(m.node, m.owners[depth:]) for m in network.members if isinstance(m.node, Choice)]

    def known(self, taken: Structure) -> Fixed | None:
        """The place of every branch, -1 where a decision is not reached, if branches say them all."""
        places: list[tuple[str, int]] = []
        for choice, owners in self._choices:
            branch = taken.get(choice.address)
            if branch is not None:
                places.append((choice.address, choice.places[branch]))
            elif any(taken.get(owner, needed) != needed for owner, needed in owners):
                places.append((choice.address, UNREACHED))
            else:
                return None
        return tuple(places)


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
            choice = space.variables[address].choice
            if codes[0] >= 0:
                found[address] = choice.branches[codes[0]].name
        return found
