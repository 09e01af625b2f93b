"""Problems with names: unknown ones, and ones that are declared twice."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownOperator(Diagnostic):
    """No catalogue in use has an operator of this name.

    Plain names are classes of scikit-learn, such as `StandardScaler`. Names are exact: capitals matter.
    """

    code = "SL201"
    MESSAGE = "`{name}` is not an operator of the {catalogue} catalogue"
    LABEL = "unknown operator"
    HELPS = ("{hint}", "did you mean `{near}`?")

    name: str
    catalogue: str
    hint: str | None = None
    near: str | None = None


class UnknownStep(Diagnostic):
    """A pipeline names something that is neither a stage of the file nor an operator."""

    code = "SL202"
    MESSAGE = "`{name}` is neither a stage nor an operator"
    LABEL = "unknown step"
    HELPS = ("did you mean `{near}`?", "declare it: `stage {name} = …`")

    name: str
    near: str | None = None


class UnknownName(Diagnostic):
    """An expression names something that is not in scope.

    In a body, sibling hyperparameters are in scope by their own name; everywhere, decisions are by the name of their
    stage, and hyperparameters as `stage.Alternative.parameter`.
    """

    code = "SL203"
    MESSAGE = "`{name}` is not known here"
    LABEL = "{reason}"
    HELPS = ("did you mean `{near}`?", "{remedy}")

    name: str
    reason: str = "neither a hyperparameter nor a stage in scope"
    near: str | None = None
    remedy: str | None = None


class UnknownAlternative(Diagnostic):
    """A test asks for an alternative that the stage does not have."""

    code = "SL204"
    MESSAGE = "`{name}` is not an alternative of `{stage}`"
    LABEL = "unknown alternative"
    HELPS = ("did you mean `{near}`?", "its alternatives are {alternatives}")

    name: str
    stage: str
    alternatives: str
    near: str | None = None


class UnknownAnnotation(Diagnostic):
    """The language has no annotation of this name: it has `@default @first @weight @split @prior`."""

    code = "SL205"
    MESSAGE = "`@{name}` is not an annotation"
    LABEL = "unknown annotation"
    HELPS = ("did you mean `{near}`?", "the annotations are `@default @first @weight @split @prior`")

    name: str
    near: str | None = None


class UnknownFunction(Diagnostic):
    """Expressions know the functions `min max ceil floor sqrt log2`."""

    code = "SL206"
    MESSAGE = "`{name}` is not a function of the language"
    LABEL = "unknown function"
    HELPS = ("did you mean `{near}`?", "the functions are `min max ceil floor sqrt log2`")

    name: str
    near: str | None = None


class UnknownValue(Diagnostic):
    """A comparison asks for a value that the hyperparameter can never have."""

    code = "SL207"
    MESSAGE = "`{value}` is not a value of `{name}`"
    LABEL = "its domain is `{domain}`"
    HELPS = ("did you mean `{near}`?",)

    value: str
    name: str
    domain: str
    near: str | None = None


class DuplicateName(Diagnostic):
    """Two stages, two parameters of one body, or two alternatives of one stage have the same name.

    Two uses of one class in a stage are told apart with `as`: `SVC as linear { … } | SVC as rbf { … }`.
    """

    code = "SL211"
    MESSAGE = "the {kind} `{name}` is declared twice"
    LABEL = "second declaration"
    HELPS = ("{remedy}",)

    kind: str
    name: str
    remedy: str | None = None


class DuplicateValue(Diagnostic):
    """A set names one value twice, or parts of a union share a value. 1 and 1.0 are the same value."""

    code = "SL212"
    MESSAGE = "the value `{value}` is already in the domain"
    LABEL = "{reason}"

    value: str
    reason: str = "named twice"


class UnreachableStage(Diagnostic):
    """A stage is declared but the pipeline does not use it: nothing of it is ever tried."""

    code = "SL221"
    severity = Severity.WARNING
    MESSAGE = "the stage `{name}` is not part of the pipeline"
    LABEL = "never used"
    HELPS = ("add it to the `pipeline` line or remove it",)

    name: str
