"""Diagnostics about conditions and constraints."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class ConditionCycle(Diagnostic):
    """A hyperparameter depends on itself through conditions, so its activity can never be decided.

    Remove one of the conditions, or use a constraint to exclude the combination instead:

        forbid kernel == rbf and degree > 2
    """

    code = "SL501"
    MESSAGE = "the condition of `{parameter}` depends on itself"
    LABEL = "{path}"

    parameter: str
    path: str


class AlwaysTrue(Diagnostic):
    """A condition or `require` that holds in every configuration has no effect.

    A `forbid` that always holds excludes every configuration in which all the hyperparameters that it names are active.
    """

    code = "SL502"
    severity = Severity.WARNING
    MESSAGE = "this {kind} is always true"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    kind: str
    reason: str
    remedy: str | None = None


class NeverTrue(Diagnostic):
    """A condition that never holds leaves its hyperparameter inactive; a `forbid` that never holds has no effect.

    A `require` that never holds excludes every configuration in which all the hyperparameters that it names are active.
    """

    code = "SL503"
    severity = Severity.WARNING
    MESSAGE = "this {kind} is never true"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    kind: str
    reason: str
    remedy: str | None = None


class NeverTogether(Diagnostic):
    """A constraint never applies, because the hyperparameters that it names are never active together.

    A constraint applies only where every hyperparameter that it names is active. Two alternatives of one stage, for
    example, are never chosen at the same time.
    """

    code = "SL504"
    severity = Severity.WARNING
    MESSAGE = "this {kind} never applies"
    LABEL = "{reason}"

    kind: str
    reason: str


class DeadAlternative(Diagnostic):
    """The constraints leave no configuration in which this alternative is chosen.

    The related places are constraints that together exclude it. Loosen one of them, or remove the alternative, since it
    is never tried.
    """

    code = "SL505"
    MESSAGE = "the alternative `{alternative}` of `{stage}` can never be chosen"
    LABEL = "excluded by the constraints"
    HELPS = ("remove the alternative, or loosen a constraint",)

    alternative: str
    stage: str


class EmptySpace(Diagnostic):
    """The constraints together leave no configuration at all.

    The related places are a smallest set of constraints that contradict each other: if any one of them is removed, the
    others allow some configuration. Loosen or remove one of them.
    """

    code = "SL506"
    MESSAGE = "the constraints leave no configuration"
    LABEL = "the space is empty"


class DefaultExcluded(Diagnostic):
    """The default configuration violates a constraint.

    Many optimizers try it first, and it supplies the values that are not given. The default of a stage is its first
    alternative or the one marked with `@default`; the default of a hyperparameter follows `=`:

        stage scaler = StandardScaler | none @default
    """

    code = "SL507"
    MESSAGE = "the default configuration is excluded"
    LABEL = "by this constraint"
    HELPS = ("choose other defaults (`@default` marks an alternative), or loosen the constraint",)


class WrongComparison(Diagnostic):
    """The two sides of a test cannot be compared in this way.

    Decisions are tested with `is`, and hyperparameters are compared with `==` or `in`. Only numbers and the values of
    an `ordered` set have an order.
    """

    code = "SL508"
    MESSAGE = "{problem}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    problem: str
    reason: str = ""
    remedy: str | None = None


class Undecidable(Diagnostic):
    """This test is too complex to be counted and checked exactly, as the compiler does for every space.

    Arithmetic over several ranges must be linear if the ranges are continuous or very large, and such ranges must not
    have a step. Exact counting is also impossible if constraints and conditions tie very many decisions to each other.
    """

    code = "SL509"
    MESSAGE = "this {kind} cannot be decided exactly"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    kind: str = "comparison"
    reason: str = "not linear over a large or continuous range"
    remedy: str = "use only sums and constant factors, or make the ranges smaller"
