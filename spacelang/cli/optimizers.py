"""`spacelang optimizers`: list the optimizers."""

from spacelang.cli._options import JsonOption
from spacelang.cli._output import list_plugins

GROUP = ("Search a space", 1)


def command(json: JsonOption = False) -> None:
    """List the optimizers with their options and papers.

    Example: `spacelang optimizers`
    """
    from spacelang.optimizers import OPTIMIZERS

    list_plugins(OPTIMIZERS, as_json=json)
