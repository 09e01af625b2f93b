"""The view model of a run: the data of every section of its page."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from spacelang.ir.task import describe_bound
from spacelang.ir.trial import INTERVAL_DIGITS, LossName
from spacelang.report.next_steps import suggest_next_steps
from spacelang.report.page import constraints_costs_failures
from spacelang.report.page.axes import format_number, format_seconds
from spacelang.report.page.importance import Importances, compute_importances
from spacelang.report.page.incumbent_curves import CurvePlot, line_css_classes, make_curve_plot
from spacelang.report.page.parallel_coordinates import ParallelPlot, make_parallel_plot
from spacelang.report.page.pareto_plot import ParetoFrontView, make_pareto_front_view
from spacelang.report.page.run_data import RunData
from spacelang.report.page.tree_tables import TreeTable, decisions_and_alternatives_table, mosaic_search_tree_table
from spacelang.report.stored_run_output import (
    best_trial_records,
    describe_alternatives,
    describe_measurement,
    run_setting_rows,
)
from spacelang.report.trial_results import (
    describe_constraints_on_test_set,
    describe_failure_counts,
    format_configuration_value,
    format_test_score_with_interval,
    sum_failures_by_status,
    summarize_held_out_rows,
)
from spacelang.runtime.history import TrialRecord
from spacelang.runtime.storage.records import RunState
from spacelang.runtime.storage.run_listing import RunSummary

if TYPE_CHECKING:
    from spacelang.ir.space import Space

Piece = tuple[str, str]  # The kind of a token (empty for plain text), and its text without line ends


@dataclass(frozen=True, slots=True)
class RankedPipeline:
    """A row of the best pipelines: `between` is its interval on held-out rows, `test` its score on the test set.

    `loss` is empty if the loss is the score.
    """

    rank: int
    trial: int
    score: str
    loss: str
    between: str
    is_feasible: bool
    test: str
    rows: str
    cost: str
    pipeline: str
    values: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A key figure at the top of the page."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunView:
    """The data of a run's page. A section whose data is None or empty is left out."""

    number: int
    is_one_of_several: bool
    summary: RunSummary
    title: str
    figures: tuple[KeyFigure, ...]
    warnings: tuple[str, ...]
    trials: int
    has_rows: bool
    front: ParetoFrontView | None
    curve: CurvePlot | None
    ranking: tuple[RankedPipeline, ...]
    interval_note: str
    test_constraint_notes: tuple[str, ...]
    importance: Importances | None
    parallel: ParallelPlot | None
    tree: TreeTable | None
    searched: TreeTable | None
    bounds: tuple[constraints_costs_failures.ConstraintChart, ...]
    costs: constraints_costs_failures.AlternativeCostChart | None
    failures: tuple[constraints_costs_failures.FailureReason, ...]
    more_failures: int
    source: tuple[tuple[Piece, ...], ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def css_classes(self) -> str:
        """The CSS classes for the colour and the dashes of the run."""
        return line_css_classes(self.number)

    @property
    def score_name(self) -> str:
        """The name of the score that users see instead of the loss."""
        return LossName.of_formula(self.summary.metric).score_name

    @property
    def has_test_score(self) -> bool:
        """True if the best pipeline was scored on a test set."""
        return self.summary.test is not None and self.summary.test.loss is not None

    @property
    def section_anchors(self) -> Iterator[tuple[str, str]]:
        """The titles and anchors of the sections of a page with this run alone."""
        there: list[tuple[str, str, Any]] = [
            ("Pareto front", "front", self.front),
            ("Over time", "time", self.front is None),
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


def make_run_view(run_data: RunData, number: int, *, is_one_of_several: bool) -> RunView:
    """Return the data of a run's page. Raises StoreError for a damaged store."""
    importance = compute_importances(run_data)
    reasons, more = constraints_costs_failures.failure_reasons(run_data)
    front = make_pareto_front_view(run_data)
    return RunView(
        number=number,
        is_one_of_several=is_one_of_several,
        summary=run_data.summary,
        title="" if run_data.space is None else run_data.space.title,
        figures=tuple(_figures(run_data)),
        warnings=tuple(_warnings(run_data)),
        trials=len(run_data.records),
        has_rows=run_data.is_scored_on_data,
        front=front,
        curve=make_curve_plot(run_data, number),
        ranking=rows_of_best_pipelines(run_data) if front is None else (),
        interval_note=" ".join(_interval_notes(run_data)),
        test_constraint_notes=describe_test_constraints(run_data),
        importance=importance,
        parallel=make_parallel_plot(run_data, importance),
        tree=decisions_and_alternatives_table(run_data),
        searched=mosaic_search_tree_table(run_data),
        bounds=constraints_costs_failures.constraint_charts(run_data),
        costs=constraints_costs_failures.alternative_costs(run_data),
        failures=reasons,
        more_failures=more,
        source=space_lines_as_tokens(run_data.space),
        facts=tuple(_facts(run_data)),
    )


def _facts(run_data: RunData) -> Iterator[tuple[str, str]]:
    yield from run_setting_rows(run_data.run, run_data.summary)
    if run_data.is_temporary:
        return
    yield from (
        (step.purpose, step.line)
        for step in suggest_next_steps(run_data.run, has_best=bool(run_data.successful_trials))
    )
    yield "store", str(run_data.run.path)


def _figures(run_data: RunData) -> Iterator[KeyFigure]:
    found, header = run_data.summary, run_data.run.header
    metric = run_data.metric
    best = "none" if found.best is None else f"{metric.score(found.best):.5g}"
    note = "" if found.best is None else metric.describe_loss(found.best, ".5g")
    what = f"best {metric.score_name}"
    yield KeyFigure(f"{what} on held-out rows" if run_data.is_scored_on_data else what, best, note)
    test, best_one = run_data.run.test_score, run_data.run.best
    if test is not None and (loss := test.score.loss) is not None:
        score, note = test.score, test.score.reason
        name = metric.score_name
        whose = f"its {name}" if best_one is not None and best_one[0] == test.trial else f"{name} of trial {test.trial}"
        if score.low is not None and score.high is not None:
            low, high = metric.score_interval(score.low, score.high)
            note = f"95 % interval: {low:{INTERVAL_DIGITS}} to {high:{INTERVAL_DIGITS}}"
        yield KeyFigure(f"{whose} on the test set", f"{metric.score(loss):{INTERVAL_DIGITS}}", note)
    counts = sum_failures_by_status(run_data.run.failure_counts)
    yield KeyFigure("trials", f"{found.trials:,}", describe_failure_counts(counts) or "none failed")
    if header.bounds and run_data.successful_trials:
        keeping, count = (
            sum(each.trial.is_feasible for each in run_data.successful_trials),
            len(run_data.successful_trials),
        )
        yield KeyFigure("feasible", f"{100 * keeping / count:.3g} %", f"of {count:,} successful trials")
    started = f"started {found.started[:16].replace('T', ' ')} UTC" if found.started else ""
    yield KeyFigure("time", format_seconds(found.seconds), started)


def _warnings(run_data: RunData) -> Iterator[str]:
    if note := run_data.run.time_note:
        yield f"{note[0].upper()}{note[1:]}."
    if run_data.summary.best is not None and not run_data.summary.feasible:
        yield "No trial satisfies all constraints: the best one violates them least."
    if run_data.space is None:
        yield "The space of this run was stored by another version of spacelang: sections about it are missing."
    elif run_data.trials_in_space is not None and len(run_data.trials_in_space.records) < len(run_data.records):
        left = len(run_data.records) - len(run_data.trials_in_space.records)
        yield f"{left:,} trials are not members of the stored space; sections about the space leave them out."
    if run_data.summary.state is RunState.KILLED:
        yield "This run was killed: the page shows all trials that it had stored."


def _interval_notes(run_data: RunData) -> Iterator[str]:
    header, test, best = run_data.run.header, run_data.run.test_score, run_data.run.best
    if not run_data.is_scored_on_data:
        return
    found = summarize_held_out_rows(header)
    between = None if best is None else found.loss_interval(best[1])
    if between is None:
        score = run_data.metric.score_name
        yield f"The 95 % interval of {score} cannot be computed from a score and the number of rows alone."
    else:
        rows = f"{found.rows:,} held-out rows"
        yield f"Brackets are approximate 95 % intervals of the score of a pipeline, from its score and the {rows}."
        yield "They ignore selection bias, so the best scores are optimistic."
    if test is not None:
        is_best = best is not None and best[0] == test.trial
        end = "; no other trial was" if is_best else ", but is no longer the best"
        scored = "scored" if run_data.run.time_note else "fitted on all other rows and scored"
        yield f"Trial {test.trial} was {scored} on the test set{end}."


def space_lines_as_tokens(space: "Space | None") -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of a space as tokens; empty if the space is unknown or cannot be written as text."""
    from spacelang.serialization.space_text import UnwritableSpaceError, space_to_text
    from spacelang.syntax.parser_tables import highlight

    if space is None:
        return ()
    try:
        text = space_to_text(space)
    except UnwritableSpaceError:
        return ()
    return tuple(_lines(highlight(text.rstrip("\n"))))


def _lines(pieces: "Iterator[Piece]") -> "Iterator[tuple[Piece, ...]]":
    line: list[Piece] = []
    for kind, part, ends in chain.from_iterable(_split_lines(*each) for each in pieces):
        if part:
            line.append((kind, part))
        if ends:
            yield tuple(line)
            line = []
    yield tuple(line)


def _split_lines(kind: str, text: str) -> "Iterator[tuple[str, str, bool]]":
    *whole, rest = text.split("\n")
    yield from ((kind, part, True) for part in whole)
    yield kind, rest, False


def rows_of_best_pipelines(run_data: RunData) -> tuple[RankedPipeline, ...]:
    """Return the ten best trials of a run as rows of the table of best pipelines."""
    return tuple(_ranked(rank, each, run_data) for rank, each in enumerate(best_trial_records(run_data.run), start=1))


def describe_test_constraints(run_data: RunData) -> tuple[str, ...]:
    """Return a line for each bound: whether the pipeline satisfies it on the test set, and did in the search.

    Empty without a score on a test set.
    """
    test = run_data.run.test_score
    record = None if test is None else run_data.run.record(test.trial)
    return () if test is None or record is None else tuple(describe_constraints_on_test_set(test.score, record.trial))


def _ranked(rank: int, record: TrialRecord, run_data: RunData) -> RankedPipeline:
    trial, header, test = record.trial, run_data.run.header, run_data.run.test_score
    configuration = trial.request.configuration
    metric, low_and_high = run_data.metric, summarize_held_out_rows(header).interval_ends(trial.loss)
    facts = [(describe_bound(each.bound), describe_measurement(each)) for each in trial.constraints]
    facts += [(name, format_number(value)) for name, value in trial.metrics]
    if trial.training_loss is not None:
        facts.append(("loss on the training rows", format_number(trial.training_loss)))
    return RankedPipeline(
        rank,
        record.index,
        "" if trial.loss is None else f"{metric.score(trial.loss):.6g}",
        "" if trial.loss is None or metric.is_loss_the_score else f"{trial.loss:.6g}",
        metric.describe_interval(*low_and_high).strip(),
        trial.is_feasible,
        format_test_score_with_interval(test.score, metric) if test is not None and test.trial == record.index else "",
        "all" if run_data.is_trained_on_all_rows(record) else f"{trial.request.fidelity:,}",
        format_seconds(trial.cost),
        describe_alternatives(configuration, run_data.decision_keys),
        tuple((key, format_configuration_value(value)) for key, value in configuration.items()),
        tuple(facts),
    )
