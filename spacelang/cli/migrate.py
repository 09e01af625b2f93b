"""`spacelang migrate`: the trials of a run, for a run on a changed space."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._finished import KeptTestOption
from spacelang.cli._loading import load
from spacelang.cli._options import JsonOption, SpaceArgument, SpaceOptions, TargetColumnOption
from spacelang.cli._shared import fail, note, print_json
from spacelang.cli._shell import BAD_INPUT
from spacelang.cli.show import RunArgument
from spacelang.diagnostics.cells import visible

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.migrating import Migrated, TakenOver

REASONS: Final = 5
"""So many reasons are shown why trials are members no more, the most frequent first."""


def command(
    run: RunArgument,
    space: SpaceArgument,
    *,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.json", help="Write the members here, the best first.")
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="NEW.db", help="Begin a run here that has them as its trials.")
    ] = None,
    most: Annotated[int | None, typer.Option("-n", min=1, help="At most so many of them.")] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="For `--store`: the data of the run; else the file of its name here."),
    ] = None,
    target_column: TargetColumnOption = None,
    test: KeptTestOption = None,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Say which trials of a run still are members of a changed space, with new hyperparameters at their defaults.

    What is written begins a new run: `spacelang run NEW.space --initial FILE.json` evaluates them first. Nothing that a
    trial had is changed: one whose alternatives or values are gone stays behind. With `--store` they are trials of a
    run that goes on with `--resume`, on the same data and judged alike: all of them whose pipelines are the same.

    Example: `spacelang migrate runs/credit-20260131-120000.db credit.space -o seeds.json`
    """
    from spacelang.api.migrating import migrate
    from spacelang.runtime.storing.store import Store

    loaded = load(space, options)
    taken = None
    if store is not None:
        from spacelang.api.finished import take_up
        from spacelang.api.migrating import take_over

        finished = take_up(run, data=data, target=target_column, test=test, allow=options.allowed)
        taken = take_over(finished, loaded, store, most=most)
        for line in finished.changes:
            note(f"{line}: the losses that are taken over may differ by that")
        found = taken.migrated
    else:
        with Store.read(run) as stored:
            found = migrate(stored, loaded.counted, most=most)
    if output is not None:
        _write(output, found)
    if json:
        print_json(_document(found, taken))
        return
    _tell(found, loaded, space, output)
    if taken is not None:
        _tell_taken(taken, store)


def _write(output: Path, found: "Migrated") -> None:
    if not found.moved:
        fail("no trial of the run is a member: nothing is written", status=BAD_INPUT)
    try:
        output.write_text(json_module.dumps(found.initial, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        fail(f"cannot write `{output}`: {(error.strerror or str(error)).lower()}")


def _tell(found: "Migrated", loaded: "Space", space: str, output: Path | None) -> None:
    members = len(found.moved) + found.beyond
    different = members + len(found.left)
    typer.echo(f"{found.trials} trials, of which {different} succeeded as different configurations")
    taken = f", the best {len(found.moved)} of which are taken" if found.beyond else ""
    filled = _filled(found, {each.key for each in loaded.checked.stages})
    typer.echo(f"{members} are members of the space{taken}{filled}")
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


def _tell_taken(taken: "TakenOver", store: Path | None) -> None:
    typer.echo(visible(f"{len(taken.same)} are trials of the run in `{store}`: their pipelines are what they were"))
    if taken.anew:
        typer.echo(f"{len(taken.anew)} are evaluated anew there, as their pipelines are others or had fewer rows")
    typer.echo(visible(f"`spacelang show {store}` says how to go on"))


def _filled(found: "Migrated", decisions: set[str]) -> str:
    """What was filled in, each with its default: alternatives by their names, values as the language writes them."""
    from spacelang.ir.domain import literal

    filled = {key: value for each in found.moved for key, value in each.filled.items()}
    told = (f"{key} = {value if key in decisions else literal(value)}" for key, value in sorted(filled.items()))
    return f", with {visible(', '.join(told))}" if filled else ""


def _document(found: "Migrated", taken: "TakenOver | None") -> dict[str, object]:
    from spacelang.ir.value import to_json

    both = {} if taken is None else {"same": taken.same, "anew": taken.anew}
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
        **{name: [each.trial for each in members] for name, members in both.items()},
    }
