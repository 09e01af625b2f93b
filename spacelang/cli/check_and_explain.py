"""`spacelang check` and `explain`: print all diagnostics of some spaces, and the long explanation of one kind."""

from typing import Annotated

import typer

from spacelang.cli._options import (
    JsonOption,
    SpaceOptions,
    SpacesArgument,
    display_name_of_space,
    parse_bindings,
    read_space_source,
    refuse_repeated_standard_input,
)
from spacelang.cli._output import exit_with_error, print_diagnostics, print_json
from spacelang.cli._process import BAD_INPUT
from spacelang.diagnostics.diagnostic import Diagnostic, Severity
from spacelang.diagnostics.terminal_cells import replace_unprintable

GROUP = ("Write a space", 2)


def check_command(
    spaces: SpacesArgument,
    options: SpaceOptions,
    json: JsonOption = False,
) -> None:
    """Find the mistakes in spaces without running anything.

    Example: `spacelang check credit.space --bind n_features=30`
    """
    from spacelang.analysis import CheckSettings, check

    refuse_repeated_standard_input(*spaces)
    surroundings = CheckSettings(parse_bindings(options.bind), frozenset(options.allow or ()))
    found: dict[str, tuple[Diagnostic, ...]] = {}
    for reference in spaces:
        source = read_space_source(reference)
        found[display_name_of_space(reference)] = (
            (source,) if isinstance(source, Diagnostic) else check(source, surroundings).diagnostics
        )
    diagnostics = tuple(diagnostic for several in found.values() for diagnostic in several)
    errors = sum(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
    if json:
        from spacelang.diagnostics.json_output import diagnostics_to_json_records

        records = [
            {"space": reference, "diagnostics": diagnostics_to_json_records(several)}
            for reference, several in found.items()
        ]
        print_json({"spaces": records})
    else:
        print_diagnostics(diagnostics)
        for reference, several in found.items():
            if not several:
                typer.echo(f"{replace_unprintable(reference)}: no problems")
    if errors:
        raise typer.Exit(BAD_INPUT)


def explain_command(code: Annotated[str, typer.Argument(metavar="CODE", help="A code such as SL301.")]) -> None:
    """Explain a diagnostic in detail.

    Example: `spacelang explain SL301`
    """
    from spacelang.diagnostics.registry import KINDS, explain_code
    from spacelang.spelling_suggestions import nearest_name

    wanted = code.strip().upper()
    if wanted not in KINDS:
        near = nearest_name(wanted, KINDS)
        suggestion = f"did you mean `{near}`? " if near else ""
        exit_with_error(f"unknown diagnostic `{code}`", f"{suggestion}codes go from {min(KINDS)} to {max(KINDS)}")
    typer.echo(f"{KINDS[wanted].severity}[{wanted}]\n\n{explain_code(wanted)}")
