"""Problems with what an operator takes, as the catalogue knows it."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownParameter(Diagnostic):
    """The operator has no parameter of this name.

    Names of parameters are exact and are those of the installed version: `spacelang catalogue OPERATOR` lists them with
    their defaults and what each takes. A parameter of an inner operator is set in the body of that operator.
    """

    code = "SL301"
    MESSAGE = "`{parameter}` is not a parameter of `{operator}`"
    LABEL = "unknown parameter"
    HELPS = ("{hint}", "did you mean `{near}`?")

    parameter: str
    operator: str
    near: str | None = None
    hint: str | None = None


class RejectedValue(Diagnostic):
    """The operator declares that it does not accept this value: fitting with it would fail.

    The message says what is accepted; `spacelang catalogue OPERATOR` shows it for all parameters. A word in quotes is a
    string, a bare `none` the value that Python calls None:

        class_weight : {none, balanced}
    """

    code = "SL302"
    MESSAGE = "`{operator}` rejects `{value}` for `{parameter}`"
    LABEL = "{expected}"
    HELPS = ("{hint}", "did you mean `{near}`?", "operators stand without braces: `{instead}`")

    operator: str
    parameter: str
    value: str
    expected: str
    near: str | None = None
    instead: str | None = None
    hint: str | None = None


class RejectedRange(Diagnostic):
    """The operator declares that it does not accept some values of this range: fitting with them would fail.

    Draw the bound in, or exclude it with a round bracket where the value itself is refused:

        max_features : float(0, 1]
    """

    code = "SL303"
    MESSAGE = "`{operator}` rejects {part} `{domain}` for `{parameter}`"
    LABEL = "{expected}"
    HELPS = ("did you mean `{near}`?",)

    operator: str
    parameter: str
    domain: str
    expected: str
    part: str = "a part of"
    near: str | None = None


class RefusedParameter(Diagnostic):
    """The parameter takes code, opens files, or belongs to the runtime, so a space may not set it.

    A `.space` file is data: running a stranger's file must be safe. The runtime itself sets the number of jobs and
    the verbosity.
    """

    code = "SL304"
    MESSAGE = "a space may not set `{parameter}` of `{operator}`"
    LABEL = "{reason}"
    HELPS = ("write `{near}`", "remove the line")

    operator: str
    parameter: str
    reason: str
    near: str | None = None


class DeprecatedParameter(Diagnostic):
    """The library will remove this parameter; it still works in the version of the catalogue.

    Where the replacement means the same, rename the parameter; where the help says how the values translate, translate
    them as well. `penalty = l1` of `LogisticRegression`, for example, has become `l1_ratio = 1`.
    """

    code = "SL305"
    severity = Severity.WARNING
    MESSAGE = "`{parameter}` of `{operator}` is deprecated since version {since}"
    LABEL = "deprecated"
    HELPS = ("use `{replacement}` instead", "{note}")

    operator: str
    parameter: str
    since: str
    replacement: str | None = None
    note: str | None = None


class RemovedParameter(Diagnostic):
    """Earlier versions of the library had this parameter; the version of the catalogue has removed it.

    Remove the line, or follow the help where it names what has taken the parameter's place. A space that must run with
    an older version of the library is checked against the catalogue of that version.
    """

    code = "SL306"
    MESSAGE = "`{parameter}` is no longer a parameter of `{operator}`"
    LABEL = "removed"
    HELPS = ("{instead}",)

    operator: str
    parameter: str
    instead: str | None = None


class NoOperatorExpected(Diagnostic):
    """An operator is given as the value of a parameter that takes none, or none of this kind.

    The message says what is taken. Operators as values are for parameters such as the `estimator` of an ensemble:

        AdaBoostClassifier { estimator : DecisionTreeClassifier | LogisticRegression }
    """

    code = "SL307"
    MESSAGE = "`{parameter}` of `{operator}` takes no {kind}"
    LABEL = "{expected}"

    operator: str
    parameter: str
    expected: str
    kind: str = "operator"
    """`operator`, or `such operator` where it takes others."""


class MissingParameter(Diagnostic):
    """The class cannot be made without this parameter, and the space does not set it.

    Set it in the body:

        stage estimator = OneVsRestClassifier { estimator = LogisticRegression }
    """

    code = "SL308"
    MESSAGE = "`{operator}` needs `{parameter}`"
    LABEL = "required parameter is not set"
    HELPS = (
        "write for example `{operator} {{ {parameter} = {example} }}`",
        "set it: `{operator} {{ {parameter} = … }}`",
    )

    operator: str
    parameter: str
    example: str | None = None


class StaleCatalogue(Diagnostic):
    """The catalogue was made from another version of the library than the one installed.

    Parameters that have come or gone since then are judged wrongly. `spacelang catalogue --refresh` makes the
    catalogue of the installed version.
    """

    code = "SL309"
    severity = Severity.WARNING
    MESSAGE = "the {catalogue} catalogue describes version {known}, but {installed} is installed"
    HELPS = ("run `spacelang catalogue --refresh`",)

    catalogue: str
    known: str
    installed: str


class DeprecatedOperator(Diagnostic):
    """The library will remove this class; it still works in the version of the catalogue.

    A space that shall live longer uses the class that the help names. The parameters of the two may differ:
    `spacelang catalogue OPERATOR` lists them.
    """

    code = "SL310"
    severity = Severity.WARNING
    MESSAGE = "`{operator}` is deprecated since version {since}"
    LABEL = "deprecated"
    HELPS = ("use `{replacement}` instead", "{note}")

    operator: str
    since: str
    replacement: str | None = None
    note: str | None = None


class WholeAndPart(Diagnostic):
    """A parameter that is a tuple is given as a whole, and a part of it by itself: one of the two would be lost.

    Parts stand for the members of a tuple, so that each can have a range: `q_min` and `q_max` of `RobustScaler` make
    its `quantile_range`. A part that is not given has its default.
    """

    code = "SL311"
    MESSAGE = "`{operator}` is given both `{whole}` and its part `{part}`"
    LABEL = "the whole"
    HELPS = ("keep `{whole}` or its parts",)

    operator: str
    whole: str
    part: str
