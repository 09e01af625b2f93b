"""Diagnostics about `use` lines and about names that several catalogues share."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class CatalogueNotAllowed(Diagnostic):
    """A file uses a package that its caller has not allowed.

    A package brings its own code, and a `.space` file may come from a stranger. So the file declares what it uses, and
    the caller decides what it may use: `--allow xgboost` on the command line, `allow=("xgboost",)` in Python. Without
    that permission, nothing of the package is imported.
    """

    code = "SL208"
    MESSAGE = "the package `{name}` is not allowed here"
    LABEL = "used here, but not allowed by the caller"
    HELPS = ('if you trust it: `--allow {name}` on the command line, `allow=("{name}",)` in Python',)

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
    HELPS = ("remove it",)

    name: str
    reason: str
