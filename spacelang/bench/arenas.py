"""Where optimizers are compared: data that they search on, or a table that answers them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spacelang.api.experiment import Experiment, Prepared
from spacelang.api.keeping import check_rungs
from spacelang.api.result import positive_class_of
from spacelang.api.rows import Rows, needs_training_loss
from spacelang.api.space import Space
from spacelang.bench.contestants import Contestant
from spacelang.bench.scoring import scored
from spacelang.bench.tabulating import TABLE, data_of
from spacelang.ir.configuration import Configuration
from spacelang.ir.task import describe_bound, describe_validation
from spacelang.plugins import Part
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.storing.header import DataFacts, identity

if TYPE_CHECKING:
    from spacelang.runtime.data.reading import Reading
    from spacelang.runtime.history import Outcome
    from spacelang.runtime.listening import Listener
    from spacelang.runtime.objective import Aim
    from spacelang.runtime.storing.store_tests import StoredTest

Ran: TypeAlias = "tuple[Outcome, StoredTest | None]"
"""What came of a run, and of its winner on the rows that no trial saw, where there are such."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """By what the runs in an arena are judged; `facts` tell its data apart from others."""

    facts: "DataFacts"
    formula: str
    validation: str
    bounds: tuple[str, ...]
    training_size: int
    test: str = ""
    """What is kept from trials for testing, in words; empty where nothing is."""
    initial: tuple[Configuration, ...] = ()
    """The configurations that every run begins with."""
    remarks: tuple[str, ...] = ()
    """Of which class a metric is, and what an archive suggested that was passed over, for people."""
    space: str = ""
    """The identity of the space for this data where that of the comparison waits for data; else empty."""


@dataclass(frozen=True, eq=False)
class Arena:
    """Data of a comparison by its `label`: what its runs are, but for their optimizers and seeds.

    Of data with rows the seed decides the split, too, and whatever pipelines draw; else it decides the search alone.
    """

    label: str
    experiment: Experiment

    def check(self, seed: int, contestants: Iterable[Contestant]) -> Criteria:
        """By what runs are judged, those of the first seed: the others differ in the split only.

        Raises InputError and SpaceError for all that would end each of them.
        """
        entered = sorted((each.optimizer for each in contestants), key=needs_training_loss, reverse=True)
        prepared, remarks = self._prepared(entered[0], seed), list[str]()
        space, objective = prepared.space, prepared.objective
        if (positive := positive_class_of(objective)) is not None:
            remarks.append(positive.sentence)
        for each in entered:
            check_rungs(replace(prepared.experiment, optimizer=each).on(space, objective))
        return Criteria(
            objective.facts,
            objective.metric.formula,
            "none" if objective.validation is None else describe_validation(objective.validation),
            tuple(map(describe_bound, objective.bounds)),
            objective.training_size,
            self._kept(objective),
            prepared.initial(lambda found: remarks.extend(found.sentences)) or (),
            tuple(remarks),
            identity(space.checked) if self.experiment.space.is_provisional else "",
        )

    def facts(self, seed: int, judged: Criteria) -> "DataFacts":
        """What tells the data that the trials of a seed see from others, where `check` has found `judged`.

        That is what was found, unless each seed keeps other rows for testing.
        """
        from spacelang.runtime.data.fingerprint import data_facts
        from spacelang.runtime.data.labels import check_labels
        from spacelang.runtime.evaluation.testing import set_apart
        from spacelang.runtime.pipelines.library import task_kind

        data, test = self.experiment.data, self.experiment.test
        if not (isinstance(data, Rows) and isinstance(test, float)):
            return judged.facts
        kind = task_kind(self.experiment.space.checked.root)
        seen, _ = set_apart(data.table, test, kind, seed)
        dataset = check_labels(seen, kind)
        return data_facts(self.label, dataset.features, dataset.labels)

    def run(self, contestant: Contestant, seed: int, place: Path | None, listener: "Listener") -> Ran:
        """One run, kept in a place, going on with what is there; None keeps it nowhere.

        It has workers and a cache of its own: what another optimizer has fitted is of no use to this one. Raises
        InputError, StoreError among them.
        """
        prepared = self._prepared(contestant.optimizer, seed)
        with closing(prepared.crew()) as executor:
            initial = prepared.initial() or ()
            found = prepared.run(executor, initial=initial, store=place, resume=True, listener=listener)
            return found.outcome, scored(found, executor)

    def _prepared(self, optimizer: Part, seed: int) -> Prepared:
        said = replace(self.experiment, optimizer=optimizer, seed=seed)
        return said.prepared() if said.data.has_rows else said.on(*self._known)

    @cached_property
    def _known(self) -> "tuple[Space, Aim]":
        """What is the same for all seeds, where these draw no rows."""
        return self.experiment.data.over(self.experiment)

    def _kept(self, objective: "Aim") -> str:
        """What is kept from trials for testing; of a share each seed draws other rows."""
        from spacelang.runtime.data.fingerprint import data_facts

        tested, test = getattr(objective, "tested", None), self.experiment.test
        if tested is None:
            return ""
        if isinstance(test, float):
            return f"{test:g} of the rows"
        facts = data_facts(self.label, tested.features, tested.labels)
        return f"{facts.rows} rows, {facts.fingerprint}"


class ArenasError(ValueError):
    """Data that cannot be used; `mistakes` has what is wrong with each."""

    def __init__(self, mistakes: "Sequence[InputError]") -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(f"{each.message}: {each.help}" if each.help else each.message for each in mistakes))


def arenas(
    of: Callable[..., Experiment],
    data: Mapping[str, Any],
    target_column: str | None = None,
    reading: "Reading | None" = None,
) -> tuple[Arena, ...]:
    """An arena for each data set by its label: a reference as `--data` takes it, or features and labels in a pair.

    Files are read as `reading` says. `of` says what a run on some `data` is. Raises ArenasError with everything that
    cannot be read.
    """

    found: list[Arena] = []
    mistakes: list[InputError] = []
    for label, source in data.items():
        try:
            found.append(Arena(label, _experiment(of, label, source, target_column, reading)))
        except InputError as error:
            mistakes.append(error)
    if len(data) > 1 and any(not isinstance(each.experiment.test, float | None) for each in found):
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


def _experiment(
    of: Callable[..., Experiment], label: str, source: Any, target_column: str | None, reading: "Reading | None"
) -> Experiment:
    from spacelang.runtime.data.loading import make_table
    from spacelang.runtime.evaluation.testing import read_test

    if isinstance(source, PathLike):
        source = fspath(source)
    if isinstance(source, str):
        said = of(data=data_of(source, target_column, reading))
    else:
        try:
            features, target = source
        except (TypeError, ValueError):
            message = f"the data `{label}` is neither a text nor a pair of features and labels"
            raise DataError(message, 'give `"FILE"` or `(X, y)`') from None
        said = of(data=Rows(make_table(features, target, label)))
    if isinstance(said.data, Rows):
        return replace(said, test=read_test(said.test, said.data.table))
    _check_unsettled(source, said, target_column, reading)
    return said


def _check_unsettled(source: str, setting: Experiment, target_column: str | None, reading: "Reading | None") -> None:
    """Raise InputError where something is asked for that a table has settled."""

    is_table = source.startswith(TABLE)
    what_it_is = f"the table `{source.removeprefix(TABLE)}`" if is_table else f"`{source}`"
    asked = {
        "a metric": setting.metric,
        "a validation": setting.validation,
        "a column of labels": target_column,
        "how a file is read": reading,
    }
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
