"""A run that is kept in a store, taken up again to be taken away: its trials, its space, and the data that it was of.

>>> finished = take_up("run.db", data="credit.csv")
>>> finished.unfitted(finished.ranked(1))  # the best pipeline
>>> finished.fitted(finished.ranked(1))  # the same, fitted on all rows that trials might see

The store may be a stranger's. Its space is read as a compiled one is, and builds what catalogues have, those of other
libraries only where the caller allows them. What it says of the data leads to files of this folder alone, and nothing
of it counts but the fingerprint.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.api.executing import make_executor, trial_limits
from spacelang.api.experiment import Experiment
from spacelang.api.keeping import check_predictions
from spacelang.api.rows import Rows
from spacelang.api.space import Space, made_for_data
from spacelang.forms.definition import VERSION
from spacelang.ir.task import NEGATED
from spacelang.runtime.data.labels import TaskKind
from spacelang.runtime.data.loading import Table, load_dataset
from spacelang.runtime.data.options import AS_THEN, DataOptions, read_options
from spacelang.runtime.data.reading import Reading
from spacelang.runtime.ensembles import VOTES
from spacelang.runtime.ensembles.assembling import EnsembleSelection, assemble, choose, unfitted
from spacelang.runtime.errors import DataError, InputError
from spacelang.runtime.evaluation.split import parse_validation
from spacelang.runtime.evaluation.testing import read_test, set_apart
from spacelang.runtime.final import candidates, finish
from spacelang.runtime.history import Ending, History, Outcome, Record, Unkept
from spacelang.runtime.pipelines.inputs import PipelineInput
from spacelang.runtime.pipelines.library import check_buildable, task_kind
from spacelang.runtime.storing.header import IMPUTED, MISSING, Header, version_changes, versions
from spacelang.runtime.storing.store import Store
from spacelang.runtime.storing.stored_run import StoredRun
from spacelang.text import Origin, Source

if TYPE_CHECKING:
    from spacelang.ir.task import Limits
    from spacelang.runtime.evaluation.objective import DataObjective


OTHERWISE: Final = "another version {} otherwise: go back to the one in `spacelang show`"


@dataclass(frozen=True, eq=False)
class ReopenedRun:
    """A stored run with what its trials were evaluated on; it may still go on, and is as it was when it was read.

    `rows` are those that trials might see, `reading` is how their file was read. `votes` are those of the ensemble that
    it was last asked for, if the store knows of one.
    """

    store: Path
    header: Header
    outcome: Outcome
    space: Space
    objective: "DataObjective"
    rows: Rows
    reading: Reading
    votes: int | None = None

    @property
    def changes(self) -> list[str]:
        """A line for each version that is another one than that of the run: predictions may differ by that."""
        return version_changes(self.header.versions, versions())

    def ranked(self, rank: int) -> Record:
        """The trial of a rank, 1 is the best one, as `show` lists them; raises InputError where there is none."""
        found = [*candidates(self.outcome, self.header.training_size)]
        if rank > len(found):
            raise self._unranked(rank, len(found))
        return found[rank - 1]

    def over(self, space: Space) -> "tuple[Space, DataObjective]":
        """Another space, and what its trials in this run would have minimised: the same on the same splits.

        Raises as the run would have done that began with that space.
        """
        return _over(self.header, space, self.rows)

    def ensemble(self, votes: int | None = None) -> EnsembleSelection:
        """Who votes in an ensemble, as a run with `--ensemble` chooses them: of so many votes, else as many as its own.

        Where the store knows of none these are as many as usual.

        Raises EnsembleError where nobody can, and StoreError where the run kept no predictions to choose by.
        """
        check_predictions(self.store)
        with Store.read(self.store) as run:
            return choose(self.outcome, self.objective, run.predictions, votes or self.votes or VOTES)

    def unfitted(self, chosen: Record | EnsembleSelection) -> Any:
        """The pipeline of a trial, or the vote of several, as plain scikit-learn that takes a table."""
        if isinstance(chosen, EnsembleSelection):
            return unfitted(self.objective, chosen.members)
        return self.objective.pipeline(chosen.trial.request.configuration)

    def fitted(
        self, chosen: Record | EnsembleSelection, form: PipelineInput = PipelineInput.TABLE, *, forks: bool = False
    ) -> Any:
        """The same, fitted on all rows that trials might see, in a worker within the limits of a trial.

        It takes what `form` says; `forks` is as for `make_executor`. Raises InputError where it cannot be fitted.
        """
        with closing(make_executor(self.objective, forks=forks)) as executor:
            if isinstance(chosen, EnsembleSelection):
                voted = assemble(
                    chosen, self.outcome, self.objective, executor, limits=self._limits, form=form, is_wanted=True
                )
                if voted.left_out:
                    raise self._unfittable(voted.left_out[0], "take fewer `--votes`, or a single pipeline")
                return voted.estimator
            alone = replace(self.outcome, records=(chosen,), incumbent=chosen)
            found = finish(alone, self.objective, executor, limits=self._limits, form=form, is_wanted=True)
        if found.record is None:
            raise self._unfittable(found.passed_over[0], "take another one: `--rank 2`")
        return found.pipeline

    @property
    def _limits(self) -> "Limits":
        return trial_limits(self.space)

    def _unranked(self, rank: int, found: int) -> InputError:
        see = f"see `spacelang show {self.store}`"
        if not found:
            return InputError(f"no trial of `{self.store}` has succeeded: there is no pipeline to take", see)
        count = "one pipeline" if found == 1 else f"{found} pipelines"
        return InputError(f"`{self.store}` has {count} that succeeded, and none of rank {rank}", see)

    def _unfittable(self, failed: Any, remedy: str) -> InputError:
        rows = self.objective.rows
        what = f"the pipeline of trial {failed.record.index} cannot be fitted on all {rows} rows: {failed.reason}"
        return InputError(what, remedy)


def take_up(
    store: str | PathLike[str],
    *,
    data: str | None = None,
    target: str | None = None,
    test: float | None = None,
    reading: Reading | None = None,
    allow: Iterable[str] = (),
) -> ReopenedRun:
    """A stored run with its data: `data`, `target`, `reading`, and the share `test`, are as they were when it began.

    Without them they are what the store says; its data is then a set that scikit-learn ships or a file in this folder.
    Raises SpaceError where its space is none for this version or uses a package that is not allowed, StoreError, and
    InputError where the data is another one than the run had.
    """
    path = Path(store)
    with Store.read(path) as run:
        header, outcome, votes = run.header, _outcome(run), run.votes
    if not header.data.rows:
        what = f"`{header.data.name}` has no rows that a pipeline could be fitted to"
        raise DataError(what, f"see what was found: `spacelang show {path}`")
    reference = _called(header) if data is None else data
    space = _space(header, path, allow)
    check_buildable(space.checked.root)
    said = _options(header, reference, DataOptions(target, test), reading)
    table = load_dataset(reference, said.target, said.reading)
    rows = Rows(_seen(header, table, task_kind(space.checked.root), said.test))
    return ReopenedRun(path, header, outcome, space, _over(header, space, rows)[1], rows, said.reading, votes)


def _outcome(run: StoredRun) -> Outcome:
    """What the run has come to, as whoever searched was told it."""
    history = History(lambda: 0.0, run.header.training_size, Unkept())
    for record in run.records():
        history.keep(record)
    return replace(history.outcome(Ending.BUDGET, 0), seconds=run.seconds)


def _space(header: Header, store: Path, allow: Iterable[str]) -> Space:
    # As text: a definition that is no JSON is told as any compiled space is that is none.
    document = f'{{"version": {VERSION}, "target": "", "definition": {header.definition}}}'
    # An own package stood beside the file of the space, which the store does not know: this folder may be the one.
    here = Path.cwd()
    return made_for_data(Source(f"the space of {store.name}", document, Origin(here / store.name, here)), allow, None)


def _called(header: Header) -> str:
    """The data by the name that the store has for it: a stranger's store shall not reach anywhere else."""
    name = header.data.name
    if name.startswith("sklearn:") or (Path(name).name == name and Path(name).is_file()):
        return name
    where = name if name.startswith("openml") else "FILE"
    remedy = f"say where it is: `export --data {where}`, `predict --fitted-on {where}`, `migrate --data {where}`"
    raise DataError(f"the run was on {header.data}, which is not in this folder", remedy)


def _options(header: Header, reference: str, given: DataOptions, reading: Reading | None) -> DataOptions:
    """How the data is given: what the caller leaves out is as the store says."""
    said = read_options(header.data_options)
    return DataOptions(
        said.target if given.target is None else given.target,
        said.test if given.test is None else given.test,
        said.reading.fitting(reference) if reading is None else reading,
    )


def _seen(header: Header, table: Table, kind: TaskKind, share: float | None) -> Table:
    """The rows that trials might see; raises DataError for a table that cannot be the one that the run was of."""
    rows, columns = table.features.shape
    other = f"the data is another one: the run was on {header.data}, and"
    if columns != header.data.columns or (share is None and rows != header.data.rows):
        kept = header.settings.get("test") if rows > header.data.rows else None
        remedy = AS_THEN if kept is None else f"it kept rows for testing ({kept}): say which share by `--test`"
        raise DataError(f"{other} `{table.name}` has {rows} rows and {columns} columns beside the labels", remedy)
    seen, _ = set_apart(table, read_test(share, table), kind, header.seed)
    if seen.features.shape[0] != header.data.rows:
        raise DataError(f"{other} `{table.name}` leaves {seen.features.shape[0]} of its {rows} rows to trials", AS_THEN)
    return seen


def _over(header: Header, space: Space, rows: Rows) -> "tuple[Space, DataObjective]":
    """What the trials of the run minimised; by the metric that was given then, if it was not that of the task.

    Raises DataError where the rows are not those that the run had.
    """
    try:
        validation = parse_validation(header.validation)
    except ValueError:
        validation = None  # the splits that the data says itself
    experiment = Experiment(space=space, data=rows, seed=header.seed, validation=validation)
    bound, objective = rows.over(experiment)
    _must_be_the_same(header, objective)
    if objective.metric.formula == header.metric:
        return bound, objective
    named, formula = header.metric.removeprefix("1 - "), header.metric
    return rows.over(replace(experiment, metric=named if named != formula else f"{NEGATED}{formula}"))


def _must_be_the_same(header: Header, objective: "DataObjective") -> None:
    facts, size = objective.facts, objective.training_size
    if facts.fingerprint != header.data.fingerprint:
        raise DataError(f"the data is another one: the run was on {header.data}, and this is {facts}", AS_THEN)
    if size != header.training_size:
        what = f"trials had {header.training_size} training rows, and would have {size} now"
        raise DataError(what, OTHERWISE.format("splits the rows"))
    before, now = (each.get(MISSING, IMPUTED) for each in (header.settings, objective.further))
    if before != now:
        what = f"for its trials missing values were {before}, and would be {now} now"
        raise DataError(what, OTHERWISE.format("prepares the table"))
