"""Diagnostics about domains and defaults."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class DefaultOutside(Diagnostic):
    """The default of a hyperparameter is not one of its values.

    Choose a value inside the domain, or widen the domain. Without `= …`, the default of the library is used if the
    domain contains it, and the middle of the domain otherwise:

        n_neighbors : int[1, 100] log
    """

    code = "SL401"
    MESSAGE = "the default `{value}` of `{parameter}` is outside its domain"
    LABEL = "not in `{domain}`"
    HELPS = ("did you mean `{near}`?",)

    value: str
    parameter: str
    domain: str
    near: str | None = None


class LogNotPositive(Diagnostic):
    """A logarithmic range must lie above zero.

    Such a range is searched evenly over orders of magnitude, and there are infinitely many of them between zero and any
    number. Start the range above zero, leave `log` out, or make zero a value of its own:

        alpha : {0} | float[1e-6, 1] log
    """

    code = "SL402"
    MESSAGE = "`log` needs bounds above 0, but the range starts at {lower}"
    LABEL = "{lower} has no logarithm"
    HELPS = ("start the range above 0 or leave `log` out",)

    lower: str


class EmptyDomain(Diagnostic):
    """A range or set contains no value: its bounds are reversed, or its open ends exclude everything.

    The lower bound comes first, and a round bracket excludes its end: `int(2, 3)` has no member, `int[2, 3)` has 2.
    """

    code = "SL403"
    MESSAGE = "{domain} contains no value"
    LABEL = "{reason}"
    HELPS = ("did you mean `{near}`?",)

    domain: str
    reason: str
    near: str | None = None


class StepDoesNotFit(Diagnostic):
    """The step is not positive, is fractional in a range of integers, or does not lead from bound to bound.

    With a step, both bounds are members: `int[2, 10] step 4` has 2, 6 and 10.
    """

    code = "SL404"
    MESSAGE = "the step {step} does not fit into {domain}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    step: str
    domain: str
    reason: str
    remedy: str | None = None


class BadBound(Diagnostic):
    """A bound of a range is not a number of the kind that the range needs.

    Bounds of `int` are whole numbers, bounds of `float` are any numbers. Bounds may be computed from numbers and the
    size of the data:

        n_components : int[2, min(50, n_features)]
    """

    code = "SL405"
    MESSAGE = "`{bound}` cannot be a bound of {domain}"
    LABEL = "{expected}"
    HELPS = ("{remedy}",)

    bound: str
    domain: str
    expected: str
    remedy: str | None = None


class UnboundSymbol(Diagnostic):
    """A value depends on the size of the data, but no data is given.

    `n_samples`, `n_features` and `n_classes` get their numbers from the data of a run, or from `--bind n_features=20`.
    A symbol without a number stands for an arbitrarily large one: `min(2000, n_samples)` is 2000, and `n_samples / 2`
    has no limit.
    """

    code = "SL406"
    MESSAGE = "`{symbol}` is not bound to a number"
    LABEL = "depends on the data"
    HELPS = (
        "bind it, as in `--bind {symbol}=20`, or give a limit: `{limit}`",
        "bind it, as in `--bind {symbol}=20`",
    )

    symbol: str
    limit: str | None = None


class AlternativeNeverChosenForData(Diagnostic):
    """The constraints leave no configuration in which this alternative is chosen for this data.

    A search on this data never chooses it; on other data it may be chosen. If the reason had nothing to do with the
    data, this would be an error (SL505).
    """

    code = "SL407"
    severity = Severity.WARNING
    MESSAGE = "the alternative `{alternative}` of `{stage}` is never chosen for this data"
    LABEL = "excluded by the constraints"

    alternative: str
    stage: str
