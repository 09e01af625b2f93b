"""Conditions as hyperopt expressions over drawn numbers, whose values are the indices of `scope.switch`.

The index for a condition is 0 or 1. A test of a variable that may be inactive is inside a switch on its activity, so
that the test does not draw it. A switch never contains another test of its own number, because hyperopt could not tell
for which trials to draw this number. The tests of a condition are therefore multiplied, not nested.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, SimpleDomain, contains, parts
from spacelang.ir.expr import Expr
from spacelang.ir.space import Context
from spacelang.ir.value import Value
from spacelang.reductions.domains import MemberIndexReduction
from spacelang.reductions.space_questions import DrawnPiece, FixedPiece, Piece, Questions
from spacelang.reductions.unfolding import Fork, FreeHyperparameter, Guard, Parts, ValueSwitch, inner_parts
from spacelang.solver.domain_cells import distinguished_cells, join_pieces
from spacelang.targets._exports import python_nodes as py
from spacelang.targets._exports.value_tests import compares_two_hyperparameters

MAX_LISTED: Final = 1_000  # The maximum size of a range of integers whose indices are listed in a table
MAX_THRESHOLDS: Final = 3  # The maximum number of comparisons of a number with thresholds
Subsets: TypeAlias = Sequence[Domain | None]
"""Disjoint subsets of a domain; the index of a value is that of the subset that contains it."""


class DrawnValueTests:
    """A writer of the indices of guards and switches: `indices` has their codes by the id of the part.

    `number_code` returns the code of the number that is drawn for a piece, which the value of the piece uses, too.
    """

    def __init__(self, questions: Questions, number_code: Callable[[DrawnPiece], py.Code]) -> None:
        """Write the indices of all guards and switches of some questions."""
        self._questions, self._number_code = questions, number_code
        self._space = questions.space
        choices = (part for part in questions.every_part if isinstance(part, Fork | FreeHyperparameter))
        self._parts = {part.node.address: part for part in choices if part.node is not None}
        self._indices: dict[str, py.Code] = {}
        self._activities: dict[tuple[str, Context], py.Code] = {}
        self.indices: dict[int, py.Code] = {}
        for several in (questions.parts, *(each for part in questions.every_part for each in inner_parts(part))):
            self._add_indices(several)

    def drawn_index_if_tested(self, name: str) -> py.Code | None:
        """Return the code that draws the index of a choice if a test uses the index, else None."""
        return self._indices.get(name)

    def _add_indices(self, several: Parts) -> None:
        values = {part.node.address: part for part in several if isinstance(part, FreeHyperparameter)}
        for part in several:
            if isinstance(part, Guard):
                self.indices[id(part)] = self._condition(part.condition, part.context)
            elif isinstance(part, ValueSwitch):
                subsets = [case.domain for case in part.cases]
                self.indices[id(part)] = self.case_index(values[part.node.address], subsets)

    def case_index(self, free: FreeHyperparameter, subsets: Subsets) -> py.Code:
        """Return the code of the index of the subset that contains the drawn value of a hyperparameter."""
        draw = self._questions.draws[id(free)]
        indices = [self._piece_index(piece, subsets) for piece in draw.pieces]
        if not draw.choice:
            return indices[0]
        return _entry_at(indices, self._index(draw.choice, len(indices)))

    def _condition(self, condition: Expr, owners: Context) -> py.Code:
        """Return the code that is 1 if a condition is true, else 0; `owners` are branches that are certainly taken."""
        match condition:
            case expr.Not():
                return _negation(self._condition(condition.term, owners))
            case expr.And():
                return _all_of([self._condition(term, owners) for term in condition.terms])
            case expr.Or():
                return _negation(_all_of([_negation(self._condition(term, owners)) for term in condition.terms]))
            case expr.BranchTest():
                return self._branch_test(condition, owners)
            case expr.Active():
                return self._activity(condition.address, owners)
            case _:
                return self._atom(condition, owners)

    def _atom(self, atom: Expr, owners: Context) -> py.Code:
        addresses = expr.references(atom)
        if not self._parts.keys() >= {*addresses}:
            return py.LiteralNode(0)  # constraints exclude that all of them are active
        if not addresses:
            return py.LiteralNode(int(expr.is_true(atom, lambda _: expr.INACTIVE)))
        if compares_two_hyperparameters(atom):
            assert isinstance(atom, expr.Compare)
            test = self._pair_test(atom)
        else:
            free = self._free(addresses[0])
            test = self.case_index(free, _subsets(free.domain, atom))
        return _test_if_active(_all_of([self._activity(address, owners) for address in addresses]), test)

    def _pair_test(self, atom: expr.Compare) -> py.Code:
        left, right = (self._value(self._free(address)) for address in expr.references(atom))
        if atom.relation not in ("==", "!="):
            return py.call("scope.int", py.infix(left, atom.relation, right))
        # An expression of hyperopt cannot be tested for equality.
        same = _all_of([py.call("scope.int", py.infix(left, sign, right)) for sign in ("<=", ">=")])
        return same if atom.relation == "==" else _negation(same)

    def _branch_test(self, test: expr.BranchTest, owners: Context) -> py.Code:
        taken = dict(owners).get(test.address)
        if taken is not None:
            return py.LiteralNode(int(taken in test.branches))
        if test.address not in self._parts:
            return py.LiteralNode(0)  # constraints exclude that it is reached
        part = self._parts[test.address]
        assert isinstance(part, Fork)
        wanted = [int(case.branch in test.branches) for case in part.cases]
        found: py.Code = py.LiteralNode(wanted[0])
        if (name := self._questions.forks.get(id(part))) is not None:
            shares = self._questions.case_weights.shares(part)
            found = _table(wanted, self._index(name, len(wanted), shares))
        return _test_if_active(_all_of(self._owner_tests(test.address, owners)), found)

    def _activity(self, address: str, owners: Context) -> py.Code:
        """Return the code that is 1 if a hyperparameter is active, else 0; one object for equal arguments."""
        if (address, owners) not in self._activities:
            self._activities[address, owners] = self._new_activity(address, owners)
        return self._activities[address, owners]

    def _new_activity(self, address: str, owners: Context) -> py.Code:
        if address not in self._parts:
            return py.LiteralNode(0)
        tests = self._owner_tests(address, owners)
        condition = self._space.variables[address].condition
        if condition is not None:
            more = (owner for owner in self._space.variables[address].owners if owner not in owners)
            inside = self._condition(condition, (*owners, *more))
            tests = [_test_if_active(_all_of(tests), inside)]
        return _all_of(tests)

    def _owner_tests(self, address: str, owners: Context) -> list[py.Code]:
        """Return the test that the innermost alternative around a variable is taken; no test if `owners` has it."""
        outer = self._space.variables[address].owners
        if not outer or outer[-1] in owners:
            return []
        owner, branch = outer[-1]
        return [self._branch_test(expr.BranchTest(owner, (branch,)), owners)]

    def _free(self, address: str) -> FreeHyperparameter:
        part = self._parts[address]
        assert isinstance(part, FreeHyperparameter)
        return part

    def _value(self, free: FreeHyperparameter) -> py.Code:
        """Return the code of the value of a hyperparameter, not of the index that is drawn for it."""
        (piece,) = self._questions.draws[id(free)].pieces
        if isinstance(piece, FixedPiece):
            return py.LiteralNode(piece.value)
        number = self._number_code(piece)
        match piece.reduction:
            case MemberIndexReduction(part=Grid() as part):
                return py.grid_member_code(part, number)
            case _:
                return number

    def _index(self, name: str, count: int, shares: Sequence[float] | None = None) -> py.Code:
        """Return the code that draws the index of a choice."""
        if name not in self._indices:
            drawn = py.call("hp.randint", name, count)
            if shares is not None:
                drawn = py.call("scope.hyperopt_param", name, py.call("scope.categorical", py.literal_list(shares)))
            self._indices[name] = drawn
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


def _subsets(domain: Domain, atom: Expr) -> Subsets:
    """Return two subsets of a domain: the values for which an atom is false, and those for which it is true."""
    cells = distinguished_cells(domain, (atom,))
    wanted = [expr.is_true(atom, lambda _, cell=cell: cell.representative) for cell in cells]  # type: ignore[misc]
    split = ([cell for cell, is_in in zip(cells, wanted, strict=True) if is_in is each] for each in (False, True))
    return [join_pieces(domain, several) if several else None for several in split]


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
    """Return the sign and the number of the comparison of a drawn number with the lower end of a run."""
    if isinstance(run, Real) and run.lower_open:
        return ">", run.lower
    assert isinstance(run, Grid | Real)
    return ">=", piece.reduction.encode(run.least)


def _table(table: Sequence[int], index: py.Code) -> py.Code:
    """Return the code of the entry of a table at an index."""
    if len({*table}) == 1:
        return py.LiteralNode(table[0])
    return index if [*table] == [*range(len(table))] else py.call("scope.getitem", py.literal_list(table), index)


def _entry_at(indices: Sequence[py.Code], chosen: py.Code) -> py.Code:
    """Return the code of the entry of `indices` at the index `chosen`."""
    literals = [each.value for each in indices if isinstance(each, py.LiteralNode)]
    if len(literals) == len(indices):
        return _table(literals, chosen)  # type: ignore[arg-type]
    return py.call("scope.switch", chosen, *indices)


def _all_of(several: Sequence[py.Code]) -> py.Code:
    """Return the code that is 1 if all tests are 1, else 0."""
    if any(_is(each, 0) for each in several):
        return py.LiteralNode(0)
    kept = [each for each in several if not _is(each, 1)]
    return py.join_operands("*", kept) if kept else py.LiteralNode(1)


def _test_if_active(active: py.Code, test: py.Code) -> py.Code:
    """Return the code of a test that is evaluated only where `active` is 1, and 0 elsewhere."""
    if _is(active, 1) or isinstance(test, py.LiteralNode):
        return _all_of([active, test])
    return active if _is(active, 0) else py.call("scope.switch", active, 0, test)


def _is(code: py.Code, number: int) -> bool:
    return isinstance(code, py.LiteralNode) and code.value == number


def _negation(test: py.Code) -> py.Code:
    if isinstance(test, py.LiteralNode):
        return py.LiteralNode(1 - bool(test.value))
    return _table([1, 0], test)
