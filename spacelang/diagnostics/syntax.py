"""Problems with the form of the text."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


class UnexpectedText(Diagnostic):
    """The text does not have the form that the language asks for at this place.

    The message says what was found and what could stand there instead.
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
    """The text ends, or the next item begins, before this one is complete.

    Most often a closing brace or bracket is missing; the related place is the one that was opened last.
    """

    code = "SL102"
    MESSAGE = "`{item}` is not complete"
    LABEL = "expected {expected}"

    item: str
    expected: str


class UnclosedString(Diagnostic):
    r"""A string, or a name in backticks, has no closing sign on its line.

    Strings stand in double quotes and end on the line on which they begin; `\"` is a quote inside of one:

        space credit "Credit \"default\", tabular"

    Names of parameters that are no words stand in backticks, which no name holds.
    """

    code = "SL103"
    MESSAGE = "the {what} has no end"
    LABEL = "expected {sign} on this line"

    what: str = "string"
    sign: str = '`"`'


class MissingSeparator(Diagnostic):
    """Two members of a body stand on one line with nothing between them.

    Members of a body are separated by newlines or commas: `kernel = rbf, C : float[0.1, 10]`.
    """

    code = "SL104"
    MESSAGE = "a comma or a newline is missing before `{member}`"
    HELPS = ("{hint}", "members of a body are separated by commas or newlines")

    member: str
    hint: str | None = None


class SaidElsewhere(Diagnostic):
    """This is how another language says it.

    What it stands for exists here, too, and is written as the help says:

        stage estimator = SVC { C : float[0.1, 10] log }     # not loguniform(0.1, 10)
    """

    code = "SL107"
    MESSAGE = "{found} is written otherwise here"
    HELPS = ("{remedy}",)

    found: str
    remedy: str
    instead: str | None = None


class NotSupportedYet(Diagnostic):
    """The construct belongs to the language, but this version of the compiler cannot hold it yet.

    It is refused rather than passed over: a space never loses a part of its meaning in silence.
    """

    code = "SL190"
    MESSAGE = "{construct} cannot be compiled by this version yet"
    HELPS = ("{instead}",)

    construct: str
    instead: str | None = None


class RepeatedItem(Diagnostic):
    """A file has at most one `space` line, one `pipeline` and one `task`.

    Keep the one that is meant. Several pipelines in one file are alternatives of one another:

        pipeline = (scaler -> estimator) | (reducer -> estimator)
    """

    code = "SL105"
    MESSAGE = "a second `{item}`"
    LABEL = "only one is allowed"

    item: str


class HeaderNotFirst(Diagnostic):
    """The `space` line does not come first.

    The header names the file, so readers look for it on top.
    """

    code = "SL106"
    severity = Severity.WARNING
    MESSAGE = "the `space` line is not the first item"
    HELPS = ("move it to the top",)
