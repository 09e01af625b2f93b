"""What the page tells of one run: the facts of every section."""

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
    """A number that is seen first."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A run as the page has it; what is None or empty has no section."""

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
        """The classes of its colour and its dashes."""
        return look(self.number)

    @property
    def tested(self) -> bool:
        """Whether its best pipeline was scored on test rows."""
        return self.summary.test is not None and self.summary.test.loss is not None

    @property
    def sections(self) -> Iterator[tuple[str, str]]:
        """What stands on the page of this run alone: names of sections, and where they begin."""
        there: list[tuple[str, str, Any]] = [
            ("Over time", "time", True),
            ("Best pipelines", "best", self.ranking),
            ("What mattered", "mattered", self.importance),
            ("Side by side", "parallel", self.parallel),
            ("Tree", "tree", self.tree),
            ("Constraints", "bounds", self.bounds),
            ("Cost", "cost", self.costs),
            ("Failures", "failed", self.failures),
            ("Space", "space", True),
            ("The run", "run", True),
        ]
        return ((name, f"r{self.number}-{target}") for name, target, has in there if has)


def told_run(told: Material, number: int, *, is_one_of_several: bool) -> ToldRun:
    """Everything that the page says of a run; raises StoreError for a damaged one."""
    mattering = importances(told)
    reasons, more = failures(told)
    return ToldRun(
        number=number,
        is_one_of_several=is_one_of_several,
        summary=told.summary,
        title="" if told.space is None else told.space.title,
        figures=tuple(_figures(told)),
        warnings=tuple(_warnings(told)),
        trials=len(told.records),
        has_rows=told.has_rows,
        curve=curve_of(told, number),
        ranking=ranking(told),
        on_intervals=" ".join(_on_intervals(told)),
        kept_there=tested_there(told),
        importance=mattering,
        parallel=parallel(told, mattering),
        tree=decision_tree(told),
        searched=searched_tree(told),
        bounds=bounds(told),
        costs=costs(told),
        failures=reasons,
        more_failures=more,
        source=source_of(told.space),
        facts=tuple(_facts(told)),
    )


def _facts(told: Material) -> Iterator[tuple[str, str]]:
    yield from facts_of(told.run, told.summary)
    yield from further(told.run, told.summary, has_best=bool(told.known))
    yield "store", str(told.run.path)


def _figures(told: Material) -> Iterator[Figure]:
    found, header = told.summary, told.run.header
    best = "none" if found.best is None else f"{found.best:.5g}"
    yield Figure("best loss on held-out rows" if told.has_rows else "best loss", best, header.metric)
    test, best_one = told.run.test, told.run.best
    if test is not None and test.score.loss is not None:
        score = test.score
        whose = "its loss" if best_one is not None and best_one[0] == test.trial else f"trial {test.trial}"
        between = "" if score.low is None or score.high is None else f"95 %: {score.low:.3g} to {score.high:.3g}"
        yield Figure(f"{whose} on test rows", f"{score.loss:.3g}", between or score.reason)
    counts = by_kind(told.run.failures)
    yield Figure("trials", f"{found.trials:,}", told_failures(counts) or "none failed")
    if told.run.header.bounds and told.known:
        keeping = sum(each.trial.is_feasible for each in told.known)
        yield Figure(
            "keep to all bounds", f"{100 * keeping / len(told.known):.3g} %", f"of {len(told.known):,} successes"
        )
    yield Figure(
        "time", seconds(found.seconds), f"begun {found.started[:16].replace('T', ' ')} UTC" if found.started else ""
    )


def _warnings(told: Material) -> Iterator[str]:
    if told.summary.best is not None and not told.summary.feasible:
        yield "No trial keeps to all that the run is subject to: the best one is that which breaks it the least."
    if told.space is None:
        yield "The space of this store is one of another version of spacelang: sections about it are missing."
    elif told.members is not None and len(told.members.records) < len(told.records):
        left = len(told.records) - len(told.members.records)
        yield f"{left:,} trials are no members of the space of this store; sections about the space leave them out."
    if told.summary.state is RunState.KILLED:
        yield "This run was killed: all trials that it had reported are here."


def _on_intervals(told: Material) -> Iterator[str]:
    """What intervals of the best pipelines are of, and where there is none, why."""
    header, test, best = told.run.header, told.run.test, told.run.best
    if not told.has_rows:
        return
    found = judged(header)
    between = None if best is None else found.interval(best[1])
    if between is None:
        yield f"Of {header.metric} on these rows a loss alone does not say how far chance reaches."
    else:
        how = f"by its loss and the {found.rows:,} held-out rows"
        yield f"Brackets are where the loss of one pipeline lies for as many other rows ({how}, 95 %, approximately)."
        yield "They know nothing of the choice among all trials, for which the best losses are too low."
    if test is None:
        return
    is_best = best is not None and best[0] == test.trial
    others = "the others were not" if is_best else "it is not the best one by now"
    yield f"Trial {test.trial} was fitted on all other rows and scored on those that no trial saw; {others}."
