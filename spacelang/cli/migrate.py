"""`spacelang migrate`: find the trials of a run that a run on a changed space can use."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.api.run_options import target_column_or_columns
from spacelang.cli._options import (
    JsonOption,
    RunArgument,
    SpaceArgument,
    SpaceOptions,
    load_checked_space,
    load_without_size_note,
)
from spacelang.cli._output import exit_with_error, overwrite_file, print_json, print_note
from spacelang.cli._process import BAD_INPUT
from spacelang.cli._run_options import TargetColumnsOption
from spacelang.cli.export_and_predict import TestShareOption
from spacelang.diagnostics.terminal_cells import replace_unprintable

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.migration import MigratedRun, Migration
    from spacelang.ir.trial import LossName

GROUP = ("Use a run", 7)


def command(  # noqa: PLR0913 - one parameter for each option
    run: RunArgument,
    space: SpaceArgument,
    *,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE.json", help="Write the configurations here, best first."),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="NEW.db", help="Start a new run here with these configurations as trials."),
    ] = None,
    most: Annotated[int | None, typer.Option("-n", min=1, help="The maximum number of trials to take over.")] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename",
            metavar="OLD=NEW",
            help="A stage, hyperparameter (`estimator.C`) or alternative (`estimator.SVC`) that has a new name.",
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data", "-d", help="For `--store`: the data of the run; by default the file with its name here."
        ),
    ] = None,
    target_column: TargetColumnsOption = None,
    test: TestShareOption = None,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Take the trials of a run over to a changed space.

    New hyperparameters get their defaults. No other value is changed: trials whose alternatives or values are gone are
    left out. If something only has a new name in the space, use `--rename`, once for each name. `--output` writes the
    configurations, which `spacelang run NEW.space --initial FILE.json` evaluates first. `--store` starts a new run on
    the same data with the same validation: it has all those trials whose pipelines are unchanged, and `spacelang
    resume` continues it.

    Example: `spacelang migrate runs/credit-20260131-120000.db credit.space -o seeds.json`
    """
    from spacelang.api.migration import Renames, migrate_trials
    from spacelang.ir.trial import LossName
    from spacelang.runtime.storage.store import Store

    renames = Renames.parse(rename or ())
    loaded = (load_checked_space if store is None else load_without_size_note)(
        space, options
    )  # a new run is on data of known size
    taken = None
    if store is not None:
        from spacelang.api.migration import migrate_run
        from spacelang.api.reopened_runs import reopen_run

        finished = reopen_run(
            run, data=data, target=target_column_or_columns(target_column), test=test, allow=options.allow or ()
        )
        taken = migrate_run(finished, loaded, store, most=most, renames=renames)
        for version_change in finished.library_version_changes:
            print_note(f"{version_change}: with these versions, the migrated losses might be different")
        found, metric = taken.migration, LossName.of_formula(finished.header.metric)
    else:
        with Store.read(run) as stored:
            metric = LossName.of_formula(stored.header.metric)
            found = migrate_trials(stored, loaded.counted, most=most, renames=renames)
    if output is not None:
        if not found.migrated:
            exit_with_error("no trial of the run is a member of the space, so nothing was written", status=BAD_INPUT)
        overwrite_file(output, json_module.dumps(found.initial_configurations, indent=1) + "\n")
    if json:
        print_json(_document(found, taken))
        return
    _print(found, loaded, space, output, metric)
    if taken is not None:
        _print_new_run(taken, store)


def _print(found: "Migration", loaded: "Space", space: str, output: Path | None, metric: "LossName") -> None:
    members = len(found.migrated) + found.omitted
    different = members + len(found.dropped)
    typer.echo(f"{found.trials} trials; {different} distinct configurations succeeded")
    taken = f", of which the best {len(found.migrated)} are taken" if found.omitted else ""
    filled = _filled_text(found, {each.key for each in loaded.checked.stages})
    typer.echo(f"{members} of these {'is a member' if members == 1 else 'are members'} of the space{taken}{filled}")
    if found.dropped:
        out = len(found.dropped)
        typer.echo(f"{out} of these {'is not a member' if out == 1 else 'are not members'} of the space:")
        for reason, count in found.drop_reasons[:5]:
            typer.echo(f"  {count} x {replace_unprintable(reason)}")
    if found.migrated:
        best = found.migrated[0]
        sentence = f"the best configuration is that of trial {best.trial}, with {metric.describe(best.loss)}"
        typer.echo(f"{sentence}: {replace_unprintable(best.configuration.identity)}")
    if output is not None:
        typer.echo(
            replace_unprintable(f"to evaluate these configurations first: `spacelang run {space} --initial {output} …`")
        )


def _print_new_run(taken: "MigratedRun", store: Path | None) -> None:
    kept = f"{len(taken.unchanged)} migrated trials, whose pipelines are unchanged, are in the new run `{store}`"
    typer.echo(replace_unprintable(kept))
    if again := len(taken.to_evaluate):
        typer.echo(f"{again} migrated trials will run again: their pipelines changed or were trained on fewer rows")
    typer.echo(replace_unprintable(f"to continue the new run: `spacelang resume {store}`"))


def _filled_text(found: "Migration", decisions: set[str]) -> str:
    """Return the decisions and hyperparameters that were added, each with its default, as the language writes them."""
    from spacelang.ir.domain import literal

    filled = {key: value for each in found.migrated for key, value in each.filled.items()}
    texts = (f"{key} = {value if key in decisions else literal(value)}" for key, value in sorted(filled.items()))
    return f", with {replace_unprintable(', '.join(texts))}" if filled else ""


def _document(found: "Migration", taken: "MigratedRun | None") -> dict[str, object]:
    from spacelang.ir.value import to_json

    both = {} if taken is None else {"same": taken.unchanged, "anew": taken.to_evaluate}
    return {
        "trials": found.trials,
        "members": [
            {
                "trial": each.trial,
                "loss": each.loss,
                "configuration": each.configuration.to_dict(),
                "filled": {key: to_json(value) for key, value in each.filled.items()},
            }
            for each in found.migrated
        ],
        "left_out": [{"trial": each.trial, "loss": each.loss, "reason": each.reason} for each in found.dropped],
        **{name: [each.trial for each in members] for name, members in both.items()},
    }
