"""The ask-and-tell interface: the caller asks for configurations, evaluates them and tells their losses."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from spacelang.api.boxing import bounds_of, checked_fidelities, checked_scale, fidelities_of, grid_of, without_data
from spacelang.api.experiment import Data, Experiment, Prepared
from spacelang.api.initial import Initial, read_initial
from spacelang.api.kinds import LIMITS, must_be, must_be_of_kind, whole, whole_or_none
from spacelang.api.result import Result
from spacelang.api.space import Space, load
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import Fidelity
from spacelang.ir.trial import Request, Trial
from spacelang.runtime.boxes import ONE, BlackBox
from spacelang.runtime.budget import Budget
from spacelang.runtime.closing import Closing
from spacelang.runtime.executors import Workers
from spacelang.runtime.listening import Silence
from spacelang.runtime.storing.header import DataFacts

if TYPE_CHECKING:
    from spacelang.runtime.executors import Job
    from spacelang.runtime.executors.elsewhere import Elsewhere
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.objective import Aim
    from spacelang.runtime.stepping import Steps

NAME: Final = "ask_and_tell"
"""The name, in a store, of a black box that the calling program evaluates."""


def ask_and_tell(  # noqa: PLR0913 - each is one setting of a search
    space: Space | str | PathLike[str],
    *,
    optimizer: str | None = None,
    optimizer_options: Mapping[str, Any] | None = None,
    seed: int = 0,
    allow: Iterable[str] = (),
    scale: float | None = None,
    trials: int | None = None,
    batch: int = 1,
    fidelities: Iterable[int] | None = None,
    constraints: Mapping[str, float] | None = None,
    initial: Initial | None = None,
    store: str | PathLike[str] | None = None,
    resume: bool = False,
) -> "AskAndTell":
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
    optimizer, optimizer_options
        The name of an optimizer and its options. The default is `hyperband` for a space with hyperparameters,
        else `blds`.
    seed
        The seed of all random draws.
    allow
        The packages that the space may use, as for `load`.
    scale
        A positive loss beyond which differences no longer matter: 1 for an error rate, otherwise the loss of a
        guess. Optimizers that use the values of losses, not only their order, use `loss / scale`, clipped to
        [0, 1], and 1 for a failure. Without `scale` the first loss `l` counts as 1/2. Losses of `l - |l|` and
        less count as 0, losses of `l + |l|` and more as 1.
    trials
        The search ends after this many trials. Without it, the search ends when the space is exhausted; a space
        with continuous ranges never is.
    batch
        How many trials may be out for evaluation at the same time.
    fidelities
        Increasing positive integers such as `(1, 3, 9)`; the last one is the full fidelity. Every trial has one
        of them. Multi-fidelity optimizers start with the first.
    constraints
        Upper limits by name, for values that `tell` passes along with the loss. They are added to the bounds in
        the task of the space.
    initial
        Configurations to evaluate first, as for `search`.
    store
        A file in which every trial is saved when its loss arrives.
    resume
        Continue the run in `store`. Finished trials are replayed; trials that were out are asked for again.

    Notes
    -----
    `hyperband` draws every configuration anew. Optimizers that select pipelines keep hyperparameters at their
    defaults; with the option `hyperparameters="sample"` they draw them once for each pipeline. They end once they
    have asked for every pipeline. Known losses are remembered: the same configuration is not asked for again.

    Raises SpaceError, UnknownPluginError, OptionError and TypeError as `search` does. Raises ValueError for an invalid
    scale, number of trials, batch, fidelity or constraint. Raises the runtime's InputError for problems with the store,
    and immediately if the optimizer will need a fidelity that is not listed.
    """

    must_be_of_kind(optimizer=optimizer, optimizer_options=optimizer_options, seed=seed, space=space)
    must_be_of_kind(trials=trials, batch=batch, store=store, allow=allow, scale=scale, fidelities=fidelities)
    must_be("constraints", {} if constraints is None else constraints, LIMITS)
    trials, seed, batch = whole_or_none(trials), whole(seed), whole(batch)
    if resume and store is None:
        raise ValueError("nothing to resume: give the `store` of the run")
    told = Outside(None if fidelities is None else checked_fidelities(fidelities), constraints or {}, scale)
    loaded = without_data(space) if isinstance(space, Space) else load(space, allow=allow)
    experiment = Experiment(
        space=loaded,
        data=told,
        budget=Budget(trials=trials),
        seed=seed,
        workers=Workers(batch),
        initial=None if initial is None else read_initial(initial),
    )
    return asking(experiment.by(optimizer, optimizer_options).prepared(), store=store, resume=resume)


def asking(prepared: Prepared, *, store: str | PathLike[str] | None = None, resume: bool = False) -> "AskAndTell":
    """Start an ask-and-tell search for a prepared experiment; raises as `Prepared.steps` does."""
    from spacelang.runtime.executors.elsewhere import Elsewhere

    executor, heard, first = Elsewhere(prepared.experiment.workers.count), _Heard(), prepared.initial()
    going = prepared.steps(executor, initial=first, store=store, resume=resume, listener=heard)
    return AskAndTell(_Run(prepared, executor, heard, going, store, first or ()))


@dataclass(frozen=True, eq=False)
class Outside(Data):
    """The data of a search whose black box is evaluated by the calling program."""

    fidelities: tuple[int, ...] | None
    constraints: Mapping[str, float]
    scale: float | None

    def over(self, experiment: Experiment) -> "tuple[Space, BlackBox]":
        """Return the space, and the description of the black box as the objective."""
        facts = DataFacts(NAME, 0, 0, sha256(NAME.encode()).hexdigest())
        bounds = bounds_of(experiment.space, self.constraints)
        return experiment.space, BlackBox(facts, self.fidelities or ONE, bounds, checked_scale(self.scale))

    def fidelity(self, space: Space, aim: "Aim") -> Fidelity | None:
        """Return the grid of the fidelities if some were given; otherwise the fidelity of the task, if there is one."""
        return super().fidelity(space, aim) if self.fidelities is None else grid_of(self.fidelities)


class Asked:
    """A configuration whose loss an optimizer asks for; tell it exactly once.

    `configuration` is what to evaluate. `fidelity` is the fidelity to evaluate it at; it is None if there is only one.
    """

    def __init__(self, run: "_Run", job: "Job") -> None:
        box, request = run.prepared.objective, job.request
        size = box.training_size
        self.request: Request = request
        self.configuration: Configuration = request.configuration
        self.fidelity = None if len(fidelities_of(box) or ()) < 2 else min(request.fidelity or size, size)
        self.answer: Trial | None = None
        self._run, self._job, self._begun = run, job, perf_counter()

    @property
    def is_wanted(self) -> bool:
        """True if the search can still use the loss.

        It is False once a loss has been given, once the search is over, or if the trial was started speculatively and
        is no longer needed.
        """
        return self._run.executor.awaits(self._job)

    def tell(
        self,
        loss: float | None,
        *,
        cost: float | None = None,
        constraints: Mapping[str, float] | None = None,
        fidelity: int | None = None,
    ) -> None:
        """Tell the search the loss of this configuration.

        Parameters
        ----------
        loss
            The loss, which is minimised. None or a number that is not finite means that the evaluation failed.
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
        from spacelang.runtime.boxes.answering import answer

        if self.answer is not None:
            raise RuntimeError("the loss of this trial has already been told")
        if fidelity not in (None, self.fidelity):
            raise ValueError(f"the trial was requested at fidelity {self.fidelity}, not {fidelity}")
        seconds = perf_counter() - self._begun if cost is None else cost
        self.answer = answer(self._job.request, loss, seconds, constraints, self._run.prepared.objective.bounds)
        if self.is_wanted:
            self._run.executor.end(self._job, self.answer)
            self._run.advance()


class AskAndTell(Closing, Iterator[Asked]):
    """A search that asks for configurations: iterate over it, or call `ask` to get as many as may be out at once.

    As a context manager it closes the search at the end.
    """

    def __init__(self, run: "_Run") -> None:
        self._run = run
        run.advance()

    def __next__(self) -> Asked:
        """Return the next configuration; raises RuntimeError if a loss must be told first."""
        for asked in self._handed_out():
            return asked
        if self._run.is_over:
            raise StopIteration
        raise RuntimeError("tell the loss of a trial before asking for the next one")

    def ask(self) -> list[Asked]:
        """Return all configurations that can be evaluated now, in addition to those that are out.

        The list is empty if a loss must be told first, and when the search is over.
        """
        return [*self._handed_out()]

    @property
    def result(self) -> Result:
        """The result of the search; raises RuntimeError while the search is still running (`close` ends it)."""
        run = self._run
        if run.heard.outcome is None:
            raise RuntimeError("the search is still running: `close` ends it")
        return run.prepared.result(run.heard.outcome, run.store, run.initial)

    def close(self) -> None:
        """End the search like an interruption; losses told afterwards are ignored. Closing again does nothing."""
        self._run.close()

    def _handed_out(self) -> Iterator[Asked]:
        while (job := self._run.executor.hand_out()) is not None:
            yield Asked(self._run, job)


@dataclass
class _Heard(Silence):
    """A listener that keeps the outcome of a run."""

    outcome: "Outcome | None" = None

    def finished(self, outcome: "Outcome") -> None:
        """Keep the outcome."""
        self.outcome = outcome


@dataclass(slots=True)
class _Run:
    """The state of an ask-and-tell run, which continues whenever a loss arrives."""

    prepared: Prepared
    executor: "Elsewhere"
    heard: _Heard
    going: "Steps[Result]"
    store: str | PathLike[str] | None
    initial: tuple[Configuration, ...]
    is_over: bool = False

    def advance(self) -> None:
        """Run until a loss must be told or the search is over.

        An error ends the run and is raised. Raises KeyboardInterrupt if the run was interrupted.
        """
        self.is_over = True
        for _ in self.going:
            self.is_over = False
            return
        self.executor.close()
        if self.heard.outcome is not None and self.heard.outcome.ended == "interrupted":
            raise KeyboardInterrupt

    def close(self) -> None:
        """End the run."""
        self.going.close()
        self.executor.close()
        self.is_over = True
