"""Diagnostics about the structure of pipelines and about annotations."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class LastStepNotAPredictor(Diagnostic):
    """The last step of a pipeline makes the predictions, so it must be a classifier or a regressor.

    Put the steps that transform data before it:

        pipeline = scaler -> estimator
    """

    code = "SL601"
    MESSAGE = "`{step}` cannot be the last step"
    LABEL = "{role}"
    HELPS = (
        "move `{step}` before `{estimator}`",
        "end with a classifier or a regressor; join the steps before it with `->`",
    )

    step: str
    role: str
    estimator: str | None = None


class StepNotATransformer(Diagnostic):
    """Every step except the last passes data on to the next one, so it must be a transformer.

    A classifier or regressor comes last. To use its predictions as inputs of another estimator, make it the `estimator`
    of an ensemble such as `StackingClassifier`.
    """

    code = "SL602"
    MESSAGE = "`{step}` cannot come before another step"
    LABEL = "{role}"
    HELPS = ("all steps before the last one must be transformers",)

    step: str
    role: str


class MixedClassifiersAndRegressors(Diagnostic):
    """Classifiers and regressors solve different tasks and cannot be alternatives of one another.

    Write two files, one for classification and one for regression. Parts that they share can be in a third file that
    both import.
    """

    code = "SL603"
    MESSAGE = "classifiers and regressors are mixed in the last step"
    LABEL = "`{operator}` is a {role}"
    HELPS = ("keep either the classifiers or the regressors",)

    operator: str
    role: str


class WrongAnnotationArguments(Diagnostic):
    """An annotation has the wrong arguments.

    `@default` and `@first` take none, `@weight(w)` takes a positive number, `@split(n)` a whole number from 1,
    `@prior(normal, mean, deviation)` or `@prior(uniform)` a distribution with its numbers.
    """

    code = "SL701"
    MESSAGE = "`@{name}` {problem}"
    LABEL = "{expected}"

    name: str
    problem: str
    expected: str


class MisplacedAnnotation(Diagnostic):
    """The annotation has no meaning in this place, or occurs there twice.

    `@default` and `@weight` mark alternatives, `@first` marks a stage, `@split` and `@prior` mark hyperparameters. A
    stage has one default, and a space has one first stage.
    """

    code = "SL702"
    MESSAGE = "`@{name}` {problem}"
    LABEL = "{reason}"
    HELPS = ("{hint}",)

    name: str
    problem: str
    reason: str
    hint: str | None = None


class RecursiveStage(Diagnostic):
    """A stage is one of its own alternatives, directly or through other stages.

    Every use of a stage is a decision with all of its alternatives. A stage that contains itself would never end:

        stage a = b | PCA
        stage b = a | StandardScaler
    """

    code = "SL604"
    MESSAGE = "the stage `{stage}` contains itself"
    LABEL = "{path}"
    HELPS = ("remove `{stage}` here",)

    stage: str
    path: str


class StageWithBody(Diagnostic):
    """A stage (or an imported space) is used with a body.

    A body sets the hyperparameters of one operator. The hyperparameters of a stage are those of its alternatives and
    are declared there.
    """

    code = "SL605"
    MESSAGE = "`{stage}` is {kind}: it cannot have a body"
    HELPS = ("write `{stage}`",)

    stage: str
    kind: str


class UnknownColumnSelector(Diagnostic):
    """`columns(…)` has no selector of this name.

    The selectors are `numeric`, `categorical`, `text`, `datetime`, `all` and `rest` (the columns that no other part
    selects). A selector in quotes is a regular expression that is searched for in the names of columns: `"^date_"`.
    """

    code = "SL606"
    MESSAGE = "`{name}` is not a column selector"
    LABEL = "unknown selector"
    HELPS = ("did you mean `{near}`?", "the selectors are {listed}, and regular expressions in quotes")

    name: str
    listed: str
    near: str | None = None


class RepeatedColumnSelector(Diagnostic):
    """Two parts of one `columns(…)` have the same selector.

    The columns would go through both parts. If that is intended, join the parts with `&`: `columns(numeric: PCA &
    StandardScaler)`.
    """

    code = "SL607"
    MESSAGE = "two parts of `columns(…)` have the selector `{selector}`"
    LABEL = "the second one"
    HELPS = ("join the two parts with `&`",)

    selector: str


class InvalidColumnPattern(Diagnostic):
    """A selector in quotes is not a valid regular expression.

    The expression is searched for in the names of columns, with the syntax of Python's module `re`: `"^age$"`,
    `"price|cost"`.
    """

    code = "SL608"
    MESSAGE = "the selector is not a valid regular expression"
    LABEL = "{reason}"

    reason: str


class ColumnSelectionAfterTransformer(Diagnostic):
    """`columns(…)` comes after a step that changes the data.

    Columns are selected by their names and types. The original data has these; the output of a transformer is an array
    of numbers without them. Select the columns first, and put the steps for some of them into the parts:

        pipeline = columns(numeric: SimpleImputer -> PCA, categorical: OneHotEncoder) -> SVC
    """

    code = "SL620"
    MESSAGE = "`columns(…)` cannot follow a step that changes the data"
    LABEL = "an earlier step has removed the names of the columns"
    HELPS = ("move the step into the parts of `columns(…)`, or after `columns(…)`",)


class NoColumnSelected(Diagnostic):
    """No part of `columns(…)` receives a column of the data that the space is bound to.

    A part without columns is not part of the bound space, and a pipeline needs at least one column. Add a part for the
    columns that the data has; `rest` takes all columns that no other part selects:

        pipeline = columns(text: TfidfVectorizer, rest: SimpleImputer) -> SVC
    """

    code = "SL622"
    MESSAGE = "no part of `columns(…)` receives a column of this data"
    LABEL = "the pipeline would have no columns"
    HELPS = ("add a part for the columns that the data has, such as `rest: …`",)


class SingleEstimatorInsteadOfList(Diagnostic):
    """The parameter takes a list of estimators, but is given a single one.

    Write the estimators in parentheses, joined by `&`. Each is listed under its name:

        VotingClassifier { estimators : (GaussianNB & SVC { C : float[0.1, 10] log }) }

    Alternatives are separated by `|` as everywhere: `(A & B) as two | (A & B & C) as three`.
    """

    code = "SL621"
    MESSAGE = "`{parameter}` of `{operator}` takes a list of operators"
    LABEL = "this is {kind}"
    HELPS = ("join them with `&` in parentheses: `{parameter} : (A & B)`",)

    operator: str
    parameter: str
    kind: str = "a single operator"


class EmptyOperatorList(Diagnostic):
    """All members of a list of operators are optional, and nothing excludes the list without any.

    State how many members the list has at least:

        VotingClassifier {
          estimators : (GaussianNB? & SVC? & LogisticRegression?)
          require count(estimators) >= 2
        }
    """

    code = "SL624"
    MESSAGE = "the list `{parameter}` may be empty"
    LABEL = "all of its members are optional"
    HELPS = ("add `require count({parameter}) >= 1`, or leave out a `?`",)

    parameter: str


class TooManyPermutedSteps(Diagnostic):
    """Too many steps are permuted.

    `permute(a, b, c)` is a decision that has every order of its steps as an alternative: seven steps have 5,040 orders,
    ten have more than three million.
    """

    code = "SL609"
    MESSAGE = "{steps} steps have too many orders"
    LABEL = "at most {limit} steps can be permuted"
    HELPS = ("permute only the steps whose order matters",)

    steps: int
    limit: int


class InvalidRepeatChain(Diagnostic):
    """A chain `repeat(stage, least, most)` is invalid.

    A chain uses one stage a variable number of times in a row, each time with alternatives and hyperparameters of its
    own:

        stage step = StandardScaler | PCA { n_components : float[0.5, 0.99] = 0.9 }
        pipeline = repeat(step, 0, 3) -> classifier

    The number of uses is a decision with the name of the stage. The uses are called `step[1]`, `step[2]` and `step[3]`.
    The stage has no alternative `none`, because 0 uses say the same. A chain cannot be inside `permute(…)`, `&` or
    another chain.
    """

    code = "SL623"
    MESSAGE = "{problem}"
    LABEL = "{reason}"
    HELPS = ("{remedy}",)

    problem: str
    reason: str = ""
    remedy: str | None = None


class AmbiguousStageUse(Diagnostic):
    """A name refers to a stage that is used more than once.

    Every use is a decision of its own. The uses are called `scaler`, `scaler_2` and so on in the order of the text, or
    by the name after `as`: `pipeline = scaler as first -> PCA -> scaler as second -> SVC`. The plain name refers to the
    first use.
    """

    code = "SL610"
    severity = Severity.WARNING
    MESSAGE = "`{stage}` is used {uses} times, but this name refers to the first use only"
    LABEL = "this refers to the use `{first}`"
    HELPS = ("name the use you mean: {listed}",)

    stage: str
    uses: int
    first: str
    listed: str
