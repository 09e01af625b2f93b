"""`spacelang stats`: what is in a space, in exact numbers."""

from typing import TYPE_CHECKING

import typer

from spacelang.cli._shared import JsonOption, SpaceArgument, load, print_json
from spacelang.diagnostics.cells import visible

if TYPE_CHECKING:
    from spacelang.ir.statistics import Statistics, Tally


def command(space: SpaceArgument, json: JsonOption = False) -> None:
    """Show what is in a space: stages, structures, hyperparameters, configurations, counted exactly."""
    found = load(space, as_json=json).statistics
    if json:
        print_json(found.to_json())
    else:
        _print(found)


def _print(found: "Statistics") -> None:
    total = found.hyperparameters
    typer.secho(visible(found.space), bold=True)
    _print_columns(
        [
            ("stages", " x ".join(f"{name} {count}" for name, count in found.stages) or "none"),
            ("structures", f"{found.structures:,}"),
            ("algorithms", str(len(found.by_algorithm))),
            ("hyperparameters", f"{_sum(total)} ({total.continuous} continuous, {total.discrete} discrete)"),
            ("conditions", str(found.conditions)),
            ("constraints", str(found.constraints)),
            ("configurations", _configurations(found)),
        ]
    )
    searched = {name: tally for name, tally in found.by_algorithm.items() if _sum(tally)}
    if searched:
        typer.echo()
        rows = [(name, f"{tally.continuous:>10}  {tally.discrete:>8}") for name, tally in searched.items()]
        _print_columns([("algorithm", "continuous  discrete"), *rows])


def _print_columns(rows: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        typer.echo(f"{typer.style(name, fg=typer.colors.CYAN)}{' ' * (width - len(name))}  {value}")


def _sum(tally: "Tally") -> int:
    return tally.continuous + tally.discrete


def _configurations(found: "Statistics") -> str:
    if found.configurations is not None:
        return f"{found.configurations:,}"
    return "infinitely many" if found.hyperparameters.continuous else "finitely many, too tangled to be counted"
