"""What targets for tools without conditions and constraints share beside the questions of a space."""

from collections.abc import Iterator

from spacelang.ir.domain import Grid, decimals
from spacelang.ir.prior import Normal, Uniform
from spacelang.ir.space import Choice, Space
from spacelang.reductions.unfolding import Fork
from spacelang.targets._constructs import Construct
from spacelang.targets._exports.python import Code, infix
from spacelang.targets._lowered import Finding, Verdict


def uniform_priors(space: Space, verdict: Verdict) -> Iterator[Finding]:
    """The priors that ask for what is drawn without any."""
    for node in space.hyperparameters:
        match node.prior:
            case Uniform():
                yield Finding(Construct.PRIORS, verdict, node.span)
            case Normal() | None:
                pass


def weights(fork: Fork) -> tuple[float, ...] | None:
    """The shares of a fork's cases where `@weight` makes some weigh more than others."""
    if not isinstance(fork.node, Choice):
        return None
    branches = {branch.name: branch.weight for branch in fork.node.branches}
    found = [branches[case.branch] if case.branch is not None else 1.0 for case in fork.cases]
    return tuple(weight / sum(found) for weight in found) if len(set(found)) > 1 else None


def member_of(grid: Grid, index: Code) -> Code:
    """The member of a grid with an index."""
    start, step, below = decimals(grid)
    steps: Code = index if step == 1 else infix(step, "*", index)
    total = steps if start == 0 and not grid.is_integral else infix(start, "+", steps)
    # Whole numbers divide to the nearest float, which sums of floats do not give.
    return total if grid.is_integral else infix(total, "/", below)
