"""Where ADMM begins: with what a user gives, else with little before naive Bayes.

See spacelang/optimizers/README.md, section "ADMM: iteration".
"""

from collections.abc import Iterator, Sequence
from typing import Final

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import NOTHING, Choice
from spacelang.solver.defaults import Completer
from spacelang.targets.admm import AdmmForm, AdmmPoint

FIRST: Final = "GaussianNB"
"""The estimator of the first pipeline in the ADMM paper, where a stage has it."""


def first_point(form: AdmmForm, initial: Sequence[Configuration] = ()) -> AdmmPoint:
    """The point of the first of some configurations of the space; without any, that of the simplest one.

    That leaves out all steps that may be left out and ends in naive Bayes, as far as constraints admit it; all else is
    at its default.
    """
    if initial:
        return form.encode(initial[0])
    structures, taken = form.structures, dict[str, str]()
    for stage in form.space.stages:
        for branch in _simple(stage):
            if structures.existence.given({**taken, stage.address: branch}).exists:
                taken[stage.address] = branch
                break
    return form.encode(Completer(structures).complete(structures.nearest(taken)))


def _simple(stage: Choice) -> Iterator[str]:
    """The alternatives of a stage that are simple, the simplest first."""
    yield from (branch.name for branch in stage.branches if branch.node == NOTHING)
    yield from (branch.name for branch in stage.branches if branch.name == FIRST)
