"""Problems with domains and defaults."""

from spacelang.diagnostics.diagnostic import Diagnostic


class DefaultOutside(Diagnostic):
    """The default of a hyperparameter is not one of its values."""

    code = "SL401"
    MESSAGE = "the default `{value}` of `{parameter}` lies outside its domain"
    LABEL = "not in `{domain}`"
    HELPS = ("did you mean `{near}`?",)

    value: str
    parameter: str
    domain: str
    near: str | None = None


class LogNotPositive(Diagnostic):
    """A logarithmic range must lie above zero."""

    code = "SL402"
    MESSAGE = "`log` needs bounds above 0, but the range starts at {lower}"
    LABEL = "{lower} has no logarithm"
    HELPS = ("start the range above 0 or leave `log` out",)

    lower: str


class EmptyDomain(Diagnostic):
    """A range or set contains no value at all: its bounds are reversed, or its open ends leave nothing."""

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
    """A bound of a range is not a number of the range's kind."""

    code = "SL405"
    MESSAGE = "`{bound}` cannot bound {domain}"
    LABEL = "{expected}"
    HELPS = ("{remedy}",)

    bound: str
    domain: str
    expected: str
    remedy: str | None = None


class UnboundSymbol(Diagnostic):
    """A bound depends on the data, and no data is known.

    `n_samples`, `n_features` and `n_classes` are bound by the data of a run or by `--bind n_features=20`.
    """

    code = "SL406"
    MESSAGE = "`{symbol}` is not bound"
    LABEL = "depends on the data"
    HELPS = ("bounds that depend on the data cannot be compiled by this version yet: write a number",)

    symbol: str
