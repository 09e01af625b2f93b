"""Diagnostics about the initial configurations of a search."""

from spacelang.diagnostics.diagnostic import Diagnostic


class InvalidConfigurationFile(Diagnostic):
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


class NotInSpace(Diagnostic):
    """An initial configuration of a search is not a member of the space.

    A member names every decision with one of its alternatives and every active hyperparameter with one of its values,
    nothing else, and satisfies all constraints. The space may have changed since the configuration was found, and its
    bounds may depend on the data. `spacelang contains` makes the same check for a single configuration.
    """

    code = "SL022"
    MESSAGE = "{reason}"
    HELPS = ("correct it, or remove this configuration",)

    reason: str


class RepeatedConfiguration(Diagnostic):
    """An initial configuration of a search is given twice.

    No configuration is evaluated twice, so the second one has no effect. 1 and 1.0 are the same value.
    """

    code = "SL023"
    MESSAGE = "this configuration is given twice"
    HELPS = ("remove one of the two",)
