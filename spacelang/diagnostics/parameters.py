"""Problems with what an operator takes, as the catalogue knows it."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownParameter(Diagnostic):
    """The operator has no parameter of this name."""

    code = "SL301"
    MESSAGE = "`{parameter}` is not a parameter of `{operator}`"
    LABEL = "unknown parameter"
    HELPS = ("did you mean `{near}`?",)

    parameter: str
    operator: str
    near: str | None = None


class RejectedValue(Diagnostic):
    """The operator declares that it does not accept this value: fitting with it would fail."""

    code = "SL302"
    MESSAGE = "`{operator}` rejects `{value}` for `{parameter}`"
    LABEL = "{expected}"
    HELPS = ("did you mean `{near}`?",)

    operator: str
    parameter: str
    value: str
    expected: str
    near: str | None = None


class RejectedRange(Diagnostic):
    """The operator declares that it does not accept some values of this range: fitting with them would fail."""

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
    HELPS = ("remove the line",)

    operator: str
    parameter: str
    reason: str


class DeprecatedParameter(Diagnostic):
    """The library will remove this parameter; it still works in the version of the catalogue."""

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
    """Earlier versions of the library had this parameter; the version of the catalogue has removed it."""

    code = "SL306"
    MESSAGE = "`{parameter}` is no longer a parameter of `{operator}`"
    LABEL = "removed"
    HELPS = ("{instead}",)

    operator: str
    parameter: str
    instead: str | None = None


class NoOperatorExpected(Diagnostic):
    """An operator is given as the value of a parameter that takes none."""

    code = "SL307"
    MESSAGE = "`{parameter}` of `{operator}` takes no operator"
    LABEL = "{expected}"

    operator: str
    parameter: str
    expected: str


class MissingParameter(Diagnostic):
    """The class cannot be made without this parameter, and the space does not set it."""

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
    """The library will remove this class; it still works in the version of the catalogue."""

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
