"""Tables of the result of a search: the best trials, and the members of the ensemble."""

from math import nan
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spacelang.runtime.final_fit import rank_candidates
from spacelang.runtime.objective import EnsembleObjective
from spacelang.runtime.storage.trial_columns import trials_frame

if TYPE_CHECKING:
    from spacelang.api.result import Result
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.history import TrialRecord


def leaderboard(result: "Result", count: int, *, intervals: bool) -> pd.DataFrame:
    """Return the table of `Result.leaderboard`."""
    metric, ranked = result.objective.metric, rank_candidates(result.outcome, result.objective.training_size)
    records = [record for record, _ in zip(ranked, range(count), strict=False)]
    bounds = _intervals(result, records) if intervals else {}
    losses = [nan if record.trial.loss is None else record.trial.loss for record in records]
    ends = [bounds.get(record.index, (None, None)) for record in records]
    scored = pd.DataFrame(
        {"loss": losses, "low": [low for low, _ in ends], "high": [high for _, high in ends]}, dtype=float
    )
    if metric.formula != (score := metric.formula.removeprefix("1 - ")):
        scored = scored.assign(score=1 - scored["loss"], low=1 - scored["high"], high=1 - scored["low"])
    else:
        scored = scored.assign(score=scored["loss"])
    table = trials_frame(records, bounds=[], metrics=[])
    shown = table[["cost", "fidelity", "feasible", *(name for name in table if str(name).startswith("param_"))]]
    found = pd.concat([scored[["score", "low", "high", "loss"]], shown.reset_index()], axis=1)
    found.index = pd.RangeIndex(1, len(found) + 1, name="rank")
    return found[["trial", *found.columns.drop("trial")]].rename_axis(columns=score)


def _intervals(result: "Result", records: "list[TrialRecord]") -> dict[int, tuple[float | None, float | None]]:
    """Return intervals of losses by trial number, of those trials whose predictions are known or can be computed."""
    from spacelang.runtime.scoring.held_out_intervals import held_out_interval

    objective = result.objective
    if not isinstance(objective, EnsembleObjective):
        return {}
    known = {record.index: result.predictions(record.index) for record in records}
    lacking = [record for record in records if known[record.index] is None]
    known |= result.final_fits.predict_held_out_rows(lacking) if lacking and result.form is not None else {}
    held_out, seed = objective.held_out, result.experiment.seed
    given = (objective.metric, seed)
    return {
        number: held_out_interval(np.asarray(found), held_out, *given)
        for number, found in known.items()
        if found is not None
    }


def ensemble_members(ensemble: "Ensemble") -> pd.DataFrame:
    """Return the table of `Result.ensemble_members`."""
    rows = [
        {
            "trial": member.record.index,
            "votes": member.votes,
            "weight": weight,
            "loss": member.record.trial.loss,
            "seconds": member.seconds,
            "configuration": member.record.trial.request.configuration.to_dict(),
        }
        for member, weight in zip(ensemble.members, ensemble.weights, strict=True)
    ]
    return pd.DataFrame(rows, columns=["trial", "votes", "weight", "loss", "seconds", "configuration"])
