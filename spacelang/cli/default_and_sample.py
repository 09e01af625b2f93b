"""`spacelang default` and `sample`: print the default configuration of a space, or random ones."""

from typing import Annotated

import typer

from spacelang.cli._options import JsonOption, SpaceInputArgument, SpaceOptions, load_checked_space
from spacelang.cli._output import exit_with_error, print_json
from spacelang.cli._process import BAD_INPUT
from spacelang.cli._run_options import SeedOption

GROUP = ("Inspect a space", 2)


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
