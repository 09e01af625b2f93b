"""Diagnostics about conditions, constraints and computed values."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class ConditionCycle(Diagnostic):
    """A hyperparameter depends on itself through conditions, so its activity can never be decided.

    Remove one of the conditions, or use a constraint to exclude the combination instead:

        forbid kernel == rbf and degree > 2
    """

    code = "SL501"
    MESSAGE = "the condition of `{parameter}` depends on itself"
    LABEL = "{path}"
    HELPS = ("remove one of these conditions, or exclude combinations by `forbid`",)

    parameter: str
    path: str


class DefinitionCycle(Diagnostic):
    """A computed value or `let` needs itself, so it has no value.

    A computed value may use hyperparameters and other computed values, but they cannot form a cycle:

        stage estimator = SVC { var a : float[0, 1] = 0.5, let b := 2 * a, C := b + 1 }
    """

    code = "SL513"
    MESSAGE = "`{name}` needs its own value"
    LABEL = "{path}"
    HELPS = ("compute `{name}` from hyperparameters, or from values that do not use `{name}`",)

    name: str
    path: str


class ComputedValueNeverDefined(Diagnostic):
    """A computed value is undefined in every configuration, so the parameter never gets it.

    A value is undefined where the arithmetic has no result, such as a division by zero, and where it uses a
    hyperparameter that is not active. The parameter has the library's default there.
    """

    code = "SL511"
    MESSAGE = "the value of `{name}` is never defined"
    LABEL = "{reason}"

    name: str
    reason: str


class ConditionAlwaysTrue(Diagnostic):
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


class ConstraintRemovesUnmentionedValue(Diagnostic):
    """A constraint removes a value such as `none` from a hyperparameter, which may not be meant.

    A comparison between a number and a word is false, so `require` removes every configuration in which
    the hyperparameter has a word as its value. `forbid` with the opposite comparison keeps them:

        forbid max_depth < 3

    A constraint that also mentions the value, such as `require max_depth != none and max_depth >= 3`, removes it on
    purpose.
    """

    code = "SL512"
    severity = Severity.WARNING
    MESSAGE = "this constraint removes `{value}` from `{name}`"
    LABEL = "the comparison is false where `{name}` is `{value}`"
    HELPS = (
        "write `forbid {opposite}` to keep `{value}`, or add `and {name} != {value}` to remove it on purpose",
        "write the opposite after `forbid` to keep `{value}`, or add `and {name} != {value}` to remove it on purpose",
    )

    name: str
    value: str
    opposite: str | None = None


class ConditionNeverTrue(Diagnostic):
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


class ConstraintNeverApplies(Diagnostic):
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


class AlternativeNeverChosen(Diagnostic):
    """The constraints leave no configuration in which this alternative is chosen.

    The related places are constraints that together exclude it. Loosen one of them, or remove the alternative, since it
    is never tried.
    """

    code = "SL505"
    MESSAGE = "the alternative `{alternative}` of `{stage}` can never be chosen"
    LABEL = "the constraints exclude this alternative"
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


class DefaultViolatesConstraint(Diagnostic):
    """The default configuration violates a constraint.

    Many optimizers try it first, and it supplies the values that are not given. The default of a stage is its first
    alternative or the one marked with `@default`; the default of a hyperparameter follows `=`:

        stage scaler = StandardScaler | none @default

    A member `A?` of a list is in the list by default, and `(none | A)` is not.
    """

    code = "SL507"
    MESSAGE = "the default configuration is excluded"
    LABEL = "excluded by this constraint"
    HELPS = (
        "write `(none | {member})` instead of `{member}?` to leave the member out by default, or loosen the constraint",
        "choose other defaults (`@default` marks an alternative), or loosen the constraint",
    )

    member: str | None = None


class InvalidComparison(Diagnostic):
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


class ConstraintsTooComplexToCount(Diagnostic):
    """Constraints or conditions tie so many decisions to each other that structures cannot be counted exactly.

    The compiler decides for every combination of alternatives whether it has a configuration. What ties too many
    hyperparameters, or is not linear over large ranges, is tested with each random draw instead (SL515).
    """

    code = "SL509"
    MESSAGE = "this {kind} cannot be decided exactly"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    kind: str
    reason: str
    remedy: str


class EquationOfContinuousRanges(Diagnostic):
    """A required equation of continuous ranges has solutions, but no random draw satisfies it.

    Draws of a continuous range hit a given number with probability zero, and optimizers that need random draws fail. On
    ranges with a `step`, equations are drawn exactly:

        require w1 + w2 + w3 == 1                # with w1, w2, w3 : float[0, 1] step 0.05

    Shares of a whole are a simplex, whose last member is computed from the others:

        simplex w1, w2, w3
    """

    code = "SL510"
    severity = Severity.WARNING
    MESSAGE = "no random draw satisfies this equation"
    LABEL = "{reason}"
    HELPS = (
        "declare shares of a whole as a simplex: `simplex {shares}`",
        "give the ranges a `step`: then the equation is drawn exactly",
        "compute one of the hyperparameters from the others instead, and bound the others by an inequality",
    )

    reason: str
    shares: str | None = None


class ApproximateDraws(Diagnostic):
    """Constraints tie so many ranges that their random draws are only approximate.

    Only random draws are approximate; membership, defaults and counts remain exact. Up to four tied ranges are drawn
    exactly. More than four are drawn exactly if at least one in five independent draws satisfies the constraints, if
    the only constraint bounds their sum, such as `a + b + c + d + e <= 1`, or if inequalities of two connect continuous
    ranges like a tree, such as `a <= b and b <= c`, and at least one in five draws of these satisfies the other
    constraints. Integer ranges and ranges with a `step` are drawn exactly if comparisons of two connect them like a
    tree, or if constraints limit only one sum that has not too many possible totals. Other draws take 25 steps of
    hit-and-run for each tied range.
    """

    code = "SL514"
    severity = Severity.NOTE
    MESSAGE = "random draws of {names} are approximate"
    LABEL = "constraints relate {count} ranges to each other"
    HELPS = (
        "for exact draws, relate at most four ranges to each other, or give the ranges a `step` (or a larger `step`)",
    )

    names: str
    count: int


class ConstraintNeedsRejectionSampling(Diagnostic):
    """The compiler cannot decide this exactly, so random draws are repeated until one passes the test.

    These are comparisons that are not linear over large or continuous ranges, and constraints that tie too many
    hyperparameters, such as eight integers that all differ:

        require num_leaves <= 2 ** max_depth
        require learning_rate * n_estimators >= 5

    Draws have exactly the distribution of the space, and membership is exact. The number of configurations is an
    estimate with an interval, and targets that need an exact constraint refuse the space. A test that fewer than one
    draw in 10,000 passes is an error (SL516).
    """

    code = "SL515"
    severity = Severity.NOTE
    MESSAGE = "random draws are tested with this {kind}"
    LABEL = "too complex to be decided exactly"

    kind: str


class ConstraintRarelySatisfied(Diagnostic):
    """Fewer than one random draw in 10,000 satisfies a constraint that the compiler cannot decide exactly.

    Such constraints are tested after each draw (SL515). Here nearly all draws would be thrown away. Ranges that are
    close to what the constraint admits help, and so do bounds that name other hyperparameters:

        b : float[0, 1 - a]
    """

    code = "SL516"
    MESSAGE = "too few random draws satisfy this {kind}"
    LABEL = "{kept:,} of {drawn:,} draws satisfy the {kind}{case}"
    HELPS = (
        "narrow the ranges of {names}, or loosen the {kind}, until at least 1 draw in 10,000 satisfies the {kind}",
    )

    kind: str
    kept: int
    drawn: int
    names: str
    case: str = ""


class AlternativeNeverChosenForData(Diagnostic):
    """The constraints leave no configuration in which this alternative is chosen for this data.

    A search on this data never chooses it; on other data it may be chosen. If the reason had nothing to do with the
    data, this would be an error (SL505).
    """

    code = "SL407"
    severity = Severity.WARNING
    MESSAGE = "the alternative `{alternative}` of `{stage}` is never chosen for this data"
    LABEL = "the constraints exclude this alternative"

    alternative: str
    stage: str
