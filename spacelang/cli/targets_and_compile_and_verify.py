"""`spacelang targets`, `compile` and `verify`: list targets, compile a space, and test that its meaning is kept."""

import json as json_module
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.cli._options import JsonOption, SpaceInputArgument, SpaceOptions, TargetOption, load_checked_space
from spacelang.cli._output import (
    configure_plugin,
    exit_if_output_exists,
    exit_with_error,
    overwrite_file,
    print_json,
    print_plugins,
    print_warning,
)
from spacelang.cli._process import BAD_INPUT
from spacelang.cli._run_options import SeedOption, SetOption
from spacelang.diagnostics.terminal_cells import replace_unprintable

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.compilation import Verification
    from spacelang.targets._draw_distances import DrawDistances
    from spacelang.targets._lowering import LoweringResult

GROUP = ("Compile a space", 1)


class OutputFormat(StrEnum):
    """The output formats of a compiled space."""

    JSON = "json"
    TEXT = "text"
    DOT = "dot"
    PYTHON = "python"


def targets_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Show this target with its options.")] = None,
    *,
    json: JsonOption = False,
) -> None:
    """List the targets, or the options of one.

    With --json, all of them are listed with their options.

    Example: `spacelang targets boasf`
    """
    from spacelang.targets import TARGETS

    print_plugins(TARGETS, name, command="targets", as_json=json)


def compile_command(
    space: SpaceInputArgument,
    target: TargetOption,
    *,
    set_: SetOption = None,
    options: SpaceOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write to this file. Other spaces, stores, and code that this command did not write are not replaced.",
        ),
    ] = None,
    format_: Annotated[OutputFormat, typer.Option("--format", "-f", help="The output format.")] = OutputFormat.TEXT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if the target can only approximate the space.")
    ] = False,
    draws: Annotated[
        int,
        typer.Option(
            "--draws",
            min=0,
            help="The number of the library's random draws that are compared with the distribution of the space; "
            "the report states the largest difference. 3,000 show differences of shares above about 0.05.",
        ),
    ] = 0,
) -> None:
    """Compile a space to the form of another tool or optimizer.

    With `--format python` the output is a module that needs only the target's library and those of the space's
    operators. Next to the library's own object it has `decode`, which turns a result of the library into a
    configuration, and `build`, which turns a configuration into an unfitted pipeline.

    Example: `spacelang compile credit.space --target optuna --format python -o credit_optuna.py`
    """
    from spacelang.api.compilation import compile_with_target
    from spacelang.targets import TARGETS
    from spacelang.targets._lowering import compiled_document

    chosen = configure_plugin(TARGETS, target, set_)
    loaded = load_checked_space(space, options)
    if output is not None and output.suffix == ".space" and space != str(output):
        exit_if_output_exists(output)
    form = compile_with_target(target, chosen, loaded.counted, strict=strict)
    distances = _measure(target, form, draws) if draws else None
    if distances is not None:
        form = replace(form, report=distances.added_to(form.report))
    if format_ is OutputFormat.JSON:
        measured = None if distances is None else asdict(distances)
        found = compiled_document(target, loaded.checked, form, asdict(chosen), loaded.bound, measured)
        # For a terminal, special characters are written as JSON escapes, so that every text can be read back.
        text = json_module.dumps(found, ensure_ascii=output is None, allow_nan=False)
    else:
        text = _text(target, form, format_, loaded)
    if output is None:
        # The name of a space may be that of its file, which may have control characters.
        print("\n".join(map(replace_unprintable, text.split("\n"))))
    else:
        begins, kind = _start_of_outputs(text, format_), f"an earlier output with `--format {format_}`"
        overwrite_file(output, text + "\n", begins=begins, kind=kind, own=space, own_name="the space itself")


def _start_of_outputs(text: str, format_: OutputFormat) -> str:
    """Return the first characters of an output that other spaces' outputs in the format have too; "" for texts."""
    match format_:
        case OutputFormat.TEXT:
            return ""
        case OutputFormat.PYTHON:
            return text.partition("\n")[0].partition("`")[0]
        case _:
            return text.partition(" ")[0]


def _measure(target: str, lowered: "LoweringResult[Any, Any]", draws: int) -> "DrawDistances | None":
    from spacelang.api.compilation import measure_draw_distances
    from spacelang.solver.constraint_network import SamplingFailedError

    try:
        found = measure_draw_distances(lowered, draws)
    except SamplingFailedError as error:
        exit_with_error(str(error), error.remedy, status=BAD_INPUT)
    if found is None:
        print_warning(f"no library draws at random for the target `{target}`: `--draws` has no effect")
    return found


def _text(target: str, lowered: "LoweringResult[Any, Any]", format_: OutputFormat, space: "Space") -> str:
    from spacelang.api.compilation import code_length_warning, python_module_source
    from spacelang.targets._lowering import SourceForm, TextFileForm

    if format_ is OutputFormat.DOT:
        return str(lowered.form.to_dot())
    if format_ is OutputFormat.PYTHON:
        if not isinstance(lowered.form, SourceForm):
            exit_with_error(
                f"the target `{target}` has no output in Python",
                "the formats of this target are `json`, `text` and `dot`",
            )
        if too_long := code_length_warning(lowered, space.checked):
            print_warning(too_long)
        return python_module_source(target, lowered, space.checked)
    lines = ["how the target represents the space:"] if lowered.report else []
    for entry in lowered.report:
        lines.append(f"  {entry.status.value:<13}{entry.construct}{entry.lines_text}: {entry.message}")
    if isinstance(lowered.form, TextFileForm):
        lines = [f"{lowered.form.comment_sign} {line}" for line in lines]
    return "\n".join([str(lowered.form.to_text()), *([""] if lines else []), *lines])


def verify_command(
    space: SpaceInputArgument,
    target: TargetOption,
    *,
    set_: SetOption = None,
    count: Annotated[int, typer.Option("-n", min=1, help="The number of configurations to test.")] = 200,
    draws: Annotated[
        int,
        typer.Option(
            "--draws", min=0, help="The number of random draws to compare with the distribution of the space."
        ),
    ] = 3_000,
    seed: SeedOption = 0,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Test whether a compiled space keeps its meaning.

    The status is 1 if a test fails. All configurations are tested if there are at most `-n`, else `-n` that are drawn
    uniformly. `compile` reports what a target does not preserve; the tests are about what it preserves. Where a library
    draws at random, its draws are compared with the distribution of the space: the share of a value may differ by 0.05,
    by as much as chance explains if the draws are few, or by more if the target reports a reason.

    Example: `spacelang verify credit.space --target configspace`
    """
    from spacelang.api.compilation import compile_with_target, verify
    from spacelang.solver.constraint_network import SamplingFailedError
    from spacelang.targets import TARGETS

    chosen = configure_plugin(TARGETS, target, set_)
    loaded = load_checked_space(space, options)
    try:
        found = verify(
            compile_with_target(target, chosen, loaded.counted), loaded.counted, count=count, seed=seed, draws=draws
        )
    except SamplingFailedError as error:
        exit_with_error(str(error), error.remedy, status=BAD_INPUT)
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
            typer.echo(f"        {replace_unprintable(law.broken_by)}")
    if found.distances is not None:
        key, distance = next(iter(found.distances.distances.items()), ("no variable", 0.0))
        differ = f"shares differ by up to {distance:.3f} from the space's random draws ({key})"
        typer.echo(f"        {found.distances.library}: {differ}{found.distances.detection_limit_text}")
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
