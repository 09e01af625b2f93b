"""Diagnostics about the task block."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownTask(Diagnostic):
    """The kind of a task must be `classification` or `regression`.

    It must match the last step of the pipeline: a classifier for `task classification`, a regressor for `task
    regression`.
    """

    code = "SL801"
    MESSAGE = "`{name}` is not a kind of task"
    LABEL = "unknown kind"
    HELPS = ("did you mean `{near}`?", "the kinds are `classification` and `regression`")

    name: str
    near: str | None = None


class WrongTaskKind(Diagnostic):
    """The pipelines of the space predict another kind of label than the task asks for.

    Pipelines that end in classifiers solve `task classification`, those that end in regressors solve `task regression`.
    """

    code = "SL802"
    MESSAGE = "the pipelines of this space do not solve a {kind} task"
    LABEL = "the pipelines end in {estimators}"
    HELPS = ("write `task {other}`, or choose other operators for the last step",)

    kind: str
    other: str
    estimators: str


class UnknownScorer(Diagnostic):
    """A goal or a disparity names a scorer that scikit-learn does not have.

    Every name in `sklearn.metrics.get_scorer_names()` can be used. Scores are larger for better pipelines: scorers of
    errors are called `neg_…` and return the negated error.
    """

    code = "SL803"
    MESSAGE = "`{name}` is not a scorer of scikit-learn"
    LABEL = "unknown scorer"
    HELPS = ("{hint}", "did you mean `{near}`?")

    name: str
    hint: str | None = None
    near: str | None = None


class UnsuitableScorer(Diagnostic):
    """The scorer is for another kind of prediction: for classes although the task has numbers, or vice versa.

    A regression metric would treat the codes of classes as quantities, and return a meaningless number.
    """

    code = "SL804"
    MESSAGE = "`{scorer}` cannot score a {kind} task"
    LABEL = "a scorer for {other}"
    HELPS = ("use a scorer for {kind}, such as `{example}`",)

    scorer: str
    kind: str
    other: str
    example: str


class GoalInWrongDirection(Diagnostic):
    """The goal can be computed, but it searches for the worst pipelines.

    The scores of all scorers of scikit-learn are larger for better pipelines, including those of `neg_…`. So maximize a
    scorer, or minimize 1 minus the scorer.
    """

    code = "SL805"
    severity = Severity.WARNING
    MESSAGE = "this goal looks for the worst pipelines"
    LABEL = "`{scorer}` is larger for better pipelines"
    HELPS = ("write {remedy}",)

    scorer: str
    remedy: str


class InvalidGoal(Diagnostic):
    """A goal must be a scorer or 1 minus a scorer: `minimize 1 - roc_auc`, `maximize r2`.

    After a score, a task may also minimize costs, which are `predict_latency`, `pickled_size` and `fit_seconds`, as in
    `minimize 1 - roc_auc, predict_latency`. Other formulas are not supported. Choose the scorer
    that is closest to the intended goal; `subject to` sets bounds on other measures.
    """

    code = "SL806"
    MESSAGE = "this goal is neither a scorer nor 1 minus a scorer"
    LABEL = "this cannot be a goal"
    HELPS = ("{remedy}", "write a goal such as `minimize 1 - roc_auc` or `maximize neg_log_loss`")

    remedy: str | None = None


class RepeatedTaskSetting(Diagnostic):
    """A task has one goal, one validation, one fidelity, one limit of each kind, and one bound for each measure.

    Keep the intended line, and remove the others. Several objectives are one goal: `minimize 1 - roc_auc,
    predict_latency`.
    """

    code = "SL807"
    MESSAGE = "the task has a second {setting}"
    LABEL = "only one is allowed"
    HELPS = ("{remedy}", "keep one of the two settings")

    setting: str
    remedy: str | None = None


class UnknownTaskMeasure(Diagnostic):
    """`subject to` names a measure that does not exist. There are three measures of a pipeline.

    `predict_latency` is the time that a prediction takes per row, `pickled_size` is the size of the fitted pipeline,
    and `disparity(scorer, column)` is the difference between the largest and the smallest score among the groups of
    rows that the column forms.
    """

    code = "SL808"
    MESSAGE = "`{name}` is not a measure of pipelines"
    LABEL = "unknown measure"
    HELPS = (
        "did you mean `{near}`?",
        "the measures are `predict_latency`, `pickled_size` and `disparity(scorer, column)`",
    )

    name: str
    near: str | None = None


class InvalidTaskBound(Diagnostic):
    """A bound must be written `subject to MEASURE <= NUMBER`, one per line, in the unit of the measure.

    For example:

        subject to predict_latency <= 10us
        subject to pickled_size <= 2MB
        subject to disparity(roc_auc, age_group) <= 0.1

    The last one has no unit: it is a difference of scores.
    """

    code = "SL809"
    MESSAGE = "{problem}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    problem: str
    reason: str = ""
    remedy: str | None = None


class WrongUnit(Diagnostic):
    """A quantity has a unit that does not fit.

    Times are in `us`, `ms`, `s`, `min` (or `m`) and `h`; sizes are in `kB` (or `KB`), `MB`, `GB` and `TB`, each a
    thousand times the one before. Scores have no unit.
    """

    code = "SL810"
    MESSAGE = "`{quantity}` is not {expected}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    quantity: str
    expected: str
    reason: str
    remedy: str | None = None


class UnknownTaskSetting(Diagnostic):
    """A line of the task block names a validation, fidelity or limit that does not exist.

    The possible lines are `validate holdout(SHARE)`, `validate cv(FOLDS)` or `validate time(FOLDS, by=COLUMN)`,
    `fidelity samples from … by …`, and `limit trial …` or `limit run …`. For example:

        validate cv(5)
        fidelity samples from 100 by 2
        limit    trial 300s 4GB
    """

    code = "SL811"
    MESSAGE = "`{name}` is not {kind}"
    LABEL = "{reason}"
    HELPS = ("did you mean `{near}`?", "{remedy}")

    name: str
    kind: str
    reason: str = "unknown"
    near: str | None = None
    remedy: str | None = None


class TaskSettingOutOfRange(Diagnostic):
    """A number of the task block is out of its bounds.

    `holdout` takes the share of rows that is held out, between 0 and 1; `cv` and `time` take a whole number of folds,
    at least 2. A fidelity begins with a whole number of rows, at least 1, and grows by a factor greater than 1. Limits
    are greater than 0.
    """

    code = "SL812"
    MESSAGE = "{problem}"
    LABEL = "{expected}"
    HELPS = ("{remedy}",)

    problem: str
    expected: str
    remedy: str | None = None


class InvalidSplitOption(Diagnostic):
    """A validation has an option that it does not take, or that lacks a column.

    `group` names a column whose equal values keep rows together, and `by` a column that orders the rows, so that later
    rows are held out. A column in `group` is no feature; a column in `by` is one with `keep`. For example:

        validate cv(5, group=subject)
        validate holdout(0.3, group="customer id")
        validate time(5, by=date)
        validate holdout(0.3, by=date, keep)
    """

    code = "SL813"
    MESSAGE = "{problem}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    problem: str
    remedy: str
    reason: str = ""


class InvalidFunctionGoal(Diagnostic):
    """A goal in quotes is not valid here, or another goal cannot stand beside it.

    A goal in quotes is a number that your own objective function returns under this name. Such goals are for spaces
    with abstract operators, which are searched by `search(objective=…)` and `ask_and_tell`.
    Several names are several objectives; a minus sign maximizes one of them:

        minimize "val_loss"
        minimize "seconds", -"accuracy"
    """

    code = "SL814"
    MESSAGE = "{problem}"
    LABEL = "this cannot be a goal"
    HELPS = ("{remedy}",)

    problem: str
    remedy: str
