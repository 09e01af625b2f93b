"""Problems with the task block."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownTask(Diagnostic):
    """A task is of one of two kinds: `task classification` or `task regression`.

    The kind of a task is the kind of the last step of the pipeline: a classifier or a regressor.
    """

    code = "SL801"
    MESSAGE = "`{name}` is not a kind of task"
    LABEL = "unknown kind"
    HELPS = ("did you mean `{near}`?", "the kinds are `classification` and `regression`")

    name: str
    near: str | None = None


class OtherTask(Diagnostic):
    """The pipelines of the space predict another kind of label than the task asks for.

    Pipelines that end in classifiers solve `task classification`, those that end in regressors `task regression`.
    """

    code = "SL802"
    MESSAGE = "the pipelines of this space do not solve a task of {kind}"
    LABEL = "they end in {estimators}"
    HELPS = ("write `task {other}`, or choose other operators for the last step",)

    kind: str
    other: str
    estimators: str


class UnknownScorer(Diagnostic):
    """Goals and disparities name a scorer of scikit-learn.

    All that `sklearn.metrics.get_scorer_names()` lists can be used. Their scores are larger for better pipelines: those
    of errors are called `neg_…` and are errors with the sign turned.
    """

    code = "SL803"
    MESSAGE = "`{name}` is not a scorer of scikit-learn"
    LABEL = "unknown scorer"
    HELPS = ("{hint}", "did you mean `{near}`?")

    name: str
    hint: str | None = None
    near: str | None = None


class UnsuitableScorer(Diagnostic):
    """The scorer judges another kind of prediction: classes where the task has numbers, or the other way round.

    A regression metric would take the codes of classes for quantities, and give a number that means nothing.
    """

    code = "SL804"
    MESSAGE = "`{scorer}` cannot judge a task of {kind}"
    LABEL = "a scorer for {other}"
    HELPS = ("take one for {kind}, such as `{example}`",)

    scorer: str
    kind: str
    other: str
    example: str


class BackwardGoal(Diagnostic):
    """The goal looks for the worst pipelines, though it can be computed.

    The scores of all of scikit-learn's scorers are larger for better pipelines, those of `neg_…` included. So one
    maximizes a scorer, or minimizes 1 minus it.
    """

    code = "SL805"
    severity = Severity.WARNING
    MESSAGE = "this goal looks for the worst pipelines"
    LABEL = "`{scorer}` is larger for better pipelines"
    HELPS = ("write `{remedy}`",)

    scorer: str
    remedy: str


class GoalForm(Diagnostic):
    """What is minimized or maximized is a scorer, or 1 minus a scorer: `minimize 1 - roc_auc`, `maximize r2`.

    Other formulas are not computed. Choose the scorer that is nearest to what is meant; `subject to` bounds what else
    matters.
    """

    code = "SL806"
    MESSAGE = "this goal is neither a scorer nor 1 minus a scorer"
    LABEL = "cannot be a goal"
    HELPS = ("{remedy}", "write a goal such as `minimize 1 - roc_auc` or `maximize neg_log_loss`")

    remedy: str | None = None


class RepeatedSetting(Diagnostic):
    """A task has one goal, one validation, one fidelity, one limit of each kind, and one bound for each measure.

    Keep the line that is meant, and remove the others.
    """

    code = "SL807"
    MESSAGE = "the task has a second {setting}"
    LABEL = "only one can count"
    HELPS = ("keep one of them",)

    setting: str


class UnknownMeasure(Diagnostic):
    """Of a pipeline there are three measures that `subject to` can bound.

    `predict_latency` is the time that a prediction takes for each row, `pickled_size` the size of the fitted pipeline,
    `disparity(scorer, column)` the difference between the largest and the smallest score among the groups of rows that
    the column forms.
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


class BoundForm(Diagnostic):
    """A bound is `subject to MEASURE <= NUMBER`, one to a line; the number has the unit of the measure.

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
    """A quantity has a unit that does not fit what it is a quantity of.

    Times are in `us`, `ms`, `s`, `min` (or `m`) and `h`; sizes in `kB` (or `KB`), `MB`, `GB` and `TB`, each a thousand
    of the one before. Scores have no unit.
    """

    code = "SL810"
    MESSAGE = "`{quantity}` is not {expected}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    quantity: str
    expected: str
    reason: str
    remedy: str | None = None


class UnknownSetting(Diagnostic):
    """The task block says `validate holdout(SHARE)` or `validate cv(FOLDS)`, `fidelity samples from … by …`, and
    `limit trial …` or `limit run …`: there are no other ways to validate, no other fidelities and no other limits.

    So the lines of a task look like this:

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


class SettingOutOfRange(Diagnostic):
    """A number of the task block is out of its bounds.

    `holdout` takes the share of rows that is held out, between 0 and 1; `cv` a whole number of folds from 2. A fidelity
    begins with a whole number of rows from 1 and grows by a factor greater than 1. Limits are greater than 0.
    """

    code = "SL812"
    MESSAGE = "{problem}"
    LABEL = "{expected}"
    HELPS = ("{remedy}",)

    problem: str
    expected: str
    remedy: str | None = None
