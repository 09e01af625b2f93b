"""Conditions and constraints as expressions of R over the parameters of irace, where a parameter is NA if inactive.

In R, `NA | TRUE` is true and `NA & FALSE` is false; irace treats a condition that is NA as false. A test of a value
therefore needs no test of its activity, except below a negation, where `%in% TRUE` makes NA false.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from spacelang.grouping import group_by_key
from spacelang.ir import expr
from spacelang.ir.domain import (
    Categorical,
    Domain,
    Grid,
    Real,
    SimpleDomain,
    affine_integer_coefficients,
    contains,
    members,
    parts,
)
from spacelang.ir.domain_properties import EXACT_INTEGER_LIMIT
from spacelang.ir.expr import Expr
from spacelang.ir.space import Choice, Constraint, Space
from spacelang.ir.value import Value
from spacelang.reductions.case_splits import (
    CaseSplit,
    GuardedParts,
    IndependentHyperparameter,
    UnfoldedPart,
    ValueSwitch,
    inner_parts,
)
from spacelang.reductions.domain_reductions import (
    MemberIndexReduction,
    ScaledRangeReduction,
    scaling_exponent,
    split_into_simple,
)
from spacelang.reductions.space_questions import DrawnPiece, FixedPiece, Piece, Questions
from spacelang.targets._exports.value_tests import compares_two_hyperparameters, is_testable, satisfying_pieces_by_part

ALWAYS: Final = ""  # The condition of a parameter that is always active
NEVER: Final = "FALSE"
MAX_LOG_RATIO: Final = 1e280  # The maximum ratio of the ends of a log range whose numbers, not logarithms, are drawn
NUMBER_LIMIT: Final = 2**31 - 1
"""The largest integer of R; larger ones are written as real numbers and rounded."""


def can_be_tested_in_r(condition: Expr, space: Space) -> bool:
    """Return True if R can test a condition: its atoms are about one variable, or compare two plain numbers."""
    if not is_testable(condition, space):
        return False
    pairs = (atom for atom in expr.logical_atoms(condition) if compares_two_hyperparameters(atom))
    compared = (space.variables[address].hyperparameter for atom in pairs for address in expr.references(atom))
    return all(_is_plain(node.domain) for node in compared)


def needs_log_encoding(part: Real) -> bool:
    """Return True for a log range over so many powers of ten that irace must draw the logarithms instead."""
    return part.log and part.upper / MAX_LOG_RATIO > part.lower


def _is_plain(domain: Domain) -> bool:
    """Return True if R gets exactly the numbers of a domain from the values of irace."""
    match domain:
        case Real():
            return len(split_into_simple(domain)) == 1 and not needs_log_encoding(domain)
        case Grid():
            start, step, below = affine_integer_coefficients(domain)
            return domain.is_consecutive or max(abs(start) + step * domain.last_index, below) <= EXACT_INTEGER_LIMIT
        case _:
            return False


class RConditionWriter:
    """A writer of conditions in R over the parameters of irace, one for each question."""

    def __init__(self, questions: Questions, names: Mapping[str, str], labels: Mapping[str, tuple[str, ...]]) -> None:
        """Prepare to write conditions.

        `names` has the irace parameter of each question, and `labels` the choices of those that are categorical, both
        by the name of the question.
        """
        self._questions, self.names, self.labels = questions, names, labels
        every_unfolded_part = questions.every_unfolded_part
        self._frees = group_by_key(
            (p.node.address, p) for p in every_unfolded_part if isinstance(p, IndependentHyperparameter)
        )
        forks = (part for part in every_unfolded_part if isinstance(part, CaseSplit))
        self._forks = group_by_key((p.node.address, p) for p in forks if isinstance(p.node, Choice))
        self._edges = group_by_key(
            (id(inner), (part, place))
            for part in every_unfolded_part
            for place, parts in enumerate(inner_parts(part))
            for inner in parts
        )
        self._outermost = {id(part) for part in questions.parts}
        self._part_conditions: dict[int, str] = {}

    def is_testable(self, condition: Expr) -> bool:
        """Return True if no variable that a condition mentions is chosen in several parts of the space."""
        mentioned = expr.mentioned_addresses(condition)
        return all(len(self._frees.get(each, ())) + len(self._forks.get(each, ())) <= 1 for each in mentioned)

    def conditions_by_question(self) -> dict[str, str]:
        """Return the condition under which each question is asked, by its name."""
        found: dict[str, str] = {}
        for part in self._questions.every_unfolded_part:
            if isinstance(part, CaseSplit) and (name := self._questions.forks.get(id(part))) is not None:
                found[name] = self.condition_of_part(part)
            elif isinstance(part, IndependentHyperparameter):
                draw = self._questions.draws[id(part)]
                if draw.choice:
                    found[draw.choice] = self.condition_of_part(part)
                for place, piece in enumerate(draw.pieces):
                    if isinstance(piece, DrawnPiece):
                        found[piece.name] = self._piece_condition(part, place)
        return found

    def condition_of_part(self, part: UnfoldedPart) -> str:
        """Return the condition under which a part is chosen."""
        if id(part) not in self._part_conditions:
            edges = () if id(part) in self._outermost else self._edges[id(part)]
            tests = [self._condition_of_cases(outer, places) for outer, places in group_by_key(edges).items()]
            self._part_conditions[id(part)] = r_disjunction(tests) if tests else ALWAYS
        return self._part_conditions[id(part)]

    def _condition_of_cases(self, part: UnfoldedPart, places: Sequence[int]) -> str:
        """Return the condition that a part is chosen, and that its case is one of those at the indices `places`."""
        match part:
            case CaseSplit() if (name := self._questions.forks.get(id(part))) is not None:
                return self._chosen(name, places, self.condition_of_part(part))
            case GuardedParts():
                return r_conjunction([self.condition_of_part(part), self.condition(part.condition)])
            case ValueSwitch():
                free = self._sibling(part)
                domains = [part.cases[place].domain for place in places]
                return r_conjunction(
                    [
                        self.condition_of_part(part),
                        r_disjunction(self._value_within(free, each) for each in domains if each),
                    ]
                )
            case _:
                return self.condition_of_part(part)

    def _sibling(self, switch: ValueSwitch) -> IndependentHyperparameter:
        """Return the independent hyperparameter whose value a `ValueSwitch` tests."""
        outer = (inner_parts(part)[place] for part, place in self._edges.get(id(switch), ()))
        for several in (self._questions.parts, *outer):
            if switch in several:
                return next(p for p in several if isinstance(p, IndependentHyperparameter) and p.node is switch.node)
        raise LookupError(switch.node.address)

    def condition(self, condition: Expr, known: Collection[str] = (), *, truth: bool = True) -> str:
        """Return a test in R that a condition has the truth value `truth`.

        Variables with addresses in `known` are always active where it is tested.
        """
        match condition:
            case expr.Not():
                return self.condition(condition.term, known, truth=not truth)
            case expr.And() | expr.Or():
                several = [self.condition(term, known, truth=truth) for term in condition.terms]
                return r_conjunction(several) if isinstance(condition, expr.And) is truth else r_disjunction(several)
            case expr.Compare() if (
                not truth and compares_two_hyperparameters(condition) and self._are_active(condition, known)
            ):
                return self._atom(replace(condition, relation=expr.NEGATED_SIGNS[condition.relation]))
            case _:
                test = self._atom(condition)
                return test if truth else self._negated(test, condition, known)

    def violation(self, constraint: Constraint) -> str:
        """Return a test in R that a configuration violates a constraint, with all its hyperparameters active."""
        scope, expression = constraint.scope, constraint.expression
        broken = self.condition(expression, scope, truth=constraint.forbidden)
        if compares_two_hyperparameters(expression):
            return broken  # NA if one of them is inactive, which is not forbidden
        return r_conjunction([*map(self._activity, scope), broken])

    def _value_within(self, free: IndependentHyperparameter, subset: Domain) -> str:
        """Return a test that the value of a hyperparameter lies in a subset of its domain."""
        runs = parts(subset)
        return self._value_test(free, lambda piece: [run for run in runs if _do_overlap(piece.part, run)])

    def _piece_condition(self, free: IndependentHyperparameter, place: int) -> str:
        choice = self._questions.draws[id(free)].choice
        return self._chosen(choice, [place], self.condition_of_part(free)) if choice else self.condition_of_part(free)

    def _value_test(self, free: IndependentHyperparameter, wanted: Callable[[Piece], Sequence[SimpleDomain]]) -> str:
        draw, tests = self._questions.draws[id(free)], []
        for place, piece in enumerate(draw.pieces):
            runs = wanted(piece)
            if runs and (isinstance(piece, FixedPiece) or piece.part in runs):
                tests.append(self._piece_condition(free, place))
            elif runs and isinstance(piece, DrawnPiece):
                tests.append(self._piece_test(piece, runs))
        return r_disjunction(tests)

    def _chosen(self, question: str, places: Sequence[int], otherwise: str) -> str:
        """Return a test that the answer to a choice is one of those at the indices `places`.

        If these are all answers, return `otherwise`, the condition under which there is an answer.
        """
        labels = [quoted(self.labels[question][place]) for place in places]
        if len(labels) == len(self.labels[question]):
            return otherwise
        name = self.names[question]
        return f"{name} == {labels[0]}" if len(labels) == 1 else f"{name} %in% c({', '.join(labels)})"

    def _atom(self, atom: Expr) -> str:
        if isinstance(atom, expr.BranchTest):
            return self._branch_test(atom)
        if isinstance(atom, expr.ActivityTest):
            return self._activity(atom.address)
        addresses = expr.references(atom)
        if not self._frees.keys() >= {*addresses}:
            return NEVER  # constraints exclude that all of them are active
        if not addresses:
            return ALWAYS if expr.is_true(atom, lambda _: expr.INACTIVE) else NEVER
        if compares_two_hyperparameters(atom):
            assert isinstance(atom, expr.Compare)
            left, right = (self._number(self._frees[address][0]) for address in addresses)
            # A parameter that is inactive is NA, but a hyperparameter of one value is no parameter.
            fixed = (each for each in addresses if not self._questions.draws[id(self._frees[each][0])].questions)
            return r_conjunction([*map(self._activity, fixed), f"{left} {atom.relation} {right}"])
        (free,) = self._frees[addresses[0]]
        return self._value_test(free, lambda piece: satisfying_pieces_by_part(piece.part, atom, truth=True)[0].pieces)

    def _branch_test(self, test: expr.BranchTest) -> str:
        if test.address not in self._forks:
            return NEVER  # constraints exclude that it is reached
        (fork,) = self._forks[test.address]
        places = [place for place, case in enumerate(fork.cases) if case.branch in test.branches]
        return self._condition_of_cases(fork, places) if places else NEVER

    def _activity(self, address: str) -> str:
        """Return a test that a hyperparameter is active."""
        if address not in self._frees:
            return NEVER
        (free,) = self._frees[address]
        asked = next(iter(self._questions.draws[id(free)].questions), None)
        reached = self.condition_of_part(free)
        return reached if asked is None or reached == ALWAYS else f"!is.na({self.names[asked]})"

    def _negated(self, test: str, condition: Expr, known: Collection[str]) -> str:
        if test in (ALWAYS, NEVER):
            return NEVER if test == ALWAYS else ALWAYS
        return f"!({test})" if self._are_active(condition, known) else f"!(({test}) %in% TRUE)"

    def _are_active(self, condition: Expr, known: Collection[str]) -> bool:
        """Return True if no parameter that a condition mentions can be NA; those in `known` are always active."""
        mentioned = expr.mentioned_addresses(condition)
        several = [part for each in mentioned for part in (*self._frees.get(each, ()), *self._forks.get(each, ()))]
        draws = (self._questions.draws[id(part)] for part in several if isinstance(part, IndependentHyperparameter))
        if any(draw.choice for draw in draws):
            return False  # the parameter of a part of a union is NA where another part is chosen
        return all(
            part.node.address in known or self.condition_of_part(part) == ALWAYS for part in several if part.node
        )

    def _piece_test(self, piece: DrawnPiece, runs: Sequence[SimpleDomain]) -> str:
        if isinstance(piece.part, Categorical):
            places = [piece.part.index_of(value) for run in runs for value in members(run)]
            return self._chosen(piece.name, places, ALWAYS)
        return r_disjunction(map(partial(_run_test, piece, self._drawn_number(piece)), runs))

    def _drawn_number(self, piece: DrawnPiece) -> str:
        name = self.names[piece.name]
        return f"round({name})" if is_drawn_as_rounded_real(piece) else name

    def _number(self, free: IndependentHyperparameter) -> str:
        """Return R code for the value of a hyperparameter whose domain has only one piece, a range or a number."""
        (piece,) = self._questions.draws[id(free)].pieces
        if isinstance(piece, FixedPiece):
            return number_text(piece.value)
        name = self._drawn_number(piece)
        match piece.reduction:
            case MemberIndexReduction(part=Grid() as part):
                start, step, below = affine_integer_coefficients(part)
                return f"({start} + {step} * {name})" + (f" / {below}" if below != 1 else "")
            case _:
                exponent = scaling_of(piece).exponent if isinstance(piece.domain, Real) else 0
                return f"{name} * 2^{-exponent}" if exponent else name


def is_drawn_as_rounded_real(piece: DrawnPiece) -> bool:
    """Return True if the integers of a piece are too large for R, so that they are drawn as reals and rounded."""
    domain = piece.domain
    return isinstance(domain, Grid) and max(abs(domain.least), abs(domain.greatest)) > NUMBER_LIMIT


def scaling_of(piece: DrawnPiece) -> ScaledRangeReduction:
    """Return the reduction that multiplies a continuous range so that the decimals of irace suffice."""
    assert isinstance(piece.domain, Real)
    return ScaledRangeReduction(piece.domain, scaling_exponent(piece.domain))


def encode_number(piece: DrawnPiece, number: Value) -> int | float:
    """Return a number of the reduced domain of a piece as irace has it: scaled if the domain is continuous."""
    assert isinstance(number, int | float)
    return scaling_of(piece).encode(number) if isinstance(piece.domain, Real) else number


def number_text(number: Value) -> str:
    """Return a number in the syntax of R."""
    return repr(number)


def quoted(word: str) -> str:
    """Return a word as a string literal of R; labels have no characters that need an escape."""
    return f'"{word}"'


def r_conjunction(tests: Iterable[str]) -> str:
    """Return R code of the conjunction of tests; empty, which means always, if there are none."""
    return _combined(" & ", " | ", tests, ALWAYS, NEVER)


def r_disjunction(tests: Iterable[str]) -> str:
    """Return R code of the disjunction of tests; `FALSE` if there are none."""
    return _combined(" | ", " & ", tests, NEVER, ALWAYS)


def _combined(sign: str, other: str, tests: Iterable[str], neutral: str, decisive: str) -> str:
    kept = [test for test in dict.fromkeys(tests) if test != neutral]
    if decisive in kept:
        return decisive
    return sign.join(f"({test})" if other in test and len(kept) > 1 else test for test in kept) if kept else neutral


def _do_overlap(whole: SimpleDomain, run: SimpleDomain) -> bool:
    if isinstance(whole, Real) and isinstance(run, Real):
        return max(whole.least, run.least) <= min(whole.greatest, run.greatest)
    return contains(whole, run.representative)


def _run_test(piece: DrawnPiece, number: str, run: SimpleDomain) -> str:
    """Return a test in R that a number lies in a run; ends that the run shares with the whole piece are not tested.

    `number` is the R code of the number.
    """
    whole = piece.part
    if isinstance(run, Categorical):
        values = [number_text(encode_number(piece, piece.reduction.encode(value))) for value in members(run)]
        return r_disjunction(f"{number} == {value}" for value in values)
    assert not isinstance(whole, Categorical)
    least, greatest = (
        number_text(encode_number(piece, piece.reduction.encode(end))) for end in (run.least, run.greatest)
    )
    if run.least == run.greatest:
        return f"{number} == {least}"
    above = [f"{number} >= {least}"] if run.least > whole.least else []
    below = [f"{number} <= {greatest}"] if run.greatest < whole.greatest else []
    return r_conjunction([*above, *below])
