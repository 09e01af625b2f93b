"""Requests after a search: fit a pipeline on all rows, score it on test rows, and measure its bounds there."""

import pickle
from dataclasses import dataclass, field
from typing import Any

from spacelang.ir.trial import Request, TestScore, Trial, UnseenMeasurement
from spacelang.runtime.pipelines.inputs import PipelineInput


@dataclass(frozen=True, slots=True)
class RefitRequest(Request):
    """A request to fit the pipeline of a configuration on all rows that trials may use, held out or not.

    `form` is the kind of features that it takes. `returns_pipeline` is True if the fitted pipeline is to be returned. A
    member of an ensemble (`is_member`) learns class codes, which the ensemble decodes.
    """

    form: PipelineInput = PipelineInput.TABLE
    returns_pipeline: bool = False
    is_member: bool = False


@dataclass(frozen=True, slots=True)
class RefitTrial(Trial):
    """The answer to a `RefitRequest`: a pipeline fitted on all rows. There is no loss, because no row was held out.

    If fitting failed, `status` and `reason` say why, as for any trial.
    """

    pipeline: "SerializedPayload | None" = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnseenScoreRequest(Request):
    """A request to score the fitted pipeline of a configuration on the test rows, which no trial saw.

    Without the confidence interval (`has_interval`) it takes far less time.
    """

    form: PipelineInput = PipelineInput.TABLE
    pipeline: "SerializedPayload | None" = field(default=None, compare=False, repr=False)
    has_interval: bool = True


@dataclass(frozen=True, slots=True)
class UnseenScoreTrial(Trial):
    """The answer to an `UnseenScoreRequest`. If the pipeline raised, the score holds the reason."""

    score: TestScore | None = None


@dataclass(frozen=True, slots=True)
class UnseenBoundsRequest(Request):
    """A request to measure every bound on the test rows, for the pipeline of a configuration fitted on all rows."""


@dataclass(frozen=True, slots=True)
class UnseenBoundsTrial(Trial):
    """The measured value of each bound on the unseen test rows, in the order of the bounds.

    It answers an `UnseenBoundsRequest`. If a bound could not be measured, its `reason` says why.
    """

    reached: tuple[UnseenMeasurement, ...] = ()


class SerializedPayload:
    """An object that is sent between processes in pickled form, and unpickled only when it is opened.

    A process that only passes it on needs neither the libraries of its content, nor to trust it.
    """

    def __init__(self, content: Any) -> None:
        self._content = content
        self._packed: bytes | None = None

    def open(self) -> Any:
        """Return the content, unpickled if necessary; raise whatever unpickling raises."""
        if self._packed is not None:
            self._content, self._packed = pickle.loads(self._packed), None
        return self._content

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        packed = pickle.dumps(self._content, pickle.HIGHEST_PROTOCOL) if self._packed is None else self._packed
        return _from_bytes, (packed,)


def _from_bytes(packed: bytes) -> SerializedPayload:
    parcel = SerializedPayload(None)
    parcel._packed = packed
    return parcel
