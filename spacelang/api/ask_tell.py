"""The ask-and-tell interface: the caller asks for configurations, evaluates them and tells their losses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Unpack

from spacelang.api.executor_settings import check_store_for_resume
from spacelang.api.experiment import EvaluationData, Experiment, PreparedExperiment, experiment_fields_from_options
from spacelang.api.experiment_run import make_result, run_search_in_steps
from spacelang.api.option_checks_and_signatures import accept_options, check_argument_types
from spacelang.api.result import Result
from spacelang.api.run_options import AskOptions
from spacelang.api.search_data import (
    bind_without_data,
    constraint_bounds,
    fidelities_if_several,
    fidelity_grid,
    make_loss_scale,
    validate_fidelities,
)
from spacelang.api.several_objectives import function_goals
from spacelang.api.space import Space, load
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import FidelitySchedule
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.black_box import SINGLE_FIDELITY, BlackBoxObjective
from spacelang.runtime.budget import Budget
from spacelang.runtime.executors import WorkerSettings
from spacelang.runtime.listeners import Closeable, SilentListener
from spacelang.runtime.storage.run_header import DataFacts

if TYPE_CHECKING:
    from spacelang.runtime.executors import Job
    from spacelang.runtime.executors.in_process import CallerEvaluatedExecutor
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.objective import ObjectiveInfo
    from spacelang.runtime.search_loop import Steps

BLACK_BOX_NAME: Final = "ask_and_tell"  # The name, in a store, of a black box that the calling program evaluates


@accept_options(AskOptions)
def ask_and_tell(space: Space | str | PathLike[str], **options: Unpack[AskOptions]) -> "AskAndTell":
    """Start a search in which you evaluate the configurations yourself; iterate over the result or call its `ask`.

    >>> import spacelang as sl
    >>> space = sl.parse("abstract valve { angle : float[0, 90] } stage part = valve")
    >>> search = sl.ask_and_tell(space, trials=5)
    >>> for trial in search:
    ...     trial.tell((trial.configuration["part.angle"] - 30) ** 2)
    >>> len(search.result.trials)
    5

    Parameters
    ----------
    space
        A space, or anything that `load` accepts. It needs no data.

    Notes
    -----
    `hyperband` draws every configuration anew. Optimizers that select pipelines keep hyperparameters at their
    defaults; with the option `hyperparameters="sample"` they draw them once for each pipeline. They end once they
    have asked for every pipeline. Known losses are remembered: the same configuration is not asked for again.

    Raises SpaceError, UnknownPluginError, OptionError and TypeError as `search` does. Raises ValueError for an invalid
    scale, number of trials, batch, fidelity or constraint. Raises the runtime's InputError for problems with the store,
    and immediately if the optimizer will need a fidelity that is not listed.
    """
    check_argument_types(space=space)
    fidelities, constraints, store = options["fidelities"], options["constraints"], options["store"]
    check_store_for_resume(store, resume=options["resume"])
    sizes = None if fidelities is None else validate_fidelities(fidelities)
    evaluation = CallerEvaluatedData(sizes, constraints or {}, options["scale"])
    loaded = bind_without_data(space) if isinstance(space, Space) else load(space, allow=options["allow"])
    budget, workers = Budget(trials=options["trials"]), WorkerSettings(options["batch"])
    experiment = Experiment(
        space=loaded, data=evaluation, budget=budget, workers=workers, **experiment_fields_from_options(options)
    )
    prepared = experiment.with_optimizer(options["optimizer"], options["optimizer_options"]).prepare()
    return start_ask_and_tell(prepared, store=store, resume=options["resume"])


def start_ask_and_tell(
    prepared: PreparedExperiment, *, store: str | PathLike[str] | None = None, resume: bool = False
) -> "AskAndTell":
    """Start an ask-and-tell search for a prepared experiment; raises as `run_search_in_steps` does."""
    from spacelang.runtime.executors.in_process import CallerEvaluatedExecutor

    executor, heard = CallerEvaluatedExecutor(prepared.experiment.workers.count), _EndListener()
    first = prepared.initial_configurations()
    going = run_search_in_steps(prepared, executor, initial=first, store=store, resume=resume, listener=heard)
    return AskAndTell(_Run(prepared, executor, heard, going, store, first or ()))


@dataclass(frozen=True, eq=False)
class CallerEvaluatedData(EvaluationData):
    """The data of a search whose black box is evaluated by the calling program."""

    fidelities: tuple[int, ...] | None
    constraints: Mapping[str, float]
    scale: float | None

    def bind_space(self, experiment: Experiment) -> "tuple[Space, BlackBoxObjective]":
        """Return the space, and the description of the black box as the objective."""
        facts = DataFacts(BLACK_BOX_NAME, 0, 0, sha256(BLACK_BOX_NAME.encode()).hexdigest())
        bounds, sizes = constraint_bounds(experiment.space, self.constraints), self.fidelities or SINGLE_FIDELITY
        return experiment.space, BlackBoxObjective(
            facts, sizes, bounds, make_loss_scale(self.scale), goals=function_goals(experiment.space)
        )

    def fidelity_grid(self, space: Space, objective: "ObjectiveInfo") -> FidelitySchedule | None:
        """Return the first fidelity and the growth factor: from the given fidelities, or without any from the task.

        None if a single fidelity is given, and if neither the caller nor the task has any.
        """
        return super().fidelity_grid(space, objective) if self.fidelities is None else fidelity_grid(self.fidelities)


class Suggestion:
    """A configuration whose loss an optimizer asks for; tell it exactly once.

    `configuration` is what to evaluate. `fidelity` is the fidelity to evaluate it at; None if the search has only one.
    """

    def __init__(self, run: "_Run", job: "Job[Any]") -> None:
        box, request = run.prepared.objective, job.work
        size = box.training_size
        self.request: Request = request
        self.configuration: Configuration = request.configuration
        self.fidelity = None if fidelities_if_several(box) is None else min(request.fidelity or size, size)
        self.answer: Trial | None = None
        self._run, self._job, self._started = run, job, perf_counter()

    @property
    def is_wanted(self) -> bool:
        """True if the search can still use the loss.

        It is False once a loss has been given, once the search is over, or if the trial was started speculatively and
        is no longer needed.
        """
        return self._run.executor.is_pending(self._job)

    def tell(
        self,
        loss: float | Mapping[str, float] | Sequence[float] | None,
        *,
        cost: float | None = None,
        constraints: Mapping[str, float] | None = None,
        fidelity: int | None = None,
    ) -> None:
        """Tell the search the loss of this configuration.

        Parameters
        ----------
        loss
            The loss, which is minimised. None or a number that is not finite means that the evaluation failed. If the
            task has goals in quotes (`minimize "val_loss"`), it is a mapping with their names, or their numbers.
        cost
            The cost in seconds; by default the time since the configuration was asked for.
        constraints
            The value of every bounded quantity by its name; nan means unknown.
        fidelity
            The fidelity of the evaluation. If given, it must equal the one that was asked for.

        Raises
        ------
        RuntimeError
            If a loss has already been given.
        ValueError
            For an invalid answer.

        Notes
        -----
        Errors of the optimizer and of the store are raised as well. If the search has a store, the trial is saved when
        this method returns. If the trial is no longer wanted (see `is_wanted`), nothing happens.
        """
        from spacelang.runtime.black_box.function_objective import trial_from_answer

        if self.answer is not None:
            raise RuntimeError("the loss of this trial has already been told")
        if fidelity not in (None, self.fidelity):
            raise ValueError(f"the trial was requested at fidelity {self.fidelity}, not {fidelity}")
        seconds = perf_counter() - self._started if cost is None else cost
        box = self._run.prepared.objective
        goals = box.goals if isinstance(box, BlackBoxObjective) else ()
        self.answer = trial_from_answer(self._job.work, loss, seconds, constraints, box.bounds, goals)
        if self.is_wanted:
            self._run.executor.report_result(self._job, self.answer)
            self._run.advance()


class AskAndTell(Closeable, Iterator[Suggestion]):
    """A search that asks for configurations: iterate over it, or call `ask`; a `with` block closes it."""

    def __init__(self, run: "_Run") -> None:
        self._run = run
        run.advance()

    def __next__(self) -> Suggestion:
        """Return the next suggestion.

        Raises RuntimeError if a loss must be told first, StopIteration when the search ends.
        """
        for asked in self._next_trials():
            return asked
        if self._run.is_over:
            raise StopIteration
        raise RuntimeError("tell the loss of a trial before asking for the next one")

    def ask(self) -> list[Suggestion]:
        """Return all suggestions that can be evaluated now and were not returned before.

        The list is empty if a loss must be told first, and when the search is over.
        """
        return [*self._next_trials()]

    @property
    def result(self) -> Result:
        """The result of the search; raises RuntimeError while the search is still running (`close` ends it)."""
        run = self._run
        if run.listener.outcome is None:
            raise RuntimeError("the search is still running: `close` ends it")
        return make_result(run.prepared, run.listener.outcome, run.store, run.initial)

    def close(self) -> None:
        """End the search like an interruption; losses told afterwards are ignored. Closing again does nothing."""
        self._run.close()

    def _next_trials(self) -> Iterator[Suggestion]:
        while (job := self._run.executor.take_next_job()) is not None:
            yield Suggestion(self._run, job)


@dataclass
class _EndListener(SilentListener):
    """A listener that stores the outcome of a run; `outcome` is None until the run ends."""

    outcome: "Outcome | None" = None

    def on_finish(self, outcome: "Outcome") -> None:
        self.outcome = outcome


@dataclass(slots=True)
class _Run:
    """The state of an ask-and-tell run, which continues whenever a loss arrives."""

    prepared: PreparedExperiment
    executor: "CallerEvaluatedExecutor"
    listener: _EndListener
    steps: "Steps[Result]"
    store: str | PathLike[str] | None
    initial: tuple[Configuration, ...]
    is_over: bool = False

    def advance(self) -> None:
        """Run the search until it needs a loss or is over.

        Raises errors of the run, and KeyboardInterrupt if interrupted.
        """
        self.is_over = True
        for _ in self.steps:
            self.is_over = False
            return
        self.executor.close()
        if self.listener.outcome is not None and self.listener.outcome.ended == "interrupted":
            raise KeyboardInterrupt

    def close(self) -> None:
        self.steps.close()
        self.executor.close()
        self.is_over = True
