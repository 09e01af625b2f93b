"""Problems with the structure of pipelines and with annotations."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class NotAnEstimator(Diagnostic):
    """The last step of a pipeline predicts: it must be a classifier or a regressor.

    Put the steps that transform data before it:

        pipeline = scaler -> estimator
    """

    code = "SL601"
    MESSAGE = "`{step}` cannot be the last step"
    LABEL = "{role}"
    HELPS = (
        "move `{step}` before `{estimator}`",
        "the last step is a classifier or a regressor; steps before it are joined to it by `->`",
    )

    step: str
    role: str
    estimator: str | None = None


class NotATransformer(Diagnostic):
    """Every step but the last passes data on: it must be a transformer.

    A classifier or regressor stands last. Where its predictions shall be inputs of another, make it the `estimator` of
    an ensemble such as `StackingClassifier`.
    """

    code = "SL602"
    MESSAGE = "`{step}` cannot stand before another step"
    LABEL = "{role}"
    HELPS = ("steps before the last one are transformers",)

    step: str
    role: str


class MixedEstimators(Diagnostic):
    """Classifiers and regressors solve different tasks and cannot be alternatives of one another.

    Make two files, one for classification and one for regression; what they share may stand in a third that both
    import.
    """

    code = "SL603"
    MESSAGE = "classifiers and regressors are mixed in the last step"
    LABEL = "`{operator}` is a {role}"
    HELPS = ("keep the classifiers or the regressors",)

    operator: str
    role: str


class AnnotationArguments(Diagnostic):
    """An annotation has the wrong arguments.

    `@default` and `@first` take none, `@weight(w)` a positive number, `@split(n)` a whole number from 1,
    `@prior(normal, mean, deviation)` or `@prior(uniform)` a distribution with its numbers.
    """

    code = "SL701"
    MESSAGE = "`@{name}` {problem}"
    LABEL = "{expected}"

    name: str
    problem: str
    expected: str


class MisplacedAnnotation(Diagnostic):
    """The annotation has no meaning at this place, or stands there twice.

    `@default` and `@weight` mark alternatives, `@first` a stage, `@split` and `@prior` hyperparameters; a stage has
    one default, a space one first stage.
    """

    code = "SL702"
    MESSAGE = "`@{name}` {problem}"
    LABEL = "{reason}"
    HELPS = ("{hint}",)

    name: str
    problem: str
    reason: str
    hint: str | None = None


class StageInItself(Diagnostic):
    """A stage is among its own alternatives, directly or through other stages.

    Every use of a stage is a decision with all of its alternatives. A stage that contains itself would have no end:

        stage a = b | PCA
        stage b = a | StandardScaler
    """

    code = "SL604"
    MESSAGE = "the stage `{stage}` contains itself"
    LABEL = "{path}"
    HELPS = ("remove it here",)

    stage: str
    path: str


class StageWithBody(Diagnostic):
    """A stage (or an imported space) is used with a body.

    A body gives the hyperparameters of one operator. The hyperparameters of a stage are those of its alternatives and
    stand there.
    """

    code = "SL605"
    MESSAGE = "`{stage}` is {kind}: it takes no body"
    HELPS = ("write `{stage}`",)

    stage: str
    kind: str


class UnknownSelector(Diagnostic):
    """`columns(…)` has no selector of this name.

    The selectors are `numeric`, `categorical`, `text`, `datetime`, `all` and `rest` (the columns that no other part
    selects). In quotes stands a regular expression that the names of columns are searched for: `"^date_"`.
    """

    code = "SL606"
    MESSAGE = "`{name}` is not a selector of columns"
    LABEL = "unknown selector"
    HELPS = ("did you mean `{near}`?", "the selectors are {listed}, and regular expressions in quotes")

    name: str
    listed: str
    near: str | None = None


class RepeatedSelector(Diagnostic):
    """Two parts of one `columns(…)` have the same selector.

    The columns would go through both parts. Where that is wanted, the parts are joined by `&`:
    `columns(numeric: PCA & StandardScaler)`.
    """

    code = "SL607"
    MESSAGE = "`{selector}` is selected twice"
    LABEL = "the second one"
    HELPS = ("join the two parts by `&`",)

    selector: str


class BadPattern(Diagnostic):
    """A selector in quotes is no regular expression.

    The names of columns are searched for it as Python's module `re` does: `"^age$"`, `"price|cost"`.
    """

    code = "SL608"
    MESSAGE = "the selector is no regular expression"
    LABEL = "{reason}"

    reason: str


class LateColumns(Diagnostic):
    """`columns(…)` stands behind a step that changes the data.

    Columns are selected by their names and types. The data has these; what a transformer passes on is an array of
    numbers without them. Select the columns first, and put what shall be done to some of them into the parts:

        pipeline = columns(numeric: SimpleImputer -> PCA, categorical: OneHotEncoder) -> SVC
    """

    code = "SL620"
    MESSAGE = "`columns(…)` cannot stand behind a step that changes the data"
    LABEL = "here the columns have lost their names"
    HELPS = ("put the step into the parts of `columns(…)`, or behind it",)


class NotSideBySide(Diagnostic):
    """The parameter takes several estimators at once, and is given one.

    They are written side by side, in brackets, and each stands in the list by its name:

        VotingClassifier { estimators : (GaussianNB & SVC { C : float[0.1, 10] log }) }

    Alternatives are separated by `|` as everywhere: `(A & B) as two | (A & B & C) as three`.
    """

    code = "SL621"
    MESSAGE = "`{parameter}` of `{operator}` takes several operators side by side"
    LABEL = "this is one"
    HELPS = ("join them by `&` in brackets: `{parameter} : (A & B)`",)

    operator: str
    parameter: str


class TooManyOrders(Diagnostic):
    """Too many steps are permuted.

    `permute(a, b, c)` is a decision with every order of its steps as an alternative: seven steps have 5,040 orders,
    ten more than three million.
    """

    code = "SL609"
    MESSAGE = "{steps} steps have too many orders"
    LABEL = "at most {limit} steps are permuted"
    HELPS = ("permute those steps alone whose order matters",)

    steps: int
    limit: int


class SeveralUses(Diagnostic):
    """A name stands for a stage that is used more than once.

    Every use is a decision of its own: `scaler`, `scaler_2`, and so on in the order of the text, or what follows `as`:
    `pipeline = scaler as first -> PCA -> scaler as second -> SVC`. The plain name stands for the first use.
    """

    code = "SL610"
    severity = Severity.WARNING
    MESSAGE = "`{stage}` is used {uses} times: this speaks of the first use alone"
    LABEL = "the use called `{first}`"
    HELPS = ("name the use that is meant: {listed}",)

    stage: str
    uses: int
    first: str
    listed: str
