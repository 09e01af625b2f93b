"""Hyperopt samples, which contain every hyperparameter, whether or not its condition is true.

A `scope.switch` selects a case by a value that was drawn before: its expression computes the index of the case.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, contains, parts
from spacelang.ir.expr import And, BranchTest, mentioned_addresses
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value
from spacelang.ir.walk import assemble_configuration, structure_of
from spacelang.reductions.case_splits import (
    GuardedParts,
    IndependentHyperparameter,
    UnfoldedParts,
    ValueSwitch,
    inner_parts,
)
from spacelang.reductions.space_questions import DrawnPiece, FixedPiece, Piece, Questions
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.python_conditions import ALWAYS, NEVER, PythonConditionWriter

MAX_LISTED: Final = 1_000  # The maximum size of a range of integers whose indices are listed in a table
MAX_THRESHOLDS: Final = 3  # The maximum number of comparisons of a number with thresholds
Subsets: TypeAlias = Sequence[Domain | None]
"""Disjoint subsets of a domain; the index of a value is that of the subset that contains it."""


class GuardedSampleEntries:
    """The entries that a sample has for hyperparameters inside guards, even where the condition is false."""

    def __init__(self, questions: Questions) -> None:
        """Name the entries: by the key, or by the address if another variable has the same key."""
        self._questions = questions
        nodes = [questions.space.variables[address].hyperparameter for address in questions.guards]
        self.names: Mapping[str, str] = {node.address: self._entry_name(node) for node in nodes}
        """The name of the entry of each hyperparameter inside a guard, by its address."""

    def _entry_name(self, node: Hyperparameter) -> str:
        return node.key if self._questions.names.has_unique_key(node) else f"{node.address} (if active)"

    def active_values(self, drawn: Mapping[str, Value]) -> Configuration:
        """Return the configuration of a flat sample, without the hyperparameters whose condition is false in it."""
        if not self.names:
            return Configuration(drawn)
        structure = structure_of(self._questions.space, Configuration(drawn))
        names = self.names
        return assemble_configuration(
            self._questions.space, structure, lambda node: drawn[names.get(node.address, node.key)]
        )

    def source(self, result: str) -> str:
        """Return the source of a function `configuration(sample)`, which does the same as `active_values`.

        `result` is the expression that the function returns; it may use the dictionary `found` of the active values.
        """
        summary = "Return the configuration of a sample, without the values whose conditions do not hold."
        lines = [line for guard in self._guards_in_order for line in self._lines(guard)]
        if not lines:
            summary = "Return the configuration of a sample."
        head = ["def configuration(sample):", f'    """{summary}"""', "    found = flattened(sample)"]
        return "\n".join([*head, *lines, f"    return {result}"])

    @cached_property
    def _guards_in_order(self) -> list[GuardedParts]:
        """The guards, each after those of the hyperparameters that its condition mentions."""
        guards = self._questions.guards
        needed = {address: mentioned_addresses(guard.condition) for address, guard in guards.items()}
        inside = {address: [each for each in several if each in guards] for address, several in needed.items()}
        return [*{id(guards[each]): guards[each] for each in TopologicalSorter(inside).static_order()}.values()]

    def _lines(self, guard: GuardedParts) -> list[str]:
        """Return the lines that drop the hyperparameters inside a guard if its condition is false."""
        space, names = self._questions.space, self.names
        owners = [each for each in guard.context if len(space.variables[each[0]].choice.branches) > 1]
        tests = (BranchTest(owner, (branch,)) for owner, branch in owners)
        test = PythonConditionWriter(space, self._questions.names).condition(
            And((*tests, guard.condition)), self._known_within(guard), truth=False
        )
        nodes = [free.node for free in guard.parts if isinstance(free, IndependentHyperparameter)]
        entries = [(py.literal_source(names[node.address]), node) for node in nodes]
        # Only in the context of the guard are its hyperparameters drawn.
        dropped = [f"found.pop({name}, None)" if owners else f"del found[{name}]" for name, _ in entries]
        shared = [(name, node) for name, node in entries if names[node.address] != node.key]
        renamed = [f"found[{py.literal_source(node.key)}] = found.pop({name})" for name, node in shared]
        if test is NEVER or test is ALWAYS:
            return [f"    {line}" for line in (dropped if test is ALWAYS else renamed)]
        branches = [(f"if {py.expression_source(test, 4, 4)}", dropped), *([("else", renamed)] if renamed else [])]
        return [line for head, body in branches for line in (f"    {head}:", *(f"        {each}" for each in body))]

    def _known_within(self, guard: GuardedParts) -> frozenset[str]:
        """Return the addresses of the variables that always have a value in the context of a guard."""
        around = {*guard.context}
        variables = self._questions.space.variables.values()
        return frozenset(each.address for each in variables if each.condition is None and {*each.owners} <= around)


class SwitchIndexWriter:
    """A writer of index expressions: `indices` has the code for each `ValueSwitch` of a space, by its `id`."""

    def __init__(self, questions: Questions, number_code: Callable[[DrawnPiece], py.Code]) -> None:
        """Write, for every `ValueSwitch` of the questions, the index of its case: the argument of a `scope.switch`.

        `number_code` returns the code that draws the number of a piece; the value of the piece must use the same code.
        """
        self._questions, self._number_code = questions, number_code
        self._indices: dict[str, py.Code] = {}
        self.indices: dict[int, py.Code] = {}
        for several in (
            questions.parts,
            *(each for part in questions.every_unfolded_part for each in inner_parts(part)),
        ):
            self._add_indices(several)

    def drawn_index_if_used(self, name: str) -> py.Code | None:
        """Return the code that draws the index of a choice if a switch depends on this index, else None.

        Then the choice itself must use this code, too.
        """
        return self._indices.get(name)

    def _add_indices(self, several: UnfoldedParts) -> None:
        values = {part.node.address: part for part in several if isinstance(part, IndependentHyperparameter)}
        for part in several:
            if isinstance(part, ValueSwitch):
                subsets = [case.domain for case in part.cases]
                self.indices[id(part)] = self._case_index(values[part.node.address], subsets)

    def _case_index(self, free: IndependentHyperparameter, subsets: Subsets) -> py.Code:
        """Return the code of the index of the subset that contains the value drawn for a hyperparameter."""
        draw = self._questions.draws[id(free)]
        indices = [self._piece_index(piece, subsets) for piece in draw.pieces]
        if not draw.choice:
            return indices[0]
        return _entry_at(indices, self._index(draw.choice, len(indices)))

    def _index(self, name: str, count: int) -> py.Code:
        """Return the code that draws the index of one of `count` options, the same object for each name."""
        if name not in self._indices:
            self._indices[name] = py.call("hp.randint", name, count)
        return self._indices[name]

    def _piece_index(self, piece: Piece, subsets: Subsets) -> py.Code:
        if isinstance(piece, FixedPiece):
            return py.LiteralNode(_subset_of(piece.value, subsets))
        match piece.part:
            case Ordinal(values=values):
                return _table([_subset_of(value, subsets) for value in values], self._number_code(piece))
            case Categorical(values=values):
                return _table([_subset_of(value, subsets) for value in values], self._index(piece.name, len(values)))
            case Grid() | Real():
                return _number_index(piece, self._number_code(piece), subsets)


def _subset_of(value: Value, subsets: Subsets) -> int:
    return next(place for place, subset in enumerate(subsets) if subset is not None and contains(subset, value))


def _number_index(piece: DrawnPiece, number: py.Code, subsets: Subsets) -> py.Code:
    """Return the code of the index of the subset that contains a number of a range."""
    within = ((run, place) for place, subset in enumerate(subsets) for run in (parts(subset) if subset else ()))
    runs = sorted(
        ((run, place) for run, place in within if contains(piece.part, run.representative)),
        key=lambda each: (each[0].least, isinstance(each[0], Real) and each[0].lower_open),  # type: ignore[union-attr]
    )
    table = [place for _, place in runs]
    if len(runs) == 1:
        return py.LiteralNode(table[0])
    domain = piece.domain
    is_listed = (
        isinstance(domain, Grid) and domain.step == 1 and domain.size <= MAX_LISTED and len(runs) > MAX_THRESHOLDS
    )
    if is_listed:
        numbers = range(int(domain.least), int(domain.greatest) + 1)  # type: ignore[union-attr]
        listed = [_subset_of(piece.reduction.decode(each), subsets) for each in numbers]
        return _table(listed, py.infix(number, "-", domain.least) if domain.least else number)  # type: ignore[union-attr]
    if table == [1, 0]:
        sign, bound = _lower_bound(piece, runs[1][0])
        return py.call("scope.int", py.infix(number, "<" if sign == ">=" else "<=", bound))
    tests = (_lower_bound(piece, run) for run, _ in runs[1:])
    return _table(table, py.join_operands("+", [py.call("scope.int", py.infix(number, *test)) for test in tests]))


def _lower_bound(piece: DrawnPiece, run: SimpleDomain) -> tuple[str, Value]:
    """Return the sign and the number for a test that a drawn number is not below a run, such as (">=", 3)."""
    if isinstance(run, Real) and run.lower_open:
        return ">", run.lower
    assert isinstance(run, Grid | Real)
    return ">=", piece.reduction.encode(run.least)


def _table(table: Sequence[int], index: py.Code) -> py.Code:
    """Return the code that looks up the entry of a table of integers at an index."""
    if len({*table}) == 1:
        return py.LiteralNode(table[0])
    return index if [*table] == [*range(len(table))] else py.call("scope.getitem", py.literal_list(table), index)


def _entry_at(indices: Sequence[py.Code], chosen: py.Code) -> py.Code:
    """Return the code that selects the entry of `indices` at the index `chosen`."""
    literals = [each.value for each in indices if isinstance(each, py.LiteralNode)]
    if len(literals) == len(indices):
        return _table(literals, chosen)  # type: ignore[arg-type]
    return py.call("scope.switch", chosen, *indices)
