"""Diagnostics about syntax errors."""

from spacelang.diagnostics.diagnostic import Diagnostic, Severity


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
    MESSAGE = "the {what} is not closed"
    LABEL = "expected {sign} on this line"

    what: str = "string"
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


class NotSupportedYet(Diagnostic):
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


class HeaderNotFirst(Diagnostic):
    """The `space` line does not come first.

    It names the file, so readers look for it at the top.
    """

    code = "SL106"
    severity = Severity.WARNING
    MESSAGE = "the `space` line is not the first item"
    HELPS = ("move the line to the top",)
