"""`spacelang explain`: print the long explanation of a diagnostic."""

from typing import Annotated

import typer

from spacelang.cli._output import fail

GROUP = ("Write a space", 3)


def command(code: Annotated[str, typer.Argument(metavar="CODE", help="A code such as SL301.")]) -> None:
    """Explain a diagnostic in detail.

    Example: `spacelang explain SL301`
    """
    from spacelang.diagnostics.registry import KINDS, explanation
    from spacelang.spelling_suggestions import nearest_name

    wanted = code.strip().upper()
    if wanted not in KINDS:
        near = nearest_name(wanted, KINDS)
        suggestion = f"did you mean `{near}`? " if near else ""
        fail(f"unknown diagnostic `{code}`", f"{suggestion}codes go from {min(KINDS)} to {max(KINDS)}")
    typer.echo(f"{KINDS[wanted].severity}[{wanted}]\n\n{explanation(wanted)}")
