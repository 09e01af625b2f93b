"""`spacelang init`: a commented space to start from, made for data."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from spacelang.cli._options import ReadingOptions, TargetColumnOption
from spacelang.cli._running import warn
from spacelang.cli._shared import must_be_free, note, write_new
from spacelang.cli._streams import write_file
from spacelang.diagnostics.cells import visible


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A file of data, `sklearn:NAME` or `openml:ID`.")],
    *,
    target_column: TargetColumnOption = None,
    options: ReadingOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE.space", help="Write here.")] = None,
) -> None:
    """Write a space to start from: stages, ranges and a task for such data, with comments that teach the language.

    It depends on the types of the columns, on missing values, on the number of rows and on the labels. Columns that
    look like identifiers, dates or numbers that are written as text are named, and so is what a run would refuse:
    infinite values, a class with a single row. Nothing that exists is written over.

    Example: `spacelang init my.csv --target-column price -o my.space`
    """
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.data.profile import profile
    from spacelang.starting.writing import starting_space

    if output is not None:
        must_be_free(output)
    reading = options.reading
    found = profile(load_dataset(data, target_column, reading))
    for refused in found.refused:
        warn(visible(refused))
    for warning in found.warnings:
        note(warning)
    labels = "" if target_column is None else f" --target-column {quote(target_column)}"
    text = starting_space(found, data, f"{labels}{reading.options}", None if output is None else str(output))
    if output is None:
        write_file(text)
    else:
        write_new(output, text)
        typer.echo(f"`{output}` is written; next: `spacelang check {quote(str(output))}`")
