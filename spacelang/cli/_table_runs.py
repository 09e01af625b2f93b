"""`spacelang run --data table:FILE.npz`: a search that a table of known losses answers."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from spacelang.cli import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED
from spacelang.cli._shared import colours, end, fail, plugin, print_json, report, settings, show

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.initial import Given
    from spacelang.ir.configuration import Configuration
    from spacelang.ir.task import Limits
    from spacelang.report.summary import Run
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.tables.objective import TableObjective


@dataclass(frozen=True, slots=True)
class OnTable:
    """A run on a table: which optimizer, by its name, if any, and its options, searches how long; how it is kept."""

    table: str
    optimizer: tuple[str | None, list[str] | None]
    seconds: float | None
    trials: int | None
    workers: int
    limits: "Limits"
    seed: int
    store: Path | None
    resume: bool
    initial: "tuple[Given, ...] | None" = None


def refuse(unused: Mapping[str, object]) -> None:
    """End the program where an option is given that a table has settled."""
    given = next((name for name, value in unused.items() if value), None)
    if given is not None:
        fail(f"`{given}` changes nothing of a table", "its trials are known; `spacelang tabulate` makes another table")


def run_on_table(space: "Space", asked: OnTable, *, as_json: bool) -> None:
    """Search, and print what was found; ends the program for bad input, and as `spacelang run` does."""
    from spacelang.api.keeping import check_rungs
    from spacelang.api.tabulating import table_objective
    from spacelang.cli._running import members_of, place_of, say_searched

    with _told(asked.store, as_json=as_json):
        space, objective = table_objective(space, asked.table, limits=asked.limits)
        show(space.warnings)
        _warn(asked.limits)
        name, chosen = _optimizer(space, objective, asked)
        check_rungs(chosen, objective)
    place = place_of(asked.store, space)
    searched = say_searched(chosen, space, has_defaults_only=objective.table.has_defaults_only)
    initial = members_of(space, asked.initial, objective.lacks, as_json=as_json)
    with _told(place, as_json=as_json):
        outcome, initial = _searched(space, (name, chosen), objective, asked, place, initial)
    facts = replace(_facts(objective, name, asked, place), searched=replace(searched, initial=initial))
    _report(space, objective, outcome, facts, as_json=as_json)
    if outcome.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)
    if outcome.best is None:
        raise typer.Exit(NOTHING_SUCCEEDED)


def _optimizer(space: "Space", objective: "TableObjective", asked: OnTable) -> tuple[str, Any]:
    """The optimizer by its name, and configured."""
    from spacelang.api import with_fidelity
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    given, options = asked.optimizer
    usual = default_optimizer(space.checked, has_defaults_only=objective.table.has_defaults_only)
    name = usual if given is None else given
    return name, with_fidelity(plugin(OPTIMIZERS, name, options), space, settings(options))


@contextmanager
def _told(place: Path | None, *, as_json: bool) -> Iterator[None]:
    """End the program for what the user can put right."""
    from spacelang.api import SpaceError
    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.store_faults import StoreError

    try:
        yield
    except SpaceError as error:
        end(error.diagnostics, as_json=as_json)
    except StoreError as error:
        if len(error.differences) < 2:
            fail(error.message, error.help, status=BAD_INPUT)
        fail(f"`{place}` is of another run", error.help, status=BAD_INPUT, notes=error.differences)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)


def _warn(limits: "Limits") -> None:
    if limits.trial_bytes is not None:
        title = "\x1b[1;33mwarning\x1b[0m" if colours(sys.stderr) else "warning"
        print(f"{title}: a table does not know what memory its trials took: it is not limited", file=sys.stderr)


def _searched(
    space: "Space",
    optimizer: tuple[str, Any],
    objective: "TableObjective",
    asked: OnTable,
    place: Path,
    initial: "tuple[Configuration, ...] | None",
) -> "tuple[Outcome, tuple[Configuration, ...]]":
    """What was found, and the configurations that the run began with."""
    from spacelang.api.keeping import begun_with, keeping, terms_of
    from spacelang.api.tabulating import run_on_table

    terms = terms_of(asked.seconds, asked.trials, asked.workers, initial)
    with keeping(place, space, optimizer, objective, seed=asked.seed, resume=asked.resume, terms=terms) as journal:
        outcome = run_on_table(
            space,
            optimizer[1],
            objective,
            # A simulated worker takes nobody's place: without any there is one, too.
            workers=max(asked.workers, 1),
            time=asked.seconds,
            trials=asked.trials,
            seed=asked.seed,
            journal=journal,
            terms=terms,
        )
        return outcome, begun_with(terms, journal)


def _facts(objective: "TableObjective", optimizer: str, asked: OnTable, place: Path) -> "Run":
    from spacelang.report.summary import Run

    return Run(
        optimizer,
        asked.seed,
        objective.metric,
        objective.training_size,
        preparation=objective.table.facts.preparation,
        store=str(place),
        validation=objective.validation,
    )


def _report(space: "Space", objective: "TableObjective", outcome: "Outcome", facts: "Run", *, as_json: bool) -> None:
    from rich.console import Console

    from spacelang.report.summary import document, print_summary

    if as_json:
        print_json(document(outcome, facts))
        return
    sentences = (facts.preparation, f"Answered from the table `{objective.table.name}`: all seconds are recorded ones.")
    told = replace(facts, preparation=" ".join(filter(None, sentences)))
    print_summary(outcome, told, Console(highlight=False))
    if outcome.best is not None:
        _print_pipeline(space, objective, outcome.best.trial.request.configuration)


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
