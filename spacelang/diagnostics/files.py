"""Problems with files as such."""

from spacelang.diagnostics.diagnostic import Diagnostic, Fix, Severity


class UnreadableFile(Diagnostic):
    """The file cannot be read.

    The path names nothing, or a folder, or something that may not be read. A space is given as a path to a
    `.space` file or as the name of a bundled space; `spacelang spaces` lists those.
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
    """The file is not text in UTF-8.

    A `.space` file is UTF-8 text. This one has bytes that no UTF-8 text has, or NUL characters: it may be a
    binary file, or text in another encoding.
    """

    code = "SL002"
    MESSAGE = "`{path}` is not a text file: {reason}"
    HELPS = ("save it as UTF-8 text",)

    path: str
    reason: str


class TooLarge(Diagnostic):
    """The file is larger than a space may be.

    Files above 1 MiB, nesting deeper than 64 brackets, numbers of more than 400 characters and syntax trees of more
    than 100,000 members are refused, so that a stranger's file cannot exhaust the machine.
    """

    code = "SL003"
    MESSAGE = "{what} is beyond the limit of {limit}"

    what: str
    limit: str


class NoStage(Diagnostic):
    """The file declares nothing that a pipeline could be made of.

    A space has at least one `stage`, or a `pipeline` of operators:

        stage estimator = LogisticRegression | GaussianNB
    """

    code = "SL004"
    MESSAGE = "the file declares no stage"
    HELPS = ("write for example `stage estimator = LogisticRegression | GaussianNB`",)


class UnreadableImport(Diagnostic):
    """A file that is imported cannot be read.

    `import` names a `.space` file, by its path from the importing file on, or a bundled space by its name
    (`spacelang spaces` lists those):

        import "trees.space" as trees
        import "blds_table1" as table

    A text that was not read from a file, such as one given to `sl.parse`, may import bundled spaces only.
    """

    code = "SL005"
    MESSAGE = "cannot import `{path}`: {reason}"
    HELPS = ("did you mean `{near}`?", "name a `.space` file in the folder of this one, or a bundled space")

    path: str
    reason: str
    near: str | None = None

    @property
    def fix(self) -> Fix | None:
        """The path is written in quotes."""
        return Fix(self.primary, f'"{self.near}"') if self.near else None


class OutsideImport(Diagnostic):
    """A file imports another one that does not lie below the folder of the first file.

    Checking a stranger's file must be safe: it may open nothing but what lies in its own folder and the folders in
    it. Absolute paths, paths with `..` and links that lead elsewhere are refused.
    """

    code = "SL006"
    MESSAGE = "cannot import `{path}`: it lies outside the folder of the space"
    LABEL = "{reason}"
    HELPS = ("copy the file beside this one, or into a folder there",)

    path: str
    reason: str


class ImportCycle(Diagnostic):
    """Files import each other in a circle, so that none of them can be read first.

    Move what both need into a third file.
    """

    code = "SL007"
    MESSAGE = "the import of `{path}` closes a circle"
    LABEL = "{circle}"
    HELPS = ("move what the files share into one that imports none of them",)

    path: str
    circle: str


class NamelessImport(Diagnostic):
    """What is imported needs a name, and the name of the file is none.

    Without `as` a file is called by its own name, where that is a name of the language: `import "trees.space"` is
    `import "trees.space" as trees`. Names have letters, digits and underscores and begin with no digit.
    """

    code = "SL008"
    MESSAGE = "the import of `{path}` needs a name"
    LABEL = "`{stem}` is not a name"
    HELPS = ("write `import … as …`",)

    path: str
    stem: str


class WrongCompiled(Diagnostic):
    """A compiled space does not define a space.

    `spacelang compile --format json` writes the whole space into its document, as `definition`, so that it can be
    loaded and searched without the text that it came from. The document is checked like a text, as others may have
    changed it. The message says where it is wrong, by the keys and places that lead there, such as
    `definition.root.sequence[0].alternatives[2]`. `compiled.schema.json` in the folder `grammars` describes every key.
    """

    code = "SL009"
    MESSAGE = "`{path}` {problem}"
    HELPS = ("{remedy}", "compile the space again, or see `grammars/compiled.schema.json`")

    path: str
    problem: str
    remedy: str = ""


class OtherVersion(Diagnostic):
    """A compiled space is of a version that cannot be read.

    The version grows when an older reader would misread what is written. Compile the space again from its text, or
    install the version of spacelang that wrote it.
    """

    code = "SL010"
    MESSAGE = "the compiled space has version {version}, and only version {known} can be read"
    HELPS = ("compile the space again from its text",)

    version: int
    known: int


class BoundOtherwise(Diagnostic):
    """A compiled space was compiled for data of another size.

    Where bounds depend on the data, those of a compiled space are the numbers that they came to when it was compiled:
    binding a symbol to another number would change nothing. Bind it when the space is compiled.
    """

    code = "SL019"
    MESSAGE = "`{symbol}` cannot be {number}: the space was compiled {reason}"
    HELPS = ("compile the text of the space with `--bind {symbol}={number}`",)

    symbol: str
    number: int
    reason: str


class CompiledUnbound(Diagnostic):
    """A space was compiled before the size of the data was known.

    Where bounds depend on the data, those of a compiled space are numbers, for data of any size: on smaller data some
    values cannot be fitted. A run of the text binds the symbols by the data; a run of the compiled space cannot.
    """

    code = "SL020"
    severity = Severity.WARNING
    MESSAGE = "the space was compiled for arbitrarily large {symbols}"
    HELPS = ("compile the text of the space with `--bind {symbol}=…`",)

    symbols: str
    symbol: str
