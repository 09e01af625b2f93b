"""`spacelang optimizers`: list the optimizers."""

from spacelang.cli._options import JsonOption
from spacelang.cli._plugin_list import list_plugins


def command(json: JsonOption = False) -> None:
    """List the optimizers with their options and papers.

    Example: `spacelang optimizers`
    """
    from spacelang.optimizers import OPTIMIZERS

    list_plugins(OPTIMIZERS, as_json=json)
