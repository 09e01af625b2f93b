"""`spacelang default`: print the default configuration of a space."""

from spacelang.cli._options import JsonOption, SpaceInputArgument, SpaceOptions, load
from spacelang.cli._output import print_json

GROUP = ("Inspect a space", 2)


def command(
    space: SpaceInputArgument,
    options: SpaceOptions,
    json: JsonOption = False,  # noqa: ARG001 - read by `parsed`, for errors
) -> None:
    """Print the default configuration as one JSON object.

    Example: `spacelang default blds_table1`
    """
    print_json(load(space, options).default().to_dict())
