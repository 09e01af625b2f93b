"""`spacelang run` without rows: the losses come from a table of known losses or from an artificial black box.

Nothing is fitted in such a run.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from spacelang.cli._output import fail, print_error, print_json
from spacelang.cli._run_steps import print_code, run_facts
from spacelang.cli._shell_completion import INTERRUPTED, NOTHING_SUCCEEDED

if TYPE_CHECKING:
    from spacelang.api import Result
    from spacelang.ir.configuration import Configuration

NEEDED_BY_OPTION: Final = {"--test": "rows", "--ensemble": "predictions", "--archive": "rows"}
"""What options need that is missing without data."""

TABLE_HELP: Final = "its trials were evaluated before; make another table with `spacelang tabulate`"
"""The help for an option whose value was fixed when the table was made."""


def has_no_rows(data: str) -> bool:
    """Return True if `--data` names something without rows: a table of losses, or an artificial function."""
    from spacelang.runtime.black_box import ARTIFICIAL_PREFIX

    return is_loss_table(data) or data.startswith(ARTIFICIAL_PREFIX)


def is_loss_table(data: str) -> bool:
    """Return True if `--data` names a table of known losses."""
    from spacelang.bench.table_search import TABLE_PREFIX

    return data.startswith(TABLE_PREFIX)


def refuse_row_options(
    data: str, on_rows: Mapping[str, object], unused: Mapping[str, object], of_workers: Mapping[str, object]
) -> None:
    """End the program if an option is given that has no effect without rows.

    `on_rows` are options that need rows or predictions. `unused` are options that change nothing without data, and
    `of_workers` options that change nothing for a table. Each maps names of options to values; None and False stand for
    an option that is not given.
    """
    is_known = is_loss_table(data)
    for name, value in on_rows.items():
        if value is not None:
            what = "a table of losses" if is_known else f"`{data}`"
            help_text = "give the data from which the table was made" if is_known else "give data"
            fail(f"`{name}` needs {NEEDED_BY_OPTION[name]}, and {what} has none", help_text)
    asked = {**unused, **of_workers} if is_known else unused
    given = next((name for name, value in asked.items() if value), None)
    if given is not None and is_known:
        fail(f"`{given}` has no effect on a table", TABLE_HELP)
    if given is not None:
        fail(f"`{given}` has no effect on `{data}`", "it has no rows; leave the option out")


def print_result(found: "Result", *, as_json: bool) -> int:
    """Print the result of the search and return the exit status."""
    from rich.console import Console

    from spacelang.bench.tables.objective import TableObjective
    from spacelang.report.summary import document, print_summary

    outcome, objective = found.outcome, found.objective
    table = objective.table if isinstance(objective, TableObjective) else None
    facts = run_facts(found, "" if table is None else table.metadata.preparation)
    if as_json:
        print_json(document(outcome, facts))
    else:
        said = f"Losses come from `{objective.facts.name}`; nothing was fitted."
        if table is not None:
            said = f"Losses come from the table `{table.name}`; all times are recorded ones."
        told = replace(facts, preparation=" ".join(filter(None, (facts.preparation, said))))
        print_summary(outcome, told, Console(highlight=False))
        if found.best_configuration is not None and table is not None:
            _print_pipeline(found, found.best_configuration, table.metadata.seed)
    if outcome.ended == "interrupted":
        return INTERRUPTED
    return NOTHING_SUCCEEDED if outcome.best is None else 0


def _print_pipeline(found: "Result", configuration: "Configuration", seed: int | None) -> None:
    """Print the best pipeline as code, or report that its code depends on data."""
    from spacelang.report.code_writer import pipeline_source
    from spacelang.runtime.errors import BuildError
    from spacelang.runtime.pipelines.build import build

    try:
        text = pipeline_source(build(found.searched.space, configuration, random_state=seed, n_jobs=None))
    except BuildError as error:
        print_error(error.message, error.help)
        return
    print("\nthe best pipeline (not fitted, because a table has no rows):\n")
    print_code(text)
