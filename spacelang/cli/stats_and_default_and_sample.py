"""`spacelang stats`, `default` and `sample`: count the parts and members of a space, and print some of them."""

import sys
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._options import JsonOption, SpaceInputArgument, SpaceOptions, load_checked_space
from spacelang.cli._output import exit_with_error, print_json
from spacelang.cli._process import BAD_INPUT
from spacelang.cli._run_options import SeedOption
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.text import pad_table_columns

if TYPE_CHECKING:
    from spacelang.ir.task import Task
    from spacelang.solver.statistics import HyperparameterCounts, Statistics

GROUP = ("Inspect a space", 1)
DIGITS: Final = 3  # The digits of an estimate that are shown
LARGE: Final = 10_000_000  # Estimates from here on are shown with an exponent


def stats_command(space: SpaceInputArgument, options: SpaceOptions, json: JsonOption = False) -> None:
    """Count stages, structures, hyperparameters and configurations.

    Counts are exact. Configurations that cannot be counted are estimated, with an interval.

    Example: `spacelang stats blds_table1`
    """
    loaded = load_checked_space(space, options)
    found = loaded.statistics
    usual_limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # Counts may have more digits than Python prints by default
    try:
        if json:
            symbols = {"symbols": dict(loaded.symbols)} if loaded.symbols else {}
            task = {} if loaded.task is None else {"task": {"kind": loaded.task.kind, "settings": _lines(loaded.task)}}
            print_json({**found.to_json(), **symbols, **task})
        else:
            _print(found, loaded.task)
    finally:
        sys.set_int_max_str_digits(usual_limit)


def default_command(
    space: SpaceInputArgument,
    options: SpaceOptions,
    json: JsonOption = False,  # noqa: ARG001 - read by `parsed`, for errors
) -> None:
    """Print the default configuration as one JSON object.

    Example: `spacelang default blds_table1`
    """
    print_json(load_checked_space(space, options).default().to_dict())


def sample_command(
    space: SpaceInputArgument,
    *,
    count: Annotated[int, typer.Option("-n", min=0, help="The number of configurations.")] = 1,
    seed: SeedOption = 0,
    advised: Annotated[bool, typer.Option("--advised", help="Draw by priors and weights.")] = False,
    options: SpaceOptions,
    json: JsonOption = False,  # noqa: ARG001 - read by `parsed`, for errors
) -> None:
    """Draw random configurations; print one JSON object per line.

    Draws are uniform over structures (choices of one alternative for every decision), and uniform over values, on the
    log scale for `log`. With `--advised` they are weighted by `@weight` and `@prior`, like the draws of random search
    and of the other optimizers.

    Example: `spacelang sample credit.space -n 5 --seed 1 --advised`
    """
    from numpy.random import default_rng

    from spacelang.sampling.sampler import Sampler, SamplingFailedError

    loaded = load_checked_space(space, options)
    try:
        for configuration in Sampler(loaded.counted, advised=advised).configurations(count, default_rng(seed)):
            print_json(configuration.to_dict())
    except SamplingFailedError as error:
        exit_with_error(str(error), error.remedy, status=BAD_INPUT)


def _lines(task: "Task") -> list[str]:
    from spacelang.ir.task import task_lines

    return [*task_lines(task)]


def _print(found: "Statistics", task: "Task | None") -> None:
    total = found.hyperparameters
    typer.secho(replace_unprintable(found.space), bold=True)
    _print_columns(
        [
            ("stages", replace_unprintable(" x ".join(f"{name} {count}" for name, count in found.stages) or "none")),
            ("structures", f"{found.structures:,}"),
            ("algorithms", str(len(found.by_algorithm))),
            ("hyperparameters", f"{_total(total)} ({total.continuous} continuous, {total.discrete} discrete)"),
            ("conditions", str(found.conditions)),
            ("constraints", str(found.constraints)),
            ("configurations", _size(found)),
            *([] if task is None else [("task", replace_unprintable(", ".join((task.kind, *_lines(task)))))]),
        ]
    )
    searched = [(name, tally) for name, tally in found.by_algorithm.items() if _total(tally)]
    if searched:
        typer.echo()
        rows = [(replace_unprintable(name), f"{tally.continuous:>10}  {tally.discrete:>8}") for name, tally in searched]
        _print_columns([("algorithm", "continuous  discrete"), *rows])


def _size(found: "Statistics") -> str:
    if found.configurations is not None:
        return f"{found.configurations:,}"
    if found.hyperparameters.continuous:
        return "infinitely many"
    estimate = found.configurations_estimate
    if estimate is None:
        return "finite, but too complex to count exactly"
    value, low, high = map(_round, (estimate.value, estimate.low, estimate.high))
    if not estimate.kept:
        none = f"none of {estimate.draws:,} draws satisfies the constraints"
        return f"finite, at most {high} with {estimate.confidence:.0%} confidence ({none})"
    interval = f"{low} to {high} with {estimate.confidence:.0%} confidence"
    return f"about {value} (an estimate from {estimate.draws:,} draws: {interval})"


def _round(number: int) -> str:
    """Return a number with three digits of precision, with an exponent if it is large."""
    rounded = Decimal(f"{Decimal(number):.{DIGITS - 1}e}")
    return f"{int(rounded):,}" if rounded < LARGE else f"{rounded:.{DIGITS - 1}e}".replace("e+", "e")


def _print_columns(rows: list[tuple[str, str]]) -> None:
    for (name, value), (padded, _) in zip(rows, pad_table_columns(rows), strict=True):
        typer.echo(f"{typer.style(name, fg=typer.colors.CYAN)}{padded.removeprefix(name)}  {value}")


def _total(tally: "HyperparameterCounts") -> int:
    return tally.continuous + tally.discrete
