"""The parameters that scikit-learn declares: its constraints as rules, and what it has renamed, deprecated or removed.

The constraint classes are private to scikit-learn. They are recognised by their names, so this module does not import
scikit-learn. An unknown constraint is an error, because a missing rule would reject legal values.

The tables of renamed and removed parameters are based on the signatures of the releases 1.0 to 1.9. A parameter is
listed with the first version that does not have it. A snapshot includes the entries that apply to its version.
"""

import inspect
import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from spacelang.catalog.catalogue import Deprecation
from spacelang.catalog.value_rules import AllowedValues, HasMethods, InstanceOf, Interval, NumberKind, Rule
from spacelang.ir.value import Value

_KINDS: Final = {"Integral": NumberKind.INTEGER, "Real": NumberKind.REAL, "RealNotInt": NumberKind.FLOAT}
_KEYWORDS: Final[dict[str, tuple[Rule, ...]]] = {
    "array-like": (InstanceOf(("array-like",)),),
    "sparse matrix": (InstanceOf(("sparse matrix",)),),
    "random_state": (
        Interval(NumberKind.INTEGER, 0, 2**32 - 1, "both"),
        AllowedValues((None,)),
        InstanceOf(("RandomState",)),
    ),
    "boolean": (AllowedValues((True, False)),),
    "verbose": (Interval(NumberKind.INTEGER, 0, math.inf, "left"), AllowedValues((True, False))),
    # An iterable of splits (row numbers) is specific to one data set, so a space cannot set it.
    "cv_object": (Interval(NumberKind.INTEGER, 2, math.inf, "left"), AllowedValues((None,)), InstanceOf(("splitter",))),
    "nan": (InstanceOf(("nan",)),),
}
_TYPES: Final[dict[type, str]] = {numbers.Integral: "int", numbers.Real: "number"}


class UnknownConstraintError(Exception):
    """Exception for a kind of constraint that this version of spacelang does not know."""


def constraints_to_rules(declared: Iterable[Any] | str | None) -> tuple[Rule, ...] | None:
    """Return the rules for the constraints of one parameter; None if the library does not validate it.

    Hidden constraints are left out, because scikit-learn does not offer them to users. The order of rules is
    deterministic, although scikit-learn's sets of options have no order.
    """
    if declared is None or isinstance(declared, str):
        return None
    return tuple(_merge([rule for constraint in declared for rule in _rules(constraint)]))


def _rules(constraint: Any) -> tuple[Rule, ...]:
    if constraint is None:
        return (AllowedValues((None,)),)
    if constraint is callable:
        return (InstanceOf(("callable",)),)
    if isinstance(constraint, str) and constraint in _KEYWORDS:
        return _KEYWORDS[constraint]
    if isinstance(constraint, float) and math.isnan(constraint):
        return _KEYWORDS["nan"]
    if isinstance(constraint, type):
        return (InstanceOf((_TYPES.get(constraint, constraint.__name__),)),)
    return _from_object(constraint)


def _from_object(constraint: Any) -> tuple[Rule, ...]:
    match type(constraint).__name__:
        case "Hidden":
            return ()
        case "Interval":
            return (_interval(constraint),)
        case "StrOptions" | "Options":
            return _options(constraint)
        case "HasMethods" if constraint.methods == ["__iter__"]:
            return (InstanceOf(("array-like",)),)
        case "HasMethods":
            return (HasMethods(tuple(constraint.methods)),)
        case "MissingValues":
            numeric = InstanceOf(("nan", "number"))
            return (numeric,) if constraint.numeric_only else (numeric, InstanceOf(("str",)), AllowedValues((None,)))
        case other:
            raise UnknownConstraintError(f"spacelang does not know scikit-learn's constraint `{other}`")


def _interval(constraint: Any) -> Interval:
    lower = -math.inf if constraint.left is None else constraint.left
    upper = math.inf if constraint.right is None else constraint.right
    return Interval(_KINDS[constraint.type.__name__], lower, upper, constraint.closed)


def _options(constraint: Any) -> tuple[Rule, ...]:
    return (InstanceOf(("type",)),) if constraint.type is type else (AllowedValues(tuple(constraint.options)),)


def _merge(rules: list[Rule]) -> Iterable[Rule]:
    """Yield intervals and required methods as declared, then one rule of all types and one of all options, sorted."""
    yield from dict.fromkeys(rule for rule in rules if isinstance(rule, Interval | HasMethods))
    names = {name for rule in rules if isinstance(rule, InstanceOf) for name in rule.names}
    if names:
        yield InstanceOf(tuple(sorted(names)))
    values = {(type(value), value) for rule in rules if isinstance(rule, AllowedValues) for value in rule.values}
    if values:
        yield AllowedValues(tuple(sorted((value for _, value in values), key=_sort_key)))


def _sort_key(value: Value) -> tuple[int, str]:
    """Return a sort key: strings first, then numbers, `true`, `false`, and `none` last."""
    kinds: tuple[type, ...] = (str, int, float, bool, type(None))
    text = str(not value) if isinstance(value, bool) else repr(value)
    return kinds.index(type(value)), text


@dataclass(frozen=True, slots=True)
class ParameterRemoval:
    """The removal of a parameter from some operators in a version of scikit-learn, with what to write instead."""

    parameter: str
    version: str
    operators: tuple[str, ...]
    remedy: str


@dataclass(frozen=True, slots=True)
class DeprecationAdvice:
    """Advice for something deprecated: the replacement (a parameter or operator, or None) and a note."""

    replacement: str | None
    note: str


_SCALE_BEFORE: Final = "put `StandardScaler` before the operator"
_ALPHAS: Final = "use `alphas`, which also accepts the number of values"
_ONE_VS_REST: Final = (
    "leave the parameter out, or wrap the operator: `OneVsRestClassifier { estimator = LogisticRegression }`"
)
_STORE: Final = "use `store_cv_results`"
_LINEAR_1_2: Final = (
    "ARDRegression", "BayesianRidge", "ElasticNet", "ElasticNetCV", "Lasso", "LassoCV", "LinearRegression",
    "MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV", "Ridge", "RidgeCV",
    "RidgeClassifier", "RidgeClassifierCV",
)  # fmt: skip
_LINEAR_1_4: Final = (
    "Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
)  # fmt: skip
_ENSEMBLES: Final = ("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor")
_PATHS: Final = ("ElasticNetCV", "LassoCV", "MultiTaskElasticNetCV", "MultiTaskLassoCV")
REMOVALS: Final[tuple[ParameterRemoval, ...]] = (
    ParameterRemoval("normalize", "1.2", _LINEAR_1_2, _SCALE_BEFORE),
    ParameterRemoval("normalize", "1.4", _LINEAR_1_4, _SCALE_BEFORE),
    ParameterRemoval("alpha", "1.2", ("NMF",), "use `alpha_W` and `alpha_H`"),
    ParameterRemoval("regularization", "1.2", ("NMF",), "use `alpha_W` and `alpha_H`"),
    ParameterRemoval("base_estimator", "1.3", ("RANSACRegressor",), "use `estimator`"),
    ParameterRemoval("verbose", "1.3", ("SimpleImputer",), "leave it out"),
    ParameterRemoval("square_distances", "1.3", ("TSNE",), "leave the parameter out: distances are always squared"),
    ParameterRemoval("base_estimator", "1.4", (*_ENSEMBLES, "CalibratedClassifierCV"), "use `estimator`"),
    ParameterRemoval("affinity", "1.4", ("AgglomerativeClustering", "FeatureAgglomeration"), "use `metric`"),
    ParameterRemoval("n_iter", "1.4", ("MiniBatchDictionaryLearning", "MiniBatchSparsePCA"), "use `max_iter`"),
    ParameterRemoval("sparse", "1.4", ("OneHotEncoder",), "use `sparse_output`"),
    ParameterRemoval("n_iter", "1.5", ("ARDRegression", "BayesianRidge"), "use `max_iter`"),
    ParameterRemoval("store_cv_values", "1.7", ("RidgeCV", "RidgeClassifierCV"), _STORE),
    ParameterRemoval("n_iter", "1.7", ("TSNE",), "use `max_iter`"),
    ParameterRemoval(
        "algorithm", "1.8", ("AdaBoostClassifier",), "leave the parameter out: SAMME is the only algorithm left"
    ),
    ParameterRemoval("copy", "1.8", ("Birch",), "leave the parameter out: it has no effect"),
    ParameterRemoval("multi_class", "1.8", ("LogisticRegression", "LogisticRegressionCV"), _ONE_VS_REST),
    ParameterRemoval("base_estimator", "1.8", ("SelfTrainingClassifier",), "use `estimator`"),
    ParameterRemoval("copy_X", "1.8", ("TheilSenRegressor",), "leave the parameter out: a copy is always made"),
    ParameterRemoval("base_estimator", "1.9", ("ClassifierChain", "RegressorChain"), "use `estimator`"),
    ParameterRemoval("force_int_remainder_cols", "1.9", ("ColumnTransformer",), "leave it out"),
    ParameterRemoval("n_alphas", "1.9", _PATHS, _ALPHAS),
)
_PENALTY: Final = (
    "`l1_ratio = 0` stands for l2, `l1_ratio = 1` for l1, a number between for elasticnet; "
    "a very large `C` stands for no penalty"
)
_PENALTIES: Final = "in `l1_ratios`, 0 is the penalty l2, 1 is l1, and a number in between is elasticnet"
_CALIBRATE: Final = "wrap the operator: `CalibratedClassifierCV {{ estimator = {operator}, ensemble = false }}`"
_SGD: Final = "use `{operator} {{ loss = {loss}, penalty = none, learning_rate = pa1 }}` with `eta0` instead of `C`"
REMEDIES: Final[Mapping[tuple[str, str], DeprecationAdvice]] = {
    ("LogisticRegression", "penalty"): DeprecationAdvice("l1_ratio", _PENALTY),
    ("LogisticRegressionCV", "penalty"): DeprecationAdvice("l1_ratios", _PENALTIES),
    ("GradientBoostingClassifier", "criterion"): DeprecationAdvice(None, "leave the parameter out: it has no effect"),
    ("GradientBoostingRegressor", "criterion"): DeprecationAdvice(None, "leave the parameter out: it has no effect"),
    ("MDS", "dissimilarity"): DeprecationAdvice("metric", "use `metric`"),
    ("SVC", "probability"): DeprecationAdvice(None, _CALIBRATE.format(operator="SVC")),
    ("NuSVC", "probability"): DeprecationAdvice(None, _CALIBRATE.format(operator="NuSVC")),
    ("TargetEncoder", "shuffle"): DeprecationAdvice(None, "leave the parameter out: folds are always shuffled"),
    ("TargetEncoder", "random_state"): DeprecationAdvice(None, "leave it out"),
    ("LogisticRegression", "n_jobs"): DeprecationAdvice(None, "leave the parameter out: it has no effect"),
}
"""The remedies by operator and deprecated parameter; for others, the note comes from the library's docstring."""
OPERATOR_REMEDIES: Final[Mapping[str, DeprecationAdvice]] = {
    "PassiveAggressiveClassifier": DeprecationAdvice(
        "SGDClassifier", _SGD.format(operator="SGDClassifier", loss="hinge")
    ),
    "PassiveAggressiveRegressor": DeprecationAdvice(
        "SGDRegressor", _SGD.format(operator="SGDRegressor", loss="epsilon_insensitive")
    ),
}


def removed_parameters(operator: str, version: str) -> dict[str, str]:
    """Return the parameters that are removed from an operator by `version`, each with what to do instead."""
    return {
        removal.parameter: f"removed in {removal.version}: {removal.remedy}"
        for removal in REMOVALS
        if operator in removal.operators and parse_version_numbers(removal.version) <= parse_version_numbers(version)
    }


def parse_version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version for comparison, without suffixes: "1.9.1rc1" gives (1, 9)."""
    numbers = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


_SECTION: Final = re.compile(r"^(?P<title>[A-Z][\w ]*)\n-{3,}$", re.MULTILINE)
_ENTRY: Final = re.compile(r"^(?P<names>\w+(?:, \w+)*) ?:.*$", re.MULTILINE)
# Some docstrings of scikit-learn lack the space after the dots.
_DIRECTIVE: Final = re.compile(
    r"^(?P<indent> *)\.\. ?deprecated:: *(?P<since>[\w.]+)(?P<body>(?:\n(?P=indent) +\S.*)+)", re.MULTILINE
)
_RENAMED: Final = re.compile(r"(?:Use|use|renamed(?: to)?) `(?P<replacement>\w+)`")
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9`])\. +(?=[A-Z`])")


def parameter_deprecations(docstring: str | None) -> dict[str, Deprecation]:
    """Return the deprecation of each parameter, by name, that a docstring declares deprecated or renamed.

    Deprecations of single values of a parameter, and announced ones, are left out.
    """
    found = {}
    for name, entry in _entries(_parameters(docstring)):
        for directive in _DIRECTIVE.finditer(entry):
            text = _normalize(directive["body"])
            if re.match(rf"(The )?`{name}`( parameter)? (is|was) (deprecated|renamed)", text):
                found[name] = _deprecation(directive["since"], text)
    return found


def class_deprecation(docstring: str | None) -> Deprecation | None:
    """Return the deprecation of the class itself, which comes before the first section; None if there is none."""
    directive = _DIRECTIVE.search(_SECTION.split(inspect.cleandoc(docstring or ""), maxsplit=1)[0])
    return _deprecation(directive["since"], _normalize(directive["body"])) if directive else None


def _parameters(docstring: str | None) -> str:
    pieces = _SECTION.split(inspect.cleandoc(docstring or ""))
    return dict(zip(pieces[1::2], pieces[2::2], strict=True)).get("Parameters", "")


def _entries(section: str) -> Iterator[tuple[str, str]]:
    heads = list(_ENTRY.finditer(section))
    ends = [*(head.start() for head in heads[1:]), len(section)]
    for head, end in zip(heads, ends, strict=False):
        for name in head["names"].split(", "):
            yield name, section[head.end() : end]


def _normalize(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _deprecation(since: str, text: str) -> Deprecation:
    renamed = _RENAMED.search(text)
    note = _SENTENCE.split(text.rstrip("."), maxsplit=1)[-1]
    return Deprecation(since, renamed["replacement"] if renamed else None, note[:1].lower() + note[1:])
