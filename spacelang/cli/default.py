"""`spacelang default`: the default configuration of a space."""

from spacelang.cli._shared import JsonOption, SpaceArgument, load, print_json


def command(space: SpaceArgument, json: JsonOption = False) -> None:
    """Print the default configuration as one JSON object."""
    print_json(load(space, as_json=json).default().to_dict())
