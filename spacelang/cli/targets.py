"""`spacelang targets`: list the targets that a space can be compiled to."""

from typing import Annotated

import typer

from spacelang.cli._options import JsonOption
from spacelang.cli._output import print_plugins

GROUP = ("Compile a space", 1)


def command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this target with its options.")] = None,
    *,
    json: JsonOption = False,
) -> None:
    """List the targets, or the options of one.

    With --json, all of them are listed with their options.

    Example: `spacelang targets boasf`
    """
    from spacelang.targets import TARGETS

    print_plugins(TARGETS, name, command="targets", as_json=json)
