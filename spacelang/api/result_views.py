"""The page and the plots of a result, from its store, or from a temporary one if the run was not stored."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spacelang.api.experiment import Experiment
from spacelang.api.final_fits import store_score
from spacelang.api.several_objectives import check_single_objective, front_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import StartConditions
from spacelang.report.page.inline_page import InlinePage
from spacelang.report.page.run_data import RunData, read_run_data
from spacelang.runtime.history import Outcome
from spacelang.runtime.objective import ObjectiveInfo, objective_names
from spacelang.runtime.storage.optional_tables import save_time_note
from spacelang.runtime.storage.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spacelang.runtime.final_fit import FinalFit


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

    def draw(self, kind: str | None, axes: "Axes | None") -> "Axes":
        """Draw a plot; see `Result.plot`."""
        from spacelang.report.plots import draw_plot

        if kind is None:
            kind = "front" if objective_names(self.objective) else "incumbent"
        if kind == "incumbent":
            check_single_objective(self.objective)
        elif kind == "front":
            front_of(self.outcome, self.objective)  # raises if there is one objective
        with self._run_data() as run_data:
            return draw_plot(run_data, kind, axes)

    def page(self) -> InlinePage:
        """Return the page; see `Result.report`."""
        from spacelang.report.page.rendering import render_run_data

        with self._run_data() as run_data:
            return InlinePage(render_run_data([run_data]))

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
        header = prepared.header(StartConditions(self.initial))
        with closing(Store.create(path, header, durable=False)) as store:
            for record in self.outcome.records:
                store.append(replace(record, trial=replace(record.trial, predictions=None)))
            store.end_session(self.outcome.ended.value, self.outcome.seconds)
        if self.finale is not None:
            store_score(path, self.finale)
        if self.time_note:
            save_time_note(path, self.time_note)
