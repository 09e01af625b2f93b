"""`spacelang spaces`: list the spaces that ship with the package."""

import typer

from spacelang.cli._options import JsonOption
from spacelang.cli._output import print_json

GROUP = ("Write a space", 6)


def command(json: JsonOption = False) -> None:
    """List the bundled spaces.

    Example: `spacelang spaces --json`
    """
    from spacelang.api import load
    from spacelang.syntax.sources import bundled_names

    found = [load(name) for name in bundled_names()]
    if json:
        print_json([{"name": each.name, "title": each.checked.title, "structures": each.structures} for each in found])
        return
    width = max((len(space.name) for space in found), default=0)
    for space in found:
        noun = "structure " if space.structures == 1 else "structures"
        typer.echo(f"{space.name:<{width}}  {space.structures:>7,} {noun}  {space.checked.title}".rstrip())
