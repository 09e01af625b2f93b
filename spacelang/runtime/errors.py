"""What a user can put right before a run starts: the data, the metric, or a space that cannot be built."""

from spacelang.carried import Correctable


class InputError(Correctable):
    """A mistake in what a run was given."""


class DataError(InputError):
    """The data cannot be read, or no pipeline could be fitted to it."""


class MetricError(InputError):
    """The metric is unknown, or cannot be computed on this data."""


class BuildError(InputError):
    """No pipeline can be made of a configuration: it does not belong to the space, or nothing builds its structure."""


class OtherSearchError(InputError):
    """Earlier sessions of a run were told of a trial that its search does not ask for: the one with this number."""

    def __init__(self, trial: int) -> None:
        message = f"trial {trial} of the earlier sessions is none that this search asks for"
        super().__init__(message, "the run was made by another version: begin a new one")
        self.trial = trial
