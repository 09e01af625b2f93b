"""The page and the plots of a result, from its store, or from a temporary one if the run was not stored."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from spacelang.api.final_fits import store_score
from spacelang.api.several_objectives import check_single_objective, front_of
from spacelang.ir.search_protocol import StartConditions
from spacelang.report.page.inline_page import InlinePage
from spacelang.report.page.run_data import RunData, read_run_data
from spacelang.runtime.objective import objective_names
from spacelang.runtime.storage.optional_tables import save_time_note
from spacelang.runtime.storage.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spacelang.api.result import Result


def draw_result(result: "Result", kind: str | None, axes: "Axes | None") -> "Axes":
    """Draw a plot; see `Result.plot`."""
    from spacelang.report.plots import draw_plot

    if kind is None:
        kind = "front" if objective_names(result.objective) else "incumbent"
    if kind == "incumbent":
        check_single_objective(result.objective)
    elif kind == "front":
        front_of(result.outcome, result.objective)  # raises if there is one objective
    with _run_data(result) as run_data:
        return draw_plot(run_data, kind, axes)


def result_page(result: "Result") -> InlinePage:
    """Return the page; see `Result.report`."""
    from spacelang.report.page.rendering import render_run_data

    with _run_data(result) as run_data:
        return InlinePage(render_run_data([run_data]))


@contextmanager
def _run_data(result: "Result") -> Iterator[RunData]:
    """Open the data of the run: that of its store, which may have later trials, or of a temporary one."""
    if result.store is not None:
        with Store.read(result.store) as run:
            yield read_run_data(run)
        return
    with TemporaryDirectory(prefix="spacelang-") as folder:
        path = Path(folder) / "run.db"
        _write_store(result, path)
        with Store.read(path) as run:
            yield read_run_data(run, is_temporary=True)


def _write_store(result: "Result", path: Path) -> None:
    """Write a store of the run, without predictions."""
    prepared = replace(result.experiment.prepare(), objective=result.objective)
    header = prepared.header(StartConditions(result.initial))
    with closing(Store.create(path, header, durable=False)) as store:
        for record in result.outcome.records:
            store.append(replace(record, trial=replace(record.trial, predictions=None)))
        store.end_session(result.outcome.ended.value, result.outcome.seconds)
    if result.finale is not None:
        store_score(path, result.finale)
    if result.time_note:
        save_time_note(path, result.time_note)
