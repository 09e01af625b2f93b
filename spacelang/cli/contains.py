"""`spacelang contains`: check whether a configuration is in a space, and if not, which line excludes it."""

import typer

from spacelang.cli._options import (
    ConfigurationArgument,
    JsonOption,
    SpaceArgument,
    SpaceOptions,
    load,
    read_configuration,
)
from spacelang.cli._output import print_json
from spacelang.cli._process import BAD_INPUT
from spacelang.diagnostics.terminal_cells import make_visible

GROUP = ("Inspect a space", 4)


def command(
    space: SpaceArgument, configuration: ConfigurationArgument, options: SpaceOptions, json: JsonOption = False
) -> None:
    """Check whether a configuration is in a space: status 0 if it is; 1 and the reason if it is not.

    Example: `spacelang contains credit.space mine.json`
    """
    loaded = load(space, options)
    excluded = loaded.exclusion(read_configuration(configuration))
    if json:
        print_json(
            {
                "member": excluded is None,
                "key": excluded.key or None if excluded else None,
                "reason": excluded.reason if excluded else None,
                "line": excluded.span.line if excluded else None,
            }
        )
    elif excluded is None:
        typer.echo("yes")
    else:
        typer.echo(f"no: {make_visible(excluded.reason)}")
        span = excluded.span
        if span.source.text:
            typer.echo(f"  --> {make_visible(span.source.name)}:{span.line}:{span.column}")
    if excluded is not None:
        raise typer.Exit(BAD_INPUT)
