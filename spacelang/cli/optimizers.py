"""`spacelang optimizers`: list the optimizers."""

from typing import Annotated

import typer

from spacelang.cli._options import JsonOption
from spacelang.cli._output import print_plugins

GROUP = ("Search a space", 1)


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this optimizer with its options.")] = None,
    *,
    json: JsonOption = False,
) -> None:
    """List the optimizers, or the options, presets and paper of one.

    With --json, all of them are listed with their options.

    Example: `spacelang optimizers blds`
    """
    from spacelang.optimizers import OPTIMIZERS

    print_plugins(OPTIMIZERS, name, command="optimizers", as_json=json)
