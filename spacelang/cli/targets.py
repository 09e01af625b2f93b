"""`spacelang targets`: list the targets that a space can be compiled to."""

from spacelang.cli._options import JsonOption
from spacelang.cli._output import list_plugins

GROUP = ("Compile a space", 1)


def command(json: JsonOption = False) -> None:
    """List the targets with their options.

    Example: `spacelang targets`
    """
    from spacelang.targets import TARGETS

    list_plugins(TARGETS, as_json=json)
