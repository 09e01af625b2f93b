"""Problems with files as such."""

from spacelang.diagnostics.diagnostic import Diagnostic


class UnreadableFile(Diagnostic):
    """The file cannot be read.

    The path names nothing, or a folder, or something that may not be read. A space is given as a path to a
    `.space` file or as the name of a bundled space; `spacelang spaces` lists those.
    """

    code = "SL001"
    MESSAGE = "cannot read `{path}`: {reason}"
    HELPS = ("did you mean `{near}`?", "give a `.space` file or the name of a bundled space (`spacelang spaces`)")

    path: str
    reason: str
    near: str | None = None


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
