"""`spacelang why-not`: list why a configuration is no member, and find the smallest change that makes it one."""

from typing import TYPE_CHECKING

import typer

from spacelang.cli._options import (
    ConfigurationArgument,
    JsonOption,
    SpaceInputArgument,
    SpaceOptions,
    load,
    read_configuration,
    refuse_shared_input,
)
from spacelang.cli._output import (
    exclusion_document,
    fail,
    print_exclusion,
    print_json,
    print_keys_without_meaning,
)
from spacelang.cli._process import BAD_INPUT
from spacelang.diagnostics.terminal_cells import make_visible

if TYPE_CHECKING:
    from spacelang.solver.nearest_configuration import KeyChange, NearestMember

GROUP = ("Inspect a space", 5)


def command(
    space: SpaceInputArgument, configuration: ConfigurationArgument, options: SpaceOptions, json: JsonOption = False
) -> None:
    """List why a configuration is not in a space, and find the smallest change that makes it a member.

    The change gives as few decisions as possible another alternative, and then as few hyperparameters as possible
    another value. The status is 0 for a member, and 1 otherwise, as for `contains`.

    Example: `spacelang why-not credit.space mine.json`
    """
    refuse_shared_input(space, configuration)
    loaded, given = load(space, options), read_configuration(configuration)
    try:
        found = loaded.nearest(given)
    except ValueError as error:
        fail(str(error), status=BAD_INPUT)
    if json:
        print_json(_document(found))
    elif not found.reasons:
        typer.echo("the configuration is a member of the space")
    else:
        _print(found)
    print_keys_without_meaning(loaded.keys_without_meaning(given))
    if found.reasons:
        raise typer.Exit(BAD_INPUT)


def _print(found: "NearestMember") -> None:
    for reason in found.reasons:
        print_exclusion(reason)
    typer.echo("\nthe smallest change that makes it a member:")
    for change in found.changes:
        typer.echo(f"  {make_visible(_change_text(change))}")
    typer.echo(f"\n{make_visible(found.member.identity)}")


def _change_text(change: "KeyChange") -> str:
    from spacelang.ir.domain import literal

    if change.needed is None:
        return f"remove {change.key}"
    was = "" if change.given is None else f", not {literal(change.given[0])}"
    return f"{change.key} = {literal(change.needed[0])}{was}"


def _document(found: "NearestMember") -> dict[str, object]:
    from spacelang.ir.value import to_json

    return {
        "member": not found.reasons,
        "reasons": [*map(exclusion_document, found.reasons)],
        "changes": [
            {"key": each.key}
            | ({} if each.given is None else {"given": to_json(each.given[0])})
            | ({} if each.needed is None else {"needed": to_json(each.needed[0])})
            for each in found.changes
        ],
        "nearest": found.member.to_dict(),
    }
