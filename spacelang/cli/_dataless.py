"""`spacelang run` without data: a search that a table of known losses answers, or a black box; it fits nothing."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from spacelang.cli._running import facts_of, print_code
from spacelang.cli._shared import fail, print_json, report
from spacelang.cli._shell import INTERRUPTED, NOTHING_SUCCEEDED

if TYPE_CHECKING:
    from spacelang.api import Result
    from spacelang.ir.configuration import Configuration

NEEDS: Final = {"--test": "rows", "--ensemble": "predictions", "--archive": "rows"}
"""What options need that nothing without data has."""

SETTLED: Final = "its trials are known; `spacelang tabulate` makes another table"
"""What there is to do about an option that a table has settled."""


def is_dataless(data: str) -> bool:
    """Whether `--data` names something that has no rows."""
    from spacelang.runtime.boxes import ARTIFICIAL

    return is_table(data) or data.startswith(ARTIFICIAL)


def is_table(data: str) -> bool:
    """Whether `--data` names a table of known losses."""
    from spacelang.bench.tabulating import TABLE

    return data.startswith(TABLE)


def refuse(
    data: str, on_rows: Mapping[str, object], unused: Mapping[str, object], of_workers: Mapping[str, object]
) -> None:
    """End the program where an option is given that means nothing without data; of a table none of workers does."""
    is_known = is_table(data)
    for name, value in on_rows.items():
        if value is not None:
            what = "a table of losses" if is_known else f"`{data}`"
            help_text = "give the data that the table was made of" if is_known else "give data"
            fail(f"`{name}` needs {NEEDS[name]}, and {what} has none", help_text)
    asked = {**unused, **of_workers} if is_known else unused
    given = next((name for name, value in asked.items() if value), None)
    if given is not None and is_known:
        fail(f"`{given}` changes nothing of a table", SETTLED)
    if given is not None:
        fail(f"`{given}` changes nothing of `{data}`", "it has no data: leave the option out")


def tell(found: "Result", *, as_json: bool) -> int:
    """Print what was found; the exit status."""
    from rich.console import Console

    from spacelang.bench.tables.objective import TableObjective
    from spacelang.report.summary import document, print_summary

    outcome, objective = found.outcome, found.objective
    table = objective.table if isinstance(objective, TableObjective) else None
    facts = facts_of(found, "" if table is None else table.facts.preparation)
    if as_json:
        print_json(document(outcome, facts))
    else:
        said = f"Answered by `{objective.facts.name}`: nothing was fitted."
        if table is not None:
            said = f"Answered from the table `{table.name}`: all seconds are recorded ones."
        told = replace(facts, preparation=" ".join(filter(None, (facts.preparation, said))))
        print_summary(outcome, told, Console(highlight=False))
        if found.best_configuration is not None and table is not None:
            _print_pipeline(found, found.best_configuration, table.facts.seed)
    if outcome.ended == "interrupted":
        return INTERRUPTED
    return NOTHING_SUCCEEDED if outcome.best is None else 0


def _print_pipeline(found: "Result", configuration: "Configuration", seed: int | None) -> None:
    """The best pipeline as code, unless only data could tell what it is; the configuration stands above."""
    from spacelang.report.code import source
    from spacelang.runtime.errors import BuildError
    from spacelang.runtime.pipelines.build import build

    try:
        text = source(build(found.searched.space, configuration, random_state=seed, n_jobs=None))
    except BuildError as error:
        report(error.message, error.help)
        return
    print("\nthe best pipeline; a table has no data to fit it to:\n")
    print_code(text)
