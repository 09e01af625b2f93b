"""Compare several optimizers on the same data, splits and budget, with several seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from math import nan
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from spacelang.api.executor_settings import worker_settings
from spacelang.api.experiment import Experiment, experiment_fields_from_options, make_budget
from spacelang.api.option_checks_and_signatures import (
    TEXT,
    RunOption,
    accept_options,
    check_argument,
    check_argument_types,
)
from spacelang.api.run_options import CompareOptions, target_column_or_columns
from spacelang.api.space import Space, load_or_bind_space
from spacelang.bench.comparison_data import (
    ComparisonDataError,
    ComparisonDataset,
    ConfiguredOptimizer,
    ConfiguredOptimizersError,
    EvaluationCriteria,
    data_references_by_label,
    parse_optimizers,
    read_comparison_data,
)
from spacelang.bench.comparison_runs import (
    execute_runs,
    make_comparison_plan,
    plan_runs,
    write_plan_and_make_run_folder,
    write_results_and_list_problems,
)
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.errors import import_optional
from spacelang.runtime.data.read_options import DEFAULT_OPTIONS, select_read_options
from spacelang.runtime.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from spacelang.bench.comparison import ComparisonResults
    from spacelang.bench.comparison.progress import ComparisonListener

__all__ = [
    "Comparison",
    "ComparisonDataError",
    "ConfiguredOptimizersError",
    "compare",
    "data_references_by_label",
    "parse_optimizers",
]


class ComparisonOptions(CompareOptions, total=False):
    """The options of `compare`."""

    listener: Annotated[
        "ComparisonListener | None", RunOption(None, doc="A listener of your own, which is notified of every trial.")
    ]


@accept_options(ComparisonOptions)
def compare(
    space: Space | str | PathLike[str],
    data: Mapping[str, Any],
    optimizers: Iterable[str],
    **options: Unpack[ComparisonOptions],
) -> "Comparison":
    """Run every optimizer on every data set with the seeds `seed`, `seed` + 1, ..., `seed` + `repeats` - 1.

    >>> import spacelang as sl
    >>> data = {"one": "artificial:1", "another": "artificial:2"}
    >>> found = sl.compare("boasf_models", data, ["random", "blds"], repeats=2, trials=5, workers=0)
    >>> sorted({*found.runs["optimizer"]}), len(found.runs)
    (['blds', 'random'], 8)

    `data` maps a label to each data set: either what `spacelang run --data` takes (a file, `sklearn:NAME`,
    `table:FILE.npz`), or a pair of features and labels. `sep`, `encoding`, `decimal` and `drop_columns` say how files
    are read (see `runtime.data.read_options`). `optimizers` are texts such as `blds` or `blds:disc=2`. The seed decides
    the split and the search, so all optimizers share their splits. On a table the split is fixed, so the seed decides
    only the search. Without `time`, `trials` and a limit in the task, a run
    takes a minute.

    `test` reserves rows that no trial sees: a share of the rows of each data set (such as 0.2), drawn by the seed. For
    a single data set it can also be other rows: a file or `(X, y)`. The winner of every run is fitted on all rows that
    its trials saw, and scored once on the test rows. Optimizers are judged by these scores. Every run starts with the
    `initial` configurations, as in `search`, and with those that an `archive` suggests for its data and training rows.

    With a `folder`, every run is stored in `folder/runs`, and the results are written to `comparison.json`,
    `comparison.csv` and plots in `folder`. An interrupted comparison resumes there. If seeds, optimizers or data were
    added, only the new runs are made. Any other comparison is refused. A run in which no trial succeeds is reported and
    does not end the comparison. Seeds run one after the other, so after Ctrl-C the comparison has the seeds whose runs
    are all complete. If there is none, KeyboardInterrupt is raised.

    Parameters
    ----------
    space
        A space, or anything that `load` accepts.
    data, optimizers
        The data by label, and the optimizers, as described above.

    Notes
    -----
    Raises SpaceError; ConfiguredOptimizersError and ComparisonDataError, with all mistakes at once; TypeError as
    `search` does; ValueError for texts that are no validation, time or limit, and for numbers out of range; InputError
    of the runtime for folders and workers.
    """
    from spacelang.bench.comparison import ComparisonResults
    from spacelang.bench.comparison.progress import SILENT

    check_argument_types(data=data, optimizers=optimizers, space=space)
    _check_options(options)
    seed, listener = options["seed"], options["listener"]
    entered = parse_optimizers(optimizers)
    loaded = load_or_bind_space(space, options["allow"], options["bind"])
    seeds = tuple(range(seed, seed + options["repeats"]))
    datasets = _read_data(loaded, data, options)
    common = datasets[0].experiment
    judged = _check_data(datasets, seeds[0], entered)
    place = None if options["folder"] is None else Path(options["folder"])
    runs = (
        None
        if place is None
        else write_plan_and_make_run_folder(place, make_comparison_plan(common, seeds, judged, entered))
    )
    wanted = plan_runs(seeds, [(each, judged[each.label]) for each in datasets], entered)
    notified = SILENT if listener is None else listener
    formulas, labels = {label: each.formula for label, each in judged.items()}, tuple(each.label for each in entered)
    notified.data_checked(formulas)
    made, complete, interrupted = execute_runs(wanted, runs, notified)
    seconds = common.budget.seconds
    end = seconds if seconds is not None else max(run.seconds for run in made)
    results = ComparisonResults.from_runs(loaded.name, tuple(judged), labels, complete, made, formulas, end)
    remarks = tuple(f"{label}: {each}" for label, found in judged.items() for each in found.remarks)
    comparison = Comparison(results, place, interrupted, remarks)
    if place is None:
        return comparison
    return replace(comparison, notes=(*remarks, *write_results_and_list_problems(results, comparison.curves, place)))


def _check_options(options: CompareOptions) -> None:
    """Raise TypeError or ValueError for an option that makes no sense in a comparison."""
    if options["metric"] is not None:
        check_argument("metric", options["metric"], (TEXT, "takes the name of one of scikit-learn's scorers"))
    if options["repeats"] < 1:
        raise ValueError(f"`repeats` is {options['repeats']}, but must be at least 1")
    if not isinstance(options["validate"], str | None):
        raise TypeError("`validate` takes a text here, such as `cv(5)`: each seed has splits of its own")


def _read_data(space: Space, data: Mapping[str, Any], options: CompareOptions) -> tuple[ComparisonDataset, ...]:
    """Return the data sets with the settings of their runs; raises ComparisonDataError with all mistakes."""
    # Optimizers are compared by the time of their searches; the winner is scored on test rows after it.
    budget = make_budget(space, options["time"], options["trials"]).with_merged_time_limits()
    workers, fields = worker_settings(space, options), experiment_fields_from_options(options)
    make_experiment = partial(Experiment, space=space, budget=budget, workers=workers, **fields)
    read, target_column = select_read_options(options), target_column_or_columns(options["target_column"])
    return read_comparison_data(make_experiment, data, target_column, None if read == DEFAULT_OPTIONS else read)


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of a comparison, as DataFrames.

    Columns called `models` are `full` (only models trained on all training rows count) or `any`. `interrupted` is True
    if some seeds are missing because the user stopped the comparison. `notes` are messages for the user: what could not
    be written and why, the positive class of a metric, and suggestions of an archive that were skipped.
    """

    results: "ComparisonResults" = field(repr=False)
    folder: Path | None = None
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return the verdict, and the folder with the runs."""
        folder = "" if self.folder is None else f"\n  runs, tables and plots: {self.folder}"
        return replace_unprintable(f"Comparison: {self.verdict}") + folder

    @property
    def verdict(self) -> str:
        """One sentence on who is ahead at the end, and of whom beyond noise."""
        from spacelang.bench.comparison.summary import verdict

        return verdict(self.results)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per optimizer: its score on each data set at the end, and its average rank over all of them.

        The columns are pairs of a data set (`all data` for the rank) and the score, such as `roc_auc`, or `rank`; `low`
        and `high` are the ends of its interval, and `loss` is what ranks compare. With test rows, scores are means over
        the seeds of the winners' scores there, with 95 % intervals. Otherwise they are medians with quartiles of models
        trained on all training rows; without such a model they are missing. Ranks have 95 % intervals, if there is
        enough data.
        """
        from spacelang.bench.comparison.summary import summary_frame

        return summary_frame(self.results)

    def _repr_html_(self) -> str:
        from spacelang.bench.comparison.summary import summary_html

        return summary_html(self.results)

    def to_latex(self) -> str:
        r"""Return the table of `to_frame` as LaTeX, the best values in bold; it needs `\usepackage{booktabs}`."""
        from spacelang.bench.comparison.summary import summary_latex

        return summary_latex(self.results)

    def plot(self, kind: str = "losses") -> "Figure":
        """Return a figure of matplotlib with the `losses` or the average `ranks` over time.

        Raises ValueError for another kind, and ImportError if matplotlib is not installed.
        """
        from spacelang.bench.comparison.plots import make_figure

        import_optional("matplotlib")
        return make_figure(self.results, kind)

    @cached_property
    def curves(self) -> "pd.DataFrame":
        """All improvements of all runs, with columns data, optimizer, seed, seconds, loss, models."""
        import pandas as pd

        from spacelang.bench.comparison import IncumbentKind

        rows = [
            (run.key.data, run.key.optimizer, run.key.seed, seconds, loss, models.value)
            for run in self.results.runs
            for models in IncumbentKind
            for seconds, loss in zip(run.curves[models].seconds, run.curves[models].losses, strict=True)
        ]
        return pd.DataFrame(rows, columns=["data", "optimizer", "seed", "seconds", "loss", "models"])

    @cached_property
    def quartiles(self) -> "pd.DataFrame":
        """Quartiles over the seeds at each time: models, data, optimizer, seconds, `lower`, `median`, `upper`."""
        import pandas as pd

        results, names, frames = self.results, ["models", "data", "optimizer", "seconds"], []
        for models, quartiles in results.quartiles.items():
            axes = [[models.value], results.data, results.optimizers, results.seconds]
            columns = dict(zip(("lower", "median", "upper"), (part.ravel() for part in quartiles), strict=True))
            frames.append(pd.DataFrame(columns, index=pd.MultiIndex.from_product(axes, names=names)).reset_index())
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def ranks(self) -> "pd.DataFrame":
        """Average ranks over time, with 95 % confidence intervals.

        The columns are models, ranking, optimizer, seconds, rank, low, high. The ranking `mean_losses` ranks the mean
        loss over the runs of an optimizer on a data set, as in the papers. The ranking `runs` ranks each run.
        """
        return self._estimates([(each,) for each in self.results.optimizers], ["optimizer", "seconds"], "rank")

    @cached_property
    def differences(self) -> "pd.DataFrame":
        """Differences between the ranks of every two optimizers, and whether they are within noise.

        The columns are models, ranking, optimizer, other, seconds, difference, low, high, within_noise. `difference` is
        the rank of `optimizer` minus the rank of `other`.
        """
        return self._estimates(self.results.optimizer_pairs, ["optimizer", "other", "seconds"], "difference")

    def _estimates(self, whose: Iterable[tuple[str, ...]], columns: list[str], what: str) -> "pd.DataFrame":
        import pandas as pd

        rows, frames = [(*names, seconds) for names in whose for seconds in self.results.seconds], []
        who = pd.DataFrame(rows, columns=columns)
        for ranking, by_models in self.results.rank_estimates.items():
            for models, each in by_models.items():
                found = each.ranks if what == "rank" else each.differences
                figures: dict[str, Any] = {what: found.value.ravel()}
                figures |= {"low": found.low.ravel(), "high": found.high.ravel()}
                if what == "difference":
                    figures["within_noise"] = found.is_within_noise.ravel()
                named = pd.DataFrame({"models": models.value, "ranking": ranking.value}, index=who.index)
                frames.append(pd.concat([named, who, pd.DataFrame(figures)], axis=1))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def ahead(self) -> "pd.DataFrame":
        """The leading optimizers over time, with columns models, by, data, start, end, optimizers.

        `by` is a ranking or `median`. `data` is empty for a ranking, which covers all data sets.
        """
        import pandas as pd

        from spacelang.bench.comparison import IncumbentKind
        from spacelang.bench.comparison.ranks import RankingMethod

        results, rows = self.results, []
        for models in IncumbentKind:
            by_ranks = [(ranking.value, "", results.leaders_by_rank(models, ranking)) for ranking in RankingMethod]
            by_data = [("median", data, results.leaders_by_median(data, models)) for data in results.data]
            for by, data, found in [*by_ranks, *by_data]:
                rows += [(models.value, by, data, each.start, each.end, each.leaders) for each in found]
        return pd.DataFrame(rows, columns=["models", "by", "data", "start", "end", "optimizers"])

    @cached_property
    def runs(self) -> "pd.DataFrame":
        """One row per run: data, optimizer, seed, last losses, trials, failures, seconds, how and why it ended.

        The last columns describe the winner: `loss_test` is its loss on rows that no trial saw, and `loss_reported` is
        its loss as a trial.
        """
        import pandas as pd

        from spacelang.bench.comparison import IncumbentKind

        rows = []
        for run in self.results.runs:
            last = {models: next(reversed(run.curves[models].losses), nan) for models in IncumbentKind}
            winner = run.winner_score
            rows.append(
                asdict(run.key)
                | {f"loss_{models.value}": loss for models, loss in last.items()}
                | {name: getattr(run, name) for name in ("trials", "failed", "seconds", "ended", "reason")}
                | {"loss_test": nan if winner is None else winner.score.loss}
                | {"loss_reported": nan if winner is None else winner.reported}
            )
        return pd.DataFrame(rows)


def _check_data(
    datasets: Sequence[ComparisonDataset], seed: int, entered: Sequence[ConfiguredOptimizer]
) -> dict[str, EvaluationCriteria]:
    """Return the criteria of each data set, by label; raises ComparisonDataError with the mistakes of all."""
    found: dict[str, EvaluationCriteria] = {}
    mistakes: list[InputError] = []
    for arena in datasets:
        try:
            found[arena.label] = arena.check_and_make_criteria(seed, entered)
        except InputError as error:
            mistakes.append(error)
    if mistakes:
        raise ComparisonDataError(mistakes)
    return found
