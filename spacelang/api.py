"""The Python interface: text to space, to a target's form, to trials, to a fitted pipeline, in a few calls."""

import time as _time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from spacelang.analysis import Surroundings, check
from spacelang.analysis.surroundings import ALONE, check_bindings
from spacelang.analysis.symbols import VAST
from spacelang.diagnostics.diagnostic import Diagnostic, Severity
from spacelang.diagnostics.domains import UnboundSymbol
from spacelang.diagnostics.terminal import render
from spacelang.ir import space as ir
from spacelang.ir.configuration import Configuration
from spacelang.ir.counting import Structures
from spacelang.ir.defaults import default
from spacelang.ir.membership import Exclusion, admit, exclusion
from spacelang.ir.statistics import Statistics, statistics
from spacelang.ir.task import UNLIMITED, CrossValidation, Goal, Task, Validation, describe_limits
from spacelang.ir.trial import Request, Search, Status, Trial
from spacelang.ir.value import from_json
from spacelang.ir.walk import structure_of
from spacelang.optimizers import OPTIMIZERS
from spacelang.syntax.sources import read_source
from spacelang.targets import TARGETS
from spacelang.text import Source

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.ir.columns import Columns
    from spacelang.ir.neighbours import Neighbourhood
    from spacelang.ir.numbering import Numbers
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
    """A checked space; `warnings` are diagnostics that do not keep it from being used.

    `symbols` are those of the data that its text mentions, each with the number that it is bound to (None: with none,
    it stands for an arbitrarily large number). A space that a program made has no `source`.
    """

    checked: ir.Space
    counted: Structures = field(repr=False)
    warnings: tuple[Diagnostic, ...] = ()
    symbols: Mapping[str, int | None] = field(default_factory=dict)
    source: Source | None = field(default=None, repr=False)
    surroundings: Surroundings = field(default=ALONE, repr=False)

    def bind(self, **numbers: int) -> "Space":
        """The space for data of this size: `bind(n_features=20)`; what was bound before and is not given stays.

        Raises SpaceError where it has errors for this data, and ValueError for what is no symbol or no number above 0.
        """
        bindings = {**self.surroundings.bindings, **check_bindings(numbers)}
        if self.source is None:
            return self
        return _space(self.source, replace(self.surroundings, bindings=bindings))

    @property
    def name(self) -> str:
        """The name in the header of the file."""
        return self.checked.name

    @property
    def task(self) -> Task | None:
        """What the task block says; None without one."""
        return self.checked.task

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

        They are the rows of `columns`. Raises ValueError for an empty space, and UnlikelyError where values that
        satisfy the constraints over ranges are too rare to be drawn.
        """
        return self.columns(count, seed=seed).configurations()

    def columns(self, count: int, *, seed: int = 0) -> "Columns":
        """`count` configurations as arrays, one for each decision and hyperparameter: millions take seconds.

        Raises as `sample` does.
        """
        from numpy.random import default_rng

        from spacelang.ir.sampling import Sampler

        return Sampler(self.counted).columns(count, default_rng(seed))

    def configuration(self, number: int) -> Configuration:
        """The configuration with a number from 0 to `configurations` - 1, the order being that of `ir/numbering.py`.

        Raises IndexError for another number, and ValueError, with the reason, where configurations are not counted.
        """
        return self._numbers.at(number)

    def rank(self, configuration: Mapping[str, Any]) -> int:
        """The number of a configuration, `configuration(rank(c)) == c`.

        Raises ValueError, with the reason, for what is no member and where configurations are not counted.
        """
        return self._numbers.of(self._member(configuration))

    @cached_property
    def _numbers(self) -> "Numbers":
        from spacelang.ir.numbering import Numbers

        return Numbers(self.counted)

    def structure(self, number: int) -> dict[str, str]:
        """The decisions, by key, of the structure with a number from 0 to `structures` - 1.

        Raises IndexError for another number.
        """
        from spacelang.ir.numbering import structure_at

        found = structure_at(self.counted, number)
        return {self.checked.variables[address].key: branch for address, branch in found.items()}

    def rank_structure(self, configuration: Mapping[str, Any]) -> int:
        """The number of a configuration's structure; raises ValueError, with the reason, for what is no member."""
        from spacelang.ir.numbering import number_of_structure

        return number_of_structure(self.counted, structure_of(self.checked, self._member(configuration)))

    def neighbours(self, configuration: Mapping[str, Any], *, seed: int = 0) -> list[Configuration]:
        """The members that differ in one decision, all else at its default, or in one hyperparameter.

        Each other value of a set, four draws near a number. Raises ValueError, with the reason, for what is no member.
        """
        from numpy.random import default_rng

        return self._neighbourhood.of(self._member(configuration), default_rng(seed))

    @cached_property
    def _neighbourhood(self) -> "Neighbourhood":
        from spacelang.ir.neighbours import Neighbourhood

        return Neighbourhood(self.counted)

    def _member(self, configuration: Mapping[str, Any]) -> Configuration:
        member = admit(self.checked, _configuration(configuration))
        if isinstance(member, Configuration):
            return member
        raise ValueError(member.reason)

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

        return build(self.checked, self._member(configuration), random_state=random_state)


def load(reference: str | PathLike[str], *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None) -> Space:
    """The space of a `.space` file or of a bundled name; raises SpaceError, which holds the diagnostics.

    `allow` names the packages that it may `use`: they are trusted to be imported. `bind` says how large the data is, as
    in `{"n_features": 30}`; raises ValueError for what is no symbol or no number above 0.
    """
    return _space(_source(reference), _surroundings(allow, bind))


@dataclass(frozen=True, eq=False)
class ImportedSpace:
    """A search space of another tool; `text` is its `.space` file, `warnings` say what was not carried over.

    `encode` gives the other tool's configuration of one of ours, a dictionary of exactly what is active there, and
    `decode` ours of such a dictionary; both raise ValueError for what the space does not have.
    """

    space: Space
    text: str = field(repr=False)
    encode: Callable[[Mapping[str, Any]], dict[str, Any]] = field(repr=False)
    decode: Callable[[Mapping[str, Any]], Configuration] = field(repr=False)
    warnings: tuple[Diagnostic, ...] = ()


def import_space(reference: str | PathLike[str]) -> ImportedSpace:
    """The space of a PCS or JSON file of ConfigSpace; raises SpaceError where a `.space` file cannot say it exactly."""
    from spacelang.importers._importing import to_space

    imported, diagnostics = to_space(_source(reference))
    if imported is None:
        raise SpaceError(diagnostics)
    return ImportedSpace(parse(imported.text), imported.text, imported.encode, imported.decode, diagnostics)


def load_for_data(
    reference: str | PathLike[str], *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> Space:
    """The space that `load` gives, also where bounds have no limit as long as the data is not known.

    These then are very large; only what `bound_by` makes of it for some data may be searched.
    """
    source, surroundings = _source(reference), _surroundings(allow, bind)
    try:
        return _space(source, surroundings)
    except SpaceError as error:
        if not all(isinstance(each, UnboundSymbol) for each in error.diagnostics if each.severity is Severity.ERROR):
            raise
        for sizes in VAST:
            provisional = check(source, replace(surroundings, bindings={**sizes, **surroundings.bindings}))
            if provisional.space is not None and provisional.structures is not None:
                symbols = {name: surroundings.bindings.get(name) for name in provisional.symbols}
                return Space(provisional.space, provisional.structures, (), symbols, source, surroundings)
        raise


def parse(
    text: str, name: str = "<text>", *, allow: Iterable[str] = (), bind: Mapping[str, int] | None = None
) -> Space:
    """The space of a text; `allow` and `bind` are as for `load`. Raises SpaceError."""
    return _space(Source(name, text), _surroundings(allow, bind))


def _source(reference: str | PathLike[str]) -> Source:
    source = read_source(fspath(reference))
    if isinstance(source, Diagnostic):
        raise SpaceError((source,))
    return source


def _surroundings(allow: Iterable[str], bind: Mapping[str, int] | None) -> Surroundings:
    return Surroundings(check_bindings(bind or {}), frozenset(allow))


def _configuration(given: Mapping[str, Any]) -> Configuration:
    """A configuration of what a program holds: lists are tuples, NumPy's numbers are numbers."""
    if isinstance(given, Configuration):
        return given
    return Configuration(
        {key: from_json(value.item() if hasattr(value, "item") else value) for key, value in given.items()}
    )


def _space(source: Source, surroundings: Surroundings) -> Space:
    checked = check(source, surroundings)
    if checked.space is None or checked.structures is None:
        raise SpaceError(checked.diagnostics)
    return Space(checked.space, checked.structures, checked.diagnostics, checked.symbols, source, surroundings)


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
    def is_feasible(self) -> bool:
        """Whether the incumbent keeps to all that the task is subject to; false without one."""
        best = self.outcome.best
        return best is not None and best.trial.is_feasible

    @property
    def trials(self) -> "pd.DataFrame":
        """One row a trial: loss, status, reason, cost and time in seconds, training rows, configuration.

        What the task bounds follows, each measure in a column of its name: seconds, bytes, differences of scores.
        """
        import pandas as pd

        measures = [bound.name for bound in self.objective.bounds]
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
                    **{measured.bound.name: measured.value for measured in record.trial.constraints},
                }
                for record in self.outcome.records
            ],
            columns=["loss", "status", "reason", "rows", "cost", "seconds", "configuration", *measures],
        )

    @property
    def incumbent(self) -> "pd.DataFrame":
        """The incumbent over time: seconds, number of the trial, loss."""
        import pandas as pd

        points = [(point.seconds, point.trial, point.loss) for point in self.outcome.curve]
        return pd.DataFrame(points, columns=["seconds", "trial", "loss"])


def search(  # noqa: PLR0913 - each says one thing about a run
    space: Space | str | PathLike[str],
    features: Any,
    target: Any,
    *,
    optimizer: str = "blds",
    optimizer_options: Mapping[str, Any] | None = None,
    metric: str | None = None,
    validate: str | None = None,
    time: str | float | None = None,
    trials: int | None = None,
    seed: int = 0,
    allow: Iterable[str] = (),
    bind: Mapping[str, int] | None = None,
    listener: "Listener | None" = None,
) -> Result:
    """Search a space on data: n rows of features (a DataFrame or an n x d array) and n labels.

    `metric` names a scikit-learn scorer, `validate` is `holdout(0.3)` or `cv(5)`. What is not given is as the task of
    the space says. `allow` is as for `load`. The symbols of the space are bound by the data, except those that `bind`
    or the space binds already (see `bound_by`). At least one of `time` (`"60s"` or seconds) and `trials`, or a
    `limit run` of the task, limits the search unless the space is exhausted first. Raises SpaceError,
    UnknownPluginError, OptionError, ValueError for a text that is no validation or time, and the runtime's InputError
    for data and metrics.
    """
    from spacelang.runtime.data import make_table
    from spacelang.runtime.split import parse_validation

    loaded = _bound(space, bind) if isinstance(space, Space) else load_for_data(space, allow=allow, bind=bind)
    chosen = with_fidelity(configure_optimizer(optimizer, optimizer_options), loaded, optimizer_options or {})
    validation = None if validate is None else parse_validation(validate)
    table = make_table(features, target)
    objective = make_objective(loaded, table, metric=metric, validation=validation, seed=seed)
    loaded, objective = bound_by(objective, loaded)
    ignored = unenforced(loaded)
    if ignored is not None:
        warnings.warn(ignored, stacklevel=2)
    seconds = loaded.task.limits.run_seconds if time is None and loaded.task is not None else time
    outcome = run(loaded, chosen, objective, time=seconds, trials=trials, seed=seed, listener=listener)
    return Result(outcome, objective)


def _bound(space: Space, bind: Mapping[str, int] | None) -> Space:
    return space.bind(**bind) if bind else space


def configure_optimizer(name: str, options: Mapping[str, Any] | None = None) -> Any:
    """The optimizer of a name with its options; raises UnknownPluginError and OptionError."""
    return OPTIMIZERS.configure(OPTIMIZERS.load(name), {key: str(value) for key, value in (options or {}).items()})


def with_fidelity(optimizer: Any, space: Space, given: Iterable[str] = ()) -> Any:
    """The optimizer with `b` and `eta` as the task's fidelity says, where it has them and they are not `given`."""
    if space.task is None or space.task.fidelity is None:
        return optimizer
    fidelity = space.task.fidelity
    free = {option.name for option in OPTIMIZERS.options(type(optimizer))} - set(given)
    return replace(
        optimizer, **{name: value for name, value in (("b", fidelity.first), ("eta", fidelity.factor)) if name in free}
    )


def make_objective(
    space: Space, table: Any, *, metric: str | None, seed: int, validation: Validation | None = None
) -> "Objective":
    """What a search over the space minimises on a table of data; raises the runtime's InputError.

    A metric and a validation that are given come before those of the task; without any they are chosen by the data.
    """
    from spacelang.runtime.labels import check_labels
    from spacelang.runtime.library import check_buildable, task_kind
    from spacelang.runtime.objective import DEFAULT_VALIDATION, Objective, Settings

    check_buildable(space.checked.root)
    kind = task_kind(space.checked.root)
    task = space.task or Task(kind)
    goal = task.goal if metric is None else Goal("maximize", metric)
    chosen = validation or task.validation or DEFAULT_VALIDATION
    dataset = check_labels(table, kind, folds=chosen.folds if isinstance(chosen, CrossValidation) else 2)
    return Objective(space.checked, dataset, Settings(goal, chosen, task.bounds, seed))


def bound_by(objective: "Objective", space: Space) -> tuple[Space, "Objective"]:
    """The space for the data of an objective, and the objective over it.

    `n_samples` is the number of rows that a trial at full fidelity trains on, `n_features` the number of columns that
    its pipeline is given, `n_classes` the number of classes. What is bound already stays. Raises SpaceError where the
    space has errors for this data.
    """
    unbound = [name for name, number in space.symbols.items() if number is None]
    if not unbound:
        return space, objective
    bound = space.bind(**{name: objective.symbols[name] for name in unbound if name in objective.symbols})
    return bound, objective.over(bound.checked)


def unenforced(space: Space) -> str | None:
    """In words, which limits of the task a run does not enforce; None where there are none."""
    limits = UNLIMITED if space.task is None else space.task.limits
    if limits.trial_seconds is None and limits.trial_bytes is None:
        return None
    line = next(describe_limits(limits))
    return f"`{line}` is not enforced yet: every trial runs to its end"


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
    allow: Iterable[str] = (),
) -> Iterator[Asked]:
    """The configurations that an optimizer asks for, one at a time, for any black box; no scikit-learn needed.

    The box is evaluated at full fidelity, and `allow` is as for `load`. Ends when the space is exhausted. Raises
    SpaceError, UnknownPluginError and OptionError at once, RuntimeError where a trial was not told before the next one
    is asked for.
    """
    from numpy.random import default_rng

    loaded = space if isinstance(space, Space) else load(space, allow=allow)
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
