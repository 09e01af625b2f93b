"""The Python interface: text to space, to a target's form, to trials, to a fitted pipeline, in a few calls."""

import time as _time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from spacelang.analysis import Checked, check
from spacelang.diagnostics.diagnostic import Diagnostic, Severity
from spacelang.diagnostics.terminal import render
from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.defaults import default
from spacelang.ir.membership import Exclusion, admit, exclusion
from spacelang.ir.statistics import Statistics, statistics
from spacelang.ir.trial import Request, Search, Status, Trial
from spacelang.ir.value import from_json
from spacelang.optimizers import OPTIMIZERS
from spacelang.syntax.sources import read_source
from spacelang.targets import TARGETS
from spacelang.text import Source

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.runtime.loop import Listener, Outcome
    from spacelang.runtime.objective import Objective
    from spacelang.targets._lowered import Lowered


class SpaceError(Exception):
    """A space has errors; `diagnostics` holds all that was found, and the message shows them."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(render(diagnostics, color=False))
        self.diagnostics = diagnostics


@dataclass(frozen=True, eq=False)
class Space:
    """A checked space; `warnings` are diagnostics that do not keep it from being used."""

    checked: ir.Space
    counted: Structures = field(repr=False)
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def name(self) -> str:
        """The name in the header of the file."""
        return self.checked.name

    @property
    def structures(self) -> int:
        """The exact number of admissible combinations of decisions."""
        return self.counted.count

    @property
    def configurations(self) -> int | None:
        """The exact number of configurations; None where a hyperparameter is continuous."""
        return self.counted.configurations

    @cached_property
    def statistics(self) -> Statistics:
        """What is in the space, in numbers."""
        return statistics(self.counted)

    def default(self) -> Configuration:
        """The default configuration."""
        return default(self.checked)

    def sample(self, count: int = 1, *, seed: int = 0) -> list[Configuration]:
        """`count` configurations: structures uniform, values uniform or log-uniform; equal for equal seeds.

        Raises UnlikelyError where values that satisfy the constraints over ranges are too rare to be drawn.
        """
        from numpy.random import default_rng

        from spacelang.ir.sampling import Sampler

        sampler, rng = Sampler(self.counted), default_rng(seed)
        return [sampler.configuration(rng) for _ in range(count)]

    def __contains__(self, configuration: Mapping[str, Any]) -> bool:
        return self.exclusion(configuration) is None

    def exclusion(self, configuration: Mapping[str, Any]) -> Exclusion | None:
        """Why a configuration is no member, with the line that keeps it out; None for a member.

        Raises TypeError for a value that no configuration can have, such as a dictionary.
        """
        return exclusion(self.checked, _configuration(configuration))

    def compile(self, target: str, **options: Any) -> "Lowered[Any, Any]":
        """The space in the form of a target; raises UnknownPluginError and OptionError for what does not exist."""
        settings = {name: str(value) for name, value in options.items()}
        lowered: Lowered[Any, Any] = TARGETS.configure(TARGETS.load(target), settings).lower(self.checked)
        return lowered

    def build(self, configuration: Mapping[str, Any], *, random_state: int | None = None) -> Any:
        """An unfitted scikit-learn Pipeline; raises ValueError, with the reason, for what is no member."""
        from spacelang.runtime.build import build

        member = admit(self.checked, _configuration(configuration))
        if isinstance(member, Configuration):
            return build(self.checked, member, random_state=random_state)
        raise ValueError(member.reason)


def load(reference: str | PathLike[str]) -> Space:
    """The space of a `.space` file or of a bundled name; raises SpaceError, which holds the diagnostics."""
    source = read_source(fspath(reference))
    if isinstance(source, Diagnostic):
        raise SpaceError((source,))
    return _space(check(source))


def parse(text: str, name: str = "<text>") -> Space:
    """The space of a text; raises SpaceError, which holds the diagnostics."""
    return _space(check(Source(name, text)))


def _configuration(given: Mapping[str, Any]) -> Configuration:
    """A configuration of what a program holds: lists are tuples, NumPy's numbers are numbers."""
    if isinstance(given, Configuration):
        return given
    return Configuration(
        {key: from_json(value.item() if hasattr(value, "item") else value) for key, value in given.items()}
    )


def _space(checked: Checked) -> Space:
    if checked.space is None or checked.structures is None:
        raise SpaceError(checked.diagnostics)
    return Space(checked.space, checked.structures, checked.diagnostics)


@dataclass(frozen=True, eq=False)
class Result:
    """What a search found. `best_pipeline` is fitted on all data, and None where no trial succeeded."""

    outcome: "Outcome" = field(repr=False)
    objective: "Objective" = field(repr=False)

    @property
    def best_configuration(self) -> Configuration | None:
        """The configuration of the incumbent."""
        best = self.outcome.best
        return None if best is None else best.trial.request.configuration

    @property
    def loss(self) -> float | None:
        """The loss of the incumbent on the held-out rows."""
        best = self.outcome.best
        return None if best is None else best.trial.loss

    @cached_property
    def best_pipeline(self) -> Any:
        """The incumbent, fitted on all rows, with the preparation of the data as its first step."""
        configuration = self.best_configuration
        return None if configuration is None else self.objective.refit(configuration)

    @property
    def trials(self) -> "pd.DataFrame":
        """One row a trial: loss, status, reason, cost and time in seconds, training rows, configuration."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "loss": record.trial.loss,
                    "status": record.trial.status.value,
                    "reason": record.trial.reason,
                    "rows": record.trial.request.fidelity or self.objective.training_size,
                    "cost": record.trial.cost,
                    "seconds": record.finished,
                    "configuration": record.trial.request.configuration.to_dict(),
                }
                for record in self.outcome.records
            ],
            columns=["loss", "status", "reason", "rows", "cost", "seconds", "configuration"],
        )

    @property
    def incumbent(self) -> "pd.DataFrame":
        """The incumbent over time: seconds, number of the trial, loss."""
        import pandas as pd

        points = [(point.seconds, point.trial, point.loss) for point in self.outcome.curve]
        return pd.DataFrame(points, columns=["seconds", "trial", "loss"])


def search(
    space: Space | str | PathLike[str],
    features: Any,
    target: Any,
    *,
    optimizer: str = "blds",
    optimizer_options: Mapping[str, Any] | None = None,
    metric: str | None = None,
    time: str | float | None = None,
    trials: int | None = None,
    seed: int = 0,
    listener: "Listener | None" = None,
) -> Result:
    """Search a space on data: n rows of features (a DataFrame or an n x d array) and n labels.

    At least one of `time` (`"60s"` or seconds) and `trials` limits the search unless the space is exhausted first.
    Raises SpaceError, UnknownPluginError, OptionError, and the runtime's InputError for data and metrics.
    """
    from spacelang.runtime.data import make_table

    loaded = space if isinstance(space, Space) else load(space)
    chosen = configure_optimizer(optimizer, optimizer_options)
    objective = make_objective(loaded, make_table(features, target), metric=metric, seed=seed)
    outcome = run(loaded, chosen, objective, time=time, trials=trials, seed=seed, listener=listener)
    return Result(outcome, objective)


def configure_optimizer(name: str, options: Mapping[str, Any] | None = None) -> Any:
    """The optimizer of a name with its options; raises UnknownPluginError and OptionError."""
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), {key: str(value) for key, value in (options or {}).items()})


def make_objective(space: Space, table: Any, *, metric: str | None, seed: int) -> "Objective":
    """What a search over the space minimises on a table of data; raises the runtime's InputError."""
    from spacelang.runtime.labels import check_labels
    from spacelang.runtime.library import task_kind
    from spacelang.runtime.objective import Objective, Settings

    dataset = check_labels(table, task_kind(space.checked.root))
    return Objective(space.checked, dataset, Settings(metric=metric, seed=seed))


def run(
    space: Space,
    optimizer: Any,
    objective: "Objective",
    *,
    time: str | float | None,
    trials: int | None,
    seed: int,
    listener: "Listener | None" = None,
) -> "Outcome":
    """Run a configured optimizer; raises ValueError for a budget that allows nothing."""
    from numpy.random import default_rng

    from spacelang.runtime.budget import Budget, parse_duration
    from spacelang.runtime.loop import run as drive

    seconds = parse_duration(time) if isinstance(time, str) else time
    return drive(
        optimizer.search(space.checked, objective.training_size, default_rng(seed)),
        objective.evaluate,
        Budget(seconds, trials),
        clock=_time.perf_counter,
        training_size=objective.training_size,
        listener=listener,
    )


class Asked:
    """A configuration that an optimizer wants to know the loss of; tell it exactly once."""

    def __init__(self, request: Request) -> None:
        self.configuration = request.configuration
        self._request = request
        self.answer: Trial | None = None

    def tell(self, loss: float | None) -> None:
        """Tell the loss, which is minimised; None, or what is no finite number, where the evaluation failed.

        Raises RuntimeError where it was told before.
        """
        if self.answer is not None:
            raise RuntimeError("the loss of this trial was told before")
        number = None if loss is None or not isfinite(loss) else float(loss)
        status = Status.FAILED if number is None else Status.SUCCESS
        self.answer = Trial(self._request, number, status=status)


def ask_and_tell(
    space: Space | str | PathLike[str],
    *,
    optimizer: str = "blds",
    optimizer_options: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> Iterator[Asked]:
    """The configurations that an optimizer asks for, one at a time, for any black box; no scikit-learn needed.

    The box is evaluated at full fidelity. Ends when the space is exhausted. Raises SpaceError, UnknownPluginError and
    OptionError at once, RuntimeError where a trial was not told before the next one is asked for.
    """
    from numpy.random import default_rng

    loaded = space if isinstance(space, Space) else load(space)
    return _asked(configure_optimizer(optimizer, optimizer_options).search(loaded.checked, 1, default_rng(seed)))


def _asked(asking: Search) -> Iterator[Asked]:
    requests = next(asking, None)
    while requests is not None:
        answers: list[Trial] = []
        for request in requests:
            asked = Asked(request)
            yield asked
            if asked.answer is None:
                raise RuntimeError("tell the loss of a trial before asking for the next one")
            answers.append(asked.answer)
        try:
            requests = asking.send(answers)
        except StopIteration:
            return


def has_errors(diagnostics: tuple[Diagnostic, ...]) -> bool:
    """Whether some diagnostic keeps the space from being used."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in diagnostics)
