"""Problems with the structure of pipelines and with annotations."""

from spacelang.diagnostics.diagnostic import Diagnostic


class NotAnEstimator(Diagnostic):
    """The last step of a pipeline predicts: it must be a classifier or a regressor."""

    code = "SL601"
    MESSAGE = "`{step}` cannot be the last step"
    LABEL = "{role}"
    HELPS = ("move `{step}` before `{estimator}`", "the last step is a classifier or a regressor")

    step: str
    role: str
    estimator: str | None = None


class NotATransformer(Diagnostic):
    """Every step but the last passes data on: it must be a transformer."""

    code = "SL602"
    MESSAGE = "`{step}` cannot stand before another step"
    LABEL = "{role}"
    HELPS = ("steps before the last one are transformers",)

    step: str
    role: str


class MixedEstimators(Diagnostic):
    """Classifiers and regressors solve different tasks and cannot be alternatives of one another."""

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

    name: str
    problem: str
    reason: str
