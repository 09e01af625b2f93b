"""Rules for the values of parameters, and restrictions, so that no value of a space runs code or opens a file."""

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from math import inf
from typing import Final, Literal, TypeAlias, assert_never

from spacelang.frozen import frozen
from spacelang.ir.domain import literal
from spacelang.ir.value import Value, are_same_value, is_number


class NumberKind(StrEnum):
    """A kind of numbers in an interval."""

    INTEGER = "integer"
    REAL = "real"  # Every number, whether it is written as `1` or as `1.0`
    FLOAT = "float"  # Only numbers written with a decimal point: for scikit-learn `1.0` is a fraction and `1` a count


Closed: TypeAlias = Literal["left", "right", "both", "neither"]


@frozen
class Interval:
    """The numbers of one kind from `lower` to `upper`; unbounded ends are infinities."""

    numbers: NumberKind
    lower: float
    upper: float
    closed: Closed

    @property
    def is_integer(self) -> bool:
        """True if only integers are accepted."""
        return self.numbers is NumberKind.INTEGER

    @property
    def lower_open(self) -> bool:
        """True if `lower` itself is excluded."""
        return self.closed in {"right", "neither"}

    @property
    def upper_open(self) -> bool:
        """True if `upper` itself is excluded."""
        return self.closed in {"left", "neither"}

    def accepts(self, value: Value) -> bool:
        """Return True if a value is a number of this kind in the interval; booleans and NaN are not."""
        if not is_number(value):
            return False
        wanted = {NumberKind.INTEGER: int, NumberKind.REAL: int | float, NumberKind.FLOAT: float}[self.numbers]
        if not isinstance(value, wanted):
            return False
        above = value > self.lower or (value == self.lower and not self.lower_open)
        below = value < self.upper or (value == self.upper and not self.upper_open)
        return above and below


@frozen
class AllowedValues:
    """A set of single values: strings, booleans, `none`, numbers."""

    values: tuple[Value, ...]

    def accepts(self, value: Value) -> bool:
        """Return True if `value` is a member; 1 and `true` are different values here."""
        return any(are_same_value(value, option) for option in self.values)


@frozen
class InstanceOf:
    """All values of some types of the library's documentation; those without literals, like `dict`, accept no value."""

    names: tuple[str, ...]

    def accepts(self, value: Value) -> bool:
        """Return True if a value is a literal of one of the types; a tuple represents a list or an array."""
        return any(_is_of_type(value, name) for name in self.names)


@frozen
class HasMethods:
    """All objects with certain methods. Only operators can be such values in a space; no literal has methods."""

    methods: tuple[str, ...]

    def accepts(self, value: Value) -> bool:  # noqa: ARG002 - all rules have the same interface
        """Return False: no literal has methods."""
        return False


Rule: TypeAlias = Interval | AllowedValues | InstanceOf | HasMethods
SEQUENCES: Final = frozenset({"tuple", "list", "array-like"})


def _is_of_type(value: Value, name: str) -> bool:
    match name:
        case "str":
            return isinstance(value, str)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, float)
        case "number":
            return is_number(value)
        case "nan":
            return isinstance(value, float) and math.isnan(value)
        case _:
            return name in SEQUENCES and isinstance(value, tuple)


@frozen
class NumberRange:
    """An interval of numbers, each end of which may be open."""

    lower: float
    upper: float
    lower_open: bool = False
    upper_open: bool = False

    def to_integers(self) -> "NumberRange":
        """Return the closed range with the same integers: (0.5, 3) becomes [1, 2]."""
        lowest = _lowest_integer(self.lower, excluded=self.lower_open)
        return NumberRange(lowest, -_lowest_integer(-self.upper, excluded=self.upper_open))


def do_rules_accept_range(rules: Iterable[Rule], wanted: NumberRange, *, integer: bool) -> bool:
    """Return True if every number (or every integer) in `wanted` is accepted by some rule."""
    pieces = [piece for rule in rules for piece in _ranges_of(rule, integer=integer)]
    return _covers_integers(pieces, wanted.to_integers()) if integer else _covers_reals(pieces, wanted)


def parts_accepted_by_rule(rule: Rule, wanted: NumberRange, *, integer: bool) -> Iterator[NumberRange]:
    """Yield the parts of a range that a rule accepts, if they contain more than one number."""
    for piece in _ranges_of(rule, integer=integer):
        found = _intersection(piece, wanted)
        if integer:
            found = found.to_integers()
        if found.lower < found.upper:
            yield found


def _intersection(left: NumberRange, right: NumberRange) -> NumberRange:
    lower, lower_open = max((left.lower, left.lower_open), (right.lower, right.lower_open))
    upper, upper_closed = min((left.upper, not left.upper_open), (right.upper, not right.upper_open))
    return NumberRange(lower, upper, lower_open, not upper_closed)


def _ranges_of(rule: Rule, *, integer: bool) -> Iterator[NumberRange]:
    match rule:
        case Interval():
            unsuitable = NumberKind.FLOAT if integer else NumberKind.INTEGER
            if rule.numbers is not unsuitable:
                yield NumberRange(rule.lower, rule.upper, rule.lower_open, rule.upper_open)
        case AllowedValues():
            for value in rule.values:
                if is_number(value):
                    yield NumberRange(value, value)
        case InstanceOf():
            if {"number", "int" if integer else "float"} & set(rule.names):
                yield NumberRange(-math.inf, math.inf)
        case HasMethods():
            return
        case _:
            assert_never(rule)


def _covers_integers(pieces: list[NumberRange], wanted: NumberRange) -> bool:
    reached = wanted.lower - 1
    for piece in sorted((piece.to_integers() for piece in pieces), key=lambda piece: piece.lower):
        if piece.lower <= reached + 1:
            reached = max(reached, piece.upper)
    return reached >= wanted.upper


def _covers_reals(pieces: list[NumberRange], wanted: NumberRange) -> bool:
    # Everything below `reached` is covered, and `reached` itself if `included` is true.
    reached, included = wanted.lower, wanted.lower_open
    for piece in sorted(pieces, key=lambda piece: (piece.lower, piece.lower_open)):
        joins = piece.lower < reached or (piece.lower == reached and (included or not piece.lower_open))
        if joins:
            reached, included = max((reached, included), (piece.upper, not piece.upper_open))
    return reached > wanted.upper or (reached == wanted.upper and (included or wanted.upper_open))


def _lowest_integer(bound: float, *, excluded: bool) -> float:
    if math.isinf(bound):
        return bound
    whole = math.ceil(bound)
    return whole + 1 if excluded and whole == bound else whole


def accepts_integers(rule: Rule) -> bool:
    """Return True if a rule accepts some integer."""
    match rule:
        case Interval():
            return rule.numbers is not NumberKind.FLOAT
        case AllowedValues():
            return any(isinstance(value, int) and is_number(value) for value in rule.values)
        case InstanceOf():
            return not {"int", "number"}.isdisjoint(rule.names)
        case _:
            return False


def accepts_floats(rule: Rule) -> bool:
    """Return True if a rule accepts some float, other than one that equals an integer of a set."""
    match rule:
        case Interval():
            return not rule.is_integer
        case AllowedValues():
            return any(isinstance(value, float) for value in rule.values)
        case InstanceOf():
            return not {"float", "number", "nan"}.isdisjoint(rule.names)
        case _:
            return False


MAX_LISTED: Final = 12
"""The maximal number of words in a list; longer lists (such as 60 names of scorers) are shortened."""
_TYPES: Final = {
    "str": "a string", "int": "an integer", "float": "a float", "number": "a number", "Kernel": "a kernel",
    "ClusterMixin": "a clusterer", "SMOTE": "an operator `SMOTE`",
    "EditedNearestNeighbours": "an operator `EditedNearestNeighbours`", "TomekLinks": "an operator `TomekLinks`",
}  # fmt: skip
_KINDS: Final = {NumberKind.INTEGER: "an integer", NumberKind.REAL: "a number", NumberKind.FLOAT: "a float"}


def describe_rules(rules: Iterable[Rule], named: tuple[str, ...]) -> str:
    """Return a description of the values that any rule accepts, and of the names in `named`, which are accepted too.

    For example "an integer from 1 or `none`".
    """
    rules = tuple(rules)
    constants = [
        format_value_as_source(value) for rule in rules if isinstance(rule, AllowedValues) for value in rule.values
    ]
    phrases = [phrase for rule in rules for phrase in _phrases(rule)]
    phrases += _one_of([*named, *constants])
    distinct = list(dict.fromkeys(phrases))
    if not distinct:
        return "no value that a space can express"
    return distinct[0] if len(distinct) == 1 else f"{', '.join(distinct[:-1])} or {distinct[-1]}"


def format_value_as_source(value: Value) -> str:
    """Return a value as it is written in a `.space` file."""
    if isinstance(value, tuple):
        return f"({', '.join(map(format_value_as_source, value))})"
    return _number(value) if is_number(value) else literal(value)


def _phrases(rule: Rule) -> Iterator[str]:
    match rule:
        case Interval():
            yield _interval(rule)
        case InstanceOf():
            yield from (_TYPES[name] for name in rule.names if name in _TYPES)
            if SEQUENCES.intersection(rule.names):
                yield "a tuple"
        case HasMethods():
            methods = " and ".join(f"`{method}`" for method in rule.methods)
            yield f"an operator with {methods}"
        case AllowedValues():
            return
        case _:
            assert_never(rule)


def _interval(rule: Interval) -> str:
    kind = _KINDS[rule.numbers]
    if math.isinf(rule.lower) and math.isinf(rule.upper):
        return kind
    if math.isinf(rule.upper):
        # Whether infinity itself is accepted does not matter in an error message.
        return f"{kind} {'above' if rule.lower_open else 'from'} {_number(rule.lower)}"
    if math.isinf(rule.lower):
        return f"{kind} {'below' if rule.upper_open else 'up to'} {_number(rule.upper)}"
    opening, closing = "(" if rule.lower_open else "[", ")" if rule.upper_open else "]"
    return f"{kind} in {opening}{_number(rule.lower)}, {_number(rule.upper)}{closing}"


def _one_of(words: list[str]) -> list[str]:
    quoted = [f"`{word}`" for word in words]
    if len(quoted) <= 2:
        return quoted
    if len(quoted) <= MAX_LISTED:
        return [f"one of {', '.join(quoted)}"]
    return [f"one of {', '.join(quoted[:MAX_LISTED])} and {len(quoted) - MAX_LISTED} more"]


def _number(number: float) -> str:
    # A bound of 0.0 reads as 0; beyond 2**53 the integers of a float are no longer exact.
    return str(int(number)) if abs(number) < 2**53 and number == int(number) else repr(number)


REFUSED_PARAMETERS: Final[Mapping[str, str]] = {
    "memory": "it is the path of a cache folder, and loading pickles from there would execute code",
    "pre_dispatch": "joblib evaluates its value as code",
    "n_jobs": "spacelang sets this parameter",
    "verbose": "spacelang sets this parameter",
}
"""Parameters that a space may not set for any operator, with the reason."""
TAKES_CODE: Final = "it takes code"
ANOTHER_NAME_OF: Final = "it is another name of "
REFUSED_VALUES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "input": (
        ("file", "with this value, the operator reads from open files"),
        ("filename", "with this value, the operator opens files"),
    )
}
"""Values that a space may not use, by parameter, each with the reason."""
RULE_OVERRIDES: Final[Mapping[str, tuple[Rule, ...]]] = {
    # The library evaluates any string here as a dotted path of attributes.
    "importance_getter": (AllowedValues(("auto", "coef_", "feature_importances_")),),
    # The library uses any string here as a format, which can access attributes of objects.
    "verbose_feature_names_out": (AllowedValues((True, False)),),
}
"""Rules that are stricter than those of the library, by parameter."""
_COUNTS: Final = (Interval(NumberKind.INTEGER, 1, inf, "left"),)
_POSITIVE: Final = (Interval(NumberKind.REAL, 0, inf, "neither"),)
ELEMENT_RULES: Final[Mapping[tuple[str, str], tuple[Rule, ...]]] = {
    ("CountVectorizer", "ngram_range"): _COUNTS,
    ("HashingVectorizer", "ngram_range"): _COUNTS,
    ("KBinsDiscretizer", "n_bins"): (Interval(NumberKind.INTEGER, 2, inf, "left"),),
    ("LogisticRegressionCV", "Cs"): _POSITIVE,
    ("MLPClassifier", "hidden_layer_sizes"): _COUNTS,
    ("MLPRegressor", "hidden_layer_sizes"): _COUNTS,
    ("RidgeCV", "alphas"): _POSITIVE,
    ("RidgeClassifierCV", "alphas"): _POSITIVE,
    ("TfidfVectorizer", "ngram_range"): _COUNTS,
}
"""The rules for the elements of tuples, by operator and parameter; the library's own checks stop at the tuple."""
HOLDS_OBJECTS: Final = frozenset(
    {"class_weight", "estimators", "param_distributions", "param_grid", "steps", "transformer_list", "transformers"}
)
"""Parameters whose lists contain dictionaries or operators; a tuple of literals cannot represent them."""
_BY_P_VALUE: Final = ("chi2", "f_classif", "f_regression")
_BY_SCORE: Final = (*_BY_P_VALUE, "mutual_info_classif", "mutual_info_regression", "r_regression")
_OF_NUMPY: Final = ("mean", "median", "max", "min")
NAMED_FUNCTIONS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("FeatureAgglomeration", "pooling_func"): _OF_NUMPY,
    ("GenericUnivariateSelect", "score_func"): _BY_SCORE,
    ("SelectKBest", "score_func"): _BY_SCORE,
    ("SelectPercentile", "score_func"): _BY_SCORE,
    # False discovery rates need p-values, which the other functions do not return.
    ("SelectFdr", "score_func"): _BY_P_VALUE,
    ("SelectFpr", "score_func"): _BY_P_VALUE,
    ("SelectFwe", "score_func"): _BY_P_VALUE,
}
"""The functions that a space may name as a value, by operator and parameter."""
FUNCTION_MODULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(_BY_SCORE, "sklearn.feature_selection"),
    **dict.fromkeys(_OF_NUMPY, "numpy"),
}
"""The module of every function that a space may name."""
OPERATOR_PARAMETERS: Final = frozenset({
    ("Exponentiation", "kernel"), ("FrozenEstimator", "estimator"), ("Product", "k1"), ("Product", "k2"),
    ("SMOTEENN", "enn"), ("SMOTEENN", "smote"), ("SMOTETomek", "smote"), ("SMOTETomek", "tomek"), ("Sum", "k1"),
    ("Sum", "k2"),
})  # fmt: skip
"""Parameters that take an operator although the library does not declare it."""
ACCEPTS_CATEGORIES: Final = frozenset({"SimpleImputer"})
"""Operators that accept columns of strings (with suitable settings) although their tags do not say so."""
NEEDS_ENCODED_CATEGORIES: Final = frozenset({"CategoricalNB", "CatBoostClassifier", "CatBoostRegressor"})
"""Operators whose tags promise categories, but that need integer codes or a list of the categorical columns."""
