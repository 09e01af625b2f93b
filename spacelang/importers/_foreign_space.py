"""A search space of another tool: flat parameters, conditions, forbidden clauses, and words as values."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.grouping import group_by_key
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.value import Value, identity_key, is_number
from spacelang.text import Span, parameter_name_problem, unique_name


@dataclass(frozen=True, slots=True)
class ForeignRange:
    """The numbers from `lower` to `upper`, including both, in steps of `step` if it is given."""

    kind: Literal["float", "int"]
    lower: float
    upper: float
    log: bool = False
    step: float | None = None

    def __contains__(self, value: object) -> bool:
        if not is_number(value):
            return False
        return self.lower <= value <= self.upper and (self.kind == "float" or value == int(value))


@dataclass(frozen=True, slots=True)
class ForeignValues:
    """A finite set of values; `space_values` are the corresponding values in the `.space` file."""

    values: tuple[Value, ...]
    space_values: tuple[Value, ...]
    ordered: bool = False
    weights: tuple[float, ...] | None = None

    def __contains__(self, value: object) -> bool:
        return any(identity_key(value) == identity_key(own) for own in self.values)  # type: ignore[arg-type]

    def index(self, value: Value) -> int:
        """Return the index of a value; raise ValueError if it is not in the set."""
        return [identity_key(own) for own in self.values].index(identity_key(value))


Domain: TypeAlias = ForeignRange | ForeignValues


@dataclass(frozen=True, slots=True)
class ForeignParameter:
    """A hyperparameter; `prior` is the mean and standard deviation of a normal distribution."""

    name: str
    domain: Domain
    default: Value
    span: Span = field(compare=False, repr=False)
    prior: tuple[float, float] | None = None

    @property
    def is_constant(self) -> bool:
        """True if the domain has exactly one value."""
        domain = self.domain
        return len(domain.values) == 1 if isinstance(domain, ForeignValues) else domain.lower == domain.upper


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A comparison of a hyperparameter with values; both `==` and `in` are represented as `in`."""

    parameter: str
    operator: Literal["in", "!=", "<", "<=", ">", ">="]
    values: tuple[Value, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ParameterComparison:
    """A comparison of two hyperparameters in a forbidden clause."""

    left: str
    operator: Literal["==", "<", "<=", ">", ">="]
    right: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllOf:
    """A conjunction; without terms it is true."""

    terms: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A disjunction; without terms it is false."""

    terms: tuple["Condition", ...]


Condition: TypeAlias = ValueTest | AllOf | AnyOf
ALWAYS = AllOf(())
NEVER = AnyOf(())


@dataclass(frozen=True, slots=True)
class ForeignCondition:
    """The condition under which a hyperparameter is active."""

    child: str
    condition: Condition
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ForbiddenClause:
    """A combination of literals that is forbidden if all of its hyperparameters are active."""

    literals: tuple[ValueTest | ParameterComparison, ...]
    span: Span = field(compare=False, repr=False)


Declaration: TypeAlias = ForeignParameter | ForeignCondition | ForbiddenClause


@dataclass(frozen=True, slots=True)
class ForeignSpace:
    """The contents of a foreign file, with the diagnostics of its reader."""

    name: str
    parameters: tuple[ForeignParameter, ...]
    conditionals: tuple[ForeignCondition, ...]
    clauses: tuple[ForbiddenClause, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def value_tests_in_condition(condition: Condition) -> Iterator[ValueTest]:
    """Yield every comparison of a condition."""
    match condition:
        case ValueTest():
            yield condition
        case AllOf(terms=terms) | AnyOf(terms=terms):
            for term in terms:
                yield from value_tests_in_condition(term)


def count_mentioned_values(declaration: Declaration) -> int:
    """Return the number of values that a declaration (parameter, condition or clause) mentions.

    A range counts as one.
    """
    match declaration:
        case ForeignParameter(domain=domain):
            return len(domain.values) if isinstance(domain, ForeignValues) else 1
        case ForeignCondition(condition=condition):
            return sum(len(test.values) for test in value_tests_in_condition(condition))
        case ForbiddenClause(literals=literals):
            return sum(len(literal.values) if isinstance(literal, ValueTest) else 1 for literal in literals)
        case _:
            assert_never(declaration)


def conjunction(terms: list[Condition]) -> Condition:
    """Return the conjunction of terms, simplified if terms are known to be true or false."""
    return _joined(AllOf, NEVER, terms)


def disjunction(terms: list[Condition]) -> Condition:
    """Return the disjunction of terms, simplified if terms are known to be true or false."""
    return _joined(AnyOf, ALWAYS, terms)


def _joined(kind: type[AllOf] | type[AnyOf], deciding: Condition, terms: list[Condition]) -> Condition:
    if deciding in terms:
        return deciding
    flat = (inner for term in terms for inner in (term.terms if isinstance(term, kind) else (term,)))
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else kind(unique)


def replace_value_tests(condition: Condition, change: Callable[[ValueTest], Condition]) -> Condition:
    """Return the condition with `change` applied to every comparison, simplified where truth values are known."""
    if isinstance(condition, ValueTest):
        return change(condition)
    join = conjunction if isinstance(condition, AllOf) else disjunction
    return join([replace_value_tests(term, change) for term in condition.terms])


def merge_conditions_of_child(conditionals: list[ForeignCondition]) -> tuple[ForeignCondition, ...]:
    """Return one condition for each child: several conditions of one child must all hold."""
    by_child = group_by_key((conditional.child, conditional) for conditional in conditionals)
    return tuple(
        ForeignCondition(child, conjunction([one.condition for one in several]), several[0].span)
        for child, several in by_child.items()
    )


_NUMBER: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_CONSTANTS: Final[dict[str, Value]] = {"True": True, "False": False, "None": None}
_WORDS: Final[dict[str, Value]] = {**_CONSTANTS, "true": True, "false": False, "none": None}
MAX_DIGITS: Final = 300


def convert_words_to_values(words: tuple[str, ...]) -> tuple[Value, ...]:
    """Return the values that bare words spell; all stay strings if two of them would become the same value."""
    return _convert_if_injective(words, _convert_word)


def convert_constant_strings(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return values with strings such as `"True"` and `"None"` converted to Python constants.

    ConfigSpace could not hold these constants for years, so files contain them as strings. All values stay as they are
    if two of them would become the same.
    """
    return _convert_if_injective(values, lambda each: _CONSTANTS.get(each, each) if isinstance(each, str) else each)


def parse_number(text: str) -> int | float | None:
    """Return the finite number that a text spells; None if it is not one or has too many digits."""
    if len(text) > MAX_DIGITS or not text.isascii() or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    read = float(text)
    return read if math.isfinite(read) else None


def _convert_word(word: Value) -> Value:
    assert isinstance(word, str)
    if word in _WORDS:
        return _WORDS[word]
    read = parse_number(word)
    return word if read is None else read


def _convert_if_injective(values: tuple[Value, ...], reading: Callable[[Value], Value]) -> tuple[Value, ...]:
    read = tuple(map(reading, values))
    return read if len(set(map(identity_key, read))) == len(values) else values


_KEYWORDS = """
    space stage pipeline forbid require when as float int bool log step ordered import use params abstract task include
    columns permute true false none True False None and or not in is from by to minimize maximize subject validate
    fidelity limit min max ceil floor sqrt log2
"""
KEYWORDS: Final = frozenset((*_KEYWORDS.split(), *DATA_SIZE_NAMES))
"""Words that have a meaning of their own somewhere in the language."""
MAX_LENGTH: Final = 80
CHOICE_SUFFIX: Final = "__choice__"
"""The suffix by which auto-sklearn and related tools mark the choice between components."""


class UniqueNames:
    """The unique names of one scope: identifiers, or names that may be in backticks if `parameters` is set."""

    def __init__(self, taken: frozenset[str] = frozenset(), *, parameters: bool = False) -> None:
        self._taken = set(taken)
        self._made = to_parameter_name if parameters else to_identifier

    def reserve_first_free(self, *candidates: str) -> str:
        """Reserve and return the first candidate that is not taken, made a valid name.

        If all are taken, number the last.
        """
        made = [*map(self._made, candidates)]
        chosen = next((name for name in made if name not in self._taken), None) or unique_name(made[-1], self._taken)
        self._taken.add(chosen)
        return chosen


def colon_path_without_choice(name: str) -> tuple[str, ...]:
    """Return the parts of a path separated by colons, without a final `__choice__`."""
    parts = tuple(name.split(":"))
    return parts[:-1] if len(parts) > 1 and parts[-1] == CHOICE_SUFFIX else parts


def candidate_names(name: str, below: tuple[str, ...] = ()) -> list[str]:
    """Return names for a path, the shortest first: its last part, its last two, … up to four, and all of it.

    All but the last name leave out the leading parts that the path shares with `below`.
    """
    own = colon_path_without_choice(name)
    inner = own[min(common_prefix_length(own, below), len(own) - 1) :]
    shortened = ["_".join(inner[place:]) for place in reversed(range(len(inner)))]
    return list(dict.fromkeys([*shortened[:4], "_".join(own)]))


def common_prefix_length(name: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Return the number of leading parts that two names share; the length of `other` if no part differs."""
    return next((place for place, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), len(other))


def to_identifier(text: str) -> str:
    """Return a text as an identifier, with invalid characters replaced by underscores."""
    made = re.sub(r"[^A-Za-z0-9_]+", "_", text)[:MAX_LENGTH].strip("_") or "_"
    made = f"_{made}" if made[0].isdigit() else made
    return f"{made}_" if made in KEYWORDS else made


def to_parameter_name(text: str) -> str:
    """Return a text unchanged if it is a valid name in backticks, otherwise as an identifier."""
    return text if len(text) <= MAX_LENGTH and parameter_name_problem(text) is None else to_identifier(text)
