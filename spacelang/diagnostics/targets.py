"""Problems of a space with the target that it is compiled to."""

from spacelang.diagnostics.diagnostic import Diagnostic


class RefusedConstruct(Diagnostic):
    """The form of the target cannot say something of the space, and leaving it out would change what the space means.

    Tools differ in what they know: one has no conditions, another no constraints between ranges. A target says what it
    cannot by other means, and refuses the rest. `spacelang targets` lists the targets; the table of what each of them
    keeps is in their documentation.
    """

    code = "SL901"
    MESSAGE = "the target `{target}` cannot keep this: {construct}"
    LABEL = "{reason}"
    HELPS = ("choose another target, or write the line in other words",)

    target: str
    construct: str
    reason: str


class ApproximatedConstruct(Diagnostic):
    """Under `--strict` a form must keep all of the space, and this it keeps only in part.

    The form has no configurations that the space does not have, but it does not search all of them, or what the author
    advises (a default, a prior, a weight) is lost. Without `--strict` the report of the form says so.
    """

    code = "SL902"
    MESSAGE = "the target `{target}` keeps this only in part: {construct}"
    LABEL = "{reason}"
    HELPS = ("leave out `--strict` to accept that",)

    target: str
    construct: str
    reason: str
