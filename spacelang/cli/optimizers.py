"""`spacelang optimizers`: list the optimizers."""

from spacelang.cli._listing import list_plugins
from spacelang.cli._options import JsonOption


def command(json: JsonOption = False) -> None:
    """List the optimizers with their options and papers.

    Example: `spacelang optimizers`
    """
    from spacelang.optimizers import OPTIMIZERS

    list_plugins(OPTIMIZERS, as_json=json)
