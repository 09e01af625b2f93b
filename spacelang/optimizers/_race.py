"""Asynchronous successive halving: how many rows a configuration is trained on, and which one is trained on more.

See spacelang/optimizers/README.md, section "AUTO: race".
"""

from dataclasses import dataclass, field
from math import floor, log
from statistics import median
from typing import Final, TypeAlias

from spacelang.ir.configuration import Configuration
from spacelang.ir.search_protocol import TotalBudget
from spacelang.ir.trial import Trial
from spacelang.optimizers._fidelity import rungs, rungs_by_division

MIN_ROWS: Final = 10_000  # With fewer training rows every configuration is trained on all rows
MIN_FIRST_ROWS: Final = 3_000  # The minimum number of rows of the first rung
EARLY_SHARE: Final = 0.5  # The share of the remaining time that one of the first trainings on all rows may take
MIN_TRAINED_ON_ALL: Final = 3  # So many configurations are trained on all rows before others are compared
MIN_RESULTS: Final = 8  # With fewer results on all rows no evaluation is hopeless
EVALUATIONS: Final = 20
"""A new configuration gets the largest number of rows with which so many of them fit into the budget."""
SEARCH_SHARE: Final = 0.75  # The share of a time budget that is certainly left for trials, apart from final fits
PRIOR_EXPONENT: Final = 0.8  # The assumed growth of cost with rows before a configuration was trained on two rungs
WORTHWHILE_EXPONENT: Final = 0.3
"""Between two rungs with a smaller growth of cost, fewer rows save hardly any time: a fit is mostly overhead."""

RaceKey: TypeAlias = tuple[bool, float, float]
"""A sort key: (trial failed, violation of the bounds, loss). The better of two trials has the smaller key."""


def race_sort_key(trial: Trial) -> RaceKey:
    """Return a sort key: trials that satisfy the bounds come before others by loss, and failures come last."""
    return (True, 0.0, 0.0) if trial.loss is None else (False, trial.excess, trial.loss)


def race_rungs(size: int, b: int, eta: float) -> tuple[int, ...]:
    """Return the numbers of rows of a race for `size` rows, ascending.

    With `b` > 0 these are the rungs of the fidelity grid. Otherwise they are size, size / eta, ..., at least
    `MIN_FIRST_ROWS`, and `size` alone below `MIN_ROWS`.
    """
    if b:
        return rungs(size, b, eta)
    return (size,) if size < MIN_ROWS else rungs_by_division(size, MIN_FIRST_ROWS, eta)


@dataclass(slots=True)
class CostByRows:
    """The cost of a training as a function of the number of rows, estimated from finished trials.

    The cost of a configuration grows with a power of the number of rows. The power is the median over all pairs of
    trials of one configuration on neighbouring rungs, with one more pair of `PRIOR_EXPONENT`.
    """

    rungs: tuple[int, ...]
    _costs: dict[Configuration, dict[int, float]] = field(default_factory=dict)
    _exponents: list[float] = field(default_factory=list)
    _exponents_by_rung: dict[int, list[float]] = field(default_factory=dict)
    _median_costs: dict[int, float] = field(default_factory=dict)
    """The median costs by rung, as far as they are known since the last trial."""

    def record(self, configuration: Configuration, rung: int, seconds: float) -> None:
        """Record the seconds, more than 0, of a successful trial on a rung."""
        self._median_costs.clear()
        known = self._costs.setdefault(configuration, {})
        below = max((other for other in known if other < rung), default=None)
        if below is not None:
            growth = log(seconds / known[below]) / log(self.rungs[rung] / self.rungs[below])
            self._exponents.append(min(max(growth, 0.0), 2.0))
            self._exponents_by_rung.setdefault(below, []).append(self._exponents[-1])
        known[rung] = seconds

    @property
    def exponent(self) -> float:
        """The power with which costs grow with the number of rows."""
        return median([*self._exponents, PRIOR_EXPONENT])

    def is_cheaper_than_next_rung(self, rung: int) -> bool:
        """Return True unless trainings on the next rung were found to cost hardly more than those on this one."""
        found = self._exponents_by_rung.get(rung, ())
        return len(found) < MIN_TRAINED_ON_ALL or median(found) >= WORTHWHILE_EXPONENT

    def median_cost(self, rung: int) -> float | None:
        """Return the median over all configurations of their cost on a rung; None without any."""
        if rung not in self._median_costs and self._costs:
            exponent = self.exponent
            self._median_costs[rung] = median(self._scaled(known, rung, exponent) for known in self._costs.values())
        return self._median_costs.get(rung)

    def predict(self, configuration: Configuration, rung: int) -> float | None:
        """Return the expected cost of a configuration on a rung, in seconds.

        It follows from a trial of its own on any rung, else it is the median of all configurations on this rung. None
        if there is neither.
        """
        known = self._costs.get(configuration)
        return self.median_cost(rung) if known is None else self._scaled(known, rung, self.exponent)

    def _scaled(self, known: dict[int, float], rung: int, exponent: float) -> float:
        nearest = min(known, key=lambda other: (abs(other - rung), -other))
        growth: float = (self.rungs[rung] / self.rungs[nearest]) ** exponent
        return known[nearest] * growth


class Race:
    """The trainings of configurations on the rungs, each of which has `eta` times as many rows as the one below.

    A configuration is promoted when it is among the best `1 / eta` of all results on its rung, whether or not other
    trainings are still running (asynchronous successive halving).
    """

    def __init__(self, rungs: tuple[int, ...], eta: float, budget: TotalBudget) -> None:
        self.rungs, self._eta = rungs, eta
        self._seconds = None if budget.seconds is None else SEARCH_SHARE * budget.seconds
        self._trials = budget.trials
        self.costs = CostByRows(rungs)
        self._spent = 0.0
        self._results: list[dict[Configuration, RaceKey]] = [{} for _ in rungs]
        self._started: list[set[Configuration]] = [set() for _ in rungs]

    @property
    def last_rung(self) -> int:
        """The rung of all rows."""
        return len(self.rungs) - 1

    def start(self, configuration: Configuration, rung: int) -> None:
        """Note that the training of a configuration on a rung has been requested."""
        self._started[rung].add(configuration)

    def record(self, rung: int, trial: Trial) -> None:
        """Record a finished training on a rung."""
        configuration = trial.request.configuration
        self.subtract_from_time_left(trial)
        self._results[rung][configuration] = race_sort_key(trial)
        if trial.loss is not None and trial.seconds_without_sharing > 0:
            self.costs.record(configuration, rung, trial.seconds_without_sharing)

    def subtract_from_time_left(self, trial: Trial) -> None:
        """Take the cost of a trial from the time that is left."""
        self._spent += trial.cost

    def rung_for_new_configuration(self) -> int:
        """Return the rung on which a new configuration is trained first.

        It is the highest one on which `EVALUATIONS` typical trainings fit into the budget, and none on which a training
        is mostly overhead. Without a budget, it is the first one. If only the number of trials is limited, it is the
        last one, because fewer rows save nothing then.
        """
        if not self.last_rung or (self._seconds is None and self._trials is not None):
            return self.last_rung
        if self._seconds is None:
            return 0
        worthwhile = [
            rung
            for rung in range(len(self.rungs))
            if rung == self.last_rung or self.costs.is_cheaper_than_next_rung(rung)
        ]
        found = worthwhile[0]
        for rung in worthwhile:
            cost = self.costs.median_cost(rung)
            if cost is not None and cost * EVALUATIONS <= self._seconds:
                found = rung
        return found

    def pruning_threshold(self) -> float | None:
        """Return the loss on all rows above which an evaluation need not be completed; None for few results.

        It is as far above the median of all results that satisfy the bounds as the best one is below it.
        """
        keys = self._results[self.last_rung].values()
        known = [loss for has_failed, excess, loss in keys if not has_failed and excess == 0]
        if len(known) < MIN_RESULTS:
            return None
        middle = median(known)
        return middle + (middle - min(known))

    def next_promotion(self) -> tuple[Configuration, int] | None:
        """Return the configuration to be trained on more rows, and its next rung; None if there is none.

        Promotions to higher rungs come first. While fewer than `MIN_TRAINED_ON_ALL` configurations were trained on all
        rows, one more is trained on all rows at once (see `_early_promotion`), if that takes at most half of the rest
        of the time. A training that would probably take longer than the budget lasts is left out.
        """
        if self.last_rung and len(self._started[self.last_rung]) < MIN_TRAINED_ON_ALL:
            early = self._early_promotion()
            if early is not None:
                return early, self.last_rung
        for rung in range(self.last_rung - 1, -1, -1):
            ranked = self._successes(rung)
            for configuration in ranked[: floor(len(self._results[rung]) / self._eta)]:
                if not self._is_beyond(configuration, rung) and self._is_affordable(configuration, rung + 1):
                    return configuration, rung + 1
        return None

    def best_not_fully_trained(self) -> tuple[Configuration, int] | None:
        """Return the best configuration on the highest rung of those not started on a higher one, and the last rung.

        The last rung is the one to train it on. None if every configuration was started on the last rung.
        """
        for rung in range(self.last_rung - 1, -1, -1):
            for configuration in sorted(self._results[rung], key=lambda each: self._results[rung][each]):
                if not self._is_beyond(configuration, rung):
                    return configuration, self.last_rung
        return None

    def _early_promotion(self) -> Configuration | None:
        """Return a configuration to be trained on all rows at once; None without enough results or time.

        It is the best on the highest rung with at least `MIN_TRAINED_ON_ALL` * (1 + n) results, if n configurations
        were started on all rows.
        """
        for rung in range(self.last_rung - 1, -1, -1):
            ranked = [each for each in self._successes(rung) if each not in self._started[self.last_rung]]
            wanted = MIN_TRAINED_ON_ALL * (1 + len(self._started[self.last_rung]))
            if ranked and len(self._results[rung]) >= wanted:
                return next((each for each in ranked if self._is_affordable(each, self.last_rung, EARLY_SHARE)), None)
        return None

    def _successes(self, rung: int) -> list[Configuration]:
        results = self._results[rung]
        return sorted((each for each, (has_failed, *_) in results.items() if not has_failed), key=lambda e: results[e])

    def _is_beyond(self, configuration: Configuration, rung: int) -> bool:
        return any(configuration in self._started[higher] for higher in range(rung + 1, len(self.rungs)))

    def _is_affordable(self, configuration: Configuration, rung: int, share: float = 1.0) -> bool:
        cost = self.costs.predict(configuration, rung)
        return self._seconds is None or cost is None or cost <= share * (self._seconds - self._spent)
