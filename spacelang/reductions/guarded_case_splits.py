"""Unfolding that preserves conditions, for libraries that can test values which were chosen before.

Only the variables of constraints are unfolded into cases. Every other hyperparameter is chosen once from its whole
domain. If it has a condition, it is chosen inside a guard, after everything that the condition mentions.

A hyperparameter is chosen below the alternative that contains it, unless its condition mentions something that is
chosen later. Then it is chosen in an outer context, and its guard also tests that the alternatives are taken.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from spacelang.grouping import group_by_key
from spacelang.ir.expr import And, BranchTest, Expr, mentioned_addresses
from spacelang.ir.space import Context, Hyperparameter, Space, Variable
from spacelang.ir.walk import with_dependencies
from spacelang.reductions.case_splits import (
    CaseSplit,
    GuardedParts,
    IndependentHyperparameter,
    SpaceUnfolder,
    UnfoldedPart,
    UnfoldedParts,
    all_parts,
)
from spacelang.solver.constraint_contexts import common_context
from spacelang.solver.constraint_network import ConstraintNetwork
from spacelang.solver.counting import Structures
from spacelang.solver.model import SolverModel, SolverWeights, WeightedModelSolver

Item: TypeAlias = ConstraintNetwork | str
"""Variables that are chosen in one step: a network, or a single hyperparameter, given by its address."""


def unfold_with_condition_guards(
    structures: Structures, is_testable: Callable[[Expr, Space], bool], *, tests_unfolded: bool = True
) -> UnfoldedParts:
    """Return the parts that generate each configuration once, with guards in place of most conditions.

    Conditions for which `is_testable` is false are unfolded into cases. With `tests_unfolded` false, so are conditions
    that mention an unfolded variable, because the library cannot read a value that is chosen in several cases. May
    raise TooManyConnectedVariablesError.
    """
    space = structures.space
    rules = (each for rule in space.constraints for each in mentioned_addresses(rule.expression))
    untestable = (address for address, condition in space.conditions.items() if not is_testable(condition, space))
    unfolded = {*with_dependencies(space.variables, (*rules, *untestable))}
    while True:
        if not tests_unfolded:
            _add_tests_of(unfolded, space)
        conditional = [n for n in space.hyperparameters if n.condition is not None and n.address not in unfolded]
        found = _GuardedUnfolding(structures, conditional).parts_below(())
        ambiguous = [] if tests_unfolded else [*_with_ambiguous_guards(space, found)]
        if not ambiguous:
            return found
        unfolded |= {*with_dependencies(space.variables, ambiguous)}


def _add_tests_of(unfolded: set[str], space: Space) -> None:
    """Add to `unfolded` the hyperparameters whose guards may test a variable in it, and those they depend on."""
    while True:
        more = {
            each for each in space.conditions if not unfolded.isdisjoint(_variables_in_guard(space, each))
        } - unfolded
        if not more:
            return
        unfolded |= {*with_dependencies(space.variables, more)}


def _with_ambiguous_guards(space: Space, found: UnfoldedParts) -> Iterator[str]:
    """Yield the hyperparameters whose guards depend on a variable that is chosen in several places of `found`.

    Such a variable may also be a decision that no constraint and no untestable condition mentions: one on the way to
    variables that they do mention. Only the result of the unfolding shows which decisions these are.
    """
    every_unfolded_part = [*all_parts(found)]
    chosen = (part.node for part in every_unfolded_part if isinstance(part, CaseSplit | IndependentHyperparameter))
    count = Counter(node.address for node in chosen if node is not None)
    for guard in (part for part in every_unfolded_part if isinstance(part, GuardedParts)):
        mentioned = with_dependencies(space.variables, mentioned_addresses(guard.condition))
        around = (owner for each in mentioned for owner in space.variables[each].owners if owner not in guard.context)
        if any(count[each] > 1 for each in (*mentioned, *(address for address, _ in around))):
            yield from (part.node.address for part in guard.parts if isinstance(part, IndependentHyperparameter))


def _variables_in_guard(space: Space, address: str) -> Iterator[str]:
    """Yield the addresses of all variables that the guard of a hyperparameter may test, whatever its context."""
    own = space.variables[address]
    assert own.condition is not None
    mentioned = [space.variables[each] for each in mentioned_addresses(own.condition)]
    yield from (variable.address for variable in mentioned)
    around = {owner for owner, _ in own.owners}
    if any(each.owners != own.owners and each.address not in around for each in mentioned):
        yield from around
        yield from (owner for variable in mentioned for owner, _ in variable.owners)


def _model_without(
    structures: Structures, conditional: Sequence[Hyperparameter]
) -> tuple[SolverModel, WeightedModelSolver]:
    """Return the model without the conditions of the given hyperparameters, and a solver for existence in it."""
    if not conditional:
        return structures.model, structures.existence_solver
    variables, addresses = structures.space.variables, {node.address for node in conditional}
    own = structures.structure_model.variables
    if addresses == {address for address in structures.space.conditions if own[address].condition is None}:
        return structures.structure_model, structures.structure_solver
    freed = {n.address: replace(variables[n.address], node=replace(n, condition=None)) for n in conditional}
    model = SolverModel({**variables, **freed}, structures.space.constraints, structures.model)
    return model, WeightedModelSolver(model, SolverWeights())


class _GuardedUnfolding(SpaceUnfolder):
    """An unfolding in which some hyperparameters have guards."""

    def __init__(self, structures: Structures, conditional: Sequence[Hyperparameter]) -> None:
        super().__init__(*_model_without(structures, conditional), values_first=True)
        self._variables = structures.space.variables
        self._order = _ChoiceOrder(self.model, self._variables, {node.address for node in conditional})

    def parts_below(self, context: Context) -> UnfoldedParts:
        if not self._order.conditional:
            return super().parts_below(context)
        if context not in self._below:
            found: list[UnfoldedPart] = []
            for guard, run in groupby(self._parts_in_order(context), key=itemgetter(0)):
                parts = tuple(part for _, several in run for part in several)
                found += parts if guard is None else (self.intern(GuardedParts(context, guard, parts)),)
            self._below[context] = tuple(found)
        return self._below[context]

    def _parts_in_order(self, context: Context) -> Iterator[tuple[Expr | None, UnfoldedParts]]:
        """Yield, for each item of a context in order, the condition of its guard (None: no guard) and its parts."""
        for item in self._order.items_by_context.get(context, ()):
            if isinstance(item, ConstraintNetwork):
                yield None, self.parts_of_network(item)
            else:
                variable = self._variables[item]
                free = self.intern(IndependentHyperparameter(variable.hyperparameter, variable.hyperparameter.domain))
                yield self._guard(variable, context), (free,)

    def _guard(self, variable: Variable, home: Context) -> Expr:
        """Return the condition for the guard of a hyperparameter in the context `home`.

        If `home` is not the innermost context of the hyperparameter, it also tests that the branches from there on are
        taken.
        """
        assert variable.condition is not None
        owners = tuple(BranchTest(owner, (branch,)) for owner, branch in variable.owners[len(home) :])
        return And((*owners, variable.condition)) if owners else variable.condition


@dataclass(frozen=True)
class _ChoiceOrder:
    """A plan of when each item is chosen: in which context, and after which other items of the context.

    An item is a network, or the address of a hyperparameter that is chosen inside a guard; `conditional` are the
    latter.
    """

    model: SolverModel
    variables: Mapping[str, Variable]
    conditional: set[str]

    @cached_property
    def items_by_context(self) -> dict[Context, list[Item]]:
        """The items of each context, in the order of the text as far as dependencies allow."""
        homes = {address: self.variables[address].owners for address in self.conditional}
        while True:
            before = dict(homes)
            waits = self._dependencies(homes)
            if homes == before:
                found = self._sorted_items(homes, waits)
                if homes == before:
                    return found

    @cached_property
    def _networks(self) -> dict[str, ConstraintNetwork]:
        """The network of each variable that is not chosen inside a guard."""
        several = (network for networks in self.model.by_context.values() for network in networks)
        return {m.address: each for each in several for m in each.members if m.address not in self.conditional}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {address: place for place, address in enumerate(self.variables)}

    def _dependencies(self, homes: dict[str, Context]) -> dict[tuple[Context, Item], dict[Item, list[str]]]:
        """Return the items that must precede each item of a context, with the hyperparameters that require it.

        If the condition of a hyperparameter mentions a variable that the same item chooses later, assign the
        hyperparameter to an outer context in `homes`.
        """
        waits: dict[tuple[Context, Item], dict[Item, list[str]]] = {}
        for address in [*homes]:
            condition = self.variables[address].condition
            assert condition is not None
            outer = (owner for owner, _ in self.variables[address].owners[len(homes[address]) :])
            for needed in dict.fromkeys((*mentioned_addresses(condition), *outer)):
                home = homes[address]
                place = homes[needed] if needed in homes else self._networks[needed].context
                shared, first, own = self._shared_context(needed, place, address, home)
                if first != own:
                    waits.setdefault((shared, own), {}).setdefault(first, []).append(address)
                elif shared != home and not self._is_ordered(needed, place, shared, home):
                    homes[address] = shared
        return waits

    def _shared_context(self, needed: str, place: Context, address: str, home: Context) -> tuple[Context, Item, Item]:
        """Return the innermost context with items that contain both variables, and their items in it.

        The variable `needed` is chosen in the context `place`, and `address` in `home`. The two items may be the same.
        """
        first, own = ([*self._items_around(*each)] for each in ((needed, place), (address, home)))
        contexts = dict(first)
        return next((context, contexts[context], item) for context, item in own if context in contexts)

    def _items_around(self, address: str, place: Context) -> Iterator[tuple[Context, Item]]:
        """Yield the contexts around the choice of a variable, inner ones first, each with the item that contains it."""
        yield place, self._networks.get(address, address)
        while place:
            network = self._networks[place[-1][0]]
            place = network.context
            yield place, network

    @staticmethod
    def _is_ordered(needed: str, place: Context, shared: Context, home: Context) -> bool:
        """Return True if `needed` is always chosen before the context `home` is reached, or never together with it.

        `place` is the context in which it is chosen, and `shared` the innermost one in which one item contains both.
        """
        length = len(common_context((home, place)))
        are_exclusive = len(home) > length < len(place) and home[length][0] == place[length][0]
        is_before = length == len(place) < len(home) and place != shared  # outer decisions of a network come first
        return are_exclusive or is_before or any(owner == needed for owner, _ in home)

    def _sorted_items(
        self, homes: dict[str, Context], waits: Mapping[tuple[Context, Item], Mapping[Item, Sequence[str]]]
    ) -> dict[Context, list[Item]]:
        """Return the items of each context, sorted so that each comes after the items on which it depends.

        If items depend on each other, change `homes`: assign hyperparameters whose conditions cause this to the context
        around them, after which the caller must try again.
        """
        items: dict[Context, list[Item]] = {}
        for address, network in self._networks.items():
            several = items.setdefault(network.context, [])
            if network.members[0].address == address:
                several.append(network)
        for context, addresses in group_by_key((home, address) for address, home in homes.items()).items():
            items.setdefault(context, []).extend(addresses)
        for network in self.model.by_context.get((), ()):
            if not network.members:
                items.setdefault((), []).append(network)
        for context, several in items.items():
            after = {item: {*waits.get((context, item), {})} for item in several}
            items[context], cycle = _topological_order(sorted(several, key=self._text_place), after)
            waiting = [a for item in cycle for users in waits.get((context, item), {}).values() for a in users]
            assert not cycle or any(homes[address] != context for address in waiting), "conditions have no cycles"
            homes.update(dict.fromkeys(waiting, context))
        return items

    def _text_place(self, item: Item) -> int:
        if isinstance(item, str):
            return self._places[item]
        return self._places[item.members[0].address] if item.members else len(self._places)


def _topological_order(items: Sequence[Item], after: Mapping[Item, set[Item]]) -> tuple[list[Item], list[Item]]:
    """Return the items in topological order, close to the given order, and the items in cycles or after them."""
    position = {item: place for place, item in enumerate(items)}
    followers = group_by_key((first, item) for item in items for first in after[item])
    missing = {item: len(after[item]) for item in items}
    ready = [position[item] for item in items if not missing[item]]
    heapify(ready)
    found: list[Item] = []
    while ready:
        item = items[heappop(ready)]
        found.append(item)
        for other in followers.get(item, ()):
            missing[other] -= 1
            if not missing[other]:
                heappush(ready, position[other])
    return found, [item for item in items if missing[item]]
