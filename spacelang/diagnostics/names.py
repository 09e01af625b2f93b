"""Diagnostics about names: unknown, duplicate, ambiguous and unused ones."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownOperator(Diagnostic):
    """No catalogue in use has an operator of this name.

    Plain names are classes of scikit-learn, such as `StandardScaler`. Names must match exactly, including capital
    letters.
    """

    code = "SL201"
    MESSAGE = "`{name}` is not an operator of the {catalogue} catalogue"
    LABEL = "unknown operator"
    HELPS = ("{hint}", "did you mean `{near}`?")

    name: str
    catalogue: str
    hint: str | None = None
    near: str | None = None


class UnknownPipelineStep(Diagnostic):
    """A pipeline names something that is neither a stage of the file nor an operator.

    Names must match exactly. A step of a pipeline is declared with `stage`, or is a class that a catalogue has:

        stage scaler = StandardScaler | none
        pipeline = scaler -> LogisticRegression
    """

    code = "SL202"
    MESSAGE = "`{name}` is neither a stage nor an operator"
    LABEL = "unknown step"
    HELPS = ("did you mean `{near}`?", "{hint}", "declare the stage: `stage {name} = …`")

    name: str
    near: str | None = None
    hint: str | None = None


class UnknownName(Diagnostic):
    """An expression names something that is not in scope.

    In a body, the hyperparameters of the same body are in scope by their own names. Everywhere, decisions are in scope
    by the name of their stage, and hyperparameters as `stage.Alternative.parameter`.
    """

    code = "SL203"
    MESSAGE = "unknown name `{name}`"
    LABEL = "{reason}"
    HELPS = ("did you mean `{near}`?", "{remedy}")

    name: str
    reason: str = "neither a hyperparameter nor a stage in scope"
    near: str | None = None
    remedy: str | None = None


class UnknownAlternative(Diagnostic):
    """A test asks for an alternative that the stage does not have.

    The name of an alternative is the name of its class, or the name after `as`. Given

        stage estimator = SVC as linear { kernel = linear } | SVC as rbf { kernel = rbf }

    `estimator is rbf` holds for the second alternative, and `estimator is SVC` for both.
    """

    code = "SL204"
    MESSAGE = "`{name}` is not an alternative of `{stage}`"
    LABEL = "unknown alternative"
    HELPS = ("did you mean `{near}`?", "the alternatives of `{stage}` are {alternatives}")

    name: str
    stage: str
    alternatives: str
    near: str | None = None


class UnknownAnnotation(Diagnostic):
    """The language has no annotation of this name. The annotations are `@default @first @weight @split @prior`.

    Annotations guide a search and never change the space, so an unknown annotation can be removed without changing the
    space.
    """

    code = "SL205"
    MESSAGE = "`@{name}` is not an annotation"
    LABEL = "unknown annotation"
    HELPS = ("did you mean `{near}`?", "the annotations are `@default @first @weight @split @prior`")

    name: str
    near: str | None = None


class UnknownFunction(Diagnostic):
    """The language has no function of this name.

    The functions `min max sum ceil floor sqrt log2` combine numbers, hyperparameters and the size of the data:

        n_components : int[2, min(50, n_features)]

    Conditions and constraints also have `count` and `length`.
    """

    code = "SL206"
    MESSAGE = "`{name}` is not a function of the language"
    LABEL = "unknown function"
    HELPS = ("{hint}", "did you mean `{near}`?", "the functions are `min max sum count length ceil floor sqrt log2`")

    name: str
    near: str | None = None
    hint: str | None = None


class WrongArgumentCount(Diagnostic):
    """A call of a function has too few or too many arguments.

    `min` and `max` take two arguments or more, `ceil`, `floor`, `sqrt` and `log2` take one:

        max_features : int[1, ceil(sqrt(n_features))]
    """

    code = "SL228"
    MESSAGE = "`{name}` takes {expected}"
    LABEL = "this call has {given}"
    HELPS = ("{remedy}",)

    name: str
    expected: str
    given: str
    remedy: str


class ComparedValueNotInDomain(Diagnostic):
    """A comparison asks for a value that the hyperparameter can never have.

    Its result would always be the same. Choose a value of the domain that the message shows, or add the value to the
    domain. Values must match exactly: `"none"` in quotes is a string, `none` is not.
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

    If a stage uses one class twice, `as` gives each use a name: `SVC as linear { … } | SVC as rbf { … }`.
    """

    code = "SL211"
    MESSAGE = "the {kind} `{name}` is declared twice"
    LABEL = "second declaration"
    HELPS = ("{remedy}",)

    kind: str
    name: str
    remedy: str | None = None


class DuplicateValueInDomain(Diagnostic):
    """A set lists one value twice, or parts of a union share a value. 1 and 1.0 are the same value."""

    code = "SL212"
    MESSAGE = "the value `{value}` is already in the domain"
    LABEL = "{reason}"

    value: str
    reason: str = "listed twice"


class UnknownParameterGroup(Diagnostic):
    """An `include` names a group of parameters that is not declared.

    A group is declared with `params NAME { … }`, before or after the `include`, or in an imported file: `include
    trees.forest` is the group `forest` of the file that is imported as `trees`.
    """

    code = "SL216"
    MESSAGE = "unknown group of parameters `{name}`"
    LABEL = "not declared"
    HELPS = ("did you mean `{near}`?", "declare the group: `params {word} {{ … }}`")

    name: str
    word: str | None = None
    near: str | None = None


class UnknownNameInImport(Diagnostic):
    """A dotted name begins with an imported file, but that file does not declare the rest of the name.

    `trees.forest` is what the file that is imported as `trees` declares as `forest`: a stage, an abstract operator, or
    (after `include`) a group of parameters. Operators of scikit-learn are called by their own names.
    """

    code = "SL217"
    MESSAGE = "`{file}` declares neither a stage nor an operator `{word}`"
    LABEL = "unknown name"
    HELPS = ("did you mean `{near}`?", "the file declares {names}")

    file: str
    word: str
    near: str | None = None
    names: str | None = None


class RecursiveInclude(Diagnostic):
    """A group, operator or parameter contains itself, so its expansion would never end.

    Groups of parameters include each other in a cycle, or the body of an operator within a group includes the group
    again, or an abstract operator has itself as the value of a parameter.
    """

    code = "SL218"
    MESSAGE = "the {kind} `{name}` contains itself"
    LABEL = "{cycle}"

    kind: str
    name: str
    cycle: str


class AmbiguousInclude(Diagnostic):
    """Two groups that one body includes have a parameter in common.

    The compiler does not guess which of the two is meant. A member of the body itself has precedence over included
    ones:

        params forest { max_depth : int[2, 50], min_samples_leaf : int[1, 20] }
        params small  { max_depth : int[2, 5] }
        stage estimator = ExtraTreesClassifier {
          include forest, include small
          max_depth : int[2, 10]
        }
    """

    code = "SL219"
    MESSAGE = "both `{first}` and `{second}` have the parameter `{name}`"
    LABEL = "the second `include` of this parameter"
    HELPS = ("declare `{name}` in the body itself, which overrides both",)

    name: str
    first: str
    second: str


class AbstractOperatorShadowsCatalogue(Diagnostic):
    """An abstract operator has the same name as an operator of the catalogue.

    A reader of `PCA` expects the class of scikit-learn. Give an operator that no catalogue has a name of its own.
    """

    code = "SL220"
    MESSAGE = "`{name}` is already the name of an operator of {catalogue}"
    LABEL = "an operator has this name"
    HELPS = ("choose another name, or remove the line to use that operator",)

    name: str
    catalogue: str


class UnreachableStage(Diagnostic):
    """A stage is declared, but the pipeline does not use it, so none of its alternatives is ever tried.

    A `pipeline` line consists of exactly the steps that it names. Without a `pipeline` line, all stages run in the
    order in which they are declared.
    """

    code = "SL221"
    severity = Severity.WARNING
    MESSAGE = "the stage `{name}` is not part of the pipeline"
    LABEL = "never used"
    HELPS = ("add the stage to the `pipeline` line or remove it",)

    name: str


class UnusedParameterGroup(Diagnostic):
    """A group of parameters is declared, but nothing in the file includes it.

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


class UnusedVariable(Diagnostic):
    """A `var` or `let` is declared, but nothing uses its value.

    A `var` that nothing uses multiplies the number of configurations without changing a pipeline. Use its value in a
    computed parameter, a condition or a constraint, or remove the line:

        stage estimator = SVC { var exponent : int[-3, 3] = 0, C := 10 ** exponent }
    """

    code = "SL225"
    severity = Severity.WARNING
    MESSAGE = "nothing uses the value of `{name}`"
    LABEL = "never used"
    HELPS = ("use it in a computed parameter (`name := …`), or remove the line",)

    name: str


class UnusedAbstractOperator(Diagnostic):
    """An abstract operator is declared, but nothing in the file uses it.

    Make it an alternative of a stage, or remove it:

        abstract encoder { dimensions : int[2, 8] }
        stage embedding = none | encoder
    """

    code = "SL223"
    severity = Severity.WARNING
    MESSAGE = "the operator `{name}` is never used"
    LABEL = "never used"
    HELPS = (
        "among plain values `{word}` is a string: write `{word} {{}}` to use the operator",
        "make the operator an alternative of a stage, or remove it",
    )

    name: str
    word: str | None = None


class SimplexWithSingleName(Diagnostic):
    """A simplex declares shares of a whole, so it has at least two names.

        simplex speed, accuracy, memory

    These are three numbers in [0, 1] whose sum is 1.
    """

    code = "SL226"
    MESSAGE = "the only share of a simplex is always 1"
    LABEL = "a simplex with a single share"
    HELPS = ("name at least two shares, as in `simplex {name}, other`, or write `{name} = 1`",)

    name: str


class InvalidSimplexDefault(Diagnostic):
    """The default of a simplex has one share for each name, and the sum of the shares is 1.

        simplex speed, accuracy, memory = (0.5, 0.3, 0.2)

    Without a default, all shares are equal.
    """

    code = "SL227"
    MESSAGE = "the default does not fit the simplex"
    LABEL = "{reason}"

    reason: str


class UnusedImport(Diagnostic):
    """A file is imported, but nothing of it is used.

    A declaration of an imported file is used by its dotted name, as in `trees.estimator`; a bare `trees` in the
    pipeline stands for the whole pipeline of the file.
    """

    code = "SL224"
    severity = Severity.WARNING
    MESSAGE = "the import `{name}` is not used"
    LABEL = "never used"
    HELPS = ("use a part of the file (`{name}.…`), or remove the import",)

    name: str
