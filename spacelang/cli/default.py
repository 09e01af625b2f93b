"""`spacelang default`: print the default configuration of a space."""

from spacelang.cli._loading import load
from spacelang.cli._options import JsonOption, SpaceArgument, SpaceOptions
from spacelang.cli._shared import print_json


def command(
    space: SpaceArgument,
    options: SpaceOptions,
    json: JsonOption = False,  # noqa: ARG001 - read by `parsed`, for errors
) -> None:
    """Print the default configuration as one JSON object.

    Example: `spacelang default blds_table1`
    """
    print_json(load(space, options).default().to_dict())
