"""Diagnostics about compiling a space to a target."""

from spacelang.diagnostics.diagnostic import Diagnostic


class RefusedConstruct(Diagnostic):
    """The target cannot represent a part of the space, and leaving it out would change the space.

    Tools differ in what they support: some have no conditions, others no constraints between ranges. A target expresses
    unsupported parts by other means if possible, and refuses the rest. `spacelang targets` lists the targets; their
    documentation has a table of what each of them preserves.
    """

    code = "SL901"
    MESSAGE = "the target `{target}` cannot represent this: {construct}"
    LABEL = "{reason}"
    HELPS = ("choose another target, or rewrite the line",)

    target: str
    construct: str
    reason: str


class ApproximatedConstruct(Diagnostic):
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
