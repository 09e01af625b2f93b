"""Diagnostics about domains, their bounds and defaults."""

from spacelang.diagnostics.diagnostic import Diagnostic


class DefaultOutsideDomain(Diagnostic):
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


class LogRangeNotPositive(Diagnostic):
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


class InvalidRangeStep(Diagnostic):
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


class InvalidRangeBound(Diagnostic):
    """A bound of a range is not a number of the kind that the range needs.

    Bounds of `int` are whole numbers, bounds of `float` are any numbers. Bounds may be computed from numbers, the size
    of the data and other hyperparameters:

        n_components : int[2, min(50, n_features)]

    The lengths of a tuple are whole numbers and depend on nothing:

        hidden_layer_sizes : tuple[1, 3] of int[16, 512]
    """

    code = "SL405"
    MESSAGE = "`{bound}` cannot be a bound of {domain}"
    LABEL = "{expected}"
    HELPS = ("{remedy}",)

    bound: str
    domain: str
    expected: str
    remedy: str | None = None


class BoundCycle(Diagnostic):
    """The bounds of some ranges depend on each other in a cycle.

    Let bounds depend on each other in one direction only, or relate the hyperparameters by a constraint:

        stage estimator = abstract_model { lo : int[1, 100], hi : int[lo, 100] }
    """

    code = "SL408"
    MESSAGE = "the bound of `{name}` depends on itself"
    LABEL = "{path}"
    HELPS = ("write a number as one of these bounds, and relate the values by `require`",)

    name: str
    path: str


class BoundMayBeInactive(Diagnostic):
    """A bound names a hyperparameter that is not always active where the range is active.

    An inactive hyperparameter has no value, so the range has no bound there. A hyperparameter is inactive in other
    alternatives than its own, and where its condition is false. A constraint is allowed, because it applies only where
    everything that it names is active:

        require lo <= hi
    """

    code = "SL409"
    MESSAGE = "this bound is not always known where `{parameter}` is active"
    LABEL = "{reason}"
    HELPS = ("write numbers as bounds and relate the two by `require`, which applies only where both are active",)

    name: str
    parameter: str
    reason: str


class ContradictoryBounds(Diagnostic):
    """No numbers satisfy the bounds of these ranges together.

    Each bound may be satisfied alone, but no choice of values satisfies all. Widen a range or remove a bound.
    """

    code = "SL410"
    MESSAGE = "the bounds leave no value"
    LABEL = "no number satisfies this bound"
    HELPS = ("widen a range, or loosen a bound",)


class UnboundDataSymbol(Diagnostic):
    """A value depends on the size of the data, but no data is given.

    `n_samples`, `n_features` and other symbols get their numbers from the data of a run, or from `--bind
    n_features=20`. A symbol without a number stands for an arbitrarily large one: `min(2000, n_samples)` is 2000, and
    `n_samples / 2` has no limit.
    """

    code = "SL406"
    MESSAGE = "`{symbol}` is not bound to a number"
    LABEL = "the number depends on the data"
    HELPS = (
        "bind the symbol, as in `--bind {symbol}=20`, or give a limit: `{limit}`",
        "bind the symbol, as in `--bind {symbol}=20`",
    )

    symbol: str
    limit: str | None = None
