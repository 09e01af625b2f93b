"""`spacelang sample`: random members of a space."""

from typing import Annotated

import typer

from spacelang.cli import BAD_INPUT
from spacelang.cli._shared import JsonOption, SeedOption, SpaceArgument, fail, load, print_json


def command(
    space: SpaceArgument,
    count: Annotated[int, typer.Option("-n", min=0, help="How many.")] = 1,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Draw configurations: structures uniformly, values uniformly or log-uniformly; one JSON object a line."""
    from numpy.random import default_rng

    from spacelang.ir.sampling import Sampler, UnlikelyError

    loaded = load(space, as_json=json)
    sampler, rng = Sampler(loaded.counted), default_rng(seed)
    for _ in range(count):
        try:
            print_json(sampler.configuration(rng).to_dict())
        except UnlikelyError as error:
            lines = ", ".join(str(constraint.span.line) for constraint in error.constraints)
            fail(str(error), f"loosen the constraints of line {lines}", status=BAD_INPUT)
