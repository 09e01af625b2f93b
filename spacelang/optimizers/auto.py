"""The default optimizer: a portfolio, a race on growing data, and a model of improvement per second.

See spacelang/optimizers/README.md, section "AUTO", and for portfolios "AUTO: portfolio".
"""

from bisect import insort
from collections import deque
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias

from numpy.random import Generator

from spacelang.files import resource_folder
from spacelang.grouping import group_by_key
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain_properties import unencodable_domains
from spacelang.ir.search_protocol import Ask, LazyRequest, Problem, Search
from spacelang.ir.space import Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers._draws import UniqueConfigurations
from spacelang.optimizers._fidelity import fidelity_of_rows
from spacelang.optimizers._improvement_per_second import ImprovementPerSecondModel, ModelKind
from spacelang.optimizers._race import Race, race_rungs
from spacelang.optimizers._scheduling import make_lazy_request
from spacelang.plugins import OptionError, option
from spacelang.serialization.json_documents import DefinitionError
from spacelang.serialization.portfolio import Portfolio, read_portfolio
from spacelang.solver.counting import Structures
from spacelang.solver.nearest_configuration import adapt_to_data
from spacelang.targets.blds import DiscrepancyTree
from spacelang.targets.mosaic import StructuralTree

BUNDLED: Final = "bundled"  # The portfolio that is shipped with a bundled space, if it has one
NO_PORTFOLIO: Final = "none"
Part: TypeAlias = Literal["initial", "portfolio", "race", "model", "chance"]
"""The part of the search that a trial comes from: the memo of its request."""
MIN_MEASURED_ROWS: Final = 500  # With fewer rows the costs of the defaults are not measured before they are ordered
MEASURED_PART: Final = 10  # The costs are measured on one part in `MEASURED_PART` of the rows


@dataclass(frozen=True, slots=True)
class Auto:
    """A portfolio of good configurations, a race on growing data, and a model of expected improvement per second."""

    paper: ClassVar[str] = "Feurer et al., Auto-sklearn 2.0: Hands-free AutoML via Meta-Learning, JMLR 2022"

    portfolio: str = option(
        BUNDLED,
        "configurations to start with: the `bundled` ones of the space, a file of `archive --portfolio`, or `none`",
    )
    race: bool = option(True, "compare configurations on few rows first; false: train each on all rows")
    model: Literal["chosen", "forest", "gp", "none"] = option(
        "chosen", "the model of losses: a random forest, a Gaussian process, none, or `chosen` by the size of the space"
    )
    random_fraction: float = option(0.25, "the share of new configurations that are always drawn at random")
    b: int = option(0, "rows of a configuration's first training; 0: chosen by measured cost, all below 10,000 rows")
    eta: float = option(3.0, settings.ETA)

    draws_configurations: ClassVar[bool] = True
    takes_fidelities: ClassVar[bool] = True
    """The rungs are the fidelities of the problem, if it has a fixed set of them."""

    def __post_init__(self) -> None:
        settings.check_fidelity_grid(max(self.b, 1), self.eta)
        settings.check_option(
            self, "b", self.b >= 0, "must be at least 1 row, or 0 to choose the number by measured cost"
        )
        is_share = 0 <= self.random_fraction <= 1
        settings.check_option(self, "random_fraction", is_share, "is a share: choose a value from 0 to 1")

    def race_rungs(self, problem: Problem) -> tuple[int, ...]:
        """Return the numbers of rows of the race, ascending; the number of all rows alone without a race.

        If only some fidelities can be evaluated, these are the ones from `b` on.
        """
        if not self.race:
            return (problem.size,)
        if problem.fidelities:
            return tuple(each for each in problem.fidelities if each >= min(self.b, problem.size))
        return race_rungs(problem.size, self.b, self.eta)

    def starting_points(self, structures: Structures) -> tuple[Configuration, ...]:
        """Return the configurations with which a search starts: the portfolio, or some defaults.

        The defaults are that of the space and that of each alternative of the first decision.

        Raises OptionError for a portfolio that cannot be read.
        """
        portfolio = load_portfolio(self.portfolio, structures.space)
        suggested = [] if portfolio is None else portfolio_members(portfolio, structures)
        return tuple(suggested) or _defaults(StructuralTree(structures))

    def search(self, problem: Problem) -> Search:
        """Evaluate the portfolio, then proposals of the model and random draws, on as many rows as the race decides.

        Without a portfolio, the search starts with the default of each alternative of the first decision, the cheapest
        one first by a training on few rows. A finite space is exhausted: in the end every configuration was trained on
        all rows. Raises OptionError for a portfolio that cannot be read.
        """
        structures = Structures(problem.space)
        if structures.count:
            yield from _Run(self, problem, structures).run()


class _Run:
    def __init__(self, options: Auto, problem: Problem, structures: Structures) -> None:
        self._size = problem.size
        self._tree = StructuralTree(structures)
        self._race = Race(options.race_rungs(problem), options.eta, problem.budget)
        kind: ModelKind = "none" if any(unencodable_domains(problem.space)) else options.model
        # Costs are measured, so a search depends on its seed alone unless they matter.
        has_time = problem.budget.seconds is not None
        self._model = ImprovementPerSecondModel(self._tree, int(problem.rng.integers(1 << 63)), kind, has_time)
        self._initial = deque(problem.initial)
        portfolio = load_portfolio(options.portfolio, problem.space)
        suggested = [] if portfolio is None else portfolio_members(portfolio, structures)
        self._portfolio = deque(each for each in suggested if each not in problem.initial)
        self._unmeasured = deque[Configuration]()
        self._measured_rows: int | None = None
        """The number of rows on which the costs of the defaults are measured; None if they are ordered as they are."""
        if not suggested:
            self._start_with_defaults(options, has_time=has_time)
        self._measured: list[tuple[float, Configuration]] = []
        """The defaults whose cost is known, cheapest first, before they are started."""
        self._random_fraction = options.random_fraction
        self._drawn = UniqueConfigurations(DiscrepancyTree(structures), problem.rng).each_once_in_random_order()
        self._next_draw: Configuration | None = None
        self._seen = {*self._initial, *self._portfolio, *self._unmeasured}
        """The configurations that were started, or will be before any other one."""
        self._new_count = 0
        """How many configurations were proposed by the model or drawn."""
        self._used_up_count = 0
        """The number of trials of the latest model all of whose candidates were started; 0 before."""

    def run(self) -> Search:
        idle, running = (yield Ask()).idle_workers, dict[Request | LazyRequest, _Training]()
        while True:
            begin: list[Request | LazyRequest] = []
            while len(begin) < max(idle, not running) and (found := self._next_training()) is not None:
                request, training = found
                begin.append(request)
                running[request] = training
            if not running:
                return
            event = yield Ask(tuple(begin))
            idle = event.idle_workers
            if event.finished is not None and event.request is not None:
                self._record(running.pop(event.request), event.finished)

    def _next_training(self) -> "tuple[Request | LazyRequest, _Training] | None":
        race = self._race
        if self._initial:
            return self._start(self._initial.popleft(), race.last_rung, "initial")
        if (promoted := race.next_promotion()) is not None:
            return self._start(*promoted, "race")
        if self._unmeasured:
            return self._measure(self._unmeasured.popleft())
        if self._measured:
            return self._start(self._measured.pop(0)[-1], race.rung_for_new_configuration(), "portfolio")
        if self._portfolio:
            return self._start(self._portfolio.popleft(), race.rung_for_new_configuration(), "portfolio")
        return self._next_new_training()

    def _next_new_training(self) -> "tuple[Request | LazyRequest, _Training] | None":
        """Return the request of a proposal of the model or of a random draw, with its training.

        If no configuration is left to draw, the request trains the best configuration that is not trained on all rows
        yet on all rows. None if there is no such configuration either.
        """
        if self._next_draw is None or self._next_draw in self._seen:
            self._next_draw = next((each for each in self._drawn if each not in self._seen), None)
        if self._next_draw is None:
            remaining = self._race.best_not_fully_trained()
            return None if remaining is None else self._start(*remaining, "race")
        self._new_count += 1
        before, now = ((self._new_count - back) * self._random_fraction for back in (1, 0))
        if int(before) == int(now) and self._model.fitted_trial_count > self._used_up_count:
            return self._propose(self._race.rung_for_new_configuration())
        return self._start(self._next_draw, self._race.rung_for_new_configuration(), "chance")

    def _start(self, configuration: Configuration, rung: int, part: Part) -> "tuple[Request, _Training]":
        self._seen.add(configuration)
        self._race.start(configuration, rung)
        return self._request(configuration, rung, part, self._race.pruning_threshold()), _Training(rung)

    def _propose(self, rung: int) -> "tuple[LazyRequest, _Training]":
        hopeless, training = self._race.pruning_threshold(), _Training(rung)

        def propose(_: Generator) -> Request:
            new = (each for each in self._model.ranked_configurations() if each not in self._seen)
            return self._request(next(new, next(iter(self._seen))), rung, "model", hopeless)

        def start(_: LazyRequest, request: Request) -> None:
            if request.configuration in self._seen:
                self._used_up_count, training.is_repeated = self._model.fitted_trial_count, True
            else:
                self._seen.add(request.configuration)
                self._race.start(request.configuration, rung)

        return make_lazy_request(propose, start), training

    def _measure(self, configuration: Configuration) -> "tuple[Request, _Training]":
        if self._measured_rows is None:
            return self._start(configuration, 0, "portfolio")
        rows = self._measured_rows
        return Request(configuration, rows, memo=("portfolio",)), _Training(None)

    def _request(self, configuration: Configuration, rung: int, part: Part, hopeless: float | None) -> Request:
        return Request(
            configuration, fidelity_of_rows(self._race.rungs[rung], self._size), memo=(part,), stop_above=hopeless
        )

    def _record(self, training: "_Training", trial: Trial) -> None:
        if training.rung is None:
            self._race.subtract_from_time_left(trial)
            insort(self._measured, (trial.cost, trial.request.configuration), key=itemgetter(0))
        elif not training.is_repeated:
            self._race.record(training.rung, trial)
            first, share = self._share(self._race.rung_for_new_configuration()), self._share(training.rung)
            self._model.record(trial, share, first)

    def _share(self, rung: int) -> float:
        return self._race.rungs[rung] / self._size

    def _start_with_defaults(self, options: Auto, *, has_time: bool) -> None:
        """Queue the defaults.

        If the race starts below the last rung, it trains them on few rows. Otherwise their costs are measured on few
        rows first, with a time budget and enough rows.
        """
        new = [each for each in _defaults(self._tree) if each not in self._initial]
        if self._race.rung_for_new_configuration() < self._race.last_rung:
            self._unmeasured.extend(new)
        elif has_time and options.b == 0 and self._size >= MIN_MEASURED_ROWS:
            self._unmeasured.extend(new)
            self._measured_rows = self._size // MEASURED_PART
        else:
            self._portfolio.extend(new)


def _defaults(tree: StructuralTree) -> tuple[Configuration, ...]:
    """Return the default of the space and that of each alternative of the first decision, without repetitions."""
    tops = [(branch,) for branch in tree.actions(())]
    return tuple(dict.fromkeys(tree.default_completion(top) for top in ((), *tops)))


@dataclass(slots=True)
class _Training:
    """A running training: its rung, None for a measurement of costs; `is_repeated` if it was started before."""

    rung: int | None
    is_repeated: bool = False


def load_portfolio(name: str, space: Space) -> Portfolio | None:
    """Return the portfolio that an option names: the bundled one of the space, or one in a file; else None.

    Raises OptionError for a file that is no portfolio.
    """
    if name == NO_PORTFOLIO:
        return None
    path = resource_folder("spaces") / f"{space.name}.portfolio.json" if name == BUNDLED else Path(name)
    if name == BUNDLED and not path.exists():
        return None
    try:
        return read_portfolio(path)
    except DefinitionError as error:
        raise OptionError(f"`portfolio` is no portfolio: {error}", error.remedy) from error


def portfolio_members(portfolio: Portfolio, structures: Structures) -> list[Configuration]:
    """Return the configurations of a portfolio as members of a space, without repetitions.

    They are those of the first list whose alternatives are all in the space. Decisions and hyperparameters that the
    space does not have are dropped, a number outside of its range becomes the nearest one, and what is missing takes
    its default. A configuration is left out if its alternatives are not in the space, which can be so in a portfolio of
    one list, or only together with another one.
    """
    space = structures.space
    complete = (each for each in portfolio.lists if all(_has_alternatives(space, one) for one in each))
    only = portfolio.lists[0] if len(portfolio.lists) == 1 else ()
    chosen = next(complete, only)
    found = (_adapt(structures, each) for each in chosen if _has_alternatives(space, each))
    return [*dict.fromkeys(each for each in found if each is not None)]


def _has_alternatives(space: Space, configuration: Configuration) -> bool:
    """Return True if every decision of the space that the configuration takes has the alternative that it takes."""
    return all(
        any(configuration[key] in choice.branch_indices for choice in choices)
        for key, choices in group_by_key((choice.key, choice) for choice in space.decisions).items()
        if key in configuration
    )


def _adapt(structures: Structures, given: Configuration) -> Configuration | None:
    member = adapt_to_data(structures, given).member
    keys = {choice.key for choice in structures.space.decisions}
    is_kept = all(member[key] == given[key] for key in keys if key in member and key in given)
    return member if is_kept else None
