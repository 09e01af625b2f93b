"""`spacelang verify`: test whether a compiled space means the same as the space."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli._options import JsonOption, SpaceInputArgument, SpaceOptions, TargetOption, load
from spacelang.cli._output import configure_plugin, fail, print_json
from spacelang.cli._process import BAD_INPUT
from spacelang.cli._run_options import SeedOption, SetOption
from spacelang.diagnostics.terminal_cells import make_visible

if TYPE_CHECKING:
    from spacelang.api.compilation import Verification

GROUP = ("Compile a space", 3)


def command(
    space: SpaceInputArgument,
    target: TargetOption,
    *,
    set_: SetOption = None,
    count: Annotated[int, typer.Option("-n", min=1, help="The number of configurations to test.")] = 200,
    draws: Annotated[
        int, typer.Option("--draws", min=0, help="The number of random draws to compare with the law of the space.")
    ] = 3_000,
    seed: SeedOption = 0,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Test whether a space compiled for a target keeps its meaning; status 1 if a test fails.

    All configurations are tested if there are at most `-n`, else `-n` random ones, drawn by the plain law. `compile`
    reports what a target does not preserve; the tests are about what it preserves. Where a library draws at random,
    its draws are compared with the law of the space: a share may differ by .05, or more where the target has a reason.

    Example: `spacelang verify credit.space --target configspace`
    """
    from spacelang.api.compilation import compile_with_target, verify
    from spacelang.solver.network import SamplingFailedError
    from spacelang.targets import TARGETS

    chosen = configure_plugin(TARGETS, target, set_)
    loaded = load(space, options)
    try:
        found = verify(
            compile_with_target(target, chosen, loaded.counted), loaded.counted, count=count, seed=seed, draws=draws
        )
    except SamplingFailedError as error:
        fail(str(error), error.remedy, status=BAD_INPUT)
    if json:
        print_json(_document(target, found))
    else:
        _print(found)
    if not found.holds:
        raise typer.Exit(BAD_INPUT)


def _print(found: "Verification") -> None:
    for law in found.laws:
        drawn = f"all {law.tried}" if found.is_all and "draws" not in law.name else f"{law.tried} drawn"
        cases = drawn if law.holds else f"by case {law.tried}"
        typer.echo(f"{'holds ' if law.holds else 'BROKEN'}  {law.name}: {cases}")
        if not law.holds:
            typer.echo(f"        {make_visible(law.broken_by)}")
    if found.distances is not None:
        key, distance = next(iter(found.distances.distances.items()), ("no variable", 0.0))
        typer.echo(f"        {found.distances.library}: shares differ by up to {distance:.3f} from the law ({key})")
        for reason in dict.fromkeys(found.distances.declared_reasons.values()):
            typer.echo(f"        declared: {reason}")
    typer.echo("        {} of {} structures were drawn".format(*found.structures))
    for status, constructs in found.preserved.items():
        typer.echo(f"{status:<12}  {', '.join(constructs)}")


def _document(target: str, found: "Verification") -> dict[str, object]:
    return {
        "target": target,
        "holds": found.holds,
        "every_configuration": found.is_all,
        "laws": [{"law": law.name, "tried": law.tried, "broken_by": law.broken_by or None} for law in found.laws],
        "kept": found.preserved,
        "random_draws": None if found.distances is None else asdict(found.distances),
        "structures": {"drawn": found.structures[0], "all": found.structures[1]},
    }
