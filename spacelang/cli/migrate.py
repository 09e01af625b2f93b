"""`spacelang migrate`: the trials of a run, for a run on a changed space."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli import BAD_INPUT
from spacelang.cli._options import JsonOption, SpaceArgument, SpaceOptions
from spacelang.cli._shared import fail, load, print_json
from spacelang.cli.show import RunArgument
from spacelang.diagnostics.cells import visible

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.migrating import Migrated

REASONS: Final = 5
"""So many reasons are shown why trials are members no more, the most frequent first."""


def command(
    run: RunArgument,
    space: SpaceArgument,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Write the members here, the best first.")
    ] = None,
    most: Annotated[int | None, typer.Option("-n", min=1, help="At most so many of them.")] = None,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Say which trials of a run still are members of a changed space, with new hyperparameters at their defaults.

    What is written begins a new run: `spacelang run NEW.space --initial FILE.json` evaluates them first. Nothing that a
    trial had is changed: one whose alternatives or values are gone stays behind.

    Example: `spacelang migrate runs/credit-20260131-120000.db credit.space -o seeds.json`
    """
    from spacelang.api.migrating import migrate
    from spacelang.runtime.errors import InputError
    from spacelang.runtime.storing.store import Store

    loaded = load(space, options)
    try:
        with Store.read(run) as stored:
            found = migrate(stored, loaded.counted, most=most)
    except InputError as error:
        fail(error.message, error.help, status=BAD_INPUT)
    if output is not None:
        _write(output, found)
    if json:
        print_json(_document(found))
    else:
        _tell(found, loaded, space, output)


def _write(output: Path, found: "Migrated") -> None:
    if not found.moved:
        fail("no trial of the run is a member: nothing is written", status=BAD_INPUT)
    try:
        output.write_text(json_module.dumps(found.initial, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        fail(f"cannot write `{output}`: {(error.strerror or str(error)).lower()}")


def _tell(found: "Migrated", loaded: "Space", space: str, output: Path | None) -> None:
    different = len(found.moved) + len(found.left)
    typer.echo(f"{found.trials} trials, of which {different} succeeded as different configurations")
    typer.echo(
        f"{len(found.moved)} are members of the space{_filled(found, {each.key for each in loaded.checked.stages})}"
    )
    if found.left:
        typer.echo(f"{len(found.left)} are none:")
        for reason, count in found.reasons[:REASONS]:
            typer.echo(f"  {count} x {visible(reason)}")
    if found.moved:
        best = found.moved[0]
        what = f"the best of them is trial {best.trial}, with the loss {best.loss:g}"
        typer.echo(f"{what}: {visible(best.configuration.identity)}")
    if output is not None:
        typer.echo(visible(f"`spacelang run {space} --initial {output} …` evaluates them first"))


def _filled(found: "Migrated", decisions: set[str]) -> str:
    """What was filled in, each with its default: alternatives by their names, values as the language writes them."""
    from spacelang.ir.domain import literal

    filled = {key: value for each in found.moved for key, value in each.filled.items()}
    told = (f"{key} = {value if key in decisions else literal(value)}" for key, value in sorted(filled.items()))
    return f", with {visible(', '.join(told))}" if filled else ""


def _document(found: "Migrated") -> dict[str, object]:
    from spacelang.ir.value import to_json

    return {
        "trials": found.trials,
        "members": [
            {
                "trial": each.trial,
                "loss": each.loss,
                "configuration": each.configuration.to_dict(),
                "filled": {key: to_json(value) for key, value in each.filled.items()},
            }
            for each in found.moved
        ],
        "left_out": [{"trial": each.trial, "loss": each.loss, "reason": each.reason} for each in found.left],
    }
