"""MOSAIC: Monte Carlo tree search of structures, with Bayesian optimization below its nodes."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import isfinite
from typing import ClassVar, Final, Literal

from numpy.random import Generator

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import LazyRequest, Problem, Search
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _mosaic
from spacelang.optimizers._common_options import check_option, require
from spacelang.optimizers._draws import UniqueConfigurations
from spacelang.optimizers._mosaic import (
    ExhaustedNode,
    Playout,
    RewardSurrogate,
    SearchTree,
    TreePolicy,
)
from spacelang.optimizers._scheduling import make_lazy_request, run_requests
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult
from spacelang.targets.blds import DiscrepancyTree
from spacelang.targets.mosaic import Mosaic as Target
from spacelang.targets.mosaic import Prefix, StructuralTree, Vector

MIN_DRAWS: Final = 10
"""The minimum number of draws at a time below a first alternative; if none is new, drawing stops there."""


@dataclass(frozen=True, slots=True)
class Mosaic:
    """Monte Carlo tree search: a bandit selects structures, a random forest the configurations below them."""

    paper: ClassVar[str] = "Rakotoarison et al., Automated Machine Learning with Monte-Carlo Tree Search, IJCAI 2019"

    variant: Literal["vanilla", "metalearning"] = option(
        "vanilla",
        "start with each alternative of the first decision; `metalearning`: with configurations of `--archive` before",
    )
    c_ucb: float = option(1.3, "the weight of exploration in the score of an alternative")
    pw: float = option(0.6, "progressive widening: after n visits a node has at most n^pw children")
    n_s: int = option(100, "the number of draws below a node, over which the forest's predictions are averaged")
    n_r: int = option(
        1000, "the number of candidates below the selected node, besides the neighbours of its best configuration"
    )
    kappa: int = option(
        3, "initial draws for each alternative of the first decision, besides its default configuration"
    )
    slow_skip_seconds: float = option(
        0.0, "skip initial draws of an alternative whose default took longer than this many seconds; 0: skip none"
    )
    trees: int = option(60, "the number of trees of the forest")
    features: float = option(0.5, "the share of features that each split of a tree considers")
    rewards: Literal["published", "rescaled"] = option(
        "published", "select structures by their rewards, or by rewards rescaled so that those of the run span 0 to 1"
    )
    backup: Literal["median", "best"] = option("median", "the value of a structure: the median or the best reward")

    def __post_init__(self) -> None:
        is_weight = isfinite(self.c_ucb) and self.c_ucb >= 0
        check_option(self, "c_ucb", is_weight, "must be finite and at least 0; 0 means no exploration")
        check_option(self, "pw", 0 < self.pw <= 1, "must be greater than 0 and at most 1")
        check_option(self, "kappa", self.kappa >= 0, "must be at least 0; 0 means only the defaults")
        is_time = isfinite(self.slow_skip_seconds) and self.slow_skip_seconds >= 0
        check_option(self, "slow_skip_seconds", is_time, "must be finite and at least 0; 0 skips no draws")
        check_option(
            self, "features", 0 < self.features <= 1, "is a share: choose a value greater than 0 and at most 1"
        )
        for name in ("n_s", "n_r", "trees"):
            value = getattr(self, name)
            require(value >= 1, f"`{name}` is {value}", f"`{name}` must be at least 1")

    def search(self, problem: Problem) -> Search:
        """Run playouts without end; a finite space is exhausted.

        The reward of a trial is 1 minus its normalized loss, 0 for a failure. A running trial counts as a visit without
        a reward, so that idle workers explore other nodes. Raises OptionError if `variant=metalearning` has no initial
        configurations.
        """
        self.check_initial(problem.initial)
        structures = Structures(problem.space)
        if structures.count:
            yield from _Run(self, problem, structures).run()

    def form(self, structures: Structures) -> LoweringResult[StructuralTree, Vector]:
        """Compile the structural tree that is searched; raises RefusedError for what its vectors cannot represent."""
        return Target().lower(structures)

    def check_initial(self, initial: Sequence[Configuration]) -> None:
        """Raise OptionError if the variant needs initial configurations and there are none."""
        is_given = self.variant == "vanilla" or bool(initial)
        missing = "`variant=metalearning` starts with configurations of an archive, but none are given"
        require(
            is_given, missing, "give configurations with `--archive FILE` or `--initial FILE`, or use `variant=vanilla`"
        )


class _Run:
    def __init__(self, options: Mosaic, problem: Problem, structures: Structures) -> None:
        self._options, self._initial, self._rng = options, problem.initial, problem.rng
        self._tree = options.form(structures).form
        seed = int(problem.rng.integers(1 << 63))
        self._surrogate = RewardSurrogate(
            self._tree, seed, trees=options.trees, features=options.features, draws=options.n_s
        )
        self._nodes = SearchTree()
        self._policy = TreePolicy(
            self._nodes,
            self._tree.actions,
            self._surrogate.predict_mean_rewards,
            options.c_ucb,
            options.pw,
            options.backup,
            self._surrogate.reward_range if options.rewards == "rescaled" else None,
        )
        self._best: dict[Prefix, tuple[float, Configuration]] = {}
        """For each prefix the best reward below it and its configuration, even if the prefix is no node yet."""
        self._remaining = UniqueConfigurations(DiscrepancyTree(structures), problem.rng)
        self._seen: dict[Configuration, None] = {}
        self._started_below: Counter[Prefix] = Counter()
        """How many started configurations are below each prefix."""
        self._running_playouts: dict[Request | LazyRequest, Playout | None] = {}
        """The playouts of running requests; None for a request whose trial is already known."""
        self._failed_playouts: deque[tuple[Playout, Configuration]] = deque()
        self._slow: set[Configuration] = set()
        self._is_exhausted = False
        """True once a playout found nothing new below any node."""

    def run(self) -> Search:
        yield from run_requests(self._requests(), self._record)

    def _requests(self) -> Iterator[Request | LazyRequest]:
        yield from (self._start_request(each) for each in self._initial_configurations() if each not in self._seen)
        while self._failed_playouts or not self._is_exhausted:
            failed = self._failed_playouts.popleft() if self._failed_playouts else None
            make = self._propose if failed is None else partial(self._propose_again, *failed)
            yield make_lazy_request(make, self._record_start)
        yield from (
            self._start_request(each) for each in self._remaining.each_once_in_random_order() if each not in self._seen
        )

    def _initial_configurations(self) -> Iterator[Configuration]:
        """Yield the initial configurations, each first alternative's default, and `kappa` draws of those not slow.

        A first alternative is a branch of the tree's root, slow if its default took longer than `slow_skip_seconds`.
        """
        yield from self._initial
        tops: list[Prefix] = [(branch,) for branch in self._tree.actions(())] or [()]
        defaults = [self._tree.default_completion(top) for top in tops]
        yield from defaults
        streams = {default: self._new_draws(top) for default, top in zip(defaults, tops, strict=True)}
        for _ in range(self._options.kappa):
            for default, stream in streams.items():
                if default not in self._slow:
                    yield from islice(stream, 1)

    def _new_draws(self, top: Prefix) -> Iterator[Configuration]:
        """Yield new draws below a first alternative, until a whole batch has none."""
        is_fruitful = True
        while is_fruitful:
            found = _mosaic.draw_below_prefix(self._tree, top, max(self._options.kappa, MIN_DRAWS), self._rng)
            is_fruitful = False
            for each in found if isinstance(found, list) else found.configurations():
                if each not in self._seen:
                    is_fruitful = True
                    yield each

    # ---- one iteration

    def _propose(self, rng: Generator) -> Request:
        """Run selection, expansion and playout until a new candidate is found, and return its request.

        Nodes without new candidates are marked as exhausted; the memo lists them, for `_record_start` in a resumed run.
        If no node has a new candidate, the request is that of a known configuration.
        """
        seed = int(rng.integers(1 << 62))
        dry: list[ExhaustedNode] = []
        while not self._is_fully_started(()) and (prefix := self._policy.next_playout_prefix()) is not None:
            configuration = self._best_new_candidate(prefix, seed)
            if configuration is not None:
                return Request(configuration, memo=Playout(prefix, seed, 1, tuple(dry)).memo)
            dry.append((prefix, self._best[prefix][0] if prefix in self._best else None))
            self._policy.mark_exhausted(*dry[-1])
        return Request(next(iter(self._seen)), memo=Playout((), seed, 1, tuple(dry)).memo)

    def _propose_again(self, failed: Playout, configuration: Configuration, _: Generator) -> Request:
        assert failed.seed is not None, "an evaluation outside a playout is not retried"
        found = self._best_new_candidate(failed.prefix, failed.seed)
        playout = failed.next_attempt(is_last=found is None)
        return Request(configuration if found is None else found, memo=playout.memo)

    def _best_new_candidate(self, prefix: Prefix, seed: int) -> Configuration | None:
        if self._is_fully_started(prefix):
            return None
        _, best = self._best.get(prefix, (0.0, None))
        candidates = self._surrogate.ranked_candidates(prefix, best, seed, self._options.n_r)
        return next((each for each in candidates if each not in self._seen), None)

    def _is_fully_started(self, prefix: Prefix) -> bool:
        """Return True if every configuration below a node was started; never in a space with hyperparameters."""
        if self._tree.space.hyperparameters:
            return False
        return self._started_below[prefix] == self._tree.count_structures(prefix)

    # ---- starts and results

    def _start_request(self, configuration: Configuration) -> Request:
        request = Request(configuration)
        self._record_start(request, request)
        return request

    def _record_start(self, asked: Request | LazyRequest, request: Request) -> None:
        """Record the start of a request and the visit of a new playout; a known configuration ends the playouts."""
        playout = Playout.from_request(request, self._tree)
        for prefix, reward in playout.exhausted_nodes:
            self._policy.mark_exhausted(prefix, reward)
        is_known = playout.is_first_attempt and request.configuration in self._seen
        self._is_exhausted |= is_known
        self._running_playouts[asked] = None if is_known else playout
        if request.configuration not in self._seen:
            self._seen[request.configuration] = None
            self._started_below.update(self._prefixes(request.configuration))
        if playout.is_first_attempt and not is_known:
            self._nodes.start_visit(playout.prefix)

    def _record(self, asked: Request | LazyRequest, trial: Trial) -> None:
        """Back up the reward of a trial, unless its playout has another candidate after a failure."""
        playout, configuration = self._running_playouts.pop(asked), trial.request.configuration
        if 0 < self._options.slow_skip_seconds < trial.cost:
            self._slow.add(configuration)
        if playout is None:
            return
        if trial.loss is None and playout.attempt < _mosaic.MAX_ATTEMPTS and not self._is_exhausted:
            self._failed_playouts.append((playout, configuration))
            return
        reward = 1.0 - trial.normalized_loss
        self._nodes.finish_visit(playout.prefix, reward)
        if trial.loss is not None:
            self._surrogate.record(configuration, reward)
            self._update_best(configuration, reward)

    def _update_best(self, configuration: Configuration, reward: float) -> None:
        for prefix in self._prefixes(configuration):
            if prefix not in self._best or reward > self._best[prefix][0]:
                self._best[prefix] = reward, configuration

    def _prefixes(self, configuration: Configuration) -> Iterator[Prefix]:
        whole = self._tree.prefix_of(configuration)
        return (whole[:length] for length in range(len(whole) + 1))
