"""A search of a space for any black box: configurations are asked for, their losses are told."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from spacelang.api.boxing import bounds_of, checked_fidelities, checked_scale, without_data
from spacelang.api.initial import Initial, initial_configurations
from spacelang.api.keeping import keeping, terms_of
from spacelang.api.result import Result
from spacelang.api.searching import configure_optimizer, steps, with_fidelity
from spacelang.api.space import Space, load
from spacelang.ir.configuration import Configuration
from spacelang.ir.problem import Terms
from spacelang.ir.trial import Trial
from spacelang.optimizers import default_optimizer

if TYPE_CHECKING:
    from spacelang.runtime.boxes import BlackBox
    from spacelang.runtime.budget import Budget
    from spacelang.runtime.executors import Job
    from spacelang.runtime.executors.elsewhere import Elsewhere
    from spacelang.runtime.history import Outcome, Record
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
    UnknownPluginError, OptionError, ValueError for what is no scale, number of trials, batch, fidelity or constraint,
    and the runtime's InputError for stores and fidelities that an optimizer does not reach, at once.
    """
    from spacelang.runtime.boxes import BlackBox
    from spacelang.runtime.executors.elsewhere import Elsewhere
    from spacelang.runtime.storing.header import DataFacts

    if resume and store is None:
        raise ValueError("there is no run to go on with: name its `store`")
    sizes = checked_fidelities(fidelities)
    loaded = without_data(space) if isinstance(space, Space) else load(space, allow=allow)
    name = default_optimizer(loaded.checked, has_data=False) if optimizer is None else optimizer
    options = optimizer_options or {}
    chosen = with_fidelity(configure_optimizer(name, options), loaded, options, None if fidelities is None else sizes)
    facts = DataFacts(NAME, 0, 0, sha256(NAME.encode()).hexdigest())
    box = BlackBox(facts, sizes, bounds_of(loaded, constraints), checked_scale(scale))
    executor, heard = Elsewhere(batch), _Heard()
    terms = terms_of(None, trials, batch, None if initial is None else initial_configurations(loaded, initial))
    going = _steps(loaded, (name, chosen), box, executor, heard, (trials, seed, terms), (store, resume))
    return AskAndTell(_Run(loaded, chosen, box, executor, heard, going, None if store is None else Path(store)))


class Asked:
    """A configuration that an optimizer wants to know the loss of; tell it exactly once.

    `fidelity` is where it is to be evaluated; None where there is one alone.
    """

    def __init__(self, run: "_Run", job: "Job") -> None:
        size, request = run.box.training_size, job.request
        self.configuration: Configuration = request.configuration
        self.fidelity = None if len(run.box.fidelities) == 1 else min(request.fidelity or size, size)
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
        self.answer = answer(self._job.request, loss, seconds, constraints, self._run.box.bounds)
        if self.is_wanted:
            self._run.executor.end(self._job, self.answer)
            self._run.advance()


class AskAndTell(Iterator[Asked]):
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
        from spacelang.report.searched import searched_by

        run = self._run
        if run.heard.outcome is None:
            raise RuntimeError("the search is not over: `close` ends it")
        searched = searched_by(run.optimizer, run.space.checked)
        return Result(run.heard.outcome, run.box, run.store, searched=searched)

    def close(self) -> None:
        """End the search, as an interruption does; what is out is of no use any more. Closing again does nothing."""
        self._run.close()

    def __enter__(self) -> Self:
        """The search itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.close()

    def _handed_out(self) -> Iterator[Asked]:
        while (job := self._run.executor.hand_out()) is not None:
            yield Asked(self._run, job)


@dataclass(slots=True)
class _Heard:
    """Listens for the end of a run."""

    outcome: "Outcome | None" = None

    def started(self, budget: "Budget") -> None:
        """Ignore it."""

    def trial(self, record: "Record", best: "Record") -> None:
        """Ignore it."""

    def finished(self, outcome: "Outcome") -> None:
        """Keep what was found."""
        self.outcome = outcome


@dataclass(slots=True)
class _Run:
    """A run that goes on whenever something was told."""

    space: Space
    optimizer: Any
    box: "BlackBox"
    executor: "Elsewhere"
    heard: _Heard
    going: "Steps[None]"
    store: Path | None
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


def _steps(
    space: Space,
    optimizer: tuple[str, Any],
    box: "BlackBox",
    executor: "Elsewhere",
    heard: "_Heard",
    asked: tuple[int | None, int, Terms],
    place: tuple[str | PathLike[str] | None, bool],
) -> "Steps[None]":
    """The run of so many trials by a seed, on its terms, and its store while it goes on."""
    (trials, seed, terms), (store, resume) = asked, place
    with keeping(store, space, optimizer, box, seed=seed, resume=resume, terms=terms) as journal:
        yield from steps(
            space,
            optimizer[1],
            box,
            executor,
            time=None,
            trials=trials,
            seed=seed,
            listener=heard,
            journal=journal,
            terms=terms,
        )
