"""`spacelang migrate`: find the trials of a run that a run on a changed space can use."""

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
"""The number of shown reasons why trials are no longer members, the most frequent first."""


def command(
    run: RunArgument,
    space: SpaceArgument,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.json", help="Write the configurations here, best first."),
    ] = None,
    store: Annotated[
        Path | None, typer.Option("--store", metavar="NEW.db", help="Start a new run here that has them as trials.")
    ] = None,
    most: Annotated[int | None, typer.Option("-n", min=1, help="The largest number of trials to take.")] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="For `--store`: the data of the run; by default the file of its name here."),
    ] = None,
    target_column: TargetColumnOption = None,
    test: KeptTestOption = None,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Find the trials of a run that are still members of a changed space.

    New hyperparameters get their defaults. No other value is changed: trials whose alternatives or values are gone are
    left out. `--output` writes the configurations, which `spacelang run NEW.space --initial FILE.json` evaluates first.
    `--store` starts a new run on the same data with the same validation: it has all those trials whose pipelines are
    unchanged, and `--resume` continues it.

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
            note(f"{line}: the losses that are taken over may differ because of it")
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
        fail("no trial of the run is a member of the space, so nothing was written", status=BAD_INPUT)
    try:
        output.write_text(json_module.dumps(found.initial, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        fail(f"cannot write `{output}`: {(error.strerror or str(error)).lower()}")


def _tell(found: "Migrated", loaded: "Space", space: str, output: Path | None) -> None:
    members = len(found.moved) + found.beyond
    different = members + len(found.left)
    typer.echo(f"{found.trials} trials; {different} distinct configurations succeeded")
    taken = f", of which the best {len(found.moved)} are taken" if found.beyond else ""
    filled = _filled(found, {each.key for each in loaded.checked.stages})
    typer.echo(f"{members} are members of the space{taken}{filled}")
    if found.left:
        typer.echo(f"{len(found.left)} are not members:")
        for reason, count in found.reasons[:REASONS]:
            typer.echo(f"  {count} x {visible(reason)}")
    if found.moved:
        best = found.moved[0]
        what = f"the best is trial {best.trial}, with loss {best.loss:g}"
        typer.echo(f"{what}: {visible(best.configuration.identity)}")
    if output is not None:
        typer.echo(visible(f"to evaluate them first: `spacelang run {space} --initial {output} …`"))


def _tell_taken(taken: "TakenOver", store: Path | None) -> None:
    typer.echo(visible(f"{len(taken.same)} are trials of the new run in `{store}`: their pipelines are unchanged"))
    if taken.anew:
        typer.echo(f"{len(taken.anew)} will be evaluated again: their pipelines changed or were trained on fewer rows")
    typer.echo(visible(f"`spacelang show {store}` shows how to continue it"))


def _filled(found: "Migrated", decisions: set[str]) -> str:
    """Return the decisions and hyperparameters that were added, each with its default, as the language writes them."""
    from spacelang.ir.domain import literal

    filled = {key: value for each in found.moved for key, value in each.filled.items()}
    texts = (f"{key} = {value if key in decisions else literal(value)}" for key, value in sorted(filled.items()))
    return f", with {visible(', '.join(texts))}" if filled else ""


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
