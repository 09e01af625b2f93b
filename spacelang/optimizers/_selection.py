"""Selectors: searches over pipelines that others can be made of (spacelang/optimizers/README.md, section "Selectors").

Who selects is told how a pipeline is configured at present and by what trials are compared; both may be others the next
time. An optimizer of pipelines is a selector that selects without end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal, Protocol

from spacelang.ir.asking import Ask, Asking, Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem, unheard
from spacelang.ir.trial import Order, Trial
from spacelang.ir.walk import structure_of
from spacelang.optimizers._completion import Completion
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator


def unpenalised(_: Trial) -> float:
    """No penalty."""
    return 0.0


def every(_: Pipeline) -> bool:
    """Every pipeline."""
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What a selector is told: the pipelines, how each is configured at present, and by what trials are compared.

    `size` is the number of training rows, and all that is drawn is drawn from `rng`. `penalty` is what a trial that
    succeeded has to bear beside its loss, in units of its standing: at least 0 and finite. `room` is how many workers
    have nothing to do, as far as the caller was told. `initial` are pipelines that come first, none twice. Those that
    `admits` does not admit fail as they are configured at present: they need not be asked for, and who leaves requests
    to be made later asks for none of them. It admits one at least. `remark` is that of the `Problem`.
    """

    tree: DiscrepancyTree
    configuration: Callable[[Pipeline], Configuration]
    size: int
    rng: "Generator"
    penalty: Callable[[Trial], float] = unpenalised
    room: int = 1
    initial: tuple[Pipeline, ...] = ()
    admits: Callable[[Pipeline], bool] = every
    remark: Callable[[str], None] = unheard

    @classmethod
    def of(cls, problem: Problem, rule: Literal["default", "sample"]) -> "Selection":
        """That of a whole search: every pipeline has one configuration, its default one or one that is drawn.

        What is given to begin with was evaluated as it is; its pipelines come first, as they are configured here.
        """
        tree = DiscrepancyTree(Structures(problem.space))
        completion = Completion(tree, rule, problem.rng)
        first = dict.fromkeys(tree.pipeline_of(structure_of(problem.space, each)) for each in problem.initial)
        return cls(tree, completion.of, problem.size, problem.rng, initial=tuple(first), remark=problem.remark)

    def number(self, trial: Trial) -> float:
        """What is minimised: the loss and the penalty; infinity for a failure."""
        return inf if trial.loss is None else trial.loss + self.penalty(trial) * trial.scale.width

    def order(self, trial: Trial) -> Order:
        """What sorts trials from the best to the worst: by their number, failures behind every success."""
        return trial.loss is None, 0.0 if trial.loss is None else self.number(trial)

    def standing(self, trial: Trial) -> float:
        """The standing and the penalty, for formulas that suppose losses from 0 to 1; 1 for a failure."""
        return trial.standing if trial.loss is None else trial.standing + self.penalty(trial)


class Selector(Protocol):
    """Selects a pipeline, again and again: what it has learnt in one call serves it in the next.

    What came of a pipeline at another configuration than the present one is not known of it; what came of it at this
    one is compared by the present penalty.
    """

    def select(
        self,
        selection: Selection,
        iterations: int | None = None,
        start: Pipeline | None = None,
        seconds: float | None = None,
    ) -> Asking[Pipeline]:
        """The best pipeline that is found in so many iterations of the selector's own, or seconds of cost.

        It begins from `start`, where it begins from a pipeline. Without an end it goes on until nothing is left to ask
        for. What is known is not asked for again: it counts among the iterations and costs nothing. The result is one
        that was trained on all rows, if any was; a `start` that is known is never better. Nothing is in flight when it
        returns but what was asked ahead.

        Raises ValueError where nothing is to be done: no iterations, no time or no pipeline.
        """

    def forget(self, pipeline: Pipeline) -> None:
        """What came of a pipeline, at whatever configuration, is not known any more."""


def look_around(selection: Selection) -> Asking[Selection]:
    """The same at the beginning of a search, with the room that there is."""
    told = yield Ask()
    return replace(selection, room=told.room)


def search(selector: Selector, problem: Problem, rule: Literal["default", "sample"]) -> Search:
    """Select without end; an empty space is exhausted at once."""
    selection = Selection.of(problem, rule)
    if selection.tree.leaves:
        yield from selector.select((yield from look_around(selection)))
