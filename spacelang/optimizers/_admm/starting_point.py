"""The starting point of ADMM: an initial configuration of the user, or the simplest pipeline.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections.abc import Iterator, Sequence
from typing import Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import SKIPPED_STEP, Choice
from spacelang.solver.defaults import DefaultCompleter
from spacelang.targets.admm import AdmmForm, AdmmPoint

FIRST_ESTIMATOR: Final = "GaussianNB"
"""The estimator of the first pipeline in the ADMM paper; used if a stage has it."""


def first_point(form: AdmmForm, initial: Sequence[Configuration] = ()) -> AdmmPoint:
    """Return the point of the first initial configuration, or of the simplest pipeline if there is none.

    The simplest pipeline skips every optional step and ends in naive Bayes, as far as the constraints allow. All other
    decisions and all hyperparameters have their defaults, or are as near to them as the constraints allow.
    """
    if initial:
        return form.encode(initial[0])
    structures, taken = form.structures, dict[str, str]()
    for stage in form.space.stages:
        for branch in _simple_alternatives(stage):
            if structures.existence_solver.condition({**taken, stage.address: branch}).exists:
                taken[stage.address] = branch
                break
    return form.encode(DefaultCompleter(structures).complete(structures.nearest_structure(taken)))


def _simple_alternatives(stage: Choice) -> Iterator[str]:
    """Yield the names of the simple alternatives of a stage, the simplest first."""
    yield from (branch.name for branch in stage.branches if branch.node == SKIPPED_STEP)
    yield from (branch.name for branch in stage.branches if branch.name == FIRST_ESTIMATOR)
