"""SMAC3's models and searches over the form of the target `configspace`."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from spacelang.ir.asking import Search
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import exclusion
from spacelang.ir.prior import Normal
from spacelang.ir.problem import Problem
from spacelang.ir.rebuilding import rebuilt
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.trial import Request, Trial
from spacelang.optimizers._consulting import TrialLog, consulted
from spacelang.optimizers._settings import check
from spacelang.optional import library
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._constructs import Construct
from spacelang.targets._lowered import Lowered, Preservation, ReportEntry
from spacelang.targets.configspace import Configspace, ConfigSpaceForm, Encoding

if TYPE_CHECKING:
    from numpy.random import Generator

MADE_AGAIN: Final = "the next best were taken in their place"
UNWELCOME: Final = (
    "SMAC takes a normal distribution only of what is active in every configuration: it is not told of this"
)


@dataclass(frozen=True, slots=True)
class Smac:
    """SMAC3: a random forest, or a Gaussian process, over all of the space, and expected improvement."""

    paper: ClassVar[str] = "Lindauer et al., SMAC3: A Versatile Bayesian Optimization Package, JMLR 2022"

    facade: Literal["HyperparameterOptimizationFacade", "BlackBoxFacade"] = option(
        "HyperparameterOptimizationFacade", "whose parts are used, with their defaults: a forest, or a Gaussian process"
    )
    challengers: int = option(0, "configurations drawn and ranked for each model; 0: as many as the facade draws")
    retrain_after: int = option(8, "configurations taken of a model; more of them take less time each")

    def __post_init__(self) -> None:
        """Raises OptionError for a value out of its bounds."""
        check(self.challengers >= 0, f"`challengers` is {self.challengers}", "it is a number of configurations")
        check(
            self.retrain_after >= 1,
            f"`retrain_after` is {self.retrain_after}",
            "a model gives 1 configuration at least",
        )

    def form(self, structures: Structures) -> Lowered[ConfigSpaceForm, Encoding]:
        """What SMAC searches; raises RefusedError for what ConfigSpace cannot say, and MissingLibraryError."""
        library("smac")
        space = structures.space
        if not _unwelcome(space):
            return Configspace().lower(structures)
        unwelcome = {node.address: node.span for node in _unwelcome(space)}
        root = rebuilt(space.root, lambda node: replace(node, prior=None) if node.address in unwelcome else node)
        lowered = Configspace().lower(Structures(replace(space, root=root)))
        lost = ReportEntry(Construct.PRIORS.value, Preservation.APPROXIMATED, UNWELCOME, tuple(unwelcome.values()))
        return replace(lowered, report=(*lowered.report, lost))

    def search(self, problem: Problem) -> Search:
        """The facade's design, and then what its model ranks highest, `retrain_after` of each model.

        A model knows the trials that had ended, in the order in which they began: losses are measured by the scale of
        the run and may lie beyond its ends, a failure has crashed at the cost of 1, or of the worst loss if that is
        more, and what is under way is not proposed again. What SMAC proposes is left out where
        ConfigSpace's rounding has moved it out of the space: a remark counts these. Nothing is raced, as
        every trial is on all rows; no file is left behind.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        history = TrialLog()
        try:
            yield from consulted(_Challengers(self, self.form(structures).form, problem), problem, structures, history)
        finally:
            if number := _left_out(history):
                problem.remark(
                    f"{number} of SMAC's proposals were none of the space, as ConfigSpace rounds: {MADE_AGAIN}."
                )


class _Challengers:
    """The configurations of models, each model fitted to the first trials of a history by a seed of its own.

    The memo of a request is this seed, how many trials had begun and how many had ended by then, its place among the
    configurations of the model, and how many before it were left out.
    """

    def __init__(self, options: Smac, form: ConfigSpaceForm, problem: Problem) -> None:
        self._facade = getattr(library("smac"), options.facade)
        self._drawn = {"challengers": options.challengers} if options.challengers else {}
        self._together = options.retrain_after
        self._form = form
        self._trials = problem.budget.trials
        self._seed = int(problem.rng.integers(2**31 - 1))
        self._made: tuple[_Model, list[_Challenger]] | None = None
        """The configurations that were taken of the latest model."""

    def design(self) -> Sequence[Configuration]:
        """The members of the facade's initial design; where nothing is to choose all that there is."""
        if not len(self._form.native):
            return (self._form.decode({}),)
        with TemporaryDirectory() as folder, _quiet():
            scenario = self._scenario(self._seed, folder)
            drawn = self._facade.get_initial_design(scenario).select_configurations()
        found = map(self._form.decode, drawn)
        return [each for each in found if exclusion(self._form.space, each) is None]

    def propose(self, history: TrialLog, rng: "Generator") -> Request | None:
        """The next configuration of the latest model, or the first of a new one."""
        model, place = _next_of(history)
        if model is None or place == self._together:
            model, place = _Model(int(rng.integers(2**31 - 1)), len(history.begun), len(history.ended)), 0
        if self._made is None or self._made[0] != model:
            self._made = model, self._challengers(model, history)
        found = self._made[1]
        if place >= len(found):
            return None
        memo = (model.seed, model.begun, model.ended, place, found[place].left_out)
        return Request(found[place].configuration, memo=memo)

    def _challengers(self, model: "_Model", history: TrialLog) -> "list[_Challenger]":
        """Members of the space that SMAC ranks highest; fewer than are wanted where it finds no more."""
        from joblib import parallel_config

        from spacelang.surrogates.threads import one_thread

        if not len(self._form.native):
            return []
        found: list[_Challenger] = []
        with TemporaryDirectory() as folder, _quiet(), one_thread(), parallel_config("sequential"):
            left_out = 0
            for each in self._ranked(model, history, folder):
                configuration = self._form.decode(each)
                if exclusion(self._form.space, configuration) is None:
                    found.append(_Challenger(configuration, left_out))
                else:
                    left_out += 1
                if len(found) == self._together:
                    break
        return found

    def _ranked(self, model: "_Model", history: TrialLog, folder: str) -> Iterator[Any]:
        """What SMAC takes of its model, the best first and random ones between them."""
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        scenario = self._scenario(model.seed, folder)
        # What is designed was begun before, so that a model is fitted at once.
        design = self._facade.get_initial_design(scenario, n_configs=0)
        maximizer = self._facade.get_acquisition_maximizer(scenario, **self._drawn)
        facade = self._facade(
            scenario,
            _unused,
            initial_design=design,
            acquisition_maximizer=maximizer,
            config_selector=self._facade.get_config_selector(scenario, retrain_after=self._together),
            overwrite=True,
            logging_level=False,
        )
        known = [*history.trials(model.begun, model.ended)]
        worst = max([1.0, *(place for _, trial in known if (place := _place(trial)) is not None)])
        for request, trial in known:
            self._tell(facade.runhistory, request, trial, worst)
        try:
            yield from facade.intensifier.config_generator
        except ConfigurationSpaceExhaustedException:
            return

    def _tell(self, known: Any, request: Request, trial: Trial | None, worst: float) -> None:
        """Have SMAC know of what was begun, and of what came of it; a failure costs what the worst has."""
        from smac.runhistory import StatusType, TrialInfo

        theirs = library("ConfigSpace").Configuration(
            self._form.native, values=self._form.encode(request.configuration)
        )
        if trial is None:
            known.add_running_trial(TrialInfo(theirs, seed=0))
            return
        place = _place(trial)
        status = StatusType.CRASHED if place is None else StatusType.SUCCESS
        known.add(theirs, worst if place is None else place, trial.cost, status=status, seed=0)

    def _scenario(self, seed: int, folder: str) -> Any:
        """What SMAC is to be told of a run; it writes into a folder of its own, which nobody keeps."""
        trials = {} if self._trials is None else {"n_trials": self._trials}
        return library("smac").Scenario(
            self._form.native, deterministic=True, seed=seed, output_directory=Path(folder), **trials
        )


@dataclass(frozen=True, slots=True)
class _Model:
    """By which seed, and to the first how many trials, a model is fitted."""

    seed: int
    begun: int
    ended: int


@dataclass(frozen=True, slots=True)
class _Challenger:
    """A configuration that was taken of a model, after so many that are none of the space."""

    configuration: Configuration
    left_out: int


def _unwelcome(space: Space) -> list[Hyperparameter]:
    """The hyperparameters with a prior that SMAC does not take: its model fails where one that has it is inactive."""
    return [
        variable.node
        for variable in space.variables.values()
        if isinstance(variable.node, Hyperparameter)
        and isinstance(variable.node.prior, Normal)
        and (variable.owners or variable.node.condition is not None)
    ]


def _place(trial: Trial | None) -> float | None:
    """Where the loss lies on the scale of the run; None without one."""
    return None if trial is None or trial.loss is None else trial.scale.place(trial.loss)


def _next_of(history: TrialLog) -> tuple[_Model | None, int]:
    """The model of the latest proposal, None before the first one, and the place of the next configuration of it."""
    for request in reversed(history.begun):
        if request.memo:
            seed, begun, ended, place, _ = map(int, request.memo)
            return _Model(seed, begun, ended), place + 1
    return None, 0


def _left_out(history: TrialLog) -> int:
    """How many configurations of models were none of the space."""
    numbers: dict[_Model, int] = {}
    for request in history.begun:
        if request.memo:
            seed, begun, ended, _, number = map(int, request.memo)
            numbers[_Model(seed, begun, ended)] = number
    return sum(numbers.values())


def _unused(config: Any, seed: int) -> float:
    """What a facade wants to evaluate, and is never asked to."""
    raise NotImplementedError(config, seed)


@contextmanager
def _quiet() -> Iterator[None]:
    """Have SMAC log errors only, and nobody warned of how it reckons."""
    logger = logging.getLogger("smac")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
