"""The results of the work after a search."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.final_fit import FinalFit


@dataclass(frozen=True)
class FinalWorkResult:
    """The work after a search: the fit on all rows, the ensemble, and the seconds that were left of the time limit.

    `notes` are sentences on what is missing, such as an interrupted fit.
    """

    finale: "FinalFit | None" = None
    ensemble: "Ensemble | None" = None
    notes: tuple[str, ...] = ()
    seconds_left: float | None = None


NO_FINAL_WORK: Final = FinalWorkResult()
