"""The tables, plots and HTML page of a result; plots and page are made from its store, or from a temporary store."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from spacelang.api.experiment import Experiment
from spacelang.api.final_fits import FinalFitter, store_test_score
from spacelang.api.several_objectives import check_single_objective, pareto_front_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import StartConditions
from spacelang.report.page.rendering import InlinePage, render_page_of_run_data
from spacelang.report.page.run_data import RunData, read_run_data
from spacelang.report.pipeline_lines import score_names
from spacelang.runtime.final_fit import rank_candidates
from spacelang.runtime.history import Outcome
from spacelang.runtime.objective import EnsembleObjective, ObjectiveInfo, objective_names, recorded_columns
from spacelang.runtime.storage.optional_tables import save_time_note
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.trial_columns import trials_frame

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes

    from spacelang.ir.trial import LossName
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.final_fit import FinalFit
    from spacelang.runtime.history import TrialRecord

    Intervals: TypeAlias = Mapping[int, tuple[float | None, float | None]]


def leaderboard_table(
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
    if metric.is_loss_the_score:
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
    recorded = (name.removeprefix("metric.") for name in recorded_columns(objective) if name.startswith("metric."))
    return trials_frame(
        outcome.records,
        bounds=[bound.name for bound in objective.bounds],
        metrics=recorded,
        objectives=[each.formula for each in objective_names(objective)],
    )


def incumbent_table(outcome: "Outcome", metric: "LossName") -> pd.DataFrame:
    """Return the table of `Result.incumbent`."""
    points = [(point.seconds, point.trial, metric.score(point.loss), point.loss) for point in outcome.curve]
    return pd.DataFrame(points, columns=["seconds", "trial", "score", "loss"])


def pareto_front_table(front: "Sequence[TrialRecord]", names: "Sequence[LossName]") -> pd.DataFrame:
    """Return the table of `Result.front`."""
    table, scores = trials_frame(front, objectives=[each.formula for each in names]), score_names(names)
    columns = {
        label: table[f"objective.{name.formula}"].map(name.score) for label, name in zip(scores, names, strict=True)
    }
    shown = table[["cost", *(name for name in table if str(name).startswith("param_"))]]
    return pd.concat([pd.DataFrame(columns, index=table.index), shown], axis=1)


def held_out_intervals(
    fits: FinalFitter,
    records: "list[TrialRecord]",
    predictions: "Callable[[int], npt.NDArray[Any] | None]",
    seed: int,
) -> "Intervals":
    """Return the 95 % interval of each loss by trial number; trials without `predictions` are evaluated again first.

    It is empty for an objective without held-out rows; a trial whose new evaluation fails is left out.
    """
    from spacelang.runtime.scoring.unseen_scores import held_out_interval

    objective = fits.objective
    if not isinstance(objective, EnsembleObjective):
        return {}
    known = {record.index: predictions(record.index) for record in records}
    lacking = [record for record in records if known[record.index] is None]
    known |= fits.predict_held_out_rows(lacking) if lacking and fits.form is not None else {}
    held_out, metric = objective.held_out_rows, objective.metric
    there = {number: found for number, found in known.items() if found is not None}
    return {number: held_out_interval(found, held_out, metric, seed) for number, found in there.items()}


def ensemble_members_table(ensemble: "Ensemble") -> pd.DataFrame:
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


@dataclass(frozen=True, eq=False)
class ResultViews:
    """The views of a run; the fields are those of its `Result`."""

    outcome: Outcome
    objective: ObjectiveInfo
    experiment: Experiment
    initial: tuple[Configuration, ...]
    store: Path | None
    finale: "FinalFit | None"
    time_note: str

    def draw_plot(self, kind: str | None, axes: "Axes | None") -> "Axes":
        """Draw a plot; see `Result.plot`."""
        from spacelang.report.plots import draw_plot

        if kind is None:
            kind = "front" if objective_names(self.objective) else "incumbent"
        if kind == "incumbent":
            check_single_objective(self.objective)
        elif kind == "front":
            pareto_front_of(self.outcome, self.objective)  # raises if there is one objective
        with self._run_data() as run_data:
            return draw_plot(run_data, kind, axes)

    def html_page(self) -> InlinePage:
        """Return the page; see `Result.report`."""
        with self._run_data() as run_data:
            return InlinePage(render_page_of_run_data([run_data]))

    @contextmanager
    def _run_data(self) -> Iterator[RunData]:
        """Open the data of the run: that of its store, which may have later trials, or of a temporary one."""
        if self.store is not None:
            with Store.read(self.store) as run:
                yield read_run_data(run)
            return
        with TemporaryDirectory(prefix="spacelang-") as folder:
            path = Path(folder) / "run.db"
            self._write_store(path)
            with Store.read(path) as run:
                yield read_run_data(run, is_temporary=True)

    def _write_store(self, path: Path) -> None:
        """Write a store of the run, without predictions."""
        prepared = replace(self.experiment.prepare(), objective=self.objective)
        header = prepared.make_run_header(StartConditions(self.initial))
        with closing(Store.create(path, header, durable=False)) as store:
            for record in self.outcome.records:
                store.append(replace(record, trial=replace(record.trial, predictions=None)))
            store.end_session(self.outcome.ended.value, self.outcome.seconds)
        if self.finale is not None:
            store_test_score(path, self.finale)
        if self.time_note:
            save_time_note(path, self.time_note)
