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
    """A pipeline names something that is neither a stage of the file nor an operator.

    Names are exact. What a pipeline names is declared with `stage`, or is a class that a catalogue knows:

        stage scaler = StandardScaler | none
        pipeline = scaler -> LogisticRegression
    """

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
    """A test asks for an alternative that the stage does not have.

    The name of an alternative is that of its class, or what follows `as`. With

        stage estimator = SVC as linear { kernel = linear } | SVC as rbf { kernel = rbf }

    one tests `estimator is rbf`; `estimator is SVC` is not defined.
    """

    code = "SL204"
    MESSAGE = "`{name}` is not an alternative of `{stage}`"
    LABEL = "unknown alternative"
    HELPS = ("did you mean `{near}`?", "its alternatives are {alternatives}")

    name: str
    stage: str
    alternatives: str
    near: str | None = None


class UnknownAnnotation(Diagnostic):
    """The language has no annotation of this name: it has `@default @first @weight @split @prior`.

    Annotations guide a search and never change what is in the space, so one that is not known can be left out without
    changing the space.
    """

    code = "SL205"
    MESSAGE = "`@{name}` is not an annotation"
    LABEL = "unknown annotation"
    HELPS = ("did you mean `{near}`?", "the annotations are `@default @first @weight @split @prior`")

    name: str
    near: str | None = None


class UnknownFunction(Diagnostic):
    """Expressions know the functions `min max ceil floor sqrt log2`.

    They combine numbers, hyperparameters and the size of the data:

        n_components : int[2, min(50, n_features)]
    """

    code = "SL206"
    MESSAGE = "`{name}` is not a function of the language"
    LABEL = "unknown function"
    HELPS = ("{hint}", "did you mean `{near}`?", "the functions are `min max ceil floor sqrt log2`")

    name: str
    near: str | None = None
    hint: str | None = None


class UnknownValue(Diagnostic):
    """A comparison asks for a value that the hyperparameter can never have.

    So the comparison always has the same answer. Choose a value of the domain that the message shows, or add the value
    to the domain. Values are exact: `"none"` in quotes is a string, `none` is not.
    """

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


class UnknownGroup(Diagnostic):
    """An `include` names a group of parameters that is not declared.

    A group is declared by `params NAME { … }`, before or after it is included, or in a file that is imported:
    `include trees.forest` is the group `forest` of what is imported as `trees`.
    """

    code = "SL216"
    MESSAGE = "there is no group of parameters `{name}`"
    LABEL = "unknown group"
    HELPS = ("did you mean `{near}`?", "declare it: `params {word} {{ … }}`")

    name: str
    word: str | None = None
    near: str | None = None


class UnknownImported(Diagnostic):
    """A dotted name begins with an imported file, which declares nothing of that name.

    `trees.forest` is what the file that is imported as `trees` declares as `forest`: a stage, an abstract operator,
    or behind `include` a group of parameters. Operators of scikit-learn are called by their own names.
    """

    code = "SL217"
    MESSAGE = "`{file}` declares neither a stage nor an operator `{word}`"
    LABEL = "unknown name"
    HELPS = ("did you mean `{near}`?", "it declares {names}")

    file: str
    word: str
    near: str | None = None
    names: str | None = None


class EndlessInclude(Diagnostic):
    """What is included contains itself, so that it has no end.

    Groups of parameters include each other in a circle, or the body of an operator within a group includes the group
    once more, or an abstract operator has itself as the value of a parameter.
    """

    code = "SL218"
    MESSAGE = "the {kind} `{name}` contains itself"
    LABEL = "{circle}"

    kind: str
    name: str
    circle: str


class AmbiguousInclude(Diagnostic):
    """Two groups that one body includes have a parameter in common.

    Which of the two is meant is not guessed. A member of the body itself goes before what is included:

        params forest { max_depth : int[2, 50], min_samples_leaf : int[1, 20] }
        params small  { max_depth : int[2, 5] }
        stage estimator = ExtraTreesClassifier {
          include forest, include small
          max_depth : int[2, 10]
        }
    """

    code = "SL219"
    MESSAGE = "both `{first}` and `{second}` have the parameter `{name}`"
    LABEL = "included as well"
    HELPS = ("say which one is meant: give `{name}` in the body itself",)

    name: str
    first: str
    second: str


class HidingOperator(Diagnostic):
    """An abstract operator is called like an operator of the catalogue.

    Who reads `PCA` takes it for scikit-learn's. An operator that no catalogue knows has a name of its own.
    """

    code = "SL220"
    MESSAGE = "`{name}` is an operator of {catalogue}"
    LABEL = "cannot be declared"
    HELPS = ("choose another name, or remove the line to use that operator",)

    name: str
    catalogue: str


class UnreachableStage(Diagnostic):
    """A stage is declared but the pipeline does not use it: nothing of it is ever tried.

    A `pipeline` line takes exactly what it names; without one all stages run in the order in which they are declared.
    """

    code = "SL221"
    severity = Severity.WARNING
    MESSAGE = "the stage `{name}` is not part of the pipeline"
    LABEL = "never used"
    HELPS = ("add it to the `pipeline` line or remove it",)

    name: str


class UnusedGroup(Diagnostic):
    """A group of parameters is declared but nothing in the file includes it.

    Include it in the body of an operator that has these parameters, or remove it:

        params tree { max_depth : int[1, 20] }
        stage estimator = DecisionTreeClassifier { include tree }
    """

    code = "SL222"
    severity = Severity.WARNING
    MESSAGE = "the group `{name}` is never included"
    LABEL = "never used"
    HELPS = ("write `include {name}` in a body, or remove the group",)

    name: str


class UnusedAbstract(Diagnostic):
    """An abstract operator is declared but nothing in the file names it.

    Make it an alternative of a stage, or remove it:

        abstract encoder { dimensions : int[2, 8] }
        stage embedding = none | encoder
    """

    code = "SL223"
    severity = Severity.WARNING
    MESSAGE = "the operator `{name}` is never used"
    LABEL = "never used"
    HELPS = (
        "among plain values `{word}` is a string: write `{word} {{}}` where the operator is meant",
        "make it an alternative of a stage, or remove it",
    )

    name: str
    word: str | None = None


class UnusedImport(Diagnostic):
    """A file is imported but nothing of it is used.

    What a file declares is used by its dotted name, as in `trees.estimator`; a bare `trees` in the pipeline stands
    for the whole pipeline of the file.
    """

    code = "SL224"
    severity = Severity.WARNING
    MESSAGE = "nothing of the import `{name}` is used"
    LABEL = "never used"
    HELPS = ("name something of it (`{name}.…`), or remove the import",)

    name: str
