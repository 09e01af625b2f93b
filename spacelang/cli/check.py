"""`spacelang check`: print all diagnostics of some spaces."""

from collections.abc import Mapping
from typing import Annotated

import typer

from spacelang.cli._options import JsonOption, SpaceOptions, spaces_like
from spacelang.cli._shared import print_json, show
from spacelang.cli._shell import BAD_INPUT
from spacelang.diagnostics.cells import visible
from spacelang.diagnostics.diagnostic import Diagnostic, Severity


def command(
    spaces: Annotated[
        list[str],
        typer.Argument(
            metavar="SPACE...", autocompletion=spaces_like, help="`.space` files or names of bundled spaces."
        ),
    ],
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Check spaces without running anything: syntax, names, ranges, conditions, constraints.

    Example: `spacelang check credit.space --bind n_features=30`
    """
    from spacelang.analysis import Surroundings, check
    from spacelang.syntax.sources import read_source

    surroundings = Surroundings(options.bindings, frozenset(options.allowed))
    found: dict[str, tuple[Diagnostic, ...]] = {}
    for reference in spaces:
        source = read_source(reference)
        found[reference] = (source,) if isinstance(source, Diagnostic) else check(source, surroundings).diagnostics
    diagnostics = tuple(diagnostic for several in found.values() for diagnostic in several)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    if json:
        _print_json(found)
    else:
        show(diagnostics)
        for reference, several in found.items():
            if not several:
                typer.echo(f"{visible(reference)}: no problems")
    if errors:
        raise typer.Exit(BAD_INPUT)


def _print_json(found: Mapping[str, tuple[Diagnostic, ...]]) -> None:
    from spacelang.diagnostics.as_json import records

    spaces = [{"space": reference, "diagnostics": records(several)} for reference, several in found.items()]
    print_json({"spaces": spaces})
