"""`spacelang import`: convert a file of another tool to a `.space` file."""

from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli._output import overwrite, print_diagnostics
from spacelang.cli._process import BAD_INPUT, print_file_text

GROUP = ("Write a space", 5)


def command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of ConfigSpace: PCS (`.pcs`) or JSON (`.json`).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.space", help="Write to this file.")
    ] = None,
) -> None:
    """Convert a search space of ConfigSpace to a `.space` file with the same members.

    Everything that is lost is reported with its line. If the members would differ, nothing is written.

    Example: `spacelang import old.pcs -o new.space`
    """
    from spacelang.diagnostics.diagnostic import Diagnostic
    from spacelang.importers._import_steps import import_space
    from spacelang.syntax.sources import read_source

    source = read_source(file)
    if isinstance(source, Diagnostic):
        print_diagnostics((source,))
        raise typer.Exit(BAD_INPUT)
    imported, diagnostics = import_space(source)
    print_diagnostics(diagnostics)
    if imported is None:
        raise typer.Exit(BAD_INPUT)
    if output is None:
        print_file_text(imported.text)
    else:
        overwrite(output, imported.text, own=file, what="the imported file itself")
