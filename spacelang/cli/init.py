"""`spacelang init`: write a commented space to start from, made for given data."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from spacelang.api.run_options import ReadingOptions, target_column_or_columns
from spacelang.cli._output import exit_if_output_exists, print_note, print_warning, write_new_file
from spacelang.cli._process import print_file_content
from spacelang.cli._run_options import TargetColumnsOption
from spacelang.diagnostics.terminal_cells import replace_unprintable

GROUP = ("Write a space", 1)


def command(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A data file, `sklearn:NAME` or `openml:ID`.")],
    *,
    target_column: TargetColumnsOption = None,
    options: ReadingOptions,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.space", help="Write to this file.")
    ] = None,
) -> None:
    """Write a space to start from, with comments, for your data.

    The space has stages, ranges and a task. It depends on the types of the columns, on missing values, on the number of
    rows and on the labels, which may be several columns (`--target-column` for each). Warnings name columns that look
    like identifiers, dates or numbers written as text. They also name data with which no run can start: infinite
    values, or a class with a single row. Existing files are not overwritten.

    Example: `spacelang init my.csv --target-column price -o my.space`
    """
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.data.profile import profile_table
    from spacelang.runtime.data.read_options import select_read_options
    from spacelang.starter_spaces import starter_space_text

    if output is not None:
        exit_if_output_exists(output)
    reading = select_read_options(options)
    target = target_column_or_columns(target_column)
    found = profile_table(load_dataset(data, target, reading))
    for refused in found.refused:
        print_warning(replace_unprintable(refused))
    for warning in found.warnings:
        print_note(warning)
    labels = "".join(f" --target-column {quote(each)}" for each in target_column or ())
    text = starter_space_text(
        found, data, f"{labels}{reading.command_options}", None if output is None else str(output)
    )
    if output is None:
        print_file_content(text)
    else:
        write_new_file(output, text)
        typer.echo(f"wrote `{output}`; next: `spacelang check {quote(str(output))}`")
