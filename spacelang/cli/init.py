"""`spacelang init`: write a commented space to start from, made for given data."""

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
    data: Annotated[str, typer.Argument(metavar="DATA", help="A data file, `sklearn:NAME` or `openml:ID`.")],
    *,
    target_column: TargetColumnOption = None,
    options: ReadingOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.space", help="Write to this file.")
    ] = None,
) -> None:
    """Write a space to start from: stages, ranges and a task for the data, with explaining comments.

    The space depends on the types of the columns, on missing values, on the number of rows and on the labels. Warnings
    name columns that look like identifiers, dates or numbers written as text. They also name what a run would refuse:
    infinite values, or a class with a single row. Existing files are not overwritten.

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
        typer.echo(f"wrote `{output}`; next: `spacelang check {quote(str(output))}`")
