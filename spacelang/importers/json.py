"""Importer for ConfigSpace's JSON format, as written by `ConfigurationSpace.to_json` of version 1 or older."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final, Literal, TypeAlias, TypeVar

from spacelang.diagnostics import other_tools as problems
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.importers import _foreign_space as foreign
from spacelang.importers._json_positions import PositionedValue, parse_json
from spacelang.ir.value import Value, is_number
from spacelang.text import Source, Span

T = TypeVar("T")
MAX_COMBINATIONS: Final = 1_000  # The maximal number of combinations that one forbidden clause may expand to
_TESTS: Final[dict[str, Literal["in", "!=", "<", "<=", ">", ">="]]] = {
    "EQ": "in", "EQUALS": "in", "IN": "in", "NEQ": "!=", "LT": "<", "GT": ">",
    "CLAUSE_LT": "<", "CLAUSE_LE": "<=", "CLAUSE_GT": ">", "CLAUSE_GE": ">=",
}  # fmt: skip
_RELATIONS: Final[dict[str, Literal["==", "<", "<=", ">", ">="]]] = {
    "EQ": "==", "==": "==", "LT": "<", "<": "<", "LE": "<=", "GT": ">", ">": ">", "GE": ">=",
}  # fmt: skip


class _ProblemError(Exception):
    """Exception for an invalid declaration; the reader continues with the next one."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def _unreadable(span: Span, problem: str, expected: str = "") -> _ProblemError:
    return _ProblemError(problems.InvalidImportedDeclaration(span, problem=problem, expected=expected))


@dataclass(frozen=True, slots=True)
class Json:
    """An importer of JSON files."""

    endings: ClassVar[tuple[str, ...]] = (".json",)

    def read(self, source: Source) -> foreign.ForeignSpace:
        """Return the contents of a file, with diagnostics for invalid declarations."""
        document = parse_json(source)
        if isinstance(document, problems.InvalidImportedDeclaration):
            return foreign.ForeignSpace("", (), (), (), (document,))
        return _DocumentReader().read(document)


class _DocumentReader:
    def __init__(self) -> None:
        self._diagnostics: list[Diagnostic] = []

    def read(self, document: PositionedValue) -> foreign.ForeignSpace:
        """Return the contents of a parsed document."""
        parameters: list[foreign.ForeignParameter] = []
        conditionals: list[foreign.ForeignCondition] = []
        clauses: list[list[foreign.ForbiddenClause]] = []
        name = ""
        try:
            members = _members(document, "an object with `hyperparameters`")
            given = members["name"].value if "name" in members else None
            name = given if isinstance(given, str) else ""
            parameters = self._read_all(_items(_member(document, "hyperparameters")), self._parameter)
            conditionals = self._read_all(_items(members.get("conditions")), _conditional)
            clauses = self._read_all(_items(members.get("forbiddens")), _clauses)
        except _ProblemError as problem:
            self._diagnostics.append(problem.diagnostic)
        return foreign.ForeignSpace(
            name,
            tuple(parameters),
            foreign.merge_conditions_of_child(conditionals),
            tuple(chain(*clauses)),
            tuple(self._diagnostics),
        )

    def _read_all(self, items: list[PositionedValue], read: Callable[[PositionedValue], T]) -> list[T]:
        found: list[T] = []
        for item in items:
            try:
                found.append(read(item))
            except _ProblemError as problem:
                self._diagnostics.append(problem.diagnostic)
        return found

    def _parameter(self, item: PositionedValue) -> foreign.ForeignParameter:
        name, kind = _text(item, "name"), _text(item, "type")
        family, _, number_kind = kind.rpartition("_")
        prior: tuple[float, float] | None = None
        domain: foreign.Domain
        match kind:
            case "uniform_float" | "uniform_int" | "normal_float" | "normal_int" | "beta_float" | "beta_int":
                domain = self._range(item, name, number_kind == "int")
                prior = self._prior(item, name, family, domain)
            case "categorical":
                domain = _weighted(item)
            case "ordinal":
                values = _values(_member(item, "sequence"))
                domain = foreign.ForeignValues(values, foreign.convert_constant_strings(values), ordered=True)
            case "constant" | "unparametrized":
                values = (_value(_member(item, "value")),)
                return foreign.ForeignParameter(
                    name, foreign.ForeignValues(values, foreign.convert_constant_strings(values)), values[0], item.span
                )
            case _:
                raise _unreadable(_member(item, "type").span, f"unknown hyperparameter type `{kind}`")
        if _optional(item, "meta"):
            span = _member(item, "meta").span
            self._diagnostics.append(problems.SearchHintsNotImported(span, hint="the metadata", name=name))
        return foreign.ForeignParameter(name, domain, _default(item, domain), item.span, prior)

    def _range(self, item: PositionedValue, name: str, is_integer: bool) -> foreign.ForeignRange:
        log = _optional(item, "log") is True
        bounds: list[float] = []
        for end in ("lower", "upper"):
            bound = _optional(item, end)
            if bound is None:
                what = f"the range of `{name}` without {'a lower' if end == 'lower' else 'an upper'} bound"
                raise _ProblemError(
                    problems.ImportNotExpressible(item.span, construct=what, remedy="give the range both bounds")
                )
            bounds.append(_number(item, end, is_integer=is_integer))
        domain = foreign.ForeignRange("int" if is_integer else "float", bounds[0], bounds[1], log)
        return domain if _optional(item, "q") is None else _with_step(item, name, domain)

    def _prior(
        self, item: PositionedValue, name: str, family: str, domain: foreign.ForeignRange
    ) -> tuple[float, float] | None:
        if family == "normal" and not domain.log:
            deviation = _number(item, "sigma")
            return (_number(item, "mu"), deviation) if deviation > 0 else None
        if family != "uniform":
            what = f"the {family} distribution"
            self._diagnostics.append(problems.SearchHintsNotImported(item.span, hint=what, name=name))
        return None


def _weighted(item: PositionedValue) -> foreign.ForeignValues:
    values = _values(_member(item, "choices"))
    given = _optional(item, "weights") or _optional(item, "probabilities")
    weights: tuple[float, ...] | None = None
    if isinstance(given, list) and len(given) == len(values):
        numbers = [weight.value for weight in given if is_number(weight.value)]
        if len(numbers) == len(values):
            weights = tuple(map(float, numbers))
    return foreign.ForeignValues(values, foreign.convert_constant_strings(values), weights=weights)


def _default(item: PositionedValue, domain: foreign.Domain) -> Value:
    members = _members(item)
    given = members.get("default_value", members.get("default"))
    if given is None or (given.value is None and isinstance(domain, foreign.ForeignRange)):
        return domain.lower if isinstance(domain, foreign.ForeignRange) else domain.values[0]
    default = _value(given)
    if isinstance(domain, foreign.ForeignRange) and is_number(default):
        return float(default) if domain.kind == "float" else default
    return default


def _with_step(item: PositionedValue, name: str, domain: foreign.ForeignRange) -> foreign.ForeignRange:
    """Return a range with the step `q`, which must divide both bounds.

    Versions of ConfigSpace count steps from 0 or from the lower bound; only then do both give the same values.
    """
    from fractions import Fraction

    step = _number(item, "q")
    lower, upper, q = (Fraction(repr(n)) for n in (domain.lower, domain.upper, step))
    if q > 0 and domain.kind == "int" and q == 1:
        return domain
    if q <= 0 or domain.log or (upper - lower) % q or lower % q:
        what = f"the quantization (`q`) of `{name}`"
        remedy = "choose a `q` of which both bounds are multiples, and no `log`"
        raise _ProblemError(problems.ImportNotExpressible(_member(item, "q").span, construct=what, remedy=remedy))
    if domain.kind == "int" and step == int(step):
        step = int(step)
    return foreign.ForeignRange(domain.kind, domain.lower, domain.upper, step=step)


def _conditional(item: PositionedValue) -> foreign.ForeignCondition:
    return foreign.ForeignCondition(_text(item, "child"), _condition(item), item.span)


def _condition(item: PositionedValue) -> foreign.Condition:
    kind = _text(item, "type")
    if kind in ("AND", "OR"):
        terms = [_condition(term) for term in _items(_member(item, "conditions"))]
        if not terms:
            raise _unreadable(item.span, "the condition has no terms: `conditions` is empty")
        return foreign.conjunction(terms) if kind == "AND" else foreign.disjunction(terms)
    return _test(item, "parent", kind, "condition")


def _test(item: PositionedValue, role: str, kind: str, element: str) -> foreign.ValueTest:
    if kind not in _TESTS:
        raise _unreadable(_member(item, "type").span, f"unknown type `{kind}` of a {element}")
    values = _values(_member(item, "values")) if kind == "IN" else (_value(_member(item, "value")),)
    return foreign.ValueTest(_text(item, role), _TESTS[kind], values, item.span)


_Literals: TypeAlias = tuple[foreign.ValueTest | foreign.ParameterComparison, ...]


def _clauses(item: PositionedValue) -> list[foreign.ForbiddenClause]:
    return [foreign.ForbiddenClause(each, item.span) for each in _combinations(item)]


def _combinations(item: PositionedValue) -> list[_Literals]:
    """Return the combinations of literals that a clause forbids, each on its own (disjunctive normal form)."""
    kind = _text(item, "type")
    if kind == "OR":
        found = [way for part in _items(_member(item, "clauses")) for way in _combinations(part)]
    elif kind == "AND":
        found = [()]
        for part in _items(_member(item, "clauses")):
            found = _product(found, _combinations(part), item.span)
    elif kind.startswith("RELATION"):
        found = [(_relation(item, kind),)]
    else:
        found = [(_test(item, "name", kind, "forbidden clause"),)]
    if not found or found == [()]:
        raise _unreadable(item.span, "the forbidden clause has no terms: `clauses` is empty")
    return found


def _product(left: list[_Literals], right: list[_Literals], span: Span) -> list[_Literals]:
    if len(left) * len(right) > MAX_COMBINATIONS:
        what = f"a clause that stands for more than {MAX_COMBINATIONS:,} combinations"
        raise _ProblemError(problems.ImportNotExpressible(span, construct=what))
    return [one + other for one in left for other in right]


def _relation(item: PositionedValue, kind: str) -> foreign.ParameterComparison:
    sign = kind.removeprefix("RELATION").lstrip("_") or _text(item, "lambda")
    if sign not in _RELATIONS:
        raise _unreadable(item.span, f"unknown relation `{sign}`")
    return foreign.ParameterComparison(_text(item, "left"), _RELATIONS[sign], _text(item, "right"), item.span)


def _members(item: PositionedValue, expected: str = "an object") -> dict[str, PositionedValue]:
    if not isinstance(item.value, dict):
        raise _unreadable(item.span, "a declaration must be an object", f"expected {expected}")
    return item.value


def _member(item: PositionedValue, name: str) -> PositionedValue:
    if name not in (members := _members(item)):
        raise _unreadable(item.span, f"`{name}` is missing")
    return members[name]


def _optional(item: PositionedValue, name: str) -> object:
    members = _members(item)
    return members[name].value if name in members else None


def _items(item: PositionedValue | None) -> list[PositionedValue]:
    if item is None or item.value is None:
        return []
    if not isinstance(item.value, list):
        raise _unreadable(item.span, "a list of declarations or values must be an array")
    return item.value


def _text(item: PositionedValue, name: str) -> str:
    found = _member(item, name)
    if not isinstance(found.value, str):
        raise _unreadable(found.span, f"`{name}` is not a string")
    return found.value


def _number(item: PositionedValue, name: str, *, is_integer: bool = False) -> float:
    found = _member(item, name)
    read = found.value
    if not is_number(read):
        raise _unreadable(found.span, f"`{name}` is not a number")
    if is_integer:
        if read != int(read):
            raise _ProblemError(
                problems.ContradictoryImportedDeclaration(found.span, problem=f"`{name}` is not an integer")
            )
        return int(read)
    try:
        return float(read)
    except OverflowError:
        problem = f"the number `{name}` is too large for a float"
        raise _ProblemError(problems.ContradictoryImportedDeclaration(found.span, problem=problem)) from None


def _values(item: PositionedValue) -> tuple[Value, ...]:
    if not (values := tuple(map(_value, _items(item)))):
        raise _unreadable(item.span, "the list of values is empty")
    return values


def _value(item: PositionedValue) -> Value:
    match item.value:
        case dict():
            raise _ProblemError(problems.ImportNotExpressible(item.span, construct="an object as a value"))
        case list(items):
            return tuple(map(_value, items))
        case value:
            return value
