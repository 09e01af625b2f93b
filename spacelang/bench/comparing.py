"""Comparisons: several optimizers on the same data with the same splits and the same budget, as often as wanted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spacelang.api.archiving import open_archive
from spacelang.api.executing import trial_limits
from spacelang.api.experiment import Experiment, budget_of
from spacelang.api.initial import Initial, read_initial
from spacelang.api.kinds import must_be_of_kind, whole, whole_or_none
from spacelang.api.space import Space, opened
from spacelang.bench.arenas import Arena, ArenasError, Criteria, arenas, labels
from spacelang.bench.contestants import Contestant, ContestantsError, contestants
from spacelang.bench.folder import claim, plan_of, write
from spacelang.bench.runs import CompleteSeeds, entries, make
from spacelang.runtime.archives import Norm
from spacelang.runtime.errors import InputError
from spacelang.runtime.executors import Workers

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.bench.comparison.progress import ComparisonListener
    from spacelang.bench.comparison.results import Results
    from spacelang.runtime.archives.archive import Archive

__all__ = ["ArenasError", "Comparison", "ContestantsError", "compare", "contestants", "labels"]

REPEATS: Final = 10
"""So many seeds, as in the papers (spacelang/optimizers/README.md, section "Comparisons")."""


def compare(  # noqa: PLR0913 - each says one thing about a comparison
    space: Space | str | PathLike[str],
    data: Mapping[str, Any],
    optimizers: Iterable[str],
    *,
    repeats: int = REPEATS,
    metric: str | None = None,
    validate: str | None = None,
    test: "float | str | PathLike[str] | tuple[Any, Any] | None" = None,
    time: str | float | None = None,
    trials: int | None = None,
    workers: int = 1,
    seed: int = 0,
    trial_limit: str | None = None,
    isolate: bool = False,
    target_column: str | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    drop_columns: Iterable[str] = (),
    allow: Iterable[str] = (),
    bind: Mapping[str, int] | None = None,
    initial: Initial | None = None,
    archive: "str | PathLike[str] | Archive | None" = None,
    archive_norm: str = Norm.L1,
    folder: str | PathLike[str] | None = None,
    listener: "ComparisonListener | None" = None,
) -> "Comparison":
    """Run every optimizer on all data `repeats` times, the seeds being `seed`, `seed` + 1, and so on.

    >>> import spacelang as sl
    >>> data = {"one": "artificial:1", "another": "artificial:2"}
    >>> found = sl.compare("boasf_models", data, ["random", "blds"], repeats=2, trials=5, workers=0)
    >>> sorted({*found.runs["optimizer"]}), len(found.runs)
    (['blds', 'random'], 8)

    `data` has by its label each data set: what `spacelang run --data` takes (a file, `sklearn:NAME`, `table:FILE.npz`),
    or a pair of features and labels. Files are read by `sep`, `encoding` and `decimal`, `drop_columns` left out (see
    `runtime.data.reading`). `optimizers` are texts such as `blds` or `blds:disc=2`. A seed decides the split
    and the search, so that all optimizers share their splits; on a table, whose split is made, the search alone. All
    else is as for `search`; without `time`, `trials` and a limit of the task a run takes a minute.

    `test` are rows that no trial sees: a share of those of each data set (0.2), drawn by the seed, or, for a single
    one, other rows, a file or `(X, y)`. The winner of every run, fitted on all rows that trials saw, is scored on them
    once, and optimizers are judged by that. Every run begins with the `initial` configurations, as for `search`, and
    with what an `archive` suggests for its data and its training rows.

    With a `folder` every run is kept in a store in `folder/runs`, and what was found is written beside it:
    `comparison.json`, `comparison.csv` and plots. There a comparison that was stopped goes on where it was, and one
    that adds seeds, optimizers or data makes only the new runs; any other comparison is refused. A run in which no
    trial succeeds is told and ends nothing. Seeds are made one after the other: what Ctrl-C stops has the seeds of
    which all runs were made; raises KeyboardInterrupt where there is none.

    Raises SpaceError, ContestantsError and ArenasError with all mistakes at once, TypeError as `search` does,
    ValueError for a text that is no validation, time or limit and for numbers that allow nothing, and the runtime's
    InputError for folders and workers.
    """
    from spacelang.bench.comparison.progress import SILENT
    from spacelang.runtime.data.reading import PLAIN, reading
    from spacelang.runtime.evaluation.split import parse_validation

    must_be_of_kind(data=data, optimizers=optimizers, repeats=repeats, metric=metric, validate=validate, time=time)
    must_be_of_kind(trials=trials, workers=workers, seed=seed, trial_limit=trial_limit, allow=allow, bind=bind)
    must_be_of_kind(folder=folder, space=space)
    repeats, trials, workers, seed = whole(repeats), whole_or_none(trials), whole(workers), whole(seed)
    if repeats < 1:
        raise ValueError(f"{repeats} repeats compare nothing")
    entered = contestants(optimizers)
    loaded = opened(space, allow, bind)
    of = partial(
        Experiment,
        space=loaded,
        budget=budget_of(loaded, time, trials),
        metric=metric,
        validation=None if validate is None else parse_validation(validate),
        test=test,
        workers=Workers(workers, None, trial_limits(loaded, trial_limit), isolate),
        initial=None if initial is None else read_initial(initial),
        archive=None if archive is None else open_archive(archive),
        norm=Norm(archive_norm),
    )
    seeds = tuple(range(seed, seed + repeats))
    read = reading(sep, encoding, decimal, drop_columns)
    fields = arenas(of, data, target_column, None if read == PLAIN else read)
    common = fields[0].experiment
    judged = _judged(fields, seeds[0], entered)
    place = None if folder is None else Path(folder)
    runs = None if place is None else claim(place, plan_of(common, seeds, judged, entered))
    wanted = entries(seeds, [(each, judged[each.label]) for each in fields], entered)
    made = make(wanted, runs, SILENT if listener is None else listener)
    results = _results(common, made, judged, entered)
    remarks = tuple(f"{label}: {each}" for label, found in judged.items() for each in found.remarks)
    notes = remarks if place is None else (*remarks, *write(results, place))
    return Comparison(results, place, made.interrupted, notes)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison found, as DataFrames; `models` are `full` (trained on all training rows) or `any`.

    `interrupted` says that there are fewer seeds than were wanted; `notes` are for people: what was not written
    and why, of which class a metric is, and what an archive suggested that was passed over.
    """

    results: "Results" = field(repr=False)
    folder: Path | None = None
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @cached_property
    def curves(self) -> "pd.DataFrame":
        """Every improvement of every run: data, optimizer, seed, seconds, loss, models."""
        from spacelang.bench.comparison import tables

        return tables.curves(self.results)

    @cached_property
    def quartiles(self) -> "pd.DataFrame":
        """Losses over time: models, data, optimizer, seconds, and `lower`, `median`, `upper` over the seeds."""
        from spacelang.bench.comparison import tables

        return tables.quartiles(self.results)

    @cached_property
    def ranks(self) -> "pd.DataFrame":
        """Average ranks over time with their 95 % intervals: models, ranking, optimizer, seconds, rank, low, high.

        A ranking is `mean_losses`, of all runs of an optimizer on a data set, as in the papers, or `runs`, of each.
        """
        from spacelang.bench.comparison import tables

        return tables.ranks(self.results)

    @cached_property
    def differences(self) -> "pd.DataFrame":
        """By how much the rank of one is above that of another, and whether that is noise.

        The columns: models, ranking, optimizer, other, seconds, difference, low, high, within_noise.
        """
        from spacelang.bench.comparison import tables

        return tables.differences(self.results)

    @cached_property
    def ahead(self) -> "pd.DataFrame":
        """Who was ahead and when: models, by (a ranking or `median`), data (empty: all), start, end, optimizers."""
        from spacelang.bench.comparison import tables

        return tables.ahead(self.results)

    @cached_property
    def runs(self) -> "pd.DataFrame":
        """One row a run: data, optimizer, seed, last losses, trials, failures, seconds, how and why it ended.

        At last those of its winner: `loss_test` on rows that no trial saw, and `loss_reported`, by which it won.
        """
        from spacelang.bench.comparison import tables

        return tables.runs(self.results)


def _judged(fields: Sequence[Arena], seed: int, entered: Sequence[Contestant]) -> dict[str, Criteria]:
    """By what runs are judged in each arena; raises SpaceError, and ArenasError with all that is wrong with any."""

    found: dict[str, Criteria] = {}
    mistakes: list[InputError] = []
    for arena in fields:
        try:
            found[arena.label] = arena.check(seed, entered)
        except InputError as error:
            mistakes.append(error)
    if mistakes:
        raise ArenasError(mistakes)
    return found


def _results(
    common: Experiment, made: CompleteSeeds, judged: Mapping[str, Criteria], entered: Sequence[Contestant]
) -> "Results":
    from spacelang.bench.comparison.results import Results

    seconds = common.budget.seconds
    end = seconds if seconds is not None else max(run.seconds for run in made.runs)
    return Results.over_time(
        common.space.name,
        tuple(judged),
        tuple(each.label for each in entered),
        made.seeds,
        made.runs,
        {label: each.formula for label, each in judged.items()},
        end,
    )
