"""Diagnostics about other tools and searches: imported files, files of initial configurations, targets."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnknownImportFormat(Diagnostic):
    """The extension of the file is not that of a format that can be imported.

    `spacelang import` reads the two formats of ConfigSpace and tells them apart by the extension: `.pcs` (also
    `.pcs_new`) for PCS, in the old style and the new one, and `.json` for the output of `ConfigurationSpace.to_json`.
    """

    code = "SL011"
    MESSAGE = "the extension of `{path}` does not identify its format"
    HELPS = ("rename the file to end in `.pcs` or `.json`",)

    path: str


class InvalidImportedDeclaration(Diagnostic):
    """A line of the imported file does not follow the format of the file.

    A line of a PCS file declares a hyperparameter, a condition or a forbidden combination of values:

        kernel categorical {rbf, poly} [rbf]
        degree integer [2, 5] [3]
        degree | kernel == poly
        {kernel=poly, degree=5}

    The old style leaves the type out, and `i` and `l` after a range mean integers and logarithms. A JSON file is one
    object with `hyperparameters`, `conditions` and `forbiddens`, as ConfigSpace writes it.
    """

    code = "SL012"
    MESSAGE = "{problem}"
    LABEL = "{expected}"

    problem: str
    expected: str = ""


class UndeclaredImportedHyperparameter(Diagnostic):
    """A condition or forbidden clause of the imported file names a hyperparameter that is not declared.

    Most often the name is misspelt, or the hyperparameter was renamed in its declaration but not here. Correct the
    clause in the file, or declare the hyperparameter.
    """

    code = "SL013"
    MESSAGE = "the file does not declare the hyperparameter `{name}`"
    HELPS = ("did you mean `{near}`?",)

    name: str
    near: str | None = None


class ContradictoryImportedDeclaration(Diagnostic):
    """A declaration of the imported file contradicts itself or another one.

    Its range is empty, its default or a value in a condition is outside the domain, its name is taken, or its
    conditions depend on each other in a cycle. ConfigSpace refuses such a file as well.
    """

    code = "SL014"
    MESSAGE = "{problem}"
    LABEL = "{reason}"

    problem: str
    reason: str = ""


class ImportNotExpressible(Diagnostic):
    """A declaration of the imported file cannot be expressed in a `.space` file.

    Leaving it out would change the members of the space, so nothing is written. A range without bounds, for example,
    has to be given bounds before it is imported.
    """

    code = "SL015"
    MESSAGE = "a `.space` file cannot express {construct}"
    HELPS = ("{remedy}",)

    construct: str
    remedy: str | None = None


class SearchHintsNotImported(Diagnostic):
    """Guidance for a search is not imported.

    The space has the same members without it. This concerns weights of values, distributions other than the normal one,
    and metadata that tools stored for themselves.
    """

    code = "SL016"
    severity = Severity.WARNING
    MESSAGE = "{hint} of `{name}` {verb} not imported"
    LABEL = "only guides a search; the configurations stay the same"

    hint: str
    name: str
    verb: str = "is"


class IneffectiveImportedDeclaration(Diagnostic):
    """A declaration of the imported file has no effect and is left out.

    A hyperparameter that is never active appears in no configuration, and a forbidden combination of values that can
    never occur forbids nothing.
    """

    code = "SL017"
    severity = Severity.WARNING
    MESSAGE = "{declaration}: it has no effect and is not imported"
    LABEL = "{reason}"

    declaration: str
    reason: str = ""


class ActiveWithoutParent(Diagnostic):
    """A hyperparameter is active although the hyperparameter that its condition names is not.

    ConfigSpace 1.2 takes `!=` as true if the hyperparameter before it is not active; older versions, and SMAC, take it
    as false. The imported space has the members that ConfigSpace 1.2 takes. If the other reading is intended, list the
    values with `in {…}` instead, which is false if the hyperparameter is not active.
    """

    code = "SL018"
    severity = Severity.WARNING
    MESSAGE = "`{child}` is active when `{parent}` is not active"
    LABEL = "`!=` is true if `{parent}` is not active, as in ConfigSpace 1.2"
    HELPS = ("if that is not intended, list the values instead: `in {{…}}`",)

    child: str
    parent: str


class ConstructRefusedByTarget(Diagnostic):
    """The target cannot represent a part of the space, and leaving it out would change the space.

    Tools differ in what they support: some have no conditions, others no constraints between ranges. A target expresses
    unsupported parts by other means if possible, and refuses the rest. `spacelang targets` lists the targets; their
    documentation has a table of what each of them preserves.
    """

    code = "SL901"
    MESSAGE = "the target `{target}` cannot represent this: {construct}"
    LABEL = "{reason}"
    HELPS = (
        "choose another target or another way to express relations (`--set relations=…`), or rewrite the line, such as "
        "by ranges with fewer values (`step`)",
    )

    target: str
    construct: str
    reason: str


class ConstructApproximatedByTarget(Diagnostic):
    """Under `--strict`, a target must represent the whole space, but it represents this part only partially.

    The compiled space has no configurations that the space does not have. But it does not search all of them, or it
    drops guidance of the author (a default, a prior, a weight). Without `--strict`, the report of the compilation
    mentions this instead.
    """

    code = "SL902"
    MESSAGE = "the target `{target}` represents this only in part: {construct}"
    LABEL = "{reason}"
    HELPS = ("remove `--strict` to accept that",)

    target: str
    construct: str
    reason: str


class InvalidInitialConfigurationFile(Diagnostic):
    """The file with initial configurations contains something that is not a configuration.

    A file for `--initial` contains one configuration, as `spacelang default` and `spacelang sample` print it, or
    several, one after the other or in a list. It may also be the output of `spacelang run --json`, whose best
    configuration is used:

        {"scaler": "none", "estimator": "SVC", "estimator.C": 10.0}
    """

    code = "SL021"
    MESSAGE = "{problem}"
    LABEL = "{expected}"
    HELPS = ("{remedy}", "write configurations as `spacelang sample` prints them, or use the output of `run --json`")

    problem: str
    expected: str = ""
    remedy: str | None = None


class InitialConfigurationNotInSpace(Diagnostic):
    """An initial configuration of a search is not a member of the space.

    A member names every decision with one of its alternatives and every active hyperparameter with one of its values,
    nothing else, and satisfies all constraints. The space may have changed since the configuration was found, and its
    bounds may depend on the data. `spacelang contains` makes the same check for a single configuration.
    """

    code = "SL022"
    MESSAGE = "{reason}"
    HELPS = ("correct this configuration, or remove it",)

    reason: str


class RepeatedInitialConfiguration(Diagnostic):
    """An initial configuration of a search is given twice.

    No configuration is evaluated twice, so the second one has no effect. 1 and 1.0 are the same value.
    """

    code = "SL023"
    MESSAGE = "this configuration is given twice"
    HELPS = ("remove one of the two",)
