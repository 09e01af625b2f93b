"""Bayesian optimization of pipelines: a Gaussian process over one-hot vectors.

See spacelang/optimizers/README.md, section "Bayesian optimization of pipelines".
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice
from typing import ClassVar, Final, Literal

import numpy as np
from numpy.random import Generator

from spacelang.ir.search_protocol import Ask, LazyRequest, Problem, Search, SearchCoroutine
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._draws import RandomLeaves
from spacelang.optimizers._scheduling import make_lazy_request
from spacelang.optimizers._selection import MemorySelector, Selector, SelectorCall, search_with_selector
from spacelang.plugins import option
from spacelang.sampling.value_codes import Array
from spacelang.surrogates import POINTS_WHEN_FITTED, SUBSAMPLING_NOTE, limit_to_one_thread
from spacelang.targets.blds import NOT_REACHED, DiscrepancyTree, Pipeline


@dataclass(frozen=True, slots=True)
class Bo:
    """Bayesian optimization of pipelines: a Gaussian process over their one-hot vectors, and expected improvement."""

    paper: ClassVar[str] = "Liu et al., An ADMM Based Framework for AutoML Pipeline Configuration, AAAI 2020"

    initial: int = option(10, "pipelines before the first model, at most half of the iterations; known trials count")
    hyperparameters: Literal["default", "sample"] = option("default", settings.HYPERPARAMETERS)

    def __post_init__(self) -> None:
        settings.check_option(self, "initial", self.initial >= 2, "must be at least 2: a model needs 2 pipelines")

    def search(self, problem: Problem) -> Search:
        """Evaluate the pipeline with the largest expected improvement, on all rows, until every one was evaluated.

        The first pipelines are drawn uniformly. For further idle workers the model assumes that running pipelines get
        the median value.
        """
        yield from search_with_selector(self.selector(), problem, self.hyperparameters)

    def selector(self) -> Selector:
        """Return a selector whose iterations are evaluated pipelines; known trials enter the model but do not count."""
        return MemorySelector(self._propose)

    def _propose(self, turn: SelectorCall[Pipeline]) -> SearchCoroutine[None]:
        most = self.initial if turn.iterations is None else min(self.initial, turn.iterations // 2)
        yield from _Proposals(turn, max(2, most)).run()


class _Proposals:
    def __init__(self, turn: SelectorCall[Pipeline], initial: int) -> None:
        self._turn, self._initial = turn, initial
        self._tree, self._size = turn.selection.tree, turn.selection.size
        self._values: dict[Pipeline, float] = {}
        """The values of known pipelines, in the order in which they became known."""
        self._pending: dict[Request | LazyRequest, Pipeline] = {}
        self._started_count = 0
        self._is_exhausted = False
        """True once a proposal had to repeat a known pipeline."""
        for pipeline in turn.memory:
            for trial in turn.record_known_trials(pipeline, self._size):
                self._record(pipeline, trial)
        start = () if turn.start is None else (turn.start,)
        self._initial_pipelines = [*filter(self._is_new, dict.fromkeys((*start, *turn.selection.initial)))]
        """The pipelines that come first, without a proposal."""

    def run(self) -> SearchCoroutine[None]:
        room = self._turn.selection.idle_workers
        while True:
            begin = tuple(self._next_request() for _ in range(self._start_count(room)))
            self._started_count += len(begin)
            if not begin and not self._pending:
                return
            event = yield Ask(begin)
            room = event.idle_workers
            if event.finished is not None and event.request is not None:
                pipeline = self._pending.pop(event.request)
                self._turn.record(pipeline, event.finished)
                self._record(pipeline, event.finished)

    def _start_count(self, idle_workers: int) -> int:
        """Return how many trials to start on `idle_workers`: at least one if none is running.

        There are never more than pipelines or iterations are left.
        """
        if self._is_exhausted or not self._turn.can_continue(self._started_count):
            return 0
        left = self._tree.leaf_count - len(self._values) - len(self._pending)
        if self._turn.iterations is not None:
            left = min(left, self._turn.iterations - self._started_count)
        return min(max(idle_workers, not self._pending), left)

    def _record(self, pipeline: Pipeline, trial: Trial) -> None:
        """Record the value of a trial: for a failure the worst of its own and all recorded values."""
        number = self._turn.normalized_penalized_loss(trial)
        worst = max(self._values.values(), default=number) if trial.loss is None else number
        self._values[pipeline] = max(worst, number)
        if len(self._values) > POINTS_WHEN_FITTED:
            self._turn.selection.remark(SUBSAMPLING_NOTE)

    def _next_request(self) -> Request | LazyRequest:
        if self._initial_pipelines:
            request = self._request(pipeline := self._initial_pipelines.pop(0))
            self._pending[request] = pipeline
            return request

        return make_lazy_request(self._make_proposal, self._record_start)

    def _record_start(self, asked: LazyRequest, request: Request) -> None:
        self._pending[asked] = pipeline = tuple(int(place) for place in request.memo)
        self._is_exhausted |= pipeline in self._values

    def _make_proposal(self, rng: Generator) -> Request:
        """Return the request of the best new pipeline, or of a known or running one if there is no new one."""
        with limit_to_one_thread():
            pipeline = next(filter(self._is_new, self._rank_candidates(rng)), None)
        if pipeline is None:
            pipeline = self._turn.best_candidate if self._values else next(iter(self._pending.values()))
        return self._request(pipeline)

    def _request(self, pipeline: Pipeline) -> Request:
        return replace(self._turn.request(pipeline, self._size), memo=pipeline)

    def _rank_candidates(self, rng: Generator) -> Iterator[Pipeline]:
        """Yield the pipelines that may be next, best first; random ones while there are too few trials for a model."""
        if not self._values or len(self._values) + len(self._pending) < self._initial:
            return RandomLeaves(self._tree, rng).each_once_in_random_order()
        return self._promising.rank_unevaluated(self._values, [*self._pending.values()], rng)

    def _is_new(self, pipeline: Pipeline) -> bool:
        is_seen = pipeline in self._values or pipeline in self._pending.values()
        return not is_seen and self._turn.selection.admits(pipeline)

    @cached_property
    def _promising(self) -> "PipelineRanking":
        return PipelineRanking(self._tree)


MAX_RANKED_LEAVES: Final = 20_000  # All leaves are ranked in a tree with at most this many
SAMPLE_SIZE: Final = 2_000
"""How many leaves of a larger tree are drawn and ranked, with those that differ from the best in one decision."""
CHUNK: Final = 500  # How many leaves are ranked at a time, to limit memory


class PipelineRanking:
    """A ranking of the leaves of a tree by expected improvement under a Gaussian process."""

    def __init__(self, tree: DiscrepancyTree) -> None:
        self._tree = tree
        self._starts = (0, *accumulate(len(layer.alternatives) for layer in tree.layers))
        from spacelang.surrogates.gaussian_process import IncrementalGaussianProcess

        self._growing = IncrementalGaussianProcess()

    def encode(self, pipelines: Sequence[Pipeline]) -> Array:
        """Encode n pipelines as an array, one coordinate per alternative of each decision, 0 where it is not taken."""
        found = np.zeros((len(pipelines), self._starts[-1]))
        places = np.array(pipelines, int).reshape(len(pipelines), len(self._tree.layers))
        rows, columns = np.nonzero(places != NOT_REACHED)
        found[rows, np.array(self._starts)[columns] + places[rows, columns]] = 1.0
        return found

    def rank_unevaluated(
        self, numbers: Mapping[Pipeline, float], pending: Collection[Pipeline], rng: Generator
    ) -> Iterator[Pipeline]:
        """Yield the leaves that are neither known nor running, by decreasing expected improvement.

        Of a large tree only a sample and the neighbours of the best leaf are ranked; the other leaves follow in text
        order. `numbers` maps known pipelines, at least one, to the values to be minimized, in the order in which they
        became known. The running pipelines `pending` are assumed to have the median value.
        """
        from spacelang.surrogates.gaussian_process import log_expected_improvement

        values = np.array([*numbers.values()])
        model = self._growing.fit(self.encode([*numbers]), values, self.encode([*pending]))
        best = float(model.standardise(values.min()))
        candidates = self._candidates([*numbers][int(values.argmin())], {*numbers, *pending}, rng)
        chunks = (candidates[start : start + CHUNK] for start in range(0, len(candidates), CHUNK))
        posteriors = (model.process.posterior(self.encode(chunk)) for chunk in chunks)
        promises = [log_expected_improvement(best, *posterior) for posterior in posteriors]
        for place in np.argsort(-np.concatenate([np.empty(0), *promises]), kind="stable").tolist():
            yield candidates[place]
        if self._tree.leaf_count > MAX_RANKED_LEAVES:
            yield from (leaf for leaf in self._tree.iter_leaves() if leaf not in numbers and leaf not in pending)

    def _candidates(self, best: Pipeline, seen: Collection[Pipeline], rng: Generator) -> list[Pipeline]:
        """Return new leaves to rank: all of a small tree, else a random sample and the neighbours of `best`."""
        if self._tree.leaf_count <= MAX_RANKED_LEAVES:
            return [leaf for leaf in self._leaves if leaf not in seen]
        drawn = islice(
            (leaf for leaf in RandomLeaves(self._tree, rng).each_once_in_random_order() if leaf not in seen),
            SAMPLE_SIZE,
        )
        return [*dict.fromkeys((*drawn, *(leaf for leaf in self._tree.walk(best, 1) if leaf not in seen)))]

    @cached_property
    def _leaves(self) -> list[Pipeline]:
        return list(self._tree.iter_leaves())
