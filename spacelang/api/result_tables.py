"""Tables of the result of a search: the best trials, and the members of the ensemble."""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from spacelang.api.final_fits import FinalFits
from spacelang.report.front_lines import score_names
from spacelang.runtime.final_fit import rank_candidates
from spacelang.runtime.objective import EnsembleObjective, ObjectiveInfo, objective_names
from spacelang.runtime.storage.trial_columns import trials_frame

if TYPE_CHECKING:
    import numpy.typing as npt

    from spacelang.ir.loss_name import LossName
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.history import Outcome, TrialRecord

    Intervals: TypeAlias = Mapping[int, tuple[float | None, float | None]]


def leaderboard(
    outcome: "Outcome", objective: ObjectiveInfo, count: int, intervals_of: "Callable[[list[TrialRecord]], Intervals]"
) -> pd.DataFrame:
    """Return the table of `Result.leaderboard`; `intervals_of` returns intervals of losses by trial number."""
    metric, ranked = objective.metric, rank_candidates(outcome, objective.training_size)
    records = [record for record, _ in zip(ranked, range(count), strict=False)]
    bounds = intervals_of(records)
    losses = [nan if record.trial.loss is None else record.trial.loss for record in records]
    ends = [bounds.get(record.index, (None, None)) for record in records]
    scored = pd.DataFrame(
        {"loss": losses, "low": [low for low, _ in ends], "high": [high for _, high in ends]}, dtype=float
    )
    if metric.is_score:
        scored = scored.assign(score=scored["loss"])
    else:
        scores = scored.map(metric.score)
        scored = scored.assign(score=scores["loss"], low=scores["high"], high=scores["low"])
    table = trials_frame(records, bounds=[], metrics=[])
    shown = table[["cost", "fidelity", "feasible", *(name for name in table if str(name).startswith("param_"))]]
    found = pd.concat([scored[["score", "low", "high", "loss"]], shown.reset_index()], axis=1)
    found.index = pd.RangeIndex(1, len(found) + 1, name="rank")
    return found[["trial", *found.columns.drop("trial")]].rename_axis(columns=metric.score_name)


def trials_table(outcome: "Outcome", objective: ObjectiveInfo) -> pd.DataFrame:
    """Return the table of `Result.trials`."""
    recorded = (name.removeprefix("metric.") for name in objective.recorded if name.startswith("metric."))
    return trials_frame(
        outcome.records,
        bounds=[bound.name for bound in objective.bounds],
        metrics=recorded,
        objectives=[each.formula for each in objective_names(objective)],
    )


def incumbent_table(outcome: "Outcome") -> pd.DataFrame:
    """Return the table of `Result.incumbent`."""
    points = [(point.seconds, point.trial, point.loss) for point in outcome.curve]
    return pd.DataFrame(points, columns=["seconds", "trial", "loss"])


def front_table(front: "Sequence[TrialRecord]", names: "Sequence[LossName]") -> pd.DataFrame:
    """Return the table of `Result.front`."""
    table, scores = trials_frame(front, objectives=[each.formula for each in names]), score_names(names)
    columns = {
        label: table[f"objective.{name.formula}"].map(name.score) for label, name in zip(scores, names, strict=True)
    }
    shown = table[["cost", *(name for name in table if str(name).startswith("param_"))]]
    return pd.concat([pd.DataFrame(columns, index=table.index), shown], axis=1)


def held_out_intervals(
    fits: FinalFits,
    records: "list[TrialRecord]",
    predictions: "Callable[[int], npt.NDArray[Any] | None]",
    seed: int,
) -> "Intervals":
    """Return intervals of losses by trial number; trials without `predictions` are evaluated again for them."""
    from spacelang.runtime.scoring.unseen_scores import held_out_interval

    objective = fits.objective
    if not isinstance(objective, EnsembleObjective):
        return {}
    known = {record.index: predictions(record.index) for record in records}
    lacking = [record for record in records if known[record.index] is None]
    known |= fits.predict_held_out_rows(lacking) if lacking and fits.form is not None else {}
    held_out, metric = objective.held_out, objective.metric
    there = {number: found for number, found in known.items() if found is not None}
    return {number: held_out_interval(found, held_out, metric, seed) for number, found in there.items()}


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
