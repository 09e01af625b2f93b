"""Diagnostics about files: reading, importing and loading compiled spaces."""

from spacelang.diagnostics.diagnostic import Diagnostic, Fix, Severity


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


class NotText(Diagnostic):
    """The file is not UTF-8 text.

    A `.space` file is UTF-8 text. This file contains bytes that are not valid UTF-8, or NUL characters. It may be a
    binary file, or text in another encoding.
    """

    code = "SL002"
    MESSAGE = "`{path}` is not a text file: {reason}"
    HELPS = ("save the file as UTF-8 text",)

    path: str
    reason: str


class TooLarge(Diagnostic):
    """The file is larger than a space may be.

    Files above 1 MiB (`.json` files above 8 MiB), nesting deeper than 64 brackets, numbers of more than 400 characters
    and texts of more than 150,000 words and signs are refused, so that a file from a stranger cannot exhaust the
    machine.
    """

    code = "SL003"
    MESSAGE = "{what} exceeds the limit of {limit}"

    what: str
    limit: str


class NoStage(Diagnostic):
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
    def fix(self) -> Fix | None:
        """The replacement of the path by a similar one, in quotes, or None."""
        return Fix(self.primary, f'"{self.near}"') if self.near else None


class OutsideImport(Diagnostic):
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


class NamelessImport(Diagnostic):
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


class DifferentBinding(Diagnostic):
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


class CompiledUnbound(Diagnostic):
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
