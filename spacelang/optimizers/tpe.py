"""TPE over a whole space, by a library (spacelang/optimizers/README.md, section "TPE")."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from spacelang.ir.configuration import Configuration
from spacelang.ir.membership import first_exclusion
from spacelang.ir.problem import Problem
from spacelang.ir.search_protocol import Search
from spacelang.optimizers import _common_options as settings
from spacelang.optimizers import _proposer_search, optuna
from spacelang.optimizers._common_options import check
from spacelang.optimizers._proposer_search import ObservedLoss, TrialLog, search_with_library
from spacelang.optional_imports import import_optional
from spacelang.plugins import option
from spacelang.solver.counting import Structures
from spacelang.targets._lowering import LoweringResult, RefusedError
from spacelang.targets.hyperopt import Hyperopt, HyperoptSpace, Values
from spacelang.targets.optuna import OptunaFunction, Parameters

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True)
class Tpe:
    """The tree-structured Parzen estimator (TPE): densities of good and of bad trials for each hyperparameter."""

    paper: ClassVar[str] = "Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011"

    library: Literal["hyperopt", "optuna"] = option("hyperopt", "the library that proposes configurations")
    startup: int = option(20, settings.STARTUP)
    gamma: float = option(0.25, settings.GAMMA)
    candidates: int = option(24, settings.CANDIDATES)

    def __post_init__(self) -> None:
        """Raise OptionError for a value out of bounds."""
        TpeSettings(self.startup, self.gamma, self.candidates)
        own = self.library == "optuna" and self.gamma != TpeSettings().gamma
        check(not own, f"`gamma` is {self.gamma}", "optuna uses its own rule for good trials: leave `gamma` out")

    def form(
        self, structures: Structures
    ) -> LoweringResult[HyperoptSpace, Values] | LoweringResult[OptunaFunction, Parameters]:
        """Compile the space for the library.

        Raises RefusedError if the library cannot represent it, and MissingLibraryError.
        """
        match self.library:
            case "hyperopt":
                return lower_for_hyperopt(structures)
            case "optuna":
                return optuna.lower_for_optuna(structures)

    def search(self, problem: Problem) -> Search:
        """Request the library's proposals without end; a finite space is exhausted.

        Each idle worker gets a proposal. A running trial counts as failed for hyperopt and is in state RUNNING for
        optuna. A repeated proposal of hyperopt is made again, ten times, and then a configuration is drawn; one of
        optuna is answered from memory. If 100 proposals in a row violate constraints, or no draw is new, all remaining
        configurations are drawn. Raises RefusedError for a space that the library cannot represent.
        """
        structures = Structures(problem.space)
        if not structures.count:
            return
        match self.library:
            case "hyperopt":
                proposer = HyperoptTpe(structures, TpeSettings(self.startup, self.gamma, self.candidates))
                yield from _proposer_search.search(proposer, problem, structures)
            case "optuna":
                study = optuna.Study(optuna.lower_for_optuna(structures).form, self._create_sampler)
                yield from search_with_library(study, problem, structures, TrialLog())

    def _create_sampler(self, seed: int) -> Any:
        """Return Optuna's TPE sampler with these settings."""
        samplers = import_optional("optuna").samplers
        return samplers.TPESampler(n_startup_trials=self.startup, n_ei_candidates=self.candidates, seed=seed)


MAX_INVALID_PROPOSALS: Final = 100
"""After this many proposals in a row that violate constraints, no proposal is expected any more."""
SEED_LIMIT: Final = 2**31 - 1
"""The exclusive upper limit of hyperopt's own seeds."""


@dataclass(frozen=True, slots=True)
class TpeSettings:
    """The settings of TPE; the defaults are those of hyperopt, which the BOASF paper uses."""

    startup: int = 20
    gamma: float = 0.25
    candidates: int = 24

    def __post_init__(self) -> None:
        """Raise OptionError for a value out of bounds."""
        check(
            self.startup >= 1,
            f"`startup` is {self.startup}",
            "`startup` must be at least 1: a model needs a first trial",
        )
        check(self.gamma > 0, f"`gamma` is {self.gamma}", "`gamma` must be greater than 0")
        check(self.candidates >= 1, f"`candidates` is {self.candidates}", "`candidates` must be at least 1")


class HyperoptTpe:
    """TPE over a space: densities of good and bad trials, nested as a tree if there are conditions.

    The best min(25, ceil(gamma sqrt(n))) of n trials are good. Trials without a loss count among the n and are never
    good. All hyperparameters are modelled independently, each from the trials in which it was active.

    If the constraints of a space are too entangled for nested choices, it is compiled without them. A proposal that
    violates a constraint is then replaced by another proposal.
    """

    def __init__(self, structures: Structures, settings: TpeSettings | None = None) -> None:
        """Compile the structures of a nonempty space; raises RefusedError if hyperopt cannot represent it."""
        self._space = structures.space
        self._settings = TpeSettings() if settings is None else settings
        self._form = lower_for_hyperopt(structures).form
        self._documents: list[dict[str, Any]] = []
        self._documented: list[Configuration] = []
        """The configurations of the documents; the next history usually starts with the same ones."""

    def propose(self, history: Sequence[ObservedLoss], rng: "Generator") -> Configuration | None:
        """Return the proposal after a history in starting order; None after 100 invalid proposals in a row.

        A proposal is invalid if it violates a constraint. The result depends only on the history and the random
        generator. The first `startup` proposals are drawn from the space alone.
        """
        suggest = self._suggest(history)
        for _ in range(MAX_INVALID_PROPOSALS):
            proposal = suggest(int(rng.integers(SEED_LIMIT)))
            if first_exclusion(self._space, proposal) is None:
                return proposal
        return None

    def _suggest(self, history: Sequence[ObservedLoss]) -> Callable[[int], Configuration]:
        """Return a function from a seed to the library's suggestion after the history."""
        if not self._form.labels:
            return lambda _: self._form.decode({})
        new = [len(history)]
        if len(history) < self._settings.startup:
            # `tpe.suggest` would give the same result, after fitting a model to nothing.
            suggest = partial(
                import_optional("hyperopt", "hyperopt.rand").suggest, new, self._domain, self._hyperopt_trials(())
            )
        else:
            suggest = partial(
                import_optional("hyperopt", "hyperopt.tpe").suggest,
                new,
                self._domain,
                self._hyperopt_trials(history),
                n_startup_jobs=self._settings.startup,
                n_EI_candidates=self._settings.candidates,
                gamma=self._settings.gamma,
                verbose=False,
            )
        return lambda seed: self._form.decode(self._form.values_of(suggest(seed=seed)[0]))

    def _hyperopt_trials(self, history: Sequence[ObservedLoss]) -> Any:
        """Convert the history to hyperopt's trials; documents of the previous history are reused if it is a prefix."""
        if [configuration for configuration, _ in history[: len(self._documented)]] != self._documented:
            self._documented, self._documents = [], []
        for number in range(len(self._documented), len(history)):
            configuration, _ = history[number]
            self._documented.append(configuration)
            self._documents.append(self._form.trial_document(number, self._form.encode(configuration)))
        for document, (_, loss) in zip(self._documents, history, strict=True):
            document["state"] = 2  # done; a running trial counts as failed for hyperopt
            document["result"] = {"status": "fail"} if loss is None else {"status": "ok", "loss": loss}
        return import_optional("hyperopt", "hyperopt.base").trials_from_docs(self._documents, validate=False)

    @cached_property
    def _domain(self) -> Any:
        """The space as a `Domain` of hyperopt."""
        return import_optional("hyperopt", "hyperopt.base").Domain(None, self._form.native)


def lower_for_hyperopt(structures: Structures) -> LoweringResult[HyperoptSpace, Values]:
    """Compile a space for hyperopt, without its constraints if hyperopt cannot represent them.

    The proposals are then checked against the constraints. Raises RefusedError if the space cannot be represented even
    without constraints, and MissingLibraryError. The library is imported here, so that the first proposal is not
    charged for the import.
    """
    import_optional("hyperopt")
    try:
        return Hyperopt().lower(structures)
    except RefusedError:
        if not structures.space.constraints:
            raise
        return Hyperopt().lower(Structures(replace(structures.space, constraints=())))
