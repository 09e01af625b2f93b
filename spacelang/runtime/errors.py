"""Errors that a user can correct before a run starts: in the data, the metric or the space."""

from spacelang.errors import UserError


class InputError(UserError):
    """A mistake in the input of a run."""


class DataError(InputError):
    """An error in the data: it cannot be read, or no pipeline could be fitted to it."""


class MetricError(InputError):
    """An unknown metric, or one that cannot be computed on this data."""


class BuildError(InputError):
    """A configuration that gives no pipeline: it is no member of the space, or its structure cannot be built."""


class DifferentSearchError(InputError):
    """An earlier session of the run has a trial that this search does not ask for.

    `trial` is the number of that trial.
    """

    def __init__(self, trial: int) -> None:
        message = f"trial {trial} of the earlier sessions is not one that this search asks for"
        super().__init__(message, "the run was made by another version of spacelang: start a new one")
        self.trial = trial
