"""The catalogue of a library: its operators, their parameters and what each of these takes.

Everything here is answered from data, without importing the library: checking a stranger's file runs none
of its code and is instant.
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
    """What an operator can be in a pipeline; it may be several things."""

    CLASSIFIER = "classifier"
    REGRESSOR = "regressor"
    TRANSFORMER = "transformer"
    CLUSTERER = "clusterer"
    SAMPLER = "sampler"
    """It changes the rows, while fitting only: a step before the last, in a pipeline of imbalanced-learn."""
    KERNEL = "kernel"
    """The kernel of a Gaussian process: a value of a parameter, never a step."""
    OTHER = "other"


OPERATOR_TYPES: Final[Mapping[str, Role]] = {"Kernel": Role.KERNEL, "ClusterMixin": Role.CLUSTERER}
"""The types of the library that operators have, and the role by which an operator is known to have them."""


@fact
class Deprecation:
    """That the library will drop something: since which version, what to use instead, and how."""

    since: str
    replacement: str | None
    note: str


@fact
class Named:
    """A default that is a function or object which the catalogue lists by name."""

    name: str


@fact
class Opaque:
    """A default for which there is no literal, in the library's own notation."""

    text: str


@fact
class Required:
    """That there is no default: the parameter must be given."""


Default: TypeAlias = "Value | Named | Opaque | Required"


@fact
class TupleMember:
    """That a parameter is not the library's own, but a member of one that is a tuple of numbers, times a factor.

    The members of `whole` are its parts in the order in which the operator lists them.
    """

    whole: str
    factor: float


@fact
class Parameter:
    """One parameter of an operator.

    `accepts` is None where the library declares nothing: then every literal is taken. `named` are the
    functions and objects that may be named as the value; `operators` says whether an operator may be the
    value. `refused` is the reason why a space may not set the parameter at all, `withheld` are single
    values that the library would take and a space may not use, each with the reason. `part` says of which
    other parameter this one is a part.
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
        """Every word that is taken, for suggesting the nearest one."""
        return tuple(value for value in self.options if isinstance(value, str))

    @property
    def options(self) -> tuple[Value, ...]:
        """Every word that is taken, and the single values beside the words: `true`, `none`, a number."""
        options = (value for rule in self.accepts or () if isinstance(rule, Options) for value in rule.values)
        return (*self.named, *options)

    @property
    def several(self) -> bool:
        """Whether the value is a list of estimators, such as the `estimators` of a voting ensemble."""
        return self.name == "estimators" and self.accepts == (OfType(("objects",)),)

    @property
    def expected(self) -> str:
        """What is taken, such as "an integer from 1 or `none`"."""
        if self.refused is not None:
            return f"no value, because {self.refused}"
        if self.accepts is None:
            return "any literal"
        return expectation(self.accepts, self.named)

    def refusal(self, value: Value) -> str | None:
        """The reason why a space may not give this value, though the library would take it; else None."""
        if self.refused is not None:
            return self.refused
        return next((reason for withheld, reason in self.withheld if withheld == value), None)

    def rejects(self, value: Value) -> str | None:
        """None where the value is legal, else what would be."""
        if self.refusal(value) is not None:
            return self.expected
        if self.accepts is None or (isinstance(value, str) and value in self.named):
            return None
        return None if any(rule.takes(value) for rule in self.accepts) else self.expected

    def rejects_range(
        self, lower: float, upper: float, *, integer: bool, lower_open: bool = False, upper_open: bool = False
    ) -> str | None:
        """None where every number (every integer) of the range is legal, else what would be."""
        if self.refused is not None:
            return self.expected
        if self.accepts is None:
            return None
        wanted = Stretch(lower, upper, lower_open, upper_open)
        return None if covers(self.accepts, wanted, integer=integer) else self.expected

    def legal_part(self, wanted: Stretch, *, integer: bool) -> Stretch | None:
        """The longest stretch of a range that one rule takes whole; None where no rule takes more than a number."""
        parts = [part for rule in self.accepts or () for part in legal_parts(rule, wanted, integer=integer)]
        return max(parts, key=lambda part: part.upper - part.lower, default=None)

    def rejects_operator(self, operator: "CatalogueEntry") -> str | None:
        """None where this operator may be the value (one of the values, where it takes several), else what may be."""
        if self.several:
            return None if operator.methods.issuperset(_PREDICTING.methods) else expectation((_PREDICTING,), ())
        if self.refused is not None or not self.operators:
            return self.expected
        if self.accepts is None or any(_fits(operator, rule) for rule in self.accepts):
            return None
        return self.expected

    @property
    def takes_transformers(self) -> bool:
        """Whether the value may be something that transforms and does not predict."""
        rules = (rule for rule in self.accepts or () if isinstance(rule, Implements))
        return self.operators and (
            self.accepts is None or any({"transform", "fit"}.issuperset(r.methods) for r in rules)
        )

    def argument(self, value: Value) -> object:
        """The Python object that stands for a legal value: a list where the library takes only lists."""
        if not isinstance(value, tuple) or self.accepts is None:
            return value
        types = {name for rule in self.accepts if isinstance(rule, OfType) for name in rule.names}
        return list(value) if "list" in types and not types & {"tuple", "array-like"} else value


_PREDICTORS: Final = frozenset({Role.CLASSIFIER, Role.REGRESSOR})
TAKING_BOTH: Final = frozenset(
    {("OneVsRestClassifier", "estimator"), ("OneVsOneClassifier", "estimator"), ("StackingClassifier", "estimators")}
)
"""Parameters of classifiers that take regressors as well, as the library's documentation says."""

_PREDICTING: Final = Implements(("fit", "predict"))
"""What ensembles ask of each of their estimators."""


def _fits(operator: "CatalogueEntry", rule: Rule) -> bool:
    match rule:
        case Implements(methods):
            return operator.methods.issuperset(methods)
        case OfType(names):
            return operator.name in names or any(OPERATOR_TYPES.get(name) in operator.roles for name in names)
        case _:
            return False


@fact
class CatalogueEntry:
    """One class of a library.

    `module` is the public module that holds it, `enabled_by` one to import before (experimental classes).
    `removed` maps parameters that former versions had to what to do instead.
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
        """The name of the catalogue that the operator is in: all modules of a catalogue lie in one package."""
        return self.module.partition(".")[0]

    @property
    def wholes(self) -> tuple[str, ...]:
        """The parameters that can also be given by their parts."""
        found = (parameter.part.whole for parameter in self.parameters.values() if parameter.part is not None)
        return tuple(dict.fromkeys(found))

    def rejects_operator(self, parameter: Parameter, operator: "CatalogueEntry") -> str | None:
        """None where an operator may be the value of a parameter (or one of the values), else what may be."""
        expected = parameter.rejects_operator(operator)
        if expected is not None or (self.name, parameter.name) in TAKING_BOTH:
            return expected
        # Classifiers ask for classes; of the regressors only ensembles look, others take whole numbers for classes.
        strict = Role.CLASSIFIER in self.roles or parameter.several or parameter.name == "final_estimator"
        mine, its = self.roles & _PREDICTORS, operator.roles & _PREDICTORS
        return f"a {next(iter(mine))}" if strict and len(mine) == 1 and its and not mine & its else None

    def parts(self, whole: str) -> tuple[Parameter, ...]:
        """The parts of a parameter, in order; none where it can only be given as a whole."""
        return tuple(p for p in self.parameters.values() if p.part is not None and p.part.whole == whole)


@fact
class Catalogue:
    """The operators of one version of a library.

    `objects` maps each named object to its module, `scorers` the name of each scorer to the kind of task that it
    judges: `classification` or `regression`.
    """

    name: str
    distribution: str
    version: str
    operators: Mapping[str, CatalogueEntry]
    objects: Mapping[str, str] = field(default_factory=dict)
    scorers: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str) -> CatalogueEntry | None:
        """The operator with exactly this name, or None."""
        return self.operators.get(name)

    def __iter__(self) -> Iterator[str]:
        """The names of the operators, sorted."""
        return iter(sorted(self.operators))

    def __len__(self) -> int:
        return len(self.operators)

    def __contains__(self, name: object) -> bool:
        return name in self.operators

    @property
    def stale(self) -> str | None:
        """The version that is installed where it is another one; None also where none is."""
        installed = installed_version(self.distribution)
        return None if installed == self.version else installed


SAME: Final[Mapping[str, tuple[str, ...]]] = {"xgboost": ("xgboost-cpu",)}
"""Distributions that bring the same package as another one."""


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution, read from its metadata without importing it.

    One that brings the same package counts as well.
    """
    versions = map(_version, (distribution, *SAME.get(distribution, ())))
    return next((version for version in versions if version is not None), None)


def _version(distribution: str) -> str | None:
    found = _version_in_folders(distribution)
    if found is not None:
        return found
    # This module pulls in the whole `email` package, longer than everything else that a check needs.
    import importlib.metadata

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version_in_folders(distribution: str) -> str | None:
    """The version in the name of the metadata folder that installers write: found by a glance at the search path."""
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
