"""Diagnostics about `use` lines, and about operators and their parameters as the catalogues describe them."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownParameter(Diagnostic):
    """The operator has no parameter of this name.

    Names of parameters must match exactly: `spacelang catalogue OPERATOR` lists them with their defaults and accepted
    values. A parameter of an inner operator is set in the body of that operator.
    """

    code = "SL301"
    MESSAGE = "`{parameter}` is not a parameter of `{operator}`"
    LABEL = "unknown parameter"
    HELPS = ("{hint}", "did you mean `{near}`?")

    parameter: str
    operator: str
    near: str | None = None
    hint: str | None = None


class ParameterValueNotAccepted(Diagnostic):
    """The operator does not accept this value for the parameter; fitting with it would fail.

    The message shows what is accepted; `spacelang catalogue OPERATOR` shows it for all parameters. A word in quotes is
    a string; `none` without quotes is the Python value None:

        class_weight : {none, balanced}
    """

    code = "SL302"
    MESSAGE = "`{operator}` rejects `{value}` for `{parameter}`"
    LABEL = "{expected}"
    HELPS = ("{hint}", "did you mean `{near}`?", "write operators without braces: `{instead}`")

    operator: str
    parameter: str
    value: str
    expected: str
    near: str | None = None
    instead: str | None = None
    hint: str | None = None


class ParameterRangeNotAccepted(Diagnostic):
    """The operator does not accept some values of this range; fitting with them would fail.

    Move the bound inwards, or exclude it with a round bracket if only the bound itself is not accepted:

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


class ParameterForbiddenInSpaces(Diagnostic):
    """The parameter takes code, opens files, or is controlled by the runtime, so a space cannot set it.

    A `.space` file is data: running a file from a stranger must be safe. The runtime itself sets the number of jobs and
    the verbosity.
    """

    code = "SL304"
    MESSAGE = "a space may not set the parameter `{parameter}` of `{operator}`"
    LABEL = "{reason}"
    HELPS = ("write `{near}`", "remove the line")

    operator: str
    parameter: str
    reason: str
    near: str | None = None


class DeprecatedParameter(Diagnostic):
    """The library will remove this parameter; it still works in the version that the catalogue describes.

    If the replacement means the same, rename the parameter; if the help explains how values translate, translate them
    as well. `penalty = l1` of `LogisticRegression`, for example, has become `l1_ratio = 1`.
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
    """The library has removed this parameter; only versions before the one in the catalogue have it.

    Remove the line, or follow the help if it names a replacement. A space that must run with an older version of the
    library is checked against the catalogue of that version.
    """

    code = "SL306"
    MESSAGE = "`{parameter}` is no longer a parameter of `{operator}`"
    LABEL = "removed"
    HELPS = ("{instead}",)

    operator: str
    parameter: str
    instead: str | None = None


class UnexpectedOperatorAsValue(Diagnostic):
    """An operator is given as the value of a parameter that takes no operator, or none of this kind.

    The message shows what the parameter takes. Operators are values of parameters such as the `estimator` of an
    ensemble:

        AdaBoostClassifier { estimator : DecisionTreeClassifier | LogisticRegression }
    """

    code = "SL307"
    MESSAGE = "`{parameter}` of `{operator}` takes no {kind}"
    LABEL = "{expected}"

    operator: str
    parameter: str
    expected: str
    kind: str = "operator"


class VarNamedLikeParameter(Diagnostic):
    """A `var` has the name of a parameter of its operator, but the operator does not get its value.

    Without `var`, the hyperparameter is the parameter. Otherwise give it another name:

        stage estimator = SVC { var exponent : int[-3, 3] = 0, C := 10 ** exponent }
    """

    code = "SL312"
    MESSAGE = "`var {name}` has the name of a parameter of `{operator}`"
    LABEL = "the operator does not receive the value of a `var`"
    HELPS = ("remove `var`, or choose another name",)

    name: str
    operator: str


class MissingParameter(Diagnostic):
    """The class cannot be created without this parameter, and the space does not set it.

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
    """The catalogue describes another version of the library than the one installed.

    Parameters that were added or removed in between are checked wrongly. `spacelang catalogue --refresh` creates the
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
    """The library will remove this class; it still works in the version that the catalogue describes.

    For a space that should keep working, use the class that the help names. The parameters of the two may differ:
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


class TupleAndElementGiven(Diagnostic):
    """A tuple parameter is set both as a whole and by one of its elements; one of the two would be lost.

    Each element of the tuple has a name of its own, so that it can have a range: `q_min` and `q_max` of `RobustScaler`
    form its `quantile_range`. An element that is not set has its default.
    """

    code = "SL311"
    MESSAGE = "`{operator}` sets both `{whole}` and its element `{part}`"
    LABEL = "this line sets the whole tuple"
    HELPS = ("keep either `{whole}` or its elements",)

    operator: str
    whole: str
    part: str


class CatalogueNotAllowed(Diagnostic):
    """A file uses a package that its caller has not allowed.

    A package brings its own code, and a `.space` file may come from a stranger. So the file declares what it uses, and
    the caller decides what it may use: `--allow xgboost` on the command line, `allow=("xgboost",)` in Python. Without
    that permission, nothing of the package is imported.
    """

    code = "SL208"
    MESSAGE = "the package `{name}` is not allowed here"
    LABEL = "the space uses the package, but the caller does not allow it"
    HELPS = ('if you trust the package: `--allow {name}` on the command line, `allow=("{name}",)` in Python',)

    name: str


class UnknownCatalogue(Diagnostic):
    """The name after `use` is not the name of a package with a catalogue.

    `use` takes the name of one package as Python imports it, without its submodules: `use imblearn`. Catalogues of
    `xgboost`, `lightgbm`, `catboost` and `imblearn` (imbalanced-learn) are known. Of any other package that the caller
    allows, the classes that are scikit-learn estimators can be used.
    """

    code = "SL209"
    MESSAGE = "`{name}` is not the name of a package"
    LABEL = "{reason}"
    HELPS = ("did you mean `{near}`?", "write only the name of the package, as Python imports it")

    name: str
    reason: str
    near: str | None = None


class CatalogueNotInstalled(Diagnostic):
    """A file uses a package that is allowed but not installed.

    Catalogues describe installed packages. Install `xgboost`, `lightgbm`, `catboost` and `imblearn` with the extras of
    spacelang that are called `xgboost`, `lightgbm`, `catboost` and `imbalanced-learn`.
    """

    code = "SL210"
    MESSAGE = "the package `{name}` is not installed"
    LABEL = "not found"
    HELPS = ("{remedy}",)

    name: str
    remedy: str


class UnreadableCatalogue(Diagnostic):
    """An allowed package is installed, but its operators cannot be read.

    Either the package cannot be imported, or none of its public classes is a scikit-learn estimator, that is, derived
    from `BaseEstimator`.
    """

    code = "SL213"
    MESSAGE = "cannot read the operators of the package `{name}`"
    LABEL = "{reason}"

    name: str
    reason: str


class AmbiguousOperator(Diagnostic):
    """Several of the catalogues in use have an operator of this name.

    An operator of a used catalogue can be called by its plain name as long as no other used catalogue has an operator
    of that name. The full name, such as `xgboost.XGBClassifier`, is never ambiguous. A name that scikit-learn has
    always means the operator of scikit-learn.
    """

    code = "SL214"
    MESSAGE = "`{name}` is an operator of several catalogues"
    LABEL = "ambiguous name"
    HELPS = ("write {full}",)

    name: str
    full: str


class UnusedCatalogue(Diagnostic):
    """A `use` line has no effect: no operator of the catalogue occurs, or the catalogue is in use already.

    Remove the line. Otherwise, callers have to allow and install a package that the file does not need.
    """

    code = "SL215"
    severity = Severity.WARNING
    MESSAGE = "`use {name}` has no effect"
    LABEL = "{reason}"
    HELPS = ("remove the line",)

    name: str
    reason: str
