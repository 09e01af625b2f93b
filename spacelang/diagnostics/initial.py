"""Problems with the configurations that a search is to start from."""

from spacelang.diagnostics.diagnostic import Diagnostic


class NoConfigurations(Diagnostic):
    """What a search is to start from is no configuration.

    A file for `--initial` holds one configuration, as `spacelang default` and `spacelang sample` print it, several of
    them, one after the other or in a list, or what `spacelang run --json` printed, whose best configuration is taken:

        {"scaler": "none", "estimator": "SVC", "estimator.C": 10.0}
    """

    code = "SL021"
    MESSAGE = "{problem}"
    LABEL = "{expected}"
    HELPS = ("{remedy}", "write configurations as `spacelang sample` prints them, or take what `run --json` printed")

    problem: str
    expected: str = ""
    remedy: str | None = None


class NotInSpace(Diagnostic):
    """A configuration that a search is to start from is none of the space.

    It names every decision with one of its alternatives and every active hyperparameter with one of its values, nothing
    else, and satisfies all constraints. A space may have changed since the configuration was found, and its bounds may
    depend on the data. `spacelang contains` says the same of a single configuration.
    """

    code = "SL022"
    MESSAGE = "{reason}"
    HELPS = ("correct it there, or leave this configuration out",)

    reason: str


class RepeatedConfiguration(Diagnostic):
    """A configuration that a search is to start from is given twice.

    Nothing is evaluated twice, so that the second one would say nothing. 1 and 1.0 are the same value.
    """

    code = "SL023"
    MESSAGE = "this configuration is given twice"
    HELPS = ("leave one of the two out",)
