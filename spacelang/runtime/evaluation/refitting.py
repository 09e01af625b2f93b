"""The last wishes of a run: a pipeline that is fitted on all rows that trials may see, and its score on test rows."""

import pickle
from dataclasses import dataclass, field
from typing import Any

from spacelang.ir.trial import Reached, Request, TestScore, Trial
from spacelang.runtime.pipelines.inputs import PipelineInput


@dataclass(frozen=True, slots=True)
class Refit(Request):
    """A wish for the pipeline of a configuration, fitted on all rows that trials may see, held out by them or not.

    `form` is what it shall take; `is_wanted` says whether the fitted pipeline shall come back. Where it `is_member` of
    an ensemble it learns the codes of classes, of which the ensemble makes labels.
    """

    form: PipelineInput = PipelineInput.TABLE
    is_wanted: bool = False
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class Refitted(Trial):
    """A pipeline that was fitted on all rows: no row was held out, so there is no loss.

    Where it failed, `status` and `reason` say so as those of a trial.
    """

    pipeline: "Parcel | None" = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Examine(Request):
    """A wish for the score of a fitted pipeline, that of the configuration, on the rows that no trial saw.

    Without its interval it takes far less time.
    """

    form: PipelineInput = PipelineInput.TABLE
    pipeline: "Parcel | None" = field(default=None, compare=False, repr=False)
    has_interval: bool = True


@dataclass(frozen=True, slots=True)
class Examined(Trial):
    """What came of it; a pipeline that raises has a score that says so."""

    score: TestScore | None = None


@dataclass(frozen=True, slots=True)
class Gauge(Request):
    """A wish for what the pipeline of a configuration, fitted on all rows, reaches of each bound on the test rows."""


@dataclass(frozen=True, slots=True)
class Gauged(Trial):
    """What came of it, in the order of the bounds; what cannot be measured says why."""

    reached: tuple[Reached, ...] = ()


class Parcel:
    """Something on its way from process to process, which is unpickled only where it is opened.

    Who passes it on needs nothing that is inside, and no reason to trust it.
    """

    def __init__(self, content: Any) -> None:
        self._content = content
        self._packed: bytes | None = None

    def open(self) -> Any:
        """What is inside; raises whatever unpickling raises."""
        if self._packed is not None:
            self._content, self._packed = pickle.loads(self._packed), None
        return self._content

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        packed = pickle.dumps(self._content, pickle.HIGHEST_PROTOCOL) if self._packed is None else self._packed
        return _sealed, (packed,)


def _sealed(packed: bytes) -> Parcel:
    parcel = Parcel(None)
    parcel._packed = packed
    return parcel
