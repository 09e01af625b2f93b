"""`spacelang default`: the default configuration of a space."""

from spacelang.cli._shared import AllowOption, BindOption, JsonOption, SpaceArgument, load, print_json


def command(space: SpaceArgument, allow: AllowOption = None, bind: BindOption = None, json: JsonOption = False) -> None:
    """Print the default configuration as one JSON object.

    Example: `spacelang default blds_table1`
    """
    print_json(load(space, as_json=json, allow=allow, bind=bind).default().to_dict())
