"""A search of a space for any black box: configurations are asked for, their losses are told."""

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
"""What a store calls a box that the program evaluates by itself."""


def ask_and_tell(  # noqa: PLR0913 - each says one thing about a search
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
    """The configurations that an optimizer asks for, `batch` of them at a time, for any black box; without any data.

    >>> import spacelang as sl
    >>> space = sl.parse("abstract valve { angle : float[0, 90] } stage part = valve")
    >>> search = sl.ask_and_tell(space, trials=5)
    >>> for trial in search:
    ...     trial.tell((trial.configuration["part.angle"] - 30) ** 2)
    >>> len(search.result.trials)
    5

    `allow` is as for `load`. The optimizer is `hyperband` where the space has hyperparameters, which draws every
    configuration anew, and `blds` else, unless it is named. Those that select pipelines keep hyperparameters at their
    defaults, or draw them once for each pipeline with the option `hyperparameters="sample"`, and end once every
    pipeline was asked for. What was told once is not asked for again: the search is told it by itself.

    `scale` is a loss that is as bad as losses need be told apart, above 0: 1 for a share of errors, that of a guess for
    others. Optimizers that reckon with more than the order of losses take loss / `scale`, at least 0 and at most 1, and
    1 for failures; without `scale` they take 1/2 for the first loss that is told, 0 and 1 for losses that differ from
    it by as much as it differs from 0.

    With `fidelities`, as in `(1, 3, 9)`, every trial has one, the last being the full one; optimizers that begin on few
    rows begin with the first. `constraints` bounds by name what is told with the loss, as the task of the space bounds
    its measures. `initial` are configurations to start from, as for `search`: they are asked for first. With `store`
    every trial is kept in that file when it is told; with `resume` the run that it holds goes on: what was told is told
    again, and what was out is asked for again.

    Ends after so many `trials`, or when the space is exhausted: one with ranges never is. Raises SpaceError,
    UnknownPluginError, OptionError, TypeError as `search` does, ValueError for what is no scale, number of trials,
    batch, fidelity or constraint, and the runtime's InputError for stores and fidelities that an optimizer does not
    reach, at once.
    """

    must_be_of_kind(optimizer=optimizer, optimizer_options=optimizer_options, seed=seed, space=space)
    must_be_of_kind(trials=trials, batch=batch, store=store, allow=allow, scale=scale, fidelities=fidelities)
    must_be("constraints", {} if constraints is None else constraints, LIMITS)
    trials, seed, batch = whole_or_none(trials), whole(seed), whole(batch)
    if resume and store is None:
        raise ValueError("there is no run to go on with: name its `store`")
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
    """The same of an experiment that can begin, whose trials the caller evaluates; raises as `Prepared.steps` does."""
    from spacelang.runtime.executors.elsewhere import Elsewhere

    executor, heard, first = Elsewhere(prepared.experiment.workers.count), _Heard(), prepared.initial()
    going = prepared.steps(executor, initial=first, store=store, resume=resume, listener=heard)
    return AskAndTell(_Run(prepared, executor, heard, going, store, first or ()))


@dataclass(frozen=True, eq=False)
class Outside(Data):
    """A box that the program evaluates by itself."""

    fidelities: tuple[int, ...] | None
    constraints: Mapping[str, float]
    scale: float | None

    def over(self, experiment: Experiment) -> "tuple[Space, BlackBox]":
        """The space, and what is to be known of the box."""
        facts = DataFacts(NAME, 0, 0, sha256(NAME.encode()).hexdigest())
        bounds = bounds_of(experiment.space, self.constraints)
        return experiment.space, BlackBox(facts, self.fidelities or ONE, bounds, checked_scale(self.scale))

    def fidelity(self, space: Space, aim: "Aim") -> Fidelity | None:
        """By its fidelities, where it has several."""
        return super().fidelity(space, aim) if self.fidelities is None else grid_of(self.fidelities)


class Asked:
    """A configuration that an optimizer wants to know the loss of; tell it exactly once.

    `fidelity` is where it is to be evaluated; None where there is one alone.
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
        """Whether its loss is still of use: not once it is told, the search is over, or it was begun ahead in vain."""
        return self._run.executor.awaits(self._job)

    def tell(
        self,
        loss: float | None,
        *,
        cost: float | None = None,
        constraints: Mapping[str, float] | None = None,
        fidelity: int | None = None,
    ) -> None:
        """Tell the loss, which is minimised; None, or what is no finite number, where the evaluation failed.

        `cost` is in seconds: those since it was asked for, unless it is given. `constraints` has the value of all that
        is bounded, by its name; nan is unknown. A `fidelity` must be the one that was asked for. With a store the trial
        is safe when this returns; nothing comes of it where it is not wanted any more.

        Raises RuntimeError where it was told before, ValueError for what is no answer, and what the optimizer and the
        store raise.
        """
        from spacelang.runtime.boxes.answering import answer

        if self.answer is not None:
            raise RuntimeError("the loss of this trial was told before")
        if fidelity not in (None, self.fidelity):
            raise ValueError(f"the trial was asked for at fidelity {self.fidelity}, not {fidelity}")
        seconds = perf_counter() - self._begun if cost is None else cost
        self.answer = answer(self._job.request, loss, seconds, constraints, self._run.prepared.objective.bounds)
        if self.is_wanted:
            self._run.executor.end(self._job, self.answer)
            self._run.advance()


class AskAndTell(Closing, Iterator[Asked]):
    """A search that asks for configurations: iterate over them, or `ask` for as many as may be out at once."""

    def __init__(self, run: "_Run") -> None:
        self._run = run
        run.advance()

    def __next__(self) -> Asked:
        """The next one; raises RuntimeError where something that is out has to be told before."""
        for asked in self._handed_out():
            return asked
        if self._run.is_over:
            raise StopIteration
        raise RuntimeError("tell the loss of a trial before asking for the next one")

    def ask(self) -> list[Asked]:
        """All that can be evaluated now beside what is out; empty where that has to be told first, and at the end."""
        return [*self._handed_out()]

    @property
    def result(self) -> Result:
        """What was found, once the search is over; raises RuntimeError before: `close` ends it."""
        run = self._run
        if run.heard.outcome is None:
            raise RuntimeError("the search is not over: `close` ends it")
        return run.prepared.result(run.heard.outcome, run.store, run.initial)

    def close(self) -> None:
        """End the search, as an interruption does; what is out is of no use any more. Closing again does nothing."""
        self._run.close()

    def _handed_out(self) -> Iterator[Asked]:
        while (job := self._run.executor.hand_out()) is not None:
            yield Asked(self._run, job)


@dataclass
class _Heard(Silence):
    """Listens for the end of a run."""

    outcome: "Outcome | None" = None

    def finished(self, outcome: "Outcome") -> None:
        """Keep what was found."""
        self.outcome = outcome


@dataclass(slots=True)
class _Run:
    """A run that goes on whenever something was told."""

    prepared: Prepared
    executor: "Elsewhere"
    heard: _Heard
    going: "Steps[Result]"
    store: str | PathLike[str] | None
    initial: tuple[Configuration, ...]
    is_over: bool = False

    def advance(self) -> None:
        """Go on until something has to be told; raises what goes wrong, which ends it."""
        self.is_over = True
        for _ in self.going:
            self.is_over = False
            return
        self.executor.close()
        if self.heard.outcome is not None and self.heard.outcome.ended == "interrupted":
            raise KeyboardInterrupt

    def close(self) -> None:
        """End it."""
        self.going.close()
        self.executor.close()
        self.is_over = True
