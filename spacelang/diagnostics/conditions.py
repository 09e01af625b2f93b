"""Problems with conditions and constraints."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class ConditionCycle(Diagnostic):
    """Whether a hyperparameter is active depends, through conditions, on itself.

    Then nothing could be decided first. Leave one of the conditions out, or say with a constraint what must not be
    together:

        forbid kernel == rbf and degree > 2
    """

    code = "SL501"
    MESSAGE = "the condition of `{parameter}` depends on itself"
    LABEL = "{path}"

    parameter: str
    path: str


class AlwaysTrue(Diagnostic):
    """A condition or `require` that holds in every configuration says nothing.

    A `forbid` that always holds leaves nothing in which all the hyperparameters that it names are active.
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
    """A condition that never holds makes its hyperparameter dead; a `forbid` that never holds says nothing.

    A `require` that never holds leaves nothing in which all the hyperparameters that it names are active.
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
    """A constraint applies only where every hyperparameter that it names is active, and these never are together.

    Two alternatives of one stage, for example, are never taken at once.
    """

    code = "SL504"
    severity = Severity.WARNING
    MESSAGE = "this {kind} never applies"
    LABEL = "{reason}"

    kind: str
    reason: str


class DeadAlternative(Diagnostic):
    """The constraints leave no configuration in which this alternative is taken.

    The related places are constraints that exclude it together. Loosen one of them, or remove the alternative, which is
    never tried.
    """

    code = "SL505"
    MESSAGE = "the alternative `{alternative}` of `{stage}` can never be taken"
    LABEL = "excluded by the constraints"
    HELPS = ("remove the alternative or loosen the constraint",)

    alternative: str
    stage: str


class EmptySpace(Diagnostic):
    """The constraints together leave no configuration at all.

    The related places are a smallest set of constraints that contradict each other: with any one of them left out, the
    others leave something. Loosen or remove one.
    """

    code = "SL506"
    MESSAGE = "the constraints leave no configuration"
    LABEL = "the space is empty"


class DefaultExcluded(Diagnostic):
    """The default configuration must satisfy every constraint.

    It is tried first by many optimizers, and stands for what has no value of its own. A stage's default is its first
    alternative or the one with `@default`; a hyperparameter's follows `=`:

        stage scaler = StandardScaler | none @default
    """

    code = "SL507"
    MESSAGE = "the default configuration is excluded"
    LABEL = "by this constraint"
    HELPS = ("choose other defaults (`@default` marks an alternative), or loosen the constraint",)


class WrongComparison(Diagnostic):
    """The two sides of a test cannot be compared in this way.

    Decisions are tested with `is`, hyperparameters compared with `==` or `in`; only numbers and the values of an
    `ordered` set have an order.
    """

    code = "SL508"
    MESSAGE = "{problem}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    problem: str
    reason: str = ""
    remedy: str | None = None


class Undecidable(Diagnostic):
    """The compiler counts and checks exactly, and cannot do so for this comparison.

    Arithmetic over several ranges must be linear where the ranges are continuous or very large, and such ranges must
    not have a step. Nor can it, where constraints and conditions tie very many decisions to each other.
    """

    code = "SL509"
    MESSAGE = "this {kind} cannot be decided exactly"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    kind: str = "comparison"
    reason: str = "not linear over a large or continuous range"
    remedy: str = "compare with sums and constant factors only, or make the ranges smaller"
