"""The selector protocol: reusable searches over pipelines (spacelang/optimizers/README.md, section "Selectors").

Each call of a selector receives the present configuration of each pipeline and the value that trials are compared by.
Both may differ between calls. An optimizer of pipelines is a selector that selects without end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Literal, Protocol

from spacelang.deprecation import renamed_attributes
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Problem, ignore_remark
from spacelang.ir.search_protocol import Ask, Search, SearchCoroutine
from spacelang.ir.trial import SortKey, Trial
from spacelang.ir.walk import structure_of
from spacelang.optimizers._pipeline_configurations import PipelineConfigurations
from spacelang.solver.counting import Structures
from spacelang.targets.blds import DiscrepancyTree, Pipeline

if TYPE_CHECKING:
    from numpy.random import Generator


def no_penalty(_: Trial) -> float:
    """Return a penalty of 0 for every trial."""
    return 0.0


def accept_all(_: Pipeline) -> bool:
    """Return True for every pipeline."""
    return True


@renamed_attributes(
    order="sort_key", room="idle_workers", of="from_problem", standing="normalized_value", number="value"
)
@dataclass(frozen=True, slots=True, eq=False)
class SelectionProblem:
    """The problem passed to a selector: the pipelines, their present configurations and the comparison of trials.

    `size` is the number of training rows. All random draws use `rng`. `penalty` returns the penalty of a successful
    trial, which is added to its loss: at least 0, finite, and in units of the normalized loss. `idle_workers` is the
    number of idle workers, as far as the caller knows. `initial` are pipelines that come first, without repetition.

    Pipelines that `admits` rejects fail at their present configuration. A selector may skip them, and a selector that
    makes lazy requests must never request one. At least one pipeline is admitted. `remark` is that of the `Problem`.
    """

    tree: DiscrepancyTree
    configuration: Callable[[Pipeline], Configuration]
    size: int
    rng: "Generator"
    penalty: Callable[[Trial], float] = no_penalty
    idle_workers: int = 1
    initial: tuple[Pipeline, ...] = ()
    admits: Callable[[Pipeline], bool] = accept_all
    remark: Callable[[str], None] = ignore_remark

    @classmethod
    def from_problem(cls, problem: Problem, rule: Literal["default", "sample"]) -> "SelectionProblem":
        """Return the selection problem of a whole search, with one configuration per pipeline by `rule`.

        The configuration is the default one or is drawn once. The pipelines of the problem's initial configurations
        come first, with their configuration under this rule.
        """
        tree = DiscrepancyTree(Structures(problem.space))
        completion = PipelineConfigurations(tree, rule, problem.rng)
        first = dict.fromkeys(tree.pipeline_of(structure_of(problem.space, each)) for each in problem.initial)
        return cls(
            tree, completion.configuration_of, problem.size, problem.rng, initial=tuple(first), remark=problem.remark
        )

    def value(self, trial: Trial) -> float:
        """Return the value to be minimized: the loss plus the penalty in units of the loss; infinity for a failure."""
        return inf if trial.loss is None else trial.loss + self.penalty(trial) * trial.scale.width

    def sort_key(self, trial: Trial) -> SortKey:
        """Return a key that sorts trials from best to worst by `value`; failures come after every success."""
        return trial.loss is None, 0.0 if trial.loss is None else self.value(trial)

    def normalized_value(self, trial: Trial) -> float:
        """Return the normalized loss plus the penalty, for formulas that assume losses in [0, 1]; 1 for a failure."""
        return trial.normalized_loss if trial.loss is None else trial.normalized_loss + self.penalty(trial)


class Selector(Protocol):
    """A reusable search over pipelines that keeps what it has learnt between calls.

    A trial at another configuration of the pipeline than the present one is ignored. A trial at the present
    configuration is compared with the present penalty.
    """

    def select(
        self,
        selection: SelectionProblem,
        iterations: int | None = None,
        start: Pipeline | None = None,
        seconds: float | None = None,
    ) -> SearchCoroutine[Pipeline]:
        """Return the best pipeline found in `iterations` of the selector's own iterations, or in `seconds` of cost.

        The search starts from the pipeline `start` if the selector uses a starting point. Without a limit it continues
        until there is nothing left to request. A known trial is not requested again; it counts as an iteration and
        costs nothing. The result was trained on all rows if any pipeline was. It is never worse than a known `start`.
        No committed trial is running when the call returns, only speculative ones may be.

        Raises ValueError if nothing can be done: no iterations, no time or no pipeline.
        """

    def forget(self, pipeline: Pipeline) -> None:
        """Forget all trials of a pipeline, at every configuration."""


def observe_idle_workers(selection: SelectionProblem) -> SearchCoroutine[SelectionProblem]:
    """Return the selection problem with the present number of idle workers, at the start of a search."""
    told = yield Ask()
    return replace(selection, idle_workers=told.idle_workers)


def search(selector: Selector, problem: Problem, rule: Literal["default", "sample"]) -> Search:
    """Run a selector without limits on a whole problem; returns at once if the space is empty."""
    selection = SelectionProblem.from_problem(problem, rule)
    if selection.tree.leaf_count:
        yield from selector.select((yield from observe_idle_workers(selection)))
