"""The view model of a run: the data of every section of its page."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spacelang.report.failures import told as told_failures
from spacelang.report.going_on import further
from spacelang.report.page.axes import seconds
from spacelang.report.page.curves import Curves, curve_of, look
from spacelang.report.page.importance import Importances, importances
from spacelang.report.page.intervals import judged
from spacelang.report.page.material import Material
from spacelang.report.page.measures import BoundFigures, Costs, FailureReason, bounds, costs, failures
from spacelang.report.page.parallel import Parallel, parallel
from spacelang.report.page.ranking import Ranked, ranking, tested_there
from spacelang.report.page.source import Piece, source_of
from spacelang.report.page.tree import VisitedTree, decision_tree, searched_tree
from spacelang.report.stored import by_kind, facts_of
from spacelang.runtime.storing.runs import Summary
from spacelang.runtime.storing.stored import RunState


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure at the top of the page."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ToldRun:
    """The data of a run's page. A section whose data is None or empty is left out."""

    number: int
    is_one_of_several: bool
    summary: Summary
    title: str
    figures: tuple[Figure, ...]
    warnings: tuple[str, ...]
    trials: int
    has_rows: bool
    curve: Curves | None
    ranking: tuple[Ranked, ...]
    on_intervals: str
    kept_there: tuple[str, ...]
    importance: Importances | None
    parallel: Parallel | None
    tree: VisitedTree | None
    searched: VisitedTree | None
    bounds: tuple[BoundFigures, ...]
    costs: Costs | None
    failures: tuple[FailureReason, ...]
    more_failures: int
    source: tuple[tuple[Piece, ...], ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def look(self) -> str:
        """The CSS classes for the colour and the dashes of the run."""
        return look(self.number)

    @property
    def tested(self) -> bool:
        """True if the best pipeline was scored on a test set."""
        return self.summary.test is not None and self.summary.test.loss is not None

    @property
    def sections(self) -> Iterator[tuple[str, str]]:
        """The titles and anchors of the sections of a page with this run alone."""
        there: list[tuple[str, str, Any]] = [
            ("Over time", "time", True),
            ("Best pipelines", "best", self.ranking),
            ("Importance", "mattered", self.importance),
            ("Parallel coordinates", "parallel", self.parallel),
            ("Tree", "tree", self.tree),
            ("Constraints", "bounds", self.bounds),
            ("Cost", "cost", self.costs),
            ("Failures", "failed", self.failures),
            ("Space", "space", True),
            ("The run", "run", True),
        ]
        return ((name, f"r{self.number}-{target}") for name, target, has in there if has)


def told_run(run_data: Material, number: int, *, is_one_of_several: bool) -> ToldRun:
    """Return the data of a run's page. Raises StoreError for a damaged store."""
    importance = importances(run_data)
    reasons, more = failures(run_data)
    return ToldRun(
        number=number,
        is_one_of_several=is_one_of_several,
        summary=run_data.summary,
        title="" if run_data.space is None else run_data.space.title,
        figures=tuple(_figures(run_data)),
        warnings=tuple(_warnings(run_data)),
        trials=len(run_data.records),
        has_rows=run_data.has_rows,
        curve=curve_of(run_data, number),
        ranking=ranking(run_data),
        on_intervals=" ".join(_on_intervals(run_data)),
        kept_there=tested_there(run_data),
        importance=importance,
        parallel=parallel(run_data, importance),
        tree=decision_tree(run_data),
        searched=searched_tree(run_data),
        bounds=bounds(run_data),
        costs=costs(run_data),
        failures=reasons,
        more_failures=more,
        source=source_of(run_data.space),
        facts=tuple(_facts(run_data)),
    )


def _facts(run_data: Material) -> Iterator[tuple[str, str]]:
    yield from facts_of(run_data.run, run_data.summary)
    yield from further(run_data.run, run_data.summary, has_best=bool(run_data.known))
    yield "store", str(run_data.run.path)


def _figures(run_data: Material) -> Iterator[Figure]:
    found, header = run_data.summary, run_data.run.header
    best = "none" if found.best is None else f"{found.best:.5g}"
    yield Figure("best loss on held-out rows" if run_data.has_rows else "best loss", best, header.metric)
    test, best_one = run_data.run.test, run_data.run.best
    if test is not None and test.score.loss is not None:
        score = test.score
        whose = "its loss" if best_one is not None and best_one[0] == test.trial else f"loss of trial {test.trial}"
        between = (
            "" if score.low is None or score.high is None else f"95 % interval: {score.low:.3g} to {score.high:.3g}"
        )
        yield Figure(f"{whose} on the test set", f"{score.loss:.3g}", between or score.reason)
    counts = by_kind(run_data.run.failures)
    yield Figure("trials", f"{found.trials:,}", told_failures(counts) or "none failed")
    if run_data.run.header.bounds and run_data.known:
        keeping = sum(each.trial.is_feasible for each in run_data.known)
        yield Figure(
            "feasible", f"{100 * keeping / len(run_data.known):.3g} %", f"of {len(run_data.known):,} successful trials"
        )
    yield Figure(
        "time", seconds(found.seconds), f"started {found.started[:16].replace('T', ' ')} UTC" if found.started else ""
    )


def _warnings(run_data: Material) -> Iterator[str]:
    if run_data.summary.best is not None and not run_data.summary.feasible:
        yield "No trial satisfies all constraints: the best one violates them least."
    if run_data.space is None:
        yield "The space of this run was stored by another version of spacelang: sections about it are missing."
    elif run_data.members is not None and len(run_data.members.records) < len(run_data.records):
        left = len(run_data.records) - len(run_data.members.records)
        yield f"{left:,} trials are not members of the stored space; sections about the space leave them out."
    if run_data.summary.state is RunState.KILLED:
        yield "This run was killed: the page shows all trials that it had stored."


def _on_intervals(run_data: Material) -> Iterator[str]:
    """Yield sentences that explain the intervals of the best pipelines, or why there are none."""
    header, test, best = run_data.run.header, run_data.run.test, run_data.run.best
    if not run_data.has_rows:
        return
    found = judged(header)
    between = None if best is None else found.interval(best[1])
    if between is None:
        yield f"The 95 % interval of {header.metric} cannot be computed from a loss and the number of rows alone."
    else:
        rows = f"{found.rows:,} held-out rows"
        yield f"Brackets are approximate 95 % intervals of the loss of a pipeline, from its loss and the {rows}."
        yield "They ignore selection bias, so the best losses are optimistic."
    if test is None:
        return
    is_best = best is not None and best[0] == test.trial
    others = "the others were not" if is_best else "it is no longer the best trial"
    yield f"Trial {test.trial} was fitted on all other rows and scored on the test set; {others}."
