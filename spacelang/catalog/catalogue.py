"""Catalogues of libraries: operators, parameters and accepted values, all from data, without any code of a library."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Final, TypeAlias

from spacelang.catalog import value_rules
from spacelang.catalog.value_rules import ELEMENT_RULES
from spacelang.errors import installed_version
from spacelang.frozen import frozen
from spacelang.ir.domain import NOT_FOUND, NotFound, literal
from spacelang.ir.space import LIST_PARAMETER
from spacelang.ir.value import Value


class OperatorRole(StrEnum):
    """A role that an operator can have in a pipeline; an operator may have several roles."""

    CLASSIFIER = "classifier"
    REGRESSOR = "regressor"
    TRANSFORMER = "transformer"
    CLUSTERER = "clusterer"
    SAMPLER = "sampler"
    """A sampler changes the rows, but only while fitting: a step before the last in an imbalanced-learn pipeline."""
    KERNEL = "kernel"  # A kernel of a Gaussian process is the value of a parameter, never a step
    OTHER = "other"


OPERATOR_TYPES: Final[Mapping[str, OperatorRole]] = {
    "Kernel": OperatorRole.KERNEL,
    "ClusterMixin": OperatorRole.CLUSTERER,
}
"""The library's types that a parameter may ask of an operator, and the role of operators of this type."""


@frozen
class Deprecation:
    """A deprecation: the version since which it applies, the replacement, and a note on how to replace it."""

    since: str
    replacement: str | None
    note: str


@frozen
class NamedObjectDefault:
    """A default that is a function or object which the catalogue lists by name."""

    name: str


@frozen
class OpaqueDefault:
    """A default that has no literal in the language, as text in the notation of the library."""

    text: str


@frozen
class NoDefault:
    """A marker for a parameter without a default, which must be given."""


Default: TypeAlias = "Value | NamedObjectDefault | OpaqueDefault | NoDefault"


@frozen
class TupleElement:
    """A mark of a parameter that is one element of the library's tuple parameter `whole`, multiplied by `factor`."""

    whole: str
    factor: float


@frozen
class Parameter:
    """A parameter of an operator.

    `accepts` are the rules for values; None if the library declares nothing, so every literal is accepted. `named` are
    the functions and objects that can be the value by name, and `takes_operators` is true if an operator can be the
    value.

    `refused` is the reason why a space may not set the parameter at all. `withheld` are single values that the library
    accepts but a space may not use, each with the reason. `part` says that the parameter is an element of a tuple
    parameter.
    """

    name: str
    default: Default
    accepts: tuple[value_rules.Rule, ...] | None = None
    named: tuple[str, ...] = ()
    takes_operators: bool = False
    deprecated: Deprecation | None = None
    refused: str | None = None
    withheld: tuple[tuple[str, str], ...] = ()
    part: TupleElement | None = None

    @property
    def default_value(self) -> Value | NotFound:
        """The default as a value of a space, an object by its name; NOT_FOUND if it has no literal or there is none."""
        match self.default:
            case NamedObjectDefault(name):
                return name
            case OpaqueDefault() | NoDefault():
                return NOT_FOUND
            case value:
                return value

    @property
    def default_text(self) -> str | None:
        """The default as the language writes it, or None if it has no literal or there is none."""
        return None if isinstance(self.default_value, NotFound) else literal(self.default_value)

    @property
    def accepted_words(self) -> tuple[str, ...]:
        """All accepted strings, for suggestions of the nearest one."""
        return tuple(value for value in self.accepted_values if isinstance(value, str))

    @property
    def accepted_values(self) -> tuple[Value, ...]:
        """All values that are accepted individually (strings, `true`, `none`, numbers), without those of intervals."""
        options = (
            value for rule in self.accepts or () if isinstance(rule, value_rules.AllowedValues) for value in rule.values
        )
        return (*self.named, *options)

    @property
    def takes_operator_list(self) -> bool:
        """True if the value is a list of estimators, such as `estimators` of a voting ensemble."""
        return self.name == LIST_PARAMETER and self.accepts == (value_rules.InstanceOf(("objects",)),)

    @property
    def accepted_values_description(self) -> str:
        """A description of the accepted values, such as "an integer from 1 or `none`"."""
        if self.refused is not None:
            return f"no value, because {self.refused}"
        if self.takes_operator_list:
            return "a list of operators"
        return "any literal" if self.accepts is None else value_rules.describe_rules(self.accepts, self.named)

    def refusal_reason(self, value: Value) -> str | None:
        """Return the reason why a space may not use a value that the library would accept; None if it may."""
        if self.refused is not None:
            return self.refused
        return next((reason for withheld, reason in self.withheld if withheld == value), None)

    def check_value(self, value: Value) -> str | None:
        """Return None if a value is legal, else a description of the legal values."""
        if self.refusal_reason(value) is not None:
            return self.accepted_values_description
        if self.accepts is None or (isinstance(value, str) and value in self.named):
            return None
        return None if any(rule.accepts(value) for rule in self.accepts) else self.accepted_values_description

    def check_range(
        self, lower: float, upper: float, *, integer: bool, lower_open: bool = False, upper_open: bool = False
    ) -> str | None:
        """Return None if all numbers (or integers) of a range are legal, else a description of the legal values."""
        if self.refused is not None:
            return self.accepted_values_description
        if self.accepts is None:
            return None
        wanted = value_rules.NumberRange(lower, upper, lower_open, upper_open)
        return (
            None
            if value_rules.do_rules_accept_range(self.accepts, wanted, integer=integer)
            else self.accepted_values_description
        )

    def longest_legal_range(self, wanted: value_rules.NumberRange, *, integer: bool) -> value_rules.NumberRange | None:
        """Return the longest subrange that a single rule accepts, or None if none accepts more than one number."""
        parts = [
            part
            for rule in self.accepts or ()
            for part in value_rules.parts_accepted_by_rule(rule, wanted, integer=integer)
        ]
        return max(parts, key=lambda part: part.upper - part.lower, default=None)

    def check_operator(self, operator: "CatalogueEntry") -> str | None:
        """Return None if an operator can be the value, or an item of it if it is a list.

        Otherwise return a description of the legal values.
        """
        if self.takes_operator_list:
            suits = operator.methods.issuperset(_PREDICTOR_METHODS.methods)
            return None if suits else value_rules.describe_rules((_PREDICTOR_METHODS,), ())
        if self.refused is not None or not self.takes_operators:
            return self.accepted_values_description
        if self.accepts is None or any(_fits(operator, rule) for rule in self.accepts):
            return None
        return self.accepted_values_description

    @property
    def takes_transformers(self) -> bool:
        """True if the value may be an operator that transforms and does not predict."""
        suits = self.accepts is None or any(
            isinstance(rule, value_rules.HasMethods) and {"transform", "fit"}.issuperset(rule.methods)
            for rule in self.accepts
        )
        return self.takes_operators and suits

    @property
    def takes_only_integers(self) -> bool:
        """True if the library accepts integers, but not a single float."""
        rules = self.accepts or ()
        return any(map(value_rules.accepts_integers, rules)) and not any(map(value_rules.accepts_floats, rules))

    def to_python(self, value: Value) -> object:
        """Return the Python object for a legal value: itself, or a list for a tuple if only lists are accepted."""
        if not isinstance(value, tuple) or self.accepts is None:
            return value
        types = {name for rule in self.accepts if isinstance(rule, value_rules.InstanceOf) for name in rule.names}
        return list(value) if "list" in types and not types & {"tuple", "array-like"} else value


_PREDICTORS: Final = frozenset({OperatorRole.CLASSIFIER, OperatorRole.REGRESSOR})
ACCEPTS_REGRESSORS: Final = frozenset(
    {("OneVsRestClassifier", "estimator"), ("OneVsOneClassifier", "estimator"), ("StackingClassifier", "estimators")}
)
"""Parameters of classifiers that accept regressors too, according to the library's documentation."""
_PREDICTOR_METHODS: Final = value_rules.HasMethods(("fit", "predict"))
"""The methods that ensembles require of each of their estimators."""


def _fits(operator: "CatalogueEntry", rule: value_rules.Rule) -> bool:
    match rule:
        case value_rules.HasMethods(methods):
            return operator.methods.issuperset(methods)
        case value_rules.InstanceOf(names):
            return operator.name in names or any(OPERATOR_TYPES.get(name) in operator.roles for name in names)
        case _:
            return False


@frozen
class CatalogueEntry:
    """An operator: one class of a library.

    `module` is the public module that contains it. `enabled_by` is a module to import before (for experimental
    classes). `accepts_several_targets` is true for steps that can be fitted to an array of n rows and several columns
    of targets: 0 and 1 for classifiers, numbers for regressors. `removed` maps parameters of earlier versions to what
    to do instead.
    """

    name: str
    module: str
    roles: frozenset[OperatorRole]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    accepts_missing: bool = False
    accepts_categories: bool = False
    accepts_several_targets: bool = False
    methods: frozenset[str] = frozenset()
    removed: Mapping[str, str] = field(default_factory=dict)
    deprecated: Deprecation | None = None
    enabled_by: str | None = None

    @property
    def catalogue(self) -> str:
        """The name of the operator's catalogue, which is the top-level package of its module."""
        return self.module.partition(".")[0]

    @property
    def tuple_parameters(self) -> tuple[str, ...]:
        """The tuple parameters that can also be given by their elements."""
        found = (parameter.part.whole for parameter in self.parameters.values() if parameter.part is not None)
        return tuple(dict.fromkeys(found))

    def takes_only_integers(self, name: str) -> bool:
        """Return True if a parameter of the operator, which may be unknown, accepts integers but not a single float."""
        return name in self.parameters and self.parameters[name].takes_only_integers

    def check_operator(self, parameter: Parameter, operator: "CatalogueEntry") -> str | None:
        """Return None if an operator can be the value of a parameter of this operator, else describe the legal values.

        Where it matters, a classifier needs a classifier and a regressor a regressor.
        """
        expected = parameter.check_operator(operator)
        if expected is not None or (self.name, parameter.name) in ACCEPTS_REGRESSORS:
            return expected
        # Classifiers require classifiers. Of the regressors, only ensembles check; others treat integers as classes.
        strict = (
            OperatorRole.CLASSIFIER in self.roles
            or parameter.takes_operator_list
            or parameter.name == "final_estimator"
        )
        mine, its = self.roles & _PREDICTORS, operator.roles & _PREDICTORS
        return f"a {next(iter(mine))}" if strict and len(mine) == 1 and its and not mine & its else None

    def generic_tuple_element(self, parameter: Parameter) -> Parameter:
        """Return a parameter without default that stands for any element of a tuple parameter.

        Its rules may be unknown.
        """
        accepts = ELEMENT_RULES.get((self.name, parameter.name))
        return Parameter(parameter.name, NoDefault(), accepts, refused=parameter.refused)

    def tuple_element_parameters(self, whole: str) -> tuple[Parameter, ...]:
        """Return the parameters that are the elements of the tuple parameter `whole`, in order.

        Empty if there are none.
        """
        return tuple(p for p in self.parameters.values() if p.part is not None and p.part.whole == whole)


@frozen
class Catalogue:
    """The operators of one version of a library.

    `objects` maps each named object to its module. `scorers` maps the name of each scorer to the kind of task that it
    evaluates, `classification` or `regression`.
    """

    name: str
    distribution: str
    version: str
    operators: Mapping[str, CatalogueEntry]
    objects: Mapping[str, str] = field(default_factory=dict)
    scorers: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> CatalogueEntry | None:
        """Return the operator with exactly this name, or None."""
        return self.operators.get(name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the operators in alphabetical order."""
        return iter(sorted(self.operators))

    def __len__(self) -> int:
        return len(self.operators)

    def __contains__(self, name: object) -> bool:
        return name in self.operators

    @property
    def differing_installed_version(self) -> str | None:
        """The installed version of the library if it differs from that of the catalogue, else None."""
        installed = installed_version(self.distribution)
        return None if installed == self.version else installed


@dataclass(frozen=True)
class FileCatalogues:
    """The catalogue of scikit-learn, whose operators have plain names, and the catalogues that a file uses.

    An operator of a used catalogue has the name `catalogue.Operator`, or its plain name if no other catalogue has an
    operator with it. `refused` are the packages that the file may not use. If a catalogue for one of them is known
    nevertheless, it is in `used`, so that the rest of the file can be checked; the check yields no space.
    """

    default: Catalogue
    used: Mapping[str, Catalogue] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    @property
    def default_name(self) -> str:
        """The name of the catalogue that every file uses."""
        return self.default.name

    @property
    def scorers(self) -> Mapping[str, str]:
        """The scorers of scikit-learn."""
        return self.default.scorers

    def get(self, name: str) -> CatalogueEntry | None:
        """Return the operator for a name as a file writes it, plain or `catalogue.Operator`.

        None if unknown or ambiguous.
        """
        if name in self.default:
            return self.default.get(name)
        catalogue, dot, operator = name.partition(".")
        if dot:
            return self.entry_in_catalogue(catalogue, operator) if catalogue in self.used else None
        found = self._by_plain_name.get(name, ())
        return self.used[found[0]].get(name) if len(found) == 1 else None

    def entry_in_catalogue(self, catalogue: str, operator: str) -> CatalogueEntry | None:
        """Return the operator of exactly this catalogue; None if the catalogue or the operator is not available."""
        found = self.default if catalogue == self.default.name else self.used.get(catalogue)
        return None if found is None else found.get(operator)

    def full_names(self, name: str) -> tuple[str, ...]:
        """Return the full names that a plain name may refer to in the used catalogues, in the order of `use` lines."""
        return tuple(f"{catalogue}.{name}" for catalogue in self._by_plain_name.get(name, ()))

    def is_in_refused_catalogue(self, name: str) -> bool:
        """Return True if a name (as written) belongs to a refused catalogue whose operators are unknown."""
        package = name.partition(".")[0]
        return package in self.refused and package not in self.used

    def __iter__(self) -> Iterator[str]:
        """Iterate over all names of operators: plain names, and full names where plain ones are ambiguous."""
        yield from self.default
        for name, catalogues in self._by_plain_name.items():
            if name not in self.default and len(catalogues) == 1:
                yield name
            else:
                yield from self.full_names(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    @cached_property
    def _by_plain_name(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for catalogue, operators in self.used.items():
            for name in operators:
                found[name] = (*found.get(name, ()), catalogue)
        return found


_SHARE: Final = (value_rules.Interval(value_rules.NumberKind.REAL, 0, 1, "both"),)
_PERCENT: Final = TupleElement("quantile_range", 100.0)
TUPLE_PARAMETERS: Final[Mapping[tuple[str, str], tuple[Parameter, ...]]] = {
    # The names and the fractions are those of auto-sklearn.
    ("RobustScaler", "quantile_range"): (
        Parameter("q_min", 0.25, _SHARE, part=_PERCENT),
        Parameter("q_max", 0.75, _SHARE, part=_PERCENT),
    )
}
"""The elements of each tuple parameter, in order, by operator and parameter; their defaults form the library's."""


def join_tuple_elements(operator: CatalogueEntry, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments for the class of an operator, with tuples in place of their elements.

    A missing element has its default. If all elements are missing, the tuple is missing too, so the library's default
    applies. Raises ValueError if both a tuple and one of its elements are given.
    """
    composed = dict(arguments)
    for whole in operator.tuple_parameters:
        parts = operator.tuple_element_parameters(whole)
        if composed.keys().isdisjoint(part.name for part in parts):
            continue
        if whole in composed:
            raise ValueError(
                f"the parameter `{whole}` of `{operator.name}` is given both as a tuple and by its elements"
            )
        factors = (each.part.factor for each in parts if each.part is not None)
        values = [composed.pop(each.name, each.default) for each in parts]
        composed[whole] = tuple(factor * value for factor, value in zip(factors, values, strict=True))
    return composed
