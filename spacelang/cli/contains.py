"""`spacelang contains`: check whether a configuration is in a space, and if not, which line excludes it."""

import typer

from spacelang.cli._options import (
    ConfigurationArgument,
    JsonOption,
    SpaceInputArgument,
    SpaceOptions,
    load,
    read_configuration,
    refuse_shared_input,
)
from spacelang.cli._output import exclusion_document, print_exclusion, print_json, print_keys_without_meaning
from spacelang.cli._process import BAD_INPUT

GROUP = ("Inspect a space", 4)


def command(
    space: SpaceInputArgument, configuration: ConfigurationArgument, options: SpaceOptions, json: JsonOption = False
) -> None:
    """Check whether a configuration is in a space: status 0 if it is; 1 and the reason if it is not.

    With --bind, keys that have no meaning for such data, such as those of a part of `columns(…)` without columns, are
    ignored and named.

    Example: `spacelang contains credit.space mine.json`
    """
    refuse_shared_input(space, configuration)
    loaded = load(space, options)
    given = read_configuration(configuration)
    excluded, unused = loaded.exclusion(given), loaded.keys_without_meaning(given)
    if json:
        why = {"key": None, "reason": None, "line": None} if excluded is None else exclusion_document(excluded)
        print_json({"member": excluded is None, **why, **({"without_meaning": [*unused]} if unused else {})})
    elif excluded is None:
        typer.echo("yes")
    else:
        print_exclusion(excluded)
    print_keys_without_meaning(unused)
    if excluded is not None:
        raise typer.Exit(BAD_INPUT)
