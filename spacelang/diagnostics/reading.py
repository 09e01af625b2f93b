"""Diagnostics about reading: files, imports and compiled spaces, and mistakes of the syntax."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity, TextReplacement


class UnreadableFile(Diagnostic):
    """The file cannot be read.

    The path does not exist, or names a folder or something that may not be read. Give the path to a `.space` file or
    the name of a bundled space; `spacelang spaces` lists the bundled ones.
    """

    code = "SL001"
    MESSAGE = "cannot read `{path}`: {reason}"
    HELPS = (
        "did you mean `{near}`?",
        "{remedy}",
        "give a `.space` file or the name of a bundled space (`spacelang spaces`)",
    )

    path: str
    reason: str
    near: str | None = None
    remedy: str | None = None


class NotUtf8Text(Diagnostic):
    """The file is not UTF-8 text.

    A `.space` file is UTF-8 text. This file contains bytes that are not valid UTF-8, or NUL characters. It may be a
    binary file, or text in another encoding.
    """

    code = "SL002"
    MESSAGE = "`{path}` is not a text file: {reason}"
    HELPS = ("save the file as UTF-8 text",)

    path: str
    reason: str


class TextTooLarge(Diagnostic):
    """The file is larger than a space may be.

    Files above 1 MiB (`.json` files above 8 MiB), nesting deeper than 64 brackets, numbers of more than 400 characters
    and texts of more than 150,000 words and signs are refused, so that a file from a stranger cannot exhaust the
    machine.
    """

    code = "SL003"
    MESSAGE = "{quantity} exceeds the limit of {limit}"

    quantity: str
    limit: str


class NoPipelineOrStage(Diagnostic):
    """The file declares nothing that a pipeline could be built from.

    A space has at least one `stage`, or a `pipeline` of operators:

        stage estimator = LogisticRegression | GaussianNB
    """

    code = "SL004"
    MESSAGE = "the file declares no stage"
    HELPS = ("write for example `stage estimator = LogisticRegression | GaussianNB`",)


class UnreadableImport(Diagnostic):
    """An imported file cannot be read.

    `import` takes the path to a `.space` file, relative to the importing file, or the name of a bundled space
    (`spacelang spaces` lists them):

        import "trees.space" as trees
        import "blds_table1" as table

    A text that was not read from a file, such as one given to `sl.parse`, can import bundled spaces only.
    """

    code = "SL005"
    MESSAGE = "cannot import `{path}`: {reason}"
    HELPS = ("did you mean `{near}`?", "name a `.space` file in the folder of this one, or a bundled space")

    path: str
    reason: str
    near: str | None = None

    @property
    def fix(self) -> TextReplacement | None:
        """The replacement of the path by a similar one, in quotes, or None."""
        return TextReplacement(self.primary, f'"{self.near}"') if self.near else None


class ImportOutsideFolder(Diagnostic):
    """A file imports another file that is not below the folder of the first file.

    Checking a file from a stranger must be safe, so nothing outside its own folder and the folders below may be opened.
    Absolute paths, paths with `..` and links that lead elsewhere are refused.
    """

    code = "SL006"
    MESSAGE = "cannot import `{path}`: it lies outside the folder of the space"
    LABEL = "{reason}"
    HELPS = ("copy the file into the folder of this one, or into a folder below it",)

    path: str
    reason: str


class ImportCycle(Diagnostic):
    """Files import each other in a cycle, so none of them can be read first.

    Move the parts that both files need into a third file.
    """

    code = "SL007"
    MESSAGE = "the import of `{path}` creates a cycle"
    LABEL = "{cycle}"
    HELPS = ("move the shared parts into a file that imports none of these files",)

    path: str
    cycle: str


class ImportWithoutValidName(Diagnostic):
    """An import needs a name, and the name of the file is not a valid one.

    Without `as`, an imported file is called by its own name, if that is a valid name: `import "trees.space"` means
    `import "trees.space" as trees`. Names consist of letters, digits and underscores and do not begin with a digit.
    """

    code = "SL008"
    MESSAGE = "the import of `{path}` needs a name"
    LABEL = "`{stem}` is not a valid name"
    HELPS = ("write `import … as …`",)

    path: str
    stem: str


class InvalidCompiledDocument(Diagnostic):
    """The document of a compiled space does not define a space.

    `spacelang compile --format json` writes the whole space into its document, as `definition`, so that it can be
    loaded and searched without the original text. The document is checked like a text, as it may have been changed. The
    message shows where the problem is, by the keys and indices that lead there, such as
    `definition.root.sequence[0].alternatives[2]`. `compiled.schema.json` in the folder `grammars` describes every key.
    """

    code = "SL009"
    MESSAGE = "`{path}` {problem}"
    HELPS = ("{remedy}", "compile the space again, or see `grammars/compiled.schema.json`")

    path: str
    problem: str
    remedy: str = ""


class UnsupportedFormatVersion(Diagnostic):
    """A compiled space has a format version that cannot be read.

    The version is increased whenever an older reader would misread the document. Compile the space again from its text,
    or install the version of spacelang that wrote it.
    """

    code = "SL010"
    MESSAGE = "the compiled space has version {version}, but only version {known} can be read"
    HELPS = ("compile the space again from its text",)

    version: int
    known: int


class CompiledForOtherDataSize(Diagnostic):
    """A compiled space was compiled for data of another size.

    Bounds that depend on the data are replaced by numbers when a space is compiled. Binding a symbol to another number
    afterwards would change nothing. Bind it when the space is compiled.
    """

    code = "SL019"
    MESSAGE = "`{symbol}` cannot be {number}: {reason}"
    HELPS = ("compile the text of the space with `--bind {symbol}={number}`",)

    symbol: str
    number: int
    reason: str


class CompiledWithoutDataSize(Diagnostic):
    """A space was compiled before the size of the data was known.

    Bounds that depend on the data were replaced by numbers for data of any size, so some values cannot be fitted on
    smaller data. A run of the text binds the symbols to the size of the data; a run of the compiled space cannot.
    """

    code = "SL020"
    severity = Severity.WARNING
    MESSAGE = "the space was compiled without binding {symbols}"
    HELPS = ("compile the text of the space with `--bind {symbol}=…`",)

    symbols: str
    symbol: str


class UnexpectedText(Diagnostic):
    """The text does not follow the syntax of the language at this place.

    The message shows what was found and what could be there instead.
    """

    code = "SL101"
    MESSAGE = "unexpected {found}"
    LABEL = "expected {expected}"
    HELPS = ("{hint}", "did you mean `{near}`?")

    found: str
    expected: str
    hint: str | None = None
    near: str | None = None


class UnexpectedEnd(Diagnostic):
    """The text ends, or the next item begins, before this item is complete.

    Most often a closing brace or bracket is missing; the related place shows the bracket that was opened last.
    """

    code = "SL102"
    MESSAGE = "`{item}` is not complete"
    LABEL = "expected {expected}"

    item: str
    expected: str


class UnclosedString(Diagnostic):
    r"""A string, or a name in backticks, is not closed on its line.

    Strings are written in double quotes and end on the line on which they begin. `\"` is a quote within a string:

        space credit "Credit \"default\", tabular"

    Names of parameters that are not plain words are written in backticks, and a name cannot contain a backtick.
    """

    code = "SL103"
    MESSAGE = "the {construct} is not closed"
    LABEL = "expected {sign} on this line"

    construct: str = "string"
    sign: str = '`"`'


class MissingSeparator(Diagnostic):
    """Two members of a body are on one line without a separator.

    Members of a body are separated by newlines or commas: `kernel = rbf, C : float[0.1, 10]`.
    """

    code = "SL104"
    MESSAGE = "a comma or a newline is missing before `{member}`"
    HELPS = ("{hint}", "members of a body are separated by commas or newlines")

    member: str
    hint: str | None = None


class ForeignSyntax(Diagnostic):
    """This is the syntax of another language or library.

    The same can be written here, as the help shows:

        stage estimator = SVC { C : float[0.1, 10] log }     # not loguniform(0.1, 10)
    """

    code = "SL107"
    MESSAGE = "{found} is not valid syntax here"
    HELPS = ("{remedy}",)

    found: str
    remedy: str
    instead: str | None = None


class ConstructNotSupportedYet(Diagnostic):
    """The construct belongs to the language, but this version of the compiler does not support it yet.

    It is refused rather than ignored, so a space never silently loses a part of its meaning.
    """

    code = "SL190"
    MESSAGE = "{construct} is not supported by this version yet"
    HELPS = ("{instead}",)

    construct: str
    instead: str | None = None


class RepeatedTopLevelItem(Diagnostic):
    """A file has more than one `space` line, `pipeline` or `task`.

    Keep the intended one. Several pipelines in one file are written as alternatives of one another:

        pipeline = (scaler -> estimator) | (reducer -> estimator)
    """

    code = "SL105"
    MESSAGE = "a second `{item}`"
    LABEL = "only one is allowed"

    item: str


class SpaceLineNotFirst(Diagnostic):
    """The `space` line does not come first.

    It names the file, so readers look for it at the top.
    """

    code = "SL106"
    severity = Severity.WARNING
    MESSAGE = "the `space` line is not the first item"
    HELPS = ("move the line to the top",)
