"""Problems with `use`, and with names that several catalogues have."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class CatalogueNotAllowed(Diagnostic):
    """A file uses a package that its caller has not allowed.

    What a package brings is its own code, and a `.space` file may come from a stranger. So the file says what it
    uses, and the caller says what it may use: `--allow xgboost` on the command line, `allow=("xgboost",)` in Python.
    Without that nothing of the package is imported.
    """

    code = "SL208"
    MESSAGE = "the package `{name}` is not allowed here"
    LABEL = "used, but not allowed by the caller"
    HELPS = ('if you trust it: `--allow {name}` on the command line, `allow=("{name}",)` in Python',)

    name: str


class UnknownCatalogue(Diagnostic):
    """There is no catalogue of this name.

    After `use` stands the name of one package as Python imports it, without its submodules: `use imblearn`. Catalogues
    of `xgboost`, `lightgbm`, `catboost` and `imblearn` (imbalanced-learn) are known; of other packages that the caller
    allows the classes are taken that are estimators in the sense of scikit-learn.
    """

    code = "SL209"
    MESSAGE = "`{name}` is not the name of a package"
    LABEL = "{reason}"
    HELPS = ("did you mean `{near}`?", "write the name of the package alone, as Python imports it")

    name: str
    reason: str
    near: str | None = None


class CatalogueNotInstalled(Diagnostic):
    """A file uses a package that is allowed but not installed.

    Catalogues describe what is installed. `xgboost`, `lightgbm`, `catboost` and `imblearn` come with the extras
    of spacelang of the names `xgboost`, `lightgbm`, `catboost` and `imbalanced-learn`.
    """

    code = "SL210"
    MESSAGE = "the package `{name}` is not installed"
    LABEL = "not found"
    HELPS = ("{remedy}",)

    name: str
    remedy: str


class UnreadableCatalogue(Diagnostic):
    """An allowed package is there, but operators of it are not.

    Either it cannot be imported, or none of its public classes is an estimator in the sense of scikit-learn: one that
    is derived from `BaseEstimator`.
    """

    code = "SL213"
    MESSAGE = "cannot read the operators of the package `{name}`"
    LABEL = "{reason}"

    name: str
    reason: str


class AmbiguousOperator(Diagnostic):
    """Several of the catalogues in use have an operator of this name.

    An operator of a used catalogue may be called by its plain name as long as no other used catalogue has that name.
    The full name, `xgboost.XGBClassifier`, always says which is meant. Names that scikit-learn has stand for its own
    operators.
    """

    code = "SL214"
    MESSAGE = "`{name}` is an operator of several catalogues"
    LABEL = "which one?"
    HELPS = ("write {full}",)

    name: str
    full: str


class UnusedCatalogue(Diagnostic):
    """A file names a catalogue after `use` for nothing: no operator of it occurs, or it is in use already.

    The caller is then asked to allow, and to have installed, what the file does without.
    """

    code = "SL215"
    severity = Severity.WARNING
    MESSAGE = "`use {name}` has no effect"
    LABEL = "{reason}"
    HELPS = ("remove it",)

    name: str
    reason: str
