"""The selector protocol: reusable searches over pipelines (spacelang/optimizers/README.md, section "Selectors").

Each call of a selector receives the present configuration of each pipeline and the value that trials are compared by.
Both may differ between calls. An optimizer of pipelines is a selector that selects without end.
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
    """Return a penalty of 0 for every trial."""
    return 0.0


def every(_: Pipeline) -> bool:
    """Return True for every pipeline."""
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The problem passed to a selector: the pipelines, their present configurations and the comparison of trials.

    `size` is the number of training rows. All random draws use `rng`. `penalty` returns the penalty of a successful
    trial, which is added to its loss: at least 0, finite, and in units of the normalized loss. `room` is the number of
    idle workers, as far as the caller knows. `initial` are pipelines that come first, without repetition.

    Pipelines that `admits` rejects fail at their present configuration. A selector may skip them, and a selector that
    makes lazy requests must never request one. At least one pipeline is admitted. `remark` is that of the `Problem`.
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
        """Return the selection problem of a whole search, with one configuration per pipeline by `rule`.

        The configuration is the default one or is drawn once. The pipelines of the problem's initial configurations
        come first, with their configuration under this rule.
        """
        tree = DiscrepancyTree(Structures(problem.space))
        completion = Completion(tree, rule, problem.rng)
        first = dict.fromkeys(tree.pipeline_of(structure_of(problem.space, each)) for each in problem.initial)
        return cls(tree, completion.of, problem.size, problem.rng, initial=tuple(first), remark=problem.remark)

    def number(self, trial: Trial) -> float:
        """Return the value to be minimized: the loss plus the penalty in units of the loss; infinity for a failure."""
        return inf if trial.loss is None else trial.loss + self.penalty(trial) * trial.scale.width

    def order(self, trial: Trial) -> Order:
        """Return a key that sorts trials from best to worst by `number`; failures come after every success."""
        return trial.loss is None, 0.0 if trial.loss is None else self.number(trial)

    def standing(self, trial: Trial) -> float:
        """Return the normalized loss plus the penalty, for formulas that assume losses in [0, 1]; 1 for a failure."""
        return trial.standing if trial.loss is None else trial.standing + self.penalty(trial)


class Selector(Protocol):
    """A reusable search over pipelines that keeps what it has learnt between calls.

    A trial at another configuration of the pipeline than the present one is ignored. A trial at the present
    configuration is compared with the present penalty.
    """

    def select(
        self,
        selection: Selection,
        iterations: int | None = None,
        start: Pipeline | None = None,
        seconds: float | None = None,
    ) -> Asking[Pipeline]:
        """Return the best pipeline found in `iterations` of the selector's own iterations, or in `seconds` of cost.

        The search starts from the pipeline `start` if the selector uses a starting point. Without a limit it continues
        until there is nothing left to request. A known trial is not requested again; it counts as an iteration and
        costs nothing. The result was trained on all rows if any pipeline was. It is never worse than a known `start`.
        No committed trial is running when the call returns, only speculative ones may be.

        Raises ValueError if nothing can be done: no iterations, no time or no pipeline.
        """

    def forget(self, pipeline: Pipeline) -> None:
        """Forget all trials of a pipeline, at every configuration."""


def look_around(selection: Selection) -> Asking[Selection]:
    """Return the selection problem with the present number of idle workers, at the start of a search."""
    told = yield Ask()
    return replace(selection, room=told.room)


def search(selector: Selector, problem: Problem, rule: Literal["default", "sample"]) -> Search:
    """Run a selector without limits on a whole problem; returns at once if the space is empty."""
    selection = Selection.of(problem, rule)
    if selection.tree.leaves:
        yield from selector.select((yield from look_around(selection)))
