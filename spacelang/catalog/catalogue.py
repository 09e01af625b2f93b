"""Catalogues of libraries: their operators, the parameters of these, and the values that a parameter accepts.

Everything here is answered from data, without importing the library. Checking a stranger's file is fast and runs none
of the library's code.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, TypeAlias

from spacelang.catalog.rules import Implements, OfType, Options, Rule, Stretch, covers, legal_parts
from spacelang.catalog.wording import expectation
from spacelang.facts import fact
from spacelang.ir.value import Value


class Role(StrEnum):
    """A role that an operator can have in a pipeline; an operator may have several roles."""

    CLASSIFIER = "classifier"
    REGRESSOR = "regressor"
    TRANSFORMER = "transformer"
    CLUSTERER = "clusterer"
    SAMPLER = "sampler"
    """A sampler changes the rows, but only while fitting: a step before the last in an imbalanced-learn pipeline."""
    KERNEL = "kernel"
    """A kernel of a Gaussian process is the value of a parameter, never a step."""
    OTHER = "other"


OPERATOR_TYPES: Final[Mapping[str, Role]] = {"Kernel": Role.KERNEL, "ClusterMixin": Role.CLUSTERER}
"""The library's types that a parameter may ask of an operator, and the role of operators of this type."""


@fact
class Deprecation:
    """A deprecation: the version since which it applies, the replacement, and a note on how to replace it."""

    since: str
    replacement: str | None
    note: str


@fact
class Named:
    """A default that is a function or object which the catalogue lists by name."""

    name: str


@fact
class Opaque:
    """A default that has no literal in the language, as text in the notation of the library."""

    text: str


@fact
class Required:
    """A marker for a parameter without a default, which must be given."""


Default: TypeAlias = "Value | Named | Opaque | Required"


@fact
class TupleMember:
    """A marker for a parameter that is one element of a tuple parameter of the library.

    `whole` is the tuple parameter; its elements are in the order in which the operator lists them. A value is
    multiplied by `factor`.
    """

    whole: str
    factor: float


@fact
class Parameter:
    """A parameter of an operator.

    `accepts` are the rules for values; None if the library declares nothing, so every literal is accepted. `named` are
    the functions and objects that can be the value by name, and `operators` is true if an operator can be the value.

    `refused` is the reason why a space may not set the parameter at all. `withheld` are single values that the library
    accepts but a space may not use, each with the reason. `part` says that the parameter is an element of a tuple
    parameter.
    """

    name: str
    default: Default
    accepts: tuple[Rule, ...] | None = None
    named: tuple[str, ...] = ()
    operators: bool = False
    deprecated: Deprecation | None = None
    refused: str | None = None
    withheld: tuple[tuple[str, str], ...] = ()
    part: TupleMember | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """All accepted strings, for suggestions of the nearest one."""
        return tuple(value for value in self.options if isinstance(value, str))

    @property
    def options(self) -> tuple[Value, ...]:
        """All accepted single values: strings, `true`, `none`, numbers."""
        options = (value for rule in self.accepts or () if isinstance(rule, Options) for value in rule.values)
        return (*self.named, *options)

    @property
    def several(self) -> bool:
        """True if the value is a list of estimators, such as `estimators` of a voting ensemble."""
        return self.name == "estimators" and self.accepts == (OfType(("objects",)),)

    @property
    def expected(self) -> str:
        """A description of the accepted values, such as "an integer from 1 or `none`"."""
        if self.refused is not None:
            return f"no value, because {self.refused}"
        if self.accepts is None:
            return "any literal"
        return expectation(self.accepts, self.named)

    def refusal(self, value: Value) -> str | None:
        """Return the reason why a space may not use a value that the library would accept; None if it may."""
        if self.refused is not None:
            return self.refused
        return next((reason for withheld, reason in self.withheld if withheld == value), None)

    def rejects(self, value: Value) -> str | None:
        """Return None if a value is legal, else a description of the legal values."""
        if self.refusal(value) is not None:
            return self.expected
        if self.accepts is None or (isinstance(value, str) and value in self.named):
            return None
        return None if any(rule.takes(value) for rule in self.accepts) else self.expected

    def rejects_range(
        self, lower: float, upper: float, *, integer: bool, lower_open: bool = False, upper_open: bool = False
    ) -> str | None:
        """Return None if all numbers (or integers) of a range are legal, else a description of the legal values."""
        if self.refused is not None:
            return self.expected
        if self.accepts is None:
            return None
        wanted = Stretch(lower, upper, lower_open, upper_open)
        return None if covers(self.accepts, wanted, integer=integer) else self.expected

    def legal_part(self, wanted: Stretch, *, integer: bool) -> Stretch | None:
        """Return the longest subrange of a range that a single rule accepts completely.

        Returns None if no rule accepts more than one number of the range.
        """
        parts = [part for rule in self.accepts or () for part in legal_parts(rule, wanted, integer=integer)]
        return max(parts, key=lambda part: part.upper - part.lower, default=None)

    def rejects_operator(self, operator: "CatalogueEntry") -> str | None:
        """Return None if an operator can be the value, else a description of the legal values.

        If the parameter takes a list of estimators, the question is if the operator can be one of them.
        """
        if self.several:
            return None if operator.methods.issuperset(_PREDICTING.methods) else expectation((_PREDICTING,), ())
        if self.refused is not None or not self.operators:
            return self.expected
        if self.accepts is None or any(_fits(operator, rule) for rule in self.accepts):
            return None
        return self.expected

    @property
    def takes_transformers(self) -> bool:
        """True if the value may be a transformer that does not predict."""
        rules = (rule for rule in self.accepts or () if isinstance(rule, Implements))
        return self.operators and (
            self.accepts is None or any({"transform", "fit"}.issuperset(r.methods) for r in rules)
        )

    def argument(self, value: Value) -> object:
        """Return the Python object for a legal value: a list for a tuple if the library accepts only lists."""
        if not isinstance(value, tuple) or self.accepts is None:
            return value
        types = {name for rule in self.accepts if isinstance(rule, OfType) for name in rule.names}
        return list(value) if "list" in types and not types & {"tuple", "array-like"} else value


_PREDICTORS: Final = frozenset({Role.CLASSIFIER, Role.REGRESSOR})
TAKING_BOTH: Final = frozenset(
    {("OneVsRestClassifier", "estimator"), ("OneVsOneClassifier", "estimator"), ("StackingClassifier", "estimators")}
)
"""Parameters of classifiers that accept regressors too, according to the library's documentation."""

_PREDICTING: Final = Implements(("fit", "predict"))
"""The methods that ensembles require of each of their estimators."""


def _fits(operator: "CatalogueEntry", rule: Rule) -> bool:
    """Return True if an operator satisfies a rule by its methods or its type."""
    match rule:
        case Implements(methods):
            return operator.methods.issuperset(methods)
        case OfType(names):
            return operator.name in names or any(OPERATOR_TYPES.get(name) in operator.roles for name in names)
        case _:
            return False


@fact
class CatalogueEntry:
    """An operator: one class of a library.

    `module` is the public module that contains it. `enabled_by` is a module to import before (for experimental
    classes). `removed` maps parameters of earlier versions to what to do instead.
    """

    name: str
    module: str
    roles: frozenset[Role]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    accepts_missing: bool = False
    accepts_categories: bool = False
    methods: frozenset[str] = frozenset()
    removed: Mapping[str, str] = field(default_factory=dict)
    deprecated: Deprecation | None = None
    enabled_by: str | None = None

    @property
    def catalogue(self) -> str:
        """The name of the operator's catalogue, which is the top-level package of its module."""
        return self.module.partition(".")[0]

    @property
    def wholes(self) -> tuple[str, ...]:
        """The tuple parameters that can also be given by their elements."""
        found = (parameter.part.whole for parameter in self.parameters.values() if parameter.part is not None)
        return tuple(dict.fromkeys(found))

    def rejects_operator(self, parameter: Parameter, operator: "CatalogueEntry") -> str | None:
        """Return None if an operator can be the value of a parameter, else a description of the legal values.

        Besides the rules of the parameter, this checks that classifiers are combined with classifiers and regressors
        with regressors.
        """
        expected = parameter.rejects_operator(operator)
        if expected is not None or (self.name, parameter.name) in TAKING_BOTH:
            return expected
        # Classifiers require classifiers. Of the regressors, only ensembles check; others treat integers as classes.
        strict = Role.CLASSIFIER in self.roles or parameter.several or parameter.name == "final_estimator"
        mine, its = self.roles & _PREDICTORS, operator.roles & _PREDICTORS
        return f"a {next(iter(mine))}" if strict and len(mine) == 1 and its and not mine & its else None

    def parts(self, whole: str) -> tuple[Parameter, ...]:
        """Return the elements of a tuple parameter in order; empty if it can only be given as a whole."""
        return tuple(p for p in self.parameters.values() if p.part is not None and p.part.whole == whole)


@fact
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
        """Iterate over the names of the operators, sorted."""
        return iter(sorted(self.operators))

    def __len__(self) -> int:
        return len(self.operators)

    def __contains__(self, name: object) -> bool:
        return name in self.operators

    @property
    def stale(self) -> str | None:
        """The installed version of the library if it differs from that of the catalogue, else None."""
        installed = installed_version(self.distribution)
        return None if installed == self.version else installed


SAME: Final[Mapping[str, tuple[str, ...]]] = {"xgboost": ("xgboost-cpu",)}
"""Other distributions that provide the same package, by distribution."""


def installed_version(distribution: str) -> str | None:
    """Return the version of a distribution from its metadata, without importing it; None if it is missing.

    A distribution that provides the same package (such as `xgboost-cpu`) counts as well.
    """
    versions = map(_version, (distribution, *SAME.get(distribution, ())))
    return next((version for version in versions if version is not None), None)


def _version(distribution: str) -> str | None:
    found = _version_in_folders(distribution)
    if found is not None:
        return found
    # Imported late: it imports the `email` package, which takes longer than everything else in a check.
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version_in_folders(distribution: str) -> str | None:
    """Return the version in the name of a `.dist-info` folder on the search path, which is fast to find."""
    prefix = distribution.replace("-", "_").lower() + "-"
    for folder in sys.path:
        try:
            with os.scandir(folder or os.curdir) as entries:
                names = [entry.name for entry in entries]
        except OSError:
            continue
        for name in names:
            if name.lower().startswith(prefix) and name.endswith(".dist-info"):
                return name[len(prefix) : -len(".dist-info")]
    return None
