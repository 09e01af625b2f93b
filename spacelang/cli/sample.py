"""`spacelang sample`: draw random configurations of a space."""

from typing import Annotated

import typer

from spacelang.cli._options import JsonOption, SeedOption, SpaceArgument, SpaceOptions
from spacelang.cli._output import fail, print_json
from spacelang.cli._shell_completion import BAD_INPUT
from spacelang.cli._space_argument import load


def command(
    space: SpaceArgument,
    *,
    count: Annotated[int, typer.Option("-n", min=0, help="The number of configurations.")] = 1,
    seed: SeedOption = 0,
    options: SpaceOptions,
    json: JsonOption = False,  # noqa: ARG001 - read by `parsed`, for errors
) -> None:
    """Draw random configurations; print one JSON object per line.

    Structures (choices of one alternative for every decision) are drawn uniformly, values uniformly or log-uniformly.

    Example: `spacelang sample credit.space -n 5 --seed 1`
    """
    from numpy.random import default_rng

    from spacelang.sampling.sampler import Sampler, SamplingFailedError

    loaded = load(space, options)
    try:
        for configuration in Sampler(loaded.counted).configurations(count, default_rng(seed)):
            print_json(configuration.to_dict())
    except SamplingFailedError as error:
        lines = ", ".join(str(constraint.span.line) for constraint in error.constraints)
        fail(str(error), f"loosen the constraints of line {lines}", status=BAD_INPUT)
