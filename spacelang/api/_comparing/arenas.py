"""Where optimizers are compared: data that they search on, or a table that answers them."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from spacelang.api._comparing.contestants import Contestant
from spacelang.api._comparing.scoring import scored
from spacelang.api._comparing.setting import Judged, Setting
from spacelang.api.archiving import begun_by, suggested
from spacelang.api.boxing import box_over
from spacelang.api.executing import make_executor
from spacelang.api.initial import members_of
from spacelang.api.keeping import check_rungs, keeping, terms_of
from spacelang.api.searching import Recorded, bound_by, make_objective, needs_training_loss, run
from spacelang.api.space import Space
from spacelang.api.tabulating import TABLE, objective_of, run_on_table
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import describe_bound, describe_validation
from spacelang.runtime.boxes import ARTIFICIAL

if TYPE_CHECKING:
    from spacelang.runtime.data.loading import Table
    from spacelang.runtime.errors import InputError
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.evaluation.testing import TestRows
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.loop import Listener
    from spacelang.runtime.objective import Objective
    from spacelang.runtime.storing.header import DataFacts
    from spacelang.runtime.storing.store_tests import StoredTest
    from spacelang.runtime.tables import LossTable
    from spacelang.runtime.tables.objective import TableObjective


Ran: TypeAlias = "tuple[Outcome, StoredTest | None]"
"""What came of a run, and of its winner on the rows that no trial saw, where there are such."""


class Arena(Protocol):
    """One data set or table."""

    @property
    def label(self) -> str:
        """What it is called in the comparison."""
        ...

    def check(self, seed: int, contestants: Iterable[Contestant]) -> Judged:
        """Make sure that runs are possible; raises InputError and SpaceError for all that would end each of them."""
        ...

    def facts(self, seed: int, judged: Judged) -> "DataFacts":
        """What tells the data that the trials of a seed see from others, where `check` has found `judged`."""
        ...

    def run(self, contestant: Contestant, seed: int, place: Path | None, listener: "Listener") -> Ran:
        """One run, kept in a place, going on with what is there; None keeps it nowhere.

        Raises InputError, StoreError among them.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DataArena:
    """Real data: the seed decides the split, the search, and whatever pipelines draw."""

    setting: Setting
    label: str
    table: "Table"
    test: "TestRows | None" = None

    def check(self, seed: int, contestants: Iterable[Contestant]) -> Judged:
        """The judge of the first seed: the others differ in the split only."""
        from spacelang.runtime.data.fingerprint import data_facts

        space, objective = self._objective(seed, Recorded(training_score=any(map(_needs_more, contestants))))
        dataset = objective.dataset
        facts = data_facts(self.label, dataset.features, dataset.labels)
        validation = describe_validation(objective.validation)
        bounds = tuple(map(describe_bound, objective.bounds))
        initial, remarks = self._initial(space, objective)
        return Judged(
            facts,
            objective.metric.formula,
            validation,
            bounds,
            objective.training_size,
            self._kept(objective),
            initial,
            remarks,
            self.setting.identity_of(space),
        )

    def facts(self, seed: int, judged: Judged) -> "DataFacts":
        """Those that were found, unless each seed keeps other rows for testing."""
        from spacelang.runtime.data.fingerprint import data_facts
        from spacelang.runtime.data.labels import check_labels
        from spacelang.runtime.evaluation.testing import set_apart
        from spacelang.runtime.pipelines.library import task_kind

        if not isinstance(self.test, float):
            return judged.facts
        kind = task_kind(self.setting.space.checked.root)
        seen, _ = set_apart(self.table, self.test, kind, seed)
        dataset = check_labels(seen, kind)
        return data_facts(self.label, dataset.features, dataset.labels)

    def run(self, contestant: Contestant, seed: int, place: Path | None, listener: "Listener") -> Ran:
        """A run with workers and a cache of its own: what another optimizer has fitted is of no use to this one.

        The seed draws the rows for testing, too: they are the same for all optimizers.
        """
        setting = self.setting
        space, objective = self._objective(seed, Recorded(training_score=_needs_more(contestant)))
        chosen = contestant.on(space)
        initial, _ = self._initial(space, objective)
        with closing(_crew(setting, objective)) as executor:
            outcome = _outcome(setting, chosen, (space, objective), executor, seed, (place, listener), initial)
            return outcome, scored(outcome, objective, executor, setting.limits, place)

    def _initial(self, space: Space, objective: "DataObjective") -> tuple[tuple[Configuration, ...], tuple[str, ...]]:
        """What a run begins with, and what an archive suggested that was passed over."""
        setting = self.setting
        given = members_of(space, setting.initial or ())
        if setting.archive is None:
            return given, ()
        found = suggested(setting.archive, space, objective, setting.norm)
        return begun_by(given, found), found.sentences

    def _kept(self, objective: "DataObjective") -> str:
        """What is kept from trials for testing; of a share each seed draws other rows."""
        from spacelang.runtime.data.fingerprint import data_facts

        if objective.tested is None:
            return ""
        if isinstance(self.test, float):
            return f"{self.test:g} of the rows"
        facts = data_facts(self.label, objective.tested.features, objective.tested.labels)
        return f"{facts.rows} rows, {facts.fingerprint}"

    def _objective(self, seed: int, recorded: Recorded) -> "tuple[Space, DataObjective]":
        setting = self.setting
        objective = make_objective(
            setting.space,
            self.table,
            metric=setting.metric,
            validation=setting.validation,
            seed=seed,
            recorded=recorded,
            test=self.test,
        )
        return bound_by(objective, setting.space)


@dataclass(frozen=True, eq=False)
class TableArena:
    """A table of known losses, in whose time runs take place; the seed decides the search, the split is the table's."""

    setting: Setting
    label: str
    table: "LossTable"

    def check(self, seed: int, contestants: Iterable[Contestant]) -> Judged:  # noqa: ARG002 - the table has one split
        """Raises InputError, too, where an optimizer asks for numbers of rows that the table does not have."""
        space, objective = self._objective
        for contestant in contestants:
            check_rungs(contestant.on(space).optimizer, objective)
        bounds = tuple(map(describe_bound, objective.bounds))
        validation = describe_validation(objective.validation)
        return Judged(
            objective.facts,
            objective.metric.formula,
            validation,
            bounds,
            objective.training_size,
            initial=self._initial,
            space=self.setting.identity_of(space),
        )

    def facts(self, seed: int, judged: Judged) -> "DataFacts":  # noqa: ARG002 - the table is the same for all seeds
        """Those of the table."""
        return judged.facts

    def run(self, contestant: Contestant, seed: int, place: Path | None, listener: "Listener") -> Ran:
        """A run whose seconds are those that were recorded; there are no rows to test on."""
        setting = self.setting
        space, objective = self._objective
        chosen = contestant.on(space)
        pair = (chosen.name, chosen.optimizer)
        terms = terms_of(setting.seconds, setting.trials, setting.workers, self._initial)
        with keeping(place, space, pair, objective, seed=seed, resume=True, terms=terms) as journal:
            outcome = run_on_table(
                space,
                chosen.optimizer,
                objective,
                workers=max(1, setting.workers),
                time=setting.seconds,
                trials=setting.trials,
                seed=seed,
                listener=listener,
                journal=journal,
                terms=terms,
            )
        return outcome, None

    @property
    def _initial(self) -> tuple[Configuration, ...]:
        space, objective = self._objective
        return members_of(space, self.setting.initial or (), objective.lacks)

    @cached_property
    def _objective(self) -> "tuple[Space, TableObjective]":
        return objective_of(self.setting.space, self.table, limits=self.setting.limits)


@dataclass(frozen=True, eq=False)
class BoxArena:
    """The artificial black box of a seed of its own; that of a run decides the search alone."""

    setting: Setting
    label: str
    box: str

    def check(self, seed: int, contestants: Iterable[Contestant]) -> Judged:  # noqa: ARG002 - any optimizer may ask
        """Raises InputError where the space has not what the box needs."""
        space, objective = self._objective
        bounds = tuple(map(describe_bound, objective.bounds))
        return Judged(
            objective.facts,
            objective.metric.formula,
            "none",
            bounds,
            objective.training_size,
            initial=members_of(space, self.setting.initial or ()),
        )

    def facts(self, seed: int, judged: Judged) -> "DataFacts":  # noqa: ARG002 - the box is the same for all seeds
        """Those of the box."""
        return judged.facts

    def run(self, contestant: Contestant, seed: int, place: Path | None, listener: "Listener") -> Ran:
        """A run in real time; there are no rows to test on."""
        space, objective = self._objective
        with closing(_crew(self.setting, objective)) as executor:
            chosen = contestant.on(space)
            initial = members_of(space, self.setting.initial or ())
            kept = (place, listener)
            return _outcome(self.setting, chosen, (space, objective), executor, seed, kept, initial), None

    @cached_property
    def _objective(self) -> "tuple[Space, Objective]":
        return box_over(self.setting.space, self.box)


def _crew(setting: Setting, objective: "Objective") -> "Executor":
    return make_executor(objective, workers=setting.workers, limits=setting.limits, isolate=setting.isolate)


def _outcome(
    setting: Setting,
    chosen: Contestant,
    searched: "tuple[Space, Objective]",
    executor: "Executor",
    seed: int,
    kept: "tuple[Path | None, Listener]",
    initial: tuple[Configuration, ...],
) -> "Outcome":
    """What comes of a run in real time, of an objective over its space; it goes on with what is kept."""
    (space, objective), (place, listener) = searched, kept
    pair = (chosen.name, chosen.optimizer)
    terms = terms_of(setting.seconds, setting.trials, len(executor.free), initial)
    with keeping(place, space, pair, objective, seed=seed, resume=True, terms=terms) as journal:
        return run(
            space,
            chosen.optimizer,
            objective,
            executor,
            time=setting.seconds,
            trials=setting.trials,
            seed=seed,
            listener=listener,
            journal=journal,
            terms=terms,
        )


class ArenasError(ValueError):
    """Data that cannot be used; `mistakes` has what is wrong with each."""

    def __init__(self, mistakes: "Sequence[InputError]") -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{each.message}: {each.help}" if each.help else each.message for each in mistakes))


def arenas(setting: Setting, data: Mapping[str, Any], target_column: str | None = None) -> tuple[Arena, ...]:
    """An arena for each data set by its label: a reference as `--data` takes it, or features and labels in a pair.

    Raises ArenasError with everything that cannot be read.
    """
    from spacelang.runtime.errors import DataError, InputError

    found: list[Arena] = []
    mistakes: list[InputError] = []
    for label, source in data.items():
        try:
            found.append(_arena(setting, label, source, target_column))
        except InputError as error:
            mistakes.append(error)
    if len(data) > 1 and any(isinstance(each, DataArena) and not isinstance(each.test, float | None) for each in found):
        what = f"the test rows cannot be those of {len(data)} data sets"
        mistakes.append(DataError(what, "give a share of the rows of each: 0.2"))
    if not data:
        mistakes.append(
            DataError("there is no data to compare optimizers on", "name a file, `sklearn:NAME` or a table")
        )
    if mistakes:
        raise ArenasError(mistakes)
    return tuple(found)


def labels(references: Iterable[str]) -> dict[str, str]:
    """The references of data by what they are called: the names of files without suffixes where these differ.

    Raises ArenasError for one that is given twice.
    """
    from spacelang.runtime.errors import DataError

    given = tuple(references)
    short = [_short(reference) for reference in given]
    found: dict[str, str] = {}
    mistakes = []
    for reference, name in zip(given, short, strict=True):
        label = name if short.count(name) == 1 else reference
        if label in found:
            mistakes.append(DataError(f"the data `{reference}` is named twice", "name it once"))
        found[label] = reference
    if mistakes:
        raise ArenasError(mistakes)
    return found


def _arena(setting: Setting, label: str, source: Any, target_column: str | None) -> Arena:
    from spacelang.runtime.data.loading import load_dataset, make_table
    from spacelang.runtime.tables.reading import read_table

    if not isinstance(source, str):
        features, target = source
        return _on_data(setting, label, make_table(features, target, label))
    if source.startswith(ARTIFICIAL):
        _check_unsettled(source, setting, target_column)
        return BoxArena(setting, label, source)
    if source.startswith(TABLE):
        _check_unsettled(source, setting, target_column)
        return TableArena(setting, label, read_table(Path(source.removeprefix(TABLE))))
    return _on_data(setting, label, load_dataset(source, target_column))


def _on_data(setting: Setting, label: str, table: "Table") -> DataArena:
    from spacelang.runtime.evaluation.testing import read_test

    return DataArena(setting, label, table, read_test(setting.test, str(table.target.name)))


def _check_unsettled(source: str, setting: Setting, target_column: str | None) -> None:
    """Raise InputError where something is asked for that a table has settled."""
    from spacelang.runtime.errors import InputError

    is_table = source.startswith(TABLE)
    what_it_is = f"the table `{source.removeprefix(TABLE)}`" if is_table else f"`{source}`"
    asked = {"a metric": setting.metric, "a validation": setting.validation, "a column of labels": target_column}
    for what, given in asked.items():
        if given is not None:
            message = f"{what} changes nothing of {what_it_is}"
            help_text = "its trials are known; `spacelang tabulate` makes another table" if is_table else "leave it out"
            raise InputError(message, help_text)
    if setting.archive is not None:
        message = f"{what_it_is} has no rows by which an archive could tell what is like it"
        raise InputError(message, "give the data that the table was made of" if is_table else "leave it out")
    if setting.test is not None:
        message = f"{what_it_is} has losses and no rows: none can be kept for testing"
        raise InputError(message, "give the data that the table was made of" if is_table else "leave it out")


def _short(reference: str) -> str:
    """What a reference is called unless another one is, too: `credit` for `a/credit.csv.gz` and `table:credit.npz`."""
    from spacelang.runtime.data.loading import EXTENSIONS

    path = reference.removeprefix(TABLE)
    name = Path(path).name
    suffix = next((each for each in (*EXTENSIONS, ".npz") if name.lower().endswith(each)), "")
    return name.removesuffix(suffix) if suffix and len(name) > len(suffix) else path


def _needs_more(contestant: Contestant) -> bool:
    return needs_training_loss(contestant.optimizer)
