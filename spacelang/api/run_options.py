r"""The options of runs: one entry for each, from which all of the following derive.

- The signature, the checks and the section "Parameters" of the Python functions (`options.accept_options`).
- The options of the commands and their help texts (`spacelang.cli._run_options`).
- The options that a store holds to resume the run, and the table in the README of this package.

An entry is an item of a `TypedDict`, whose classes group the options that several functions and commands share.
"""

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from spacelang.api import option_checks_and_signatures as checks
from spacelang.api.option_checks_and_signatures import RunOption, run_options_by_name
from spacelang.runtime.archives import DistanceNorm

if TYPE_CHECKING:
    from spacelang.api.initial_configurations import Initial
    from spacelang.runtime.archives.archive import Archive
    from spacelang.runtime.black_box import AnyObjective
    from spacelang.runtime.listeners import Callback, Listener
    from spacelang.runtime.scoring.user_functions import Constraint, Scorer


def complete_optimizers(incomplete: str) -> list[str]:
    """Return completions of the last optimizer in a comma-separated list, for the shell."""
    from spacelang.optimizers import OPTIMIZERS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in OPTIMIZERS.names() if name.startswith(last)]


# ---- options of several functions that have no group in common

# The entries are a table, which takes three times as many lines in the usual format.
# fmt: off

Scale = Annotated[float | None, RunOption(None, doc="For a function: a positive loss beyond which differences no "
    "longer matter: 1 for an error rate, otherwise the loss of a guess. Optimizers that use the values of losses, not "
    "only their order, use `loss / scale`, clipped to [0, 1], and 1 for a failure. Without `scale` the first loss `l` "
    "counts as 1/2. Losses of `l - |l|` and less count as 0, losses of `l + |l|` and more as 1.",
    check=(checks.NUMBER, "takes a number above 0"))]
Fidelities = Annotated[Iterable[int] | None, RunOption(None, doc="For a function: increasing positive integers such as "
    "`(1, 3, 9)`; the last one is the full fidelity. Every trial has one of them, which is passed to the function as a "
    "second argument. Multi-fidelity optimizers start with the first.",
    check=(checks.is_iterable, "takes whole numbers, such as `(1, 3, 9)`"), variants={"ask_and_tell": "Increasing "
    "positive integers such as `(1, 3, 9)`; the last one is the full fidelity. Every trial has one of them. "
    "Multi-fidelity optimizers start with the first."})]
TIME_CHECK: Final = (checks.TIME, 'takes seconds, or a text such as `"60s"`')
Time = Annotated[str | float | None, RunOption(None, "The time until the answer, which includes reading the data "
    "and the final fits: `30s`, `10m`, `2h`.",
    "The time from the call until the answer: `60s` or seconds. Reading the data, starting workers, the search, the "
    "final fits, the score on test rows and the ensemble happen inside it; `Result.time_note` says what did not fit. "
    "Give this, `search_time` or `trials`, unless the task has a `limit run` or the space can be exhausted.",
    TIME_CHECK, command=str | None,
    variants={"compare": "Stop the search of each run after this long: `30s`, `10m`, `2h`; on a table in recorded "
    "time.",
    "search_table": "The search ends after this long, in the time that the table recorded: `60s` or seconds. Give "
    "this or `trials`, unless the task has a `limit run` or the space can be exhausted.",
    "tabulate": "Stop after this long, such as `30m` or `2h`; `--resume` continues.",
    "SpaceSearchCV": "The time of `fit`, with the final fit on all rows: `60s` or seconds. Without this, `search_time` "
    "and `trials`, the limit of the task applies, or one minute.", "resume": "The time until the answer, from the "
    "start of the run; by default as before."}, is_stored=True)]
SearchTime = Annotated[str | float | None, RunOption(None, "The time of the search alone; final fits come after it.",
    "The search ends after this long: `60s` or seconds. Only `time` limits the work before and after the search, such "
    "as final fits.", TIME_CHECK, command=str | None, is_stored=True,
    variants={"resume": "The time of the search alone; by default as before."})]
Trials = Annotated[int | None, RunOption(None, "Stop after this many trials.", check=checks.INTEGER, least=1,
    is_stored=True, variants={"resume": "Stop after this many trials of the whole run; by default as before.",
    "compare": "Stop each run after this many trials.", "ask_and_tell": "The search ends after this many trials. "
    "Without it, the search ends when the space is exhausted; a space with continuous ranges never is."})]
Seed = Annotated[int, RunOption(0, "The seed of all random draws. Equal seeds give equal trials with one worker; "
    "with several workers only by `blds`, `daub`, `enumerate`, `lds`, `mlds` and `random`.", "{help}",
    (checks.INTEGER[0], "takes a whole number, from which all random draws derive"), least=0,
    variants={"sample": "The seed of the draws: equal seeds give equal draws."})]
FirstConfigurations = Annotated["Initial | None", RunOption(None, "Configurations to evaluate first: `default`, or "
    "those of a JSON file (such as the output of `run --json`).", "{help} In Python also a mapping, or several. A "
    "resumed run keeps its own initial configurations.", metavar="default|FILE.json")]
Allow = Annotated[Iterable[str], RunOption((), "A package that the space may `use`, and that you trust to be imported.",
    "The packages that the space may use, as for `load`.", checks.ARGUMENT_CHECKS["allow"], metavar="PACKAGE",
    form="texts", is_stored=True)]
TrainingScore = Annotated[bool, RunOption(False, "Record the loss on the training rows, too.", scope="scores",
    variants={"tabulate": "Record the loss on the training rows, which DAUB uses."})]
TargetColumn = Annotated["str | Iterable[str] | None", RunOption(None, "The column of labels; by default the one named "
    "`target`, or else the last. Give it once for each of several targets.", "The column of labels; by default the one "
    "named `target`, or else the last. Several names are several targets.", form="texts")]

# ---- groups of options

class ReadingOptions(TypedDict, total=False):
    """Options that say how a data file is read."""

    sep: Annotated[str | None, RunOption(None, r"The separator of a `.csv` file; by default a comma. `\t` is a tab.",
        metavar="CHARACTER", scope="reading", variants={"search": r"For a file of test rows, as are "
        r"`encoding` and `decimal`: the separator of `.csv`; by default a comma. `\t` is a tab."})]
    encoding: Annotated[str | None, RunOption(None, "The encoding of a text file, such as `cp1252`; by default UTF-8.",
        metavar="NAME", scope="reading")]
    decimal: Annotated[str | None, RunOption(None, "The decimal sign of a `.csv` file: `,` for numbers like `1,5`.",
        metavar="SIGN", scope="reading")]
    drop_columns: Annotated[Iterable[str], RunOption((), 'Columns to drop, such as identifiers; quote a name with a '
        'comma: `"a,b",c`.', "Columns to drop, such as identifiers.", metavar="A,B,…", form="names", scope="reading")]

class OptimizerOptions(TypedDict, total=False):
    """The optimizer, and its options."""

    optimizer: Annotated[str | None, RunOption(None, "See `spacelang optimizers`; by default `auto`.",
        "The name of an optimizer. The default is `auto`.",
        (checks.TEXT, "takes the name of an optimizer, such as `mosaic`"), complete=complete_optimizers)]
    optimizer_options: Annotated[Mapping[str, Any] | None, RunOption(None,
        "An option of the optimizer; may be given several times.", "The options of the optimizer by name.",
        (checks.MAPPING, 'takes options by name, such as `{"trees": 10}`'), flag="--set", metavar="NAME=VALUE",
        form="settings", is_stored=True, variants={"compile": "An option of the target; may be given several times."})]

class ScoringOptions(TypedDict, total=False):
    """The metric of pipelines, and their validation."""

    metric: Annotated["str | Scorer | None", RunOption(None, "A scikit-learn scorer; by default the task's, or AUROC, "
        "balanced accuracy or R² by the labels.", "The name of a scikit-learn scorer, or a scorer such as "
        "`make_scorer(...)`, which gets the labels as they are in `target`. By default it is the task's, or AUROC, "
        "balanced accuracy or R² by the labels.", (checks.is_scorer, "takes the name of one of scikit-learn's scorers, "
        "such as `roc_auc`, or a scorer"), command=str | None, scope="scores", is_stored=True,
        variants={"compare": "A scikit-learn scorer, by its name; by default as for `spacelang run`."})]
    validate: Annotated[Any, RunOption(None, "`holdout(0.3)`, `cv(5, group=COLUMN)`, `time(5, by=COLUMN)` or similar; "
        "by default the data's or the task's, or `cv(5)` up to 1,000 rows.", "How rows are held out: a text such as "
        "`holdout(0.3)`, `cv(5)`, `cv(5, group=subject)` (equal values of the column `subject` stay together) or "
        "`time(5, by=date)` (later rows are held out), or a splitter of scikit-learn. By default as the data or the "
        "task says, or `cv(5)` up to 1,000 rows.", (checks.is_validation_text_or_splitter, "takes a text such as "
        "`cv(5)`, or a splitter of scikit-learn"), command=str | None, metavar="SPLIT", scope="scores", is_stored=True,
        variants={"compare": "`holdout(0.3)`, "
        "`cv(5, group=COLUMN)`, `time(5, by=COLUMN)` or similar, as text; by default as for `run`."})]

class BudgetAndSeedOptions(TypedDict, total=False):
    """The test rows, the limits of a run, its seed, and the configurations that it evaluates first."""

    test: Annotated["float | str | PathLike[str] | tuple[Any, Any] | None", RunOption(None,
        "Rows that no trial sees, to score the best pipeline: `0.2`, or a file.", "{help} A share is drawn with the "
        "seed and includes all classes; other rows are a file or `(X, y)`. At the end the best pipeline, fitted on all "
        "other rows, is scored on them once: `Result.test`.", metavar="SHARE|FILE", scope="rows")]
    time: Time
    trials: Trials
    seed: Seed
    initial: FirstConfigurations
    archive: Annotated["str | PathLike[str] | Archive | None", RunOption(None, "Start from the best configurations of "
        "the most similar data sets in an archive (see `archive`).", "An archive of earlier runs (see `spacelang "
        "archive`), which suggests up to 25 more initial configurations. They are the best ones on the data sets whose "
        "meta-features are nearest to those of the training rows. Data sets that may be the same as this one are left "
        "out. A warning reports configurations that are not in the space.", command=Path | None, metavar="FILE.json",
        scope="rows")]
    archive_norm: Annotated[str, RunOption(DistanceNorm.L1, "The norm by which the distance of two data sets is "
        "measured, from their meta-features.", "{help} It is `l1` or `l2`.", command=DistanceNorm)]

class AllowAndBindOptions(TypedDict, total=False):
    """The packages that a space may use, and the size of the data that it is for."""

    allow: Allow
    bind: Annotated[Mapping[str, int] | None, RunOption(None, "A size of the data, such as `n_features=30` or "
        "`n_text=0` (the symbols of REFERENCE.md).", "Numbers for symbols of the space. Other symbols are bound by the "
        "data (see `api.search_data`), unless the space binds them.", checks.ARGUMENT_CHECKS["bind"],
        metavar="NAME=NUMBER", form="numbers", is_stored=True)]

class StoreOptions(TypedDict, total=False):
    """The file in which a run is stored."""

    store: Annotated[str | PathLike[str] | None, RunOption(None, "Store every trial in this file; by default in a new "
        "file in `runs/`.", "A file in which every trial is saved as it finishes.",
        (checks.PATH, "takes the path of a file"), command=Path | None, metavar="RUN.db")]
    resume: Annotated[bool, RunOption(False, "Continue the run in the store.", "{help} Finished trials are replayed.",
        variants={"ask_and_tell": "Continue the run in the store. Finished trials are replayed; trials that were out "
        "are asked for again."})]

class WorkerCountAndLimitOptions(TypedDict, total=False):
    """The number of trials at the same time, and their limits."""

    workers: Annotated[int, RunOption(1, "Number of trials at the same time, each in its own process; 0: in this "
        "process, without limits.", check=checks.INTEGER, least=0, is_stored=True)]
    trial_limit: Annotated[str | None, RunOption(None, "The limit of a trial: `300s`, `4GB` or both; by default the "
        "task's.", check=(checks.TEXT, 'takes a text such as `"300s 4GB"`'), metavar="LIMIT", is_stored=True,
        variants={
        "compare": "The limit of a trial: `300s`, `4GB` or `300s 4GB`."})]

class WorkerOptions(WorkerCountAndLimitOptions, total=False):
    """The workers that evaluate trials, which may be isolated."""

    isolate: Annotated[bool, RunOption(False, "Run every trial in a fresh process: no trial affects another, and no "
        "work is shared.", scope="workers", is_stored=True)]

class ExecutorOptions(TypedDict, total=False):
    """The option `executor`: a local dask cluster or a running dask scheduler, instead of the default executor."""

    executor: Annotated[str | None, RunOption(None, "`dask` starts a local cluster, `tcp://HOST:PORT` uses a running "
        "one.", check=(checks.TEXT, "takes `dask` or the address of a scheduler"), metavar="WHERE", scope="workers",
        is_stored=True)]

# ---- the options of each function and command

class RunOptions(ReadingOptions, OptimizerOptions, ScoringOptions, BudgetAndSeedOptions, AllowAndBindOptions,
    StoreOptions, WorkerOptions, ExecutorOptions, total=False):
    """The options that `search` and the command `run` have in common."""

    search_time: SearchTime
    metrics: Annotated[Iterable[str], RunOption((), "More scikit-learn scorers, recorded for every trial.",
        check=(checks.is_iterable_of_strings, 'takes names of scikit-learn\'s scorers, such as `["f1", "accuracy"]`'),
        metavar="A,B,…", form="names", scope="scores")]
    training_score: TrainingScore
    predictions: Annotated[bool, RunOption(False, "Store the predictions for the held-out rows.", scope="scores")]
    ensemble: Annotated[int | None, RunOption(None, "Also choose an ensemble of the best pipelines, with N votes "
        "(Caruana); 0: none. Default: 32 votes if no space is named.", "The number of votes of an ensemble of the best "
        "pipelines, selected by their predictions and fitted at the end: see `Result.ensemble`. 0 is none. By default "
        "there are 32 votes if no space is given, otherwise none.", (checks.INTEGER[0], "takes the number of votes, "
        "such as 32"), metavar="N", least=0, scope="rows")]

class PythonOnlyOptions(TypedDict, total=False):
    """The options of a search on rows that only a program can give."""

    groups: Annotated[Any, RunOption(None, doc="n values, such as subjects: rows with equal values are held out "
        "together, and tested together. They are passed to a splitter given as `validate`; a validation as text, and "
        "the default one, keep the groups together. A column of the features with the same name and values is no "
        "feature.")]
    sample_weight: Annotated[Any, RunOption(None, doc="n numbers that are at least 0, with which pipelines are fitted; "
        "losses are not weighted. They are passed to the last step; a trial fails if that takes none.")]
    progress: Annotated[bool | None, RunOption(None, doc="By default a terminal or a notebook shows a bar with the "
        "best score and the time left. True prints lines elsewhere, too; False prints nothing.")]
    listener: Annotated["Listener | None", RunOption(None, doc="A listener of your own, which is notified of every "
        "trial instead of the progress bar.")]
    callbacks: Annotated["Iterable[Callback]", RunOption((), doc="Functions that are called with each finished trial, "
        "a `FinishedTrial`. If one returns True, the run stops, and the best pipeline is fitted as usual. If one "
        "raises, the run ends in order, and the error is raised. Trials of a resumed run are not repeated.",
        check=(checks.is_iterable_of_functions, "takes a list of functions of a finished trial"))]

class SearchOptions(RunOptions, PythonOnlyOptions, total=False):
    """The options of `search`."""

    objective: Annotated["AnyObjective | None", RunOption(None, doc='A function to minimize instead of data, called '
        'with a configuration (a dictionary). It returns the loss, or a dictionary with `loss`, `cost` (seconds, '
        'instead of the measured time) and `constraints` (the values of all bounded quantities by name). If it raises, '
        'or returns nothing or a number that is not finite, the trial fails. It may also be `"artificial:SEED"`, a '
        'formula over any space for experiments (ADMM\'s appendix 15), or an `Objective` of your own (see '
        '`spacelang.contracts`).')]
    objectives: Annotated[Iterable[str], RunOption((), doc="For a function: the names of several numbers to minimize, "
        "which it returns by name (further names are ignored) or in this order, such as `(\"error\", \"seconds\")`. "
        "`Result.front` has the configurations that no other configuration dominates. By default, the names are the "
        "goals in quotes of the task, such as `minimize \"error\"`. On data, the task names several objectives, as in "
        "`minimize 1 - roc_auc, predict_latency`.",
        check=(checks.is_iterable_of_strings, 'takes names, such as `["error", "seconds"]`'))]
    fidelities: Fidelities
    scale: Scale
    constraints: Annotated["Iterable[Constraint] | Mapping[str, float]", RunOption((),
        doc="With data: `Constraint` objects, which are functions of a fitted pipeline with limits, in addition to the "
        "bounds of the task. With an objective: limits by name.",
        check=(checks.is_iterable, "takes a list of constraints, such as `[sl.Constraint(name, function, limit)]`"))]

class ResumeOptions(TypedDict, total=False):
    """The options with which a stored run can be resumed; all others are as in the run."""

    time: Time
    search_time: SearchTime
    trials: Trials
    allow: Allow
    test: Annotated[str | None, RunOption(None, "The file of test rows of the run; only needed if it is not in this "
        "folder or below.", metavar="FILE")]
    workers: Annotated[int | None, RunOption(None, "Number of trials at the same time; by default as before.",
        check=checks.INTEGER, least=0)]
    trial_limit: Annotated[str | None, RunOption(None, "The limit of a trial: `300s`, `4GB` or both; by default as "
        "before.", check=(checks.TEXT, 'takes a text such as `"300s 4GB"`'), metavar="LIMIT")]
    executor: Annotated[str | None, RunOption(None, "`dask` starts a local cluster, `tcp://HOST:PORT` uses a running "
        "one; by default as before.", check=(checks.TEXT, "takes `dask` or the address of a scheduler"),
        metavar="WHERE")]
    ensemble: Annotated[int | None, RunOption(None, "The number of votes of the ensemble; 0: none; by default as "
        "before.", check=checks.INTEGER, metavar="N", least=0)]

class SearchResumeOptions(ResumeOptions, PythonOnlyOptions, total=False):
    """The options of the function `resume`."""

    data: Annotated[str | None, RunOption(None, doc="The data of the run as it was named, such as a file; only needed "
        "if it is not in this folder or below, and `features` are not given.",
        check=(checks.TEXT, "takes the name of a file"))]
    metric: Annotated["str | Scorer | None", RunOption(None, doc="The scorer of the run; only needed if its store does "
        "not name it, because it is a lambda, a function inside of another one or of `__main__`.",
        check=(checks.is_scorer, "takes a scorer"))]

class CompareOptions(ScoringOptions, BudgetAndSeedOptions, WorkerOptions, AllowAndBindOptions, ReadingOptions,
    total=False):
    """The options that `compare` and its command have in common."""

    repeats: Annotated[int, RunOption(10, "The number of seeds, each with its own split.", "{help}", checks.INTEGER,
        least=1)]
    target_column: TargetColumn
    folder: Annotated[str | PathLike[str] | None, RunOption(None, "The folder for runs, tables and plots; by default a "
        "new one in `comparisons/`.", "The folder for runs, tables and plots; by default none.",
        (checks.PATH, "takes the path of a folder"), command=Path | None, flag="--output", short="-o", metavar="DIR")]

class TabulateOptions(ReadingOptions, ScoringOptions, AllowAndBindOptions, StoreOptions, WorkerOptions, ExecutorOptions,
    total=False):
    """The options of the command `tabulate` that are also options of `run`."""

    training_score: TrainingScore
    time: Time
    seed: Seed

class SearchTableOptions(OptimizerOptions, AllowAndBindOptions, StoreOptions, WorkerCountAndLimitOptions, total=False):
    """The options of `search_table`."""

    time: Time
    trials: Trials
    seed: Seed
    initial: FirstConfigurations
    listener: Annotated["Listener | None", RunOption(None, doc="A listener, which is notified of every trial.")]

class AskOptions(OptimizerOptions, StoreOptions, total=False):
    """The options of `ask_and_tell`."""

    seed: Seed
    allow: Allow
    scale: Scale
    trials: Trials
    batch: Annotated[int, RunOption(1, doc="The maximum number of trials that may be evaluated at the same time.",
        check=checks.INTEGER)]
    fidelities: Fidelities
    constraints: Annotated[Mapping[str, float] | None, RunOption(None, doc="Upper limits by name, for values that "
        "`tell` passes along with the loss. They are added to the bounds in the task of the space.",
        check=(checks.MAPPING, 'takes limits by name, such as `{"latency": 0.1}`'))]
    initial: FirstConfigurations

SCIKIT_LEARN: Final = "As in scikit-learn."

class SearchCVOptions(OptimizerOptions, total=False):
    """The options of `SpaceSearchCV`."""

    trials: Trials
    time: Time
    search_time: SearchTime
    initial: FirstConfigurations
    allow: Allow
    scoring: Annotated[Any, RunOption(None, doc="As in scikit-learn; by default as in the task, or the score of the "
        "estimators.")]
    n_jobs: Annotated[int | None, RunOption(None, doc=SCIKIT_LEARN)]
    refit: Annotated[Any, RunOption(True, doc=f"{SCIKIT_LEARN} With several scores, it must name the one to optimize.")]
    cv: Annotated[Any, RunOption(None, doc="As in scikit-learn; by default as in the task, or five folds.")]
    verbose: Annotated[int, RunOption(0, doc=SCIKIT_LEARN)]
    pre_dispatch: Annotated[int | str, RunOption("2*n_jobs", doc=SCIKIT_LEARN)]
    random_state: Annotated[Any, RunOption(None, doc="The source of all random draws; an integer makes the search "
        "reproducible.")]
    error_score: Annotated[Any, RunOption(float("nan"), doc=SCIKIT_LEARN)]
    return_train_score: Annotated[bool, RunOption(False, doc=SCIKIT_LEARN)]

# fmt: on
# ---- what derives from the entries


def to_command_line_options(values: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the options for a store: texts by flag (without `--`), for options that differ from their defaults.

    Options that stores do not hold are left out. A flag without a value has no texts.
    """
    found = {}
    for name, option in run_options_by_name(RunOptions).items():
        value = values.get(name) if option.is_stored else None
        if option.form == "text" and not isinstance(value, str | int | float):
            continue  # an object of a program, such as a splitter
        if value not in (None, option.default, (), {}):
            found[option.command_line_flag(name).removeprefix("--")] = tuple(_texts(value))
    return found


def _texts(value: Any) -> Iterable[str]:
    """Return the texts after a flag that give an option its value; the flag is repeated for each of them."""
    if value is True:
        return ()
    if isinstance(value, Mapping):
        return (f"{name}={each}" for name, each in value.items())
    return map(str, value) if isinstance(value, tuple) else (str(value),)


def target_column_or_columns(columns: str | Iterable[str] | None) -> str | tuple[str, ...] | None:
    """Return a single target column as a string, several as a tuple without duplicates, and None without any."""
    found = tuple(dict.fromkeys((columns,) if isinstance(columns, str) else columns or ()))
    return found if len(found) > 1 else found[0] if found else None
