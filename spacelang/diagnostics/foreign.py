"""Problems with files of other tools that are imported."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownFormat(Diagnostic):
    """The name of the file does not say a format that can be imported.

    `spacelang import` reads ConfigSpace's two formats and tells them apart by the end of the file's name: `.pcs`
    (also `.pcs_new`) for PCS, of the old style and the new, and `.json` for what `ConfigurationSpace.to_json` writes.
    """

    code = "SL011"
    MESSAGE = "`{path}` has no ending that says its format"
    HELPS = ("name it `.pcs` or `.json`",)

    path: str


class UnreadableDeclaration(Diagnostic):
    """A line of the imported file is not of its format.

    A line of a PCS file declares a hyperparameter, a condition or a forbidden combination of values:

        kernel categorical {rbf, poly} [rbf]
        degree integer [2, 5] [3]
        degree | kernel == poly
        {kernel=poly, degree=5}

    In the old style the type is left out, and `i` and `l` behind a range stand for integers and logarithms. A JSON
    file is one object with `hyperparameters`, `conditions` and `forbiddens`, as ConfigSpace writes it.
    """

    code = "SL012"
    MESSAGE = "{problem}"
    LABEL = "{expected}"

    problem: str
    expected: str = ""


class UndeclaredParameter(Diagnostic):
    """A condition or forbidden clause of the imported file names a hyperparameter that the file does not declare.

    Most often the name is misspelt, or the hyperparameter was renamed where it is declared and not here. Correct the
    clause in the file, or declare the hyperparameter.
    """

    code = "SL013"
    MESSAGE = "the file declares no hyperparameter `{name}`"
    HELPS = ("did you mean `{near}`?",)

    name: str
    near: str | None = None


class ContradictoryDeclaration(Diagnostic):
    """A declaration of the imported file cannot be meant.

    Its range is empty, its default or a value that a condition compares with is outside of the domain, its name is
    taken, or its conditions depend on each other in a circle. ConfigSpace refuses such a file as well.
    """

    code = "SL014"
    MESSAGE = "{problem}"
    LABEL = "{reason}"

    problem: str
    reason: str = ""


class CannotBeSaid(Diagnostic):
    """A declaration of the imported file has no words in a `.space` file.

    Without it the members of the space would be others, so that nothing is written. A range without bounds, for
    example, has to be given bounds before it is imported.
    """

    code = "SL015"
    MESSAGE = "a `.space` file cannot say {what}"
    HELPS = ("{remedy}",)

    what: str
    remedy: str | None = None


class AdviceLost(Diagnostic):
    """Something that guides a search is not carried over.

    The space has the same members without it: weights of values, distributions other than the normal one, and what
    tools noted for themselves.
    """

    code = "SL016"
    severity = Severity.WARNING
    MESSAGE = "{what} of `{name}` {verb} not carried over"
    LABEL = "advice to a search, no member depends on it"

    what: str
    name: str
    verb: str = "is"


class NothingToImport(Diagnostic):
    """A declaration of the imported file changes nothing and is left out.

    A hyperparameter that is never active appears in no configuration, and a forbidden combination of values that
    can never come together forbids none.
    """

    code = "SL017"
    severity = Severity.WARNING
    MESSAGE = "{what} and is left out"
    LABEL = "{reason}"

    what: str
    reason: str = ""


class ActiveWithoutParent(Diagnostic):
    """A hyperparameter is active where the one that its condition names is not.

    ConfigSpace 1.2 takes `!=` as true where the hyperparameter before it is not active; older versions, and SMAC, as
    false. The imported space has the members that ConfigSpace 1.2 takes. Where the other reading is meant, list the
    values with `in {…}` instead, which is false where the hyperparameter is not active.
    """

    code = "SL018"
    severity = Severity.WARNING
    MESSAGE = "`{child}` is active where `{parent}` is not"
    LABEL = "`!=` holds there, as ConfigSpace 1.2 reads it"
    HELPS = ("if that is not meant, list the values instead: `in {{…}}`",)

    child: str
    parent: str
