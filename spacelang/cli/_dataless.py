"""`spacelang run` without data: a search that a table of known losses answers, or a black box; it fits nothing."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from spacelang.cli import INTERRUPTED, NOTHING_SUCCEEDED
from spacelang.cli._shared import colours, end, fail, plugin, print_json, report, settings, show

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.initial import Read
    from spacelang.cli._running import Where
    from spacelang.ir.configuration import Configuration
    from spacelang.ir.task import Limits
    from spacelang.report.summary import Run
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.objective import Objective
    from spacelang.runtime.tables.objective import TableObjective

NEEDS: Final = {"--test": "rows", "--ensemble": "predictions", "--archive": "rows"}
"""What options need that nothing without data has."""

SETTLED: Final = "its trials are known; `spacelang tabulate` makes another table"
"""What there is to do about an option that a table has settled."""


@dataclass(frozen=True, slots=True)
class Dataless:
    """A run without data: which optimizer, by its name, if any, and its options, searches how long; how it is kept."""

    data: str
    optimizer: tuple[str | None, list[str] | None]
    seconds: float | None
    trials: int | None
    where: "Where"
    seed: int
    store: Path | None
    resume: bool
    initial: "tuple[Read, ...] | None" = None

    @property
    def is_table(self) -> bool:
        """Whether a table answers, in the seconds that it has recorded."""
        return _is_table(self.data)


def is_dataless(data: str) -> bool:
    """Whether `--data` names something that has no rows."""
    from spacelang.runtime.boxes import ARTIFICIAL

    return _is_table(data) or data.startswith(ARTIFICIAL)


def _is_table(data: str) -> bool:
    from spacelang.api.tabulating import TABLE

    return data.startswith(TABLE)


def refuse(
    data: str, on_rows: Mapping[str, object], unused: Mapping[str, object], of_workers: Mapping[str, object]
) -> None:
    """End the program where an option is given that means nothing without data; of a table none of workers does."""
    is_table = _is_table(data)
    for name, value in on_rows.items():
        if value is not None:
            what = "a table of losses" if is_table else f"`{data}`"
            help_text = "give the data that the table was made of" if is_table else "give data"
            fail(f"`{name}` needs {NEEDS[name]}, and {what} has none", help_text)
    asked = {**unused, **of_workers} if is_table else unused
    given = next((name for name, value in asked.items() if value), None)
    if given is not None and is_table:
        fail(f"`{given}` changes nothing of a table", SETTLED)
    if given is not None:
        fail(f"`{given}` changes nothing of `{data}`", "it has no data: leave the option out")


def place_without_data(data: str, workers: int, executor: str | None, limits: "Limits", *, isolate: bool) -> "Where":
    """Where trials are evaluated; ends the program, or warns, where less holds there than is asked for."""
    from spacelang.cli._running import Where, where_of

    if _is_table(data):
        return Where(workers, None, limits, isolate=False)  # a table keeps to the limits of time by itself
    return where_of(workers, executor, limits, isolate=isolate)


def run_without_data(space: "Space", asked: Dataless, *, as_json: bool) -> None:
    """Search, and print what was found; ends the program for bad input, and as `spacelang run` does."""
    from spacelang.api.keeping import check_rungs
    from spacelang.cli._running import members_of, say_searched

    with _told(asked.store, as_json=as_json):
        space, objective = _objective(space, asked)
        show(space.warnings)
        name, chosen = _optimizer(space, objective, asked)
        check_rungs(chosen, objective)
    searched = say_searched(chosen, space, has_defaults_only=_has_defaults_only(objective))
    answering = _table_of(objective)
    initial = members_of(space, asked.initial, *([] if answering is None else [answering.lacks]), as_json=as_json)
    outcome, place, initial = _searched(space, (name, chosen), objective, asked, initial, as_json=as_json)
    facts = replace(_facts(objective, name, asked, place), searched=replace(searched, initial=initial))
    _report(space, objective, outcome, facts, as_json=as_json)
    if outcome.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if outcome.best is None:
        raise typer.Exit(NOTHING_SUCCEEDED)


def _objective(space: "Space", asked: Dataless) -> "tuple[Space, Objective]":
    """What answers, and the space for it."""
    if not asked.is_table:
        from spacelang.api.boxing import box_over

        return box_over(space, asked.data)
    from spacelang.api import table_objective

    _warn(asked.where.limits)
    return table_objective(space, asked.data, limits=asked.where.limits)


def _table_of(objective: "Objective") -> "TableObjective | None":
    from spacelang.runtime.tables.objective import TableObjective

    return objective if isinstance(objective, TableObjective) else None


def _has_defaults_only(objective: "Objective") -> bool:
    answering = _table_of(objective)
    return answering is not None and answering.table.has_defaults_only


def _optimizer(space: "Space", objective: "Objective", asked: Dataless) -> tuple[str, Any]:
    """The optimizer by its name, and configured."""
    from spacelang.api import with_fidelity
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    given, options = asked.optimizer
    usual = default_optimizer(space.checked, has_data=False, has_defaults_only=_has_defaults_only(objective))
    name = usual if given is None else given
    return name, with_fidelity(plugin(OPTIMIZERS, name, options), space, settings(options))


@contextmanager
def _told(place: Path | None, *, as_json: bool) -> Iterator[None]:
    """End the program for what the user can put right, in the space too."""
    from spacelang.api import SpaceError
    from spacelang.cli._running import telling

    try:
        with telling(place):
            yield
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)


def _warn(limits: "Limits") -> None:
    if limits.trial_bytes is not None:
        title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
        print(f"{title}: a table does not know what memory its trials took: it is not limited", file=sys.stderr)


def _searched(
    space: "Space",
    optimizer: tuple[str, Any],
    objective: "Objective",
    asked: Dataless,
    initial: "tuple[Configuration, ...] | None",
    *,
    as_json: bool,
) -> "tuple[Outcome, Path, tuple[Configuration, ...]]":
    """What was found, where it is kept, and the configurations that the run began with."""
    from spacelang.api.keeping import begun_with, keeping, terms_of
    from spacelang.api.tabulating import run_on_table
    from spacelang.cli._running import place_of, searching

    budget, answering, seed, resume = (asked.seconds, asked.trials), _table_of(objective), asked.seed, asked.resume
    if answering is None:
        with searching(
            space, optimizer, objective, asked.where, budget, seed, asked.store, resume=resume, initial=initial
        ) as found:
            return found.outcome, found.place, found.initial
    place = place_of(asked.store, space)
    terms = terms_of(*budget, asked.where.workers, initial)
    with (
        _told(place, as_json=as_json),
        keeping(place, space, optimizer, objective, seed=seed, resume=resume, terms=terms) as journal,
    ):
        outcome = run_on_table(
            space,
            optimizer[1],
            answering,
            # A simulated worker takes nobody's place: without any there is one, too.
            workers=max(asked.where.workers, 1),
            time=asked.seconds,
            trials=asked.trials,
            seed=seed,
            journal=journal,
            terms=terms,
        )
    return outcome, place, begun_with(terms, journal)


def _facts(objective: "Objective", optimizer: str, asked: Dataless, place: Path) -> "Run":
    from spacelang.report.summary import Run

    answering = _table_of(objective)
    return Run(
        optimizer,
        asked.seed,
        objective.metric,
        objective.training_size,
        preparation="" if answering is None else answering.table.facts.preparation,
        store=str(place),
        validation=objective.validation,
    )


def _report(space: "Space", objective: "Objective", outcome: "Outcome", facts: "Run", *, as_json: bool) -> None:
    from rich.console import Console

    from spacelang.report.summary import document, print_summary

    if as_json:
        print_json(document(outcome, facts))
        return
    answering = _table_of(objective)
    if answering is None:
        said = f"Answered by `{objective.facts.name}`: nothing was fitted."
    else:
        said = f"Answered from the table `{answering.table.name}`: all seconds are recorded ones."
    told = replace(facts, preparation=" ".join(filter(None, (facts.preparation, said))))
    print_summary(outcome, told, Console(highlight=False))
    if outcome.best is not None and answering is not None:
        _print_pipeline(space, answering, outcome.best.trial.request.configuration)


def _print_pipeline(space: "Space", objective: "TableObjective", configuration: "Configuration") -> None:
    """The best pipeline as code, unless only data could tell what it is; the configuration stands above."""
    from spacelang.cli._running import print_code
    from spacelang.report.code import source
    from spacelang.runtime.errors import BuildError
    from spacelang.runtime.pipelines.build import build

    pipeline = build(space.checked, configuration, random_state=objective.table.facts.seed, n_jobs=None)
    try:
        text = source(pipeline)
    except BuildError as error:
        report(error.message, error.help)
        return
    print("\nthe best pipeline; a table has no data to fit it to:\n")
    print_code(text)
