"""SMAC3's models and searches over the form of the target `configspace`."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final, Literal, TypeAlias

from numpy.random import Generator

from spacelang.errors import import_optional
from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.prior import Normal
from spacelang.ir.search_protocol import Problem, Search
from spacelang.ir.space import Hyperparameter, Space
from spacelang.ir.trial import Request, Trial
from spacelang.ir.walk import rebuild_tree
from spacelang.optimizers._common_options import check_option
from spacelang.optimizers._proposer_search import TrialLog, search_with_library
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.surrogates import MAX_DENSITY_POINTS, choose_trials_for_densities, limit_to_one_thread
from spacelang.targets._lowering import Construct, LoweringResult, Preservation, ReportEntry
from spacelang.targets.configspace import Configspace, ConfigSpaceForm, Encoding

NEXT_BEST_USED: Final = "SMAC's next best proposals were used instead"
PRIOR_IGNORED: Final = (
    "SMAC supports a normal prior only for hyperparameters that are active in every configuration; it is ignored here"
)


@dataclass(frozen=True, slots=True)
class Smac:
    """SMAC3: a random forest or a Gaussian process over the whole space, and expected improvement."""

    paper: ClassVar[str] = "Lindauer et al., SMAC3: A Versatile Bayesian Optimization Package, JMLR 2022"

    facade: Literal["HyperparameterOptimizationFacade", "BlackBoxFacade"] = option(
        "HyperparameterOptimizationFacade", "the SMAC facade, with its defaults: a random forest, or a Gaussian process"
    )
    challengers: int = option(0, "configurations drawn and ranked for each model; 0: the default of the facade")
    retrain_after: int = option(8, "configurations taken from one model; larger values save time")

    def __post_init__(self) -> None:
        check_option(self, "challengers", self.challengers >= 0, "must be at least 0")
        check_option(self, "retrain_after", self.retrain_after >= 1, "must be at least 1")

    def form(self, structures: Structures) -> LoweringResult[ConfigSpaceForm, Encoding]:
        """Compile the space; unsupported priors are dropped and reported. Raises RefusedError, MissingLibraryError."""
        import_optional("smac")
        space = structures.space
        if not _unsupported_priors(space):
            return Configspace().lower(structures)
        unwelcome = {node.address: node.span for node in _unsupported_priors(space)}
        root = rebuild_tree(space.root, lambda node: replace(node, prior=None) if node.address in unwelcome else node)
        lowered = Configspace().lower(Structures(replace(space, root=root)))
        lost = ReportEntry(Construct.PRIORS.value, Preservation.APPROXIMATED, PRIOR_IGNORED, tuple(unwelcome.values()))
        return replace(lowered, report=(*lowered.report, lost))

    def search(self, problem: Problem) -> Search:
        """Evaluate the facade's initial design, then the configurations ranked highest by its model.

        Each model supplies `retrain_after` configurations. It is fitted to the trials that had finished, in starting
        order. A fit takes time in proportion to its trials, so of more than 1,000 it gets the best 500 and the latest
        500 of the others. Losses are measured on the scale of the run and may lie outside [0, 1]. A failure is a crash
        with cost 1, or the worst loss if that is larger. A running configuration is not proposed again.

        A proposal that ConfigSpace's rounding has moved out of the space is dropped; a remark counts these. There is no
        racing, since every trial uses all rows, and no file is left behind.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        history = TrialLog()
        try:
            challengers = _Challengers(self, self.form(structures).form, problem)
            yield from search_with_library(challengers, problem, structures, history)
        finally:
            if number := _count_rejected(history):
                problem.remark(
                    f"{number} of SMAC's proposals were outside the space because ConfigSpace rounds values; "
                    f"{NEXT_BEST_USED}."
                )


class _Challengers:
    """Proposals of SMAC models, each reproducible from its seed and the trials that it was fitted to.

    The memo of a request (numbers that the search stores with the trial) has five numbers: the seed of the model, how
    many trials had started and how many had finished when the model was fitted, the place of the configuration among
    the proposals of the model, and how many proposals before it were dropped because they are not in the space.
    """

    def __init__(self, options: Smac, form: ConfigSpaceForm, problem: Problem) -> None:
        self._facade = getattr(import_optional("smac"), options.facade)
        self._maximizer_options = {"challengers": options.challengers} if options.challengers else {}
        self._per_model = options.retrain_after
        self._form = form
        self._trials = problem.budget.trials
        self._seed = int(problem.rng.integers(2**31 - 1))
        self._latest: tuple[_Model, list[tuple[Configuration, int]]] | None = None
        """The latest model and what it proposed, each with the number of invalid proposals before it."""

    @property
    def most_modelled(self) -> int:
        """The number of trials beyond which a model is fitted to only some of them."""
        return MAX_DENSITY_POINTS

    def initial_design(self) -> Sequence[Configuration]:
        """Return the members of the space in the facade's initial design; of a space with one member, this one."""
        if not len(self._form.native):
            return (self._form.decode({}),)
        with TemporaryDirectory() as folder, _silence_smac():
            scenario = self._scenario(self._seed, folder)
            drawn = self._facade.get_initial_design(scenario).select_configurations()
        return [each for each in map(self._form.decode, drawn) if first_exclusion(self._form.space, each) is None]

    def propose(self, history: TrialLog, rng: Generator) -> Request | None:
        model, place = _next_proposal(history)
        if model is None or place == self._per_model:
            model, place = _Model(int(rng.integers(2**31 - 1)), len(history.started), len(history.finished)), 0
        if self._latest is None or self._latest[0] != model:
            self._latest = model, self._rank_members(model, history)
        found = self._latest[1]
        if place >= len(found):
            return None
        configuration, rejected = found[place]
        return Request(configuration, memo=(model.seed, model.started, model.finished, place, rejected))

    def _rank_members(self, model: "_Model", history: TrialLog) -> list[tuple[Configuration, int]]:
        from joblib import parallel_config

        if not len(self._form.native):
            return []
        found: list[tuple[Configuration, int]] = []
        with TemporaryDirectory() as folder, _silence_smac(), limit_to_one_thread(), parallel_config("sequential"):
            left_out = 0
            for each in self._proposals_of(model, history, folder):
                configuration = self._form.decode(each)
                if first_exclusion(self._form.space, configuration) is None:
                    found.append((configuration, left_out))
                else:
                    left_out += 1
                if len(found) == self._per_model:
                    break
        return found

    def _proposals_of(self, model: "_Model", history: TrialLog, folder: str) -> Iterator[Any]:
        """Yield the configurations that SMAC proposes from its model, best first, with random ones between them."""
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        scenario = self._scenario(model.seed, folder)
        # The initial design was started before: without one here, a model is fitted at once.
        design = self._facade.get_initial_design(scenario, n_configs=0)
        maximizer = self._facade.get_acquisition_maximizer(scenario, **self._maximizer_options)
        selector = self._facade.get_config_selector(scenario, retrain_after=self._per_model)
        parts = {"initial_design": design, "acquisition_maximizer": maximizer, "config_selector": selector}
        facade = self._facade(scenario, _unused_objective, **parts, overwrite=True, logging_level=False)
        known = [*history.trials(model.started, model.finished)]
        worst = max([1.0, *(place for _, trial in known if (place := _unclipped_loss(trial)) is not None)])
        for request, trial in choose_modelled_trials(known):
            self._add_trial(facade.runhistory, request, trial, worst)
        try:
            yield from facade.intensifier.config_generator
        except ConfigurationSpaceExhaustedException:
            return

    def _add_trial(self, known: Any, request: Request, trial: Trial | None, worst: float) -> None:
        from smac.runhistory import StatusType, TrialInfo

        theirs = import_optional("ConfigSpace").Configuration(
            self._form.native, values=self._form.encode(request.configuration)
        )
        if trial is None:
            known.add_running_trial(TrialInfo(theirs, seed=0))
            return
        place = _unclipped_loss(trial)
        status = StatusType.CRASHED if place is None else StatusType.SUCCESS
        known.add(theirs, worst if place is None else place, trial.cost, status=status, seed=0)

    def _scenario(self, seed: int, folder: str) -> Any:
        trials = {} if self._trials is None else {"n_trials": self._trials}
        return import_optional("smac").Scenario(
            self._form.native, deterministic=True, seed=seed, output_directory=Path(folder), **trials
        )


@dataclass(frozen=True, slots=True)
class _Model:
    """The seed of a model, and how many started and finished trials it is fitted to."""

    seed: int
    started: int
    finished: int


StartedTrial: TypeAlias = tuple[Request, Trial | None]
"""A request, with its trial once that has finished."""


def choose_modelled_trials(known: Sequence[StartedTrial]) -> list[StartedTrial]:
    """Return the trials to which a model is fitted, in starting order: as for densities, at most 1,000."""
    losses = [None if trial is None else trial.loss for _, trial in known]
    return [known[place] for place in choose_trials_for_densities(losses)]


def _unsupported_priors(space: Space) -> list[Hyperparameter]:
    """Return hyperparameters with a normal prior that are not always active: SMAC fails on inactive ones."""
    nodes = (each.node for each in space.variables.values() if each.owners or each.condition is not None)
    return [node for node in nodes if isinstance(node, Hyperparameter) and isinstance(node.prior, Normal)]


def _unclipped_loss(trial: Trial | None) -> float | None:
    return None if trial is None or trial.loss is None else trial.scale.normalize_unclipped(trial.loss)


def _next_proposal(history: TrialLog) -> tuple[_Model | None, int]:
    for request in reversed(history.started):
        if request.memo:
            seed, begun, ended, place, _ = map(int, request.memo)
            return _Model(seed, begun, ended), place + 1
    return None, 0


def _count_rejected(history: TrialLog) -> int:
    numbers: dict[_Model, int] = {}
    for request in history.started:
        if request.memo:
            seed, begun, ended, _, number = map(int, request.memo)
            numbers[_Model(seed, begun, ended)] = number
    return sum(numbers.values())


def _unused_objective(config: Any, seed: int) -> float:
    """Raise NotImplementedError: a facade requires an objective, but never calls it."""
    raise NotImplementedError(config, seed)


@contextmanager
def _silence_smac() -> Iterator[None]:
    logger = logging.getLogger("smac")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
