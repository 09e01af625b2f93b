"""`spacelang archive`: write the meta-features and best configurations of runs to a file, for warm starts."""

from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli._options import JsonOption
from spacelang.cli._output import exit_if_not_replaceable, print_json, print_note
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.text import count_with_noun

GROUP = ("Search a space", 3)


def command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS…", help="Stores of runs, folders with stores, or a folder with auto-sklearn's files."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE.json", help="Write the archive here.")],
    portfolio: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Write a portfolio instead: the N configurations that together did best, for "
            "`--optimizer auto --set portfolio=FILE.json`.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Make an archive of runs, from which later runs start.

    It has the meta-features of data sets and their best configurations. `spacelang run --archive FILE.json` starts from
    the best configurations of the most similar data sets. A folder with auto-sklearn's `feature_values.arff` gives an
    archive for the bundled space `mosaic`. Runs that cannot be used are reported with the reason.

    With `--portfolio N` the result is a portfolio: configurations that together did best on all tables, chosen by gain
    per second. `spacelang run --set portfolio=FILE.json` starts with them, the first ones first.

    Example: `spacelang archive runs -o archive.json`
    """
    from spacelang.api.initial_configurations import make_run_archive

    exit_if_not_replaceable(output, "{", "an archive or portfolio")
    if portfolio is not None:
        _write_portfolio(runs, output, portfolio, json=json)
        return
    made = make_run_archive(runs, output)
    for reason in made.left_out:
        print_note(f"skipped: {reason}")
    rows = made.archive.rows
    if json:
        print_json({"file": str(output), "rows": len(rows), "left_out": [*made.left_out]})
        return
    data, spaces = {row.data for row in rows}, {row.space.name for row in rows}
    names = ", ".join(f"`{name}`" for name in sorted(spaces))
    written = f"{count_with_noun(len(rows), 'row')} for {count_with_noun(len(data), 'data set')} and {names}"
    typer.echo(replace_unprintable(f"wrote {written} to {output}"))


def _write_portfolio(runs: list[Path], output: Path, size: int, *, json: bool) -> None:
    from spacelang.api.initial_configurations import make_run_portfolio

    made = make_run_portfolio(runs, output, size)
    for reason in made.left_out:
        print_note(f"skipped: {reason}")
    if json:
        regrets = [{"seconds": step.seconds, "regret": step.regret} for step in made.steps]
        print_json({"file": str(output), "tables": made.tables, "steps": regrets, "left_out": [*made.left_out]})
        return
    written = f"{count_with_noun(len(made.steps), 'configuration')} chosen on {count_with_noun(made.tables, 'table')}"
    left = f"mean regret {made.steps[-1].regret:.3f}, where 1 is the median configuration and 0 the best one"
    typer.echo(replace_unprintable(f"wrote {written} to {output}: {left}"))
