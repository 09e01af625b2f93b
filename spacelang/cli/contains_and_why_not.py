"""`spacelang contains` and `why-not`: the line that excludes a configuration from a space, and the nearest member."""

from typing import TYPE_CHECKING

import typer

from spacelang.cli._options import (
    ConfigurationArgument,
    JsonOption,
    SpaceInputArgument,
    SpaceOptions,
    load_checked_space,
    read_configuration,
    refuse_repeated_standard_input,
)
from spacelang.cli._output import (
    exclusion_document,
    exit_with_error,
    print_exclusion,
    print_json,
    print_keys_without_meaning,
)
from spacelang.cli._process import BAD_INPUT
from spacelang.diagnostics.terminal_cells import replace_unprintable

if TYPE_CHECKING:
    from spacelang.solver.nearest_configuration import KeyChange, NearestMember

GROUP = ("Inspect a space", 4)


def contains_command(
    space: SpaceInputArgument, configuration: ConfigurationArgument, options: SpaceOptions, json: JsonOption = False
) -> None:
    """Check whether a configuration is in a space.

    The status is 0 if it is. Otherwise the reason is printed, and the status is 1. With --bind, keys that have no
    meaning for such data, such as those of a part of `columns(…)` without columns, are ignored and named.

    Example: `spacelang contains credit.space mine.json`
    """
    refuse_repeated_standard_input(space, configuration)
    loaded = load_checked_space(space, options)
    given = read_configuration(configuration)
    excluded, unused = loaded.exclusion(given), loaded.keys_without_meaning(given)
    if json:
        why = {"key": None, "reason": None, "line": None} if excluded is None else exclusion_document(excluded)
        print_json({"member": excluded is None, **why, **({"without_meaning": [*unused]} if unused else {})})
    elif excluded is None:
        typer.echo("yes")
    else:
        print_exclusion(excluded)
    print_keys_without_meaning(unused)
    if excluded is not None:
        raise typer.Exit(BAD_INPUT)


def why_not_command(
    space: SpaceInputArgument, configuration: ConfigurationArgument, options: SpaceOptions, json: JsonOption = False
) -> None:
    """Explain why a configuration is not in a space.

    All reasons are listed, and the smallest change that makes it a member. The change gives as few decisions as
    possible another alternative, and then as few hyperparameters as possible another value. The status is 0 for a
    member, and 1 otherwise, as for `contains`.

    Example: `spacelang why-not credit.space mine.json`
    """
    refuse_repeated_standard_input(space, configuration)
    loaded, given = load_checked_space(space, options), read_configuration(configuration)
    try:
        found = loaded.nearest(given)
    except ValueError as error:
        exit_with_error(str(error), status=BAD_INPUT)
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
        typer.echo(f"  {replace_unprintable(_change_text(change))}")
    typer.echo(f"\n{replace_unprintable(found.member.identity)}")


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
