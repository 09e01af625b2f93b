"""What a run is: command line, Python, the header of a store and a comparison are views of it.

>>> experiment = Experiment(space=load("credit.space"), data=Rows(table), budget=Budget(seconds=60)).by("blds")
>>> prepared = experiment.prepared()  # knows the data: the space for it, what is minimised, what the optimizer searches
>>> with closing(prepared.crew()) as crew:
...     result = prepared.run(crew, store="run.db")
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from spacelang.api.archiving import suggested
from spacelang.api.executing import make_executor
from spacelang.api.initial import Read, members_of
from spacelang.api.keeping import keeping
from spacelang.api.result import Result
from spacelang.api.space import Space
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Allowance, Problem, Terms
from spacelang.ir.task import Fidelity, Validation
from spacelang.optimizers import OPTIMIZERS, default_optimizer
from spacelang.optimizers._opening import begun
from spacelang.plugins import Part, at_defaults, facts, settings_of
from spacelang.runtime.archives import Norm
from spacelang.runtime.budget import ENDLESS, Budget, parse_duration
from spacelang.runtime.executors import ONE, Timed, Workers
from spacelang.runtime.history import Journal, Outcome, Unkept
from spacelang.runtime.objective import Described, Evaluating, Lacking
from spacelang.runtime.stepping import Steps, to_the_end
from spacelang.runtime.storing.header import UNNAMED, Header, make_header

if TYPE_CHECKING:
    import numpy.typing as npt

    from spacelang.report.searched import Searched
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.archives.choosing import Suggested
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.judging.constraints import Constraint
    from spacelang.runtime.listening import Listener
    from spacelang.runtime.objective import Aim


SECONDS: Final = 60.0
"""How long a run takes that has to end and that nothing limits."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is asked of every trial beside its loss.

    Scorers by name, the loss on the training rows, predictions, and what the user's own functions bound.
    """

    metrics: tuple[str, ...] = ()
    training_score: bool = False
    predictions: bool = False
    constraints: "tuple[Constraint, ...]" = ()


NOTHING_MORE: Final = Recorded()


class Data(Protocol):
    """What trials are evaluated on: rows, a table of known losses, a function, or whatever the caller does."""

    has_rows: bool = False

    @property
    def has_defaults_only(self) -> bool:
        """Whether nothing else than the defaults of hyperparameters can be tried."""
        return False

    def over(self, experiment: "Experiment") -> "tuple[Space, Aim]":
        """The space for this data, and what is minimised on it.

        Raises SpaceError where the space has errors for the data, and InputError.
        """

    def options(self, experiment: "Experiment") -> Mapping[str, str]:  # noqa: ARG002 - little data was read from a file
        """The options with which it was given, for a store that shall lead back to it."""
        return {}

    def fidelity(self, space: Space, aim: "Aim") -> Fidelity | None:  # noqa: ARG002 - few aims say it
        """How the fidelities of trials grow: as the task says, unless the data does."""
        return None if space.task is None else space.task.fidelity

    def crew(self, aim: "Aim", workers: Workers, *, forks: bool = False) -> "Executor":
        """What evaluates trials, and is ready to; raises as `make_executor` does."""
        assert isinstance(aim, Evaluating), "who evaluates has an executor of its own"
        return make_executor(aim, workers, forks=forks)


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """A run: an optimizer (None: the default one) searches a space on data within a budget, all chance from a `seed`.

    By `metric` and `validation` trials are judged (None: as the task says, else as the data has it), beside the loss
    what is `recorded` of them; `test` are rows that none sees. `initial` and what an `archive` suggests, by distances
    of a `norm`, is evaluated first. Of the best pipelines an `ensemble` of so many votes is made at the end. `chosen`
    says why its space is this one, where nobody has named it.
    """

    space: Space
    data: Data
    optimizer: Part | None = None
    budget: Budget = ENDLESS
    seed: int = 0
    metric: str | None = None
    validation: Validation | None = None
    recorded: Recorded = NOTHING_MORE
    test: Any = None
    workers: Workers = ONE
    initial: tuple[Read, ...] | None = None
    archive: "Archive | None" = None
    norm: Norm = Norm.L1
    ensemble: int | None = None
    chosen: str = ""

    @property
    def asked(self) -> dict[str, tuple[str, ...]]:
        """What a command has to say for the same run, as the header of a store has it."""
        given = self.space.surroundings
        said = {
            "set": () if self.optimizer is None else settings_of(self.optimizer.plugin),
            "allow": tuple(sorted(given.allowed)),
            "bind": tuple(f"{name}={number}" for name, number in given.bindings.items()),
        }
        return {name: texts for name, texts in said.items() if texts} | ({UNNAMED: ()} if self.chosen else {})

    def by(self, name: str | None, options: Mapping[str, object] | None = None) -> "Experiment":
        """The same by the optimizer of a name, or the default one; raises UnknownPluginError and OptionError."""
        has = {"has_data": self.data.has_rows, "has_defaults_only": self.data.has_defaults_only}
        usual = default_optimizer(self.space.checked, **has) if name is None else name
        return replace(self, optimizer=OPTIMIZERS.made(usual, options or {}))

    def prepared(self) -> "Prepared":
        """The same once its data is known; raises SpaceError and InputError as `Data.over` does."""
        if self.optimizer is None:
            return self.by(None).prepared()
        return self.on(*self.data.over(self))

    def on(self, space: Space, objective: "Aim") -> "Prepared":
        """The same, by an optimizer that is said, where it is known what its data comes to."""
        assert self.optimizer is not None
        chosen = with_fidelity(self.optimizer, self.data.fidelity(space, objective))
        return Prepared(replace(self, optimizer=chosen), space, objective, chosen)


@dataclass(frozen=True, eq=False)
class Prepared:
    """An experiment that can begin: the space for its data, what is minimised, and the optimizer for both."""

    experiment: Experiment
    space: Space
    objective: "Aim" = field(repr=False)
    optimizer: Part

    @cached_property
    def searched(self) -> "Searched":
        """What becomes of hyperparameters; raises InputError where the optimizer cannot search the space."""
        from spacelang.report.searched import searched_by

        has_defaults_only = self.experiment.data.has_defaults_only
        return searched_by(self.optimizer.plugin, self.space.checked, has_defaults_only=has_defaults_only)

    def initial(self, tell: "Callable[[Suggested], object]" = lambda _: None) -> tuple[Configuration, ...] | None:
        """The configurations to start from: those that are given, and behind them those of the archive, none twice.

        `tell` is told what the archive suggests. Raises InitialError, and ArchiveError.
        """
        said, objective = self.experiment, self.objective
        lacks = objective.lacks if isinstance(objective, Lacking) else lambda _: ""
        given = None if said.initial is None else members_of(self.space, said.initial, lacks)
        if said.archive is None:
            return given
        found = suggested(said.archive, self.space, objective, said.norm)
        tell(found)
        return tuple(dict.fromkeys((*(given or ()), *found.configurations)))

    def crew(self, *, forks: bool = False) -> "Executor":
        """What evaluates its trials, and is ready to; whoever asks for it closes it. Raises as `make_executor` does."""
        return self.experiment.data.crew(self.objective, self.experiment.workers, forks=forks)

    def header(self, terms: Terms) -> "Header":
        """What tells the run from others, for the store that keeps it."""
        objective = self.objective
        return make_header(
            self.space.checked,
            objective.facts,
            metric=objective.metric.formula,
            validation=objective.validation,
            bounds=objective.bounds,
            scale=objective.scale,
            training_size=objective.training_size,
            seed=self.experiment.seed,
            optimizer=self.optimizer.name,
            options=facts(self.optimizer.plugin),
            at_defaults=at_defaults(self.optimizer.plugin),
            settings=objective.further,
            terms=terms,
            meta_features=objective.meta_features if isinstance(objective, Described) else None,
            data_options=self.experiment.data.options(self.experiment),
            asked=self.experiment.asked,
        )

    def steps(
        self,
        executor: "Executor",
        *,
        initial: tuple[Configuration, ...] | None = None,
        store: str | PathLike[str] | None = None,
        resume: bool = False,
        listener: "Listener | None" = None,
    ) -> "Steps[Result]":
        """Search, every trial kept in a store if there is one; with `resume` the run in it goes on as it began.

        It stops where the executor leaves it to the caller to say what comes of trials: `run` is the same for all
        others. Raises as `keeping` and the runtime's loop do.
        """
        from spacelang.runtime.ensembles.assembling import BestPredictions

        said = self.experiment
        seconds, trials = said.budget.seconds, said.budget.trials
        # The budget is shared out as processor time.
        allowed = Allowance(None if seconds is None else seconds * max(len(executor.free), 1), trials)
        # Where nothing is kept and only an ensemble needs predictions, those of its candidates are enough.
        best = Unkept() if said.recorded.predictions else BestPredictions(self.objective.training_size)
        with keeping(self, store, Terms(initial, allowed), resume=resume) as kept:
            terms = Terms(initial, allowed) if kept is None else kept.header.terms
            outcome = yield from self._driven(executor, terms, best if kept is None else kept, listener)
        predictions = best.predictions if isinstance(best, BestPredictions) else {}
        return self.result(outcome, store, terms.initial or (), predictions)

    run = to_the_end(steps)

    def result(
        self,
        outcome: "Outcome",
        store: str | PathLike[str] | None,
        initial: tuple[Configuration, ...] = (),
        predictions: "Mapping[int, npt.NDArray[Any]] | None" = None,
    ) -> Result:
        """What an outcome is to whoever has asked for it."""
        place, searched = None if store is None else Path(store), replace(self.searched, initial=initial)
        return Result(outcome, self.objective, self.experiment, searched, place, kept=predictions or {})

    def _driven(
        self, executor: "Executor", terms: Terms, journal: "Journal", listener: "Listener | None"
    ) -> "Steps[Outcome]":
        from numpy.random import default_rng

        from spacelang.runtime.loop import steps

        objective, seed = self.objective, self.experiment.seed
        size, remarks, clock = objective.training_size, dict[str, None](), perf_counter
        if isinstance(executor, Timed):
            # From where an earlier session ended: so the seconds are to the last digit those of one that was not.
            executor.now, clock = journal.seconds, executor.clock
        of_run = (terms.initial or (), terms.budget, objective.bounds, remarks.setdefault)
        problem = Problem(self.space.checked, size, default_rng(seed), *of_run)
        return steps(
            begun(self.optimizer.plugin, problem),
            executor,
            self.experiment.budget,
            clock=clock,
            training_size=size,
            listener=listener,
            journal=journal,
            route=objective.route,
            scale=objective.scale,
            seed=seed,
            remarks=remarks,
        )


def seconds_of(space: Space, given: str | float | None) -> float | None:
    """The seconds of a run: as given, else as the task says; raises ValueError for a text that is no time."""
    if given is None:
        return None if space.task is None else space.task.limits.run_seconds
    return parse_duration(given) if isinstance(given, str) else given


def budget_of(space: Space, given: str | float | None, trials: int | None) -> Budget:
    """The budget of a run, a minute where nothing limits it; raises ValueError for one that allows nothing."""
    seconds = seconds_of(space, given)
    return Budget(SECONDS if seconds is None and trials is None else seconds, trials)


def with_fidelity(optimizer: Part, fidelity: Fidelity | None) -> Part:
    """The optimizer with `b` and `eta` as a fidelity says, where it has them and they were not given; so its parts."""
    if fidelity is None:
        return optimizer
    told: dict[str, object] = {"b": fidelity.first, "eta": fidelity.factor}
    plugin = optimizer.plugin
    own = {option.name: getattr(plugin, option.name) for option in OPTIMIZERS.options(type(plugin))}
    inner = {name: with_fidelity(value, fidelity) for name, value in own.items() if isinstance(value, Part)}
    grown = {name: told[name] for name in told.keys() & own.keys() - optimizer.given}
    return replace(optimizer, plugin=replace(plugin, **inner, **grown))
