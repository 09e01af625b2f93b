"""The runs of a comparison: execute them one after the other, or read them from their stores."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus

from spacelang.bench.comparison_data import ComparisonDataset, EvaluationCriteria
from spacelang.bench.configured_optimizers import ConfiguredOptimizer

if TYPE_CHECKING:
    from spacelang.bench.comparison.progress import ComparisonListener
    from spacelang.bench.comparison.results import RunKey, RunResult, WinnerScore
    from spacelang.ir.trial import Trial
    from spacelang.runtime.history import TrialRecord
    from spacelang.runtime.storage.store import StoredRun
    from spacelang.runtime.storage.unseen_score_table import StoredUnseenScore

INTERRUPTED: Final = "interrupted"
"""How a run ended that the user stopped."""

FAILED: Final = "failed"
"""How a run ended that could not start."""

MAX_NAME_LENGTH: Final = 120
"""The largest number of bytes of a label in a file name."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run: its key, its data, its optimizer, and the criteria of its data."""

    key: "RunKey"
    dataset: ComparisonDataset
    configured_optimizer: ConfiguredOptimizer
    criteria: EvaluationCriteria


@dataclass(frozen=True, slots=True)
class CompleteSeedRuns:
    """The runs of all seeds that are complete.

    `interrupted` is True if the user stopped the comparison.
    """

    seeds: tuple[int, ...]
    runs: "tuple[RunResult, ...]"
    interrupted: bool


def planned_runs(
    seeds: Iterable[int],
    arenas: Sequence[tuple[ComparisonDataset, EvaluationCriteria]],
    contestants: Sequence[ConfiguredOptimizer],
) -> tuple[PlannedRun, ...]:
    """Return all runs, seed by seed, so that an interrupted comparison has some complete seeds."""
    from spacelang.bench.comparison.results import RunKey

    return tuple(
        PlannedRun(RunKey(arena.label, each.label, seed), arena, each, judged)
        for seed, (arena, judged), each in product(seeds, arenas, contestants)
    )


def execute_runs(wanted: Sequence[PlannedRun], folder: Path | None, listener: "ComparisonListener") -> CompleteSeedRuns:
    """Execute all runs that are not stored in the folder yet.

    Raises KeyboardInterrupt if the user stops it before the first seed is complete, and InputError (StoreError is one).
    Runs that were finished before stay stored.
    """
    found: dict[RunKey, RunResult] = {}
    interrupted = False
    try:
        if folder is not None:
            earlier = ((each.key, _stored_result(each, folder)) for each in wanted)
            found.update((key, run) for key, run in earlier if run is not None)
        listener.runs_planned(len(wanted), len(found))
        for entry in (each for each in wanted if each.key not in found):
            listener.run_started(entry.key)
            run = _execute(entry, folder, listener)
            if run.ended == INTERRUPTED:
                interrupted = True
                break
            found[entry.key] = run
            listener.run_finished(run)
    except KeyboardInterrupt:
        interrupted = True
    lacking = {each.key.seed for each in wanted if each.key not in found}
    seeds = tuple(seed for seed in dict.fromkeys(each.key.seed for each in wanted) if seed not in lacking)
    if not seeds:
        raise KeyboardInterrupt
    return CompleteSeedRuns(seeds, tuple(run for key, run in found.items() if key.seed not in lacking), interrupted)


def file_name(key: "RunKey") -> str:
    """Return the file name of the store of a run.

    The name is different for every run and uses only characters that are valid on every system.
    """
    return f"{_file_name_part(key.data)}@{_file_name_part(key.optimizer)}@{key.seed}.db"


def _file_name_part(name: str) -> str:
    text = quote_plus(name, safe="=", errors="surrogatepass")
    return (
        text
        if len(text) <= MAX_NAME_LENGTH
        else f"{text[: MAX_NAME_LENGTH - 17]}~{sha256(text.encode()).hexdigest()[:16]}"
    )


def _execute(entry: PlannedRun, folder: Path | None, listener: "ComparisonListener") -> "RunResult":
    """Execute one run. If sampling fails for this optimizer, only this run ends, with the reason."""
    from spacelang.sampling.sampler import SamplingFailedError

    place = None if folder is None else folder / file_name(entry.key)
    try:
        outcome, test = entry.dataset.run(entry.configured_optimizer, entry.key.seed, place, listener)
    except SamplingFailedError as error:
        return _run_result(entry, (), 0.0, FAILED, str(error))
    summary = _run_result(entry, outcome.records, outcome.seconds, outcome.ended.value)
    return replace(summary, winner_score=_winner_score(test, outcome.records))


def _stored_result(entry: PlannedRun, folder: Path) -> "RunResult | None":
    """Return the result of a stored run, or None if it must be started, resumed or tested.

    Raises StoreError.
    """
    from spacelang.runtime.storage.records import RunState
    from spacelang.runtime.storage.store import Store, is_blank

    path = folder / file_name(entry.key)
    if is_blank(path):
        return None
    with Store.read(path) as run:
        if run.state is not RunState.FINISHED:
            return None
        _check_store(entry, run)
        test = run.test
        if entry.criteria.test and test is None and run.best is not None:
            return None
        records = tuple(run.records())
        summary = _run_result(entry, records, run.seconds, run.sessions[-1].ending or "")
        return replace(summary, winner_score=_winner_score(test, records))


def _check_store(entry: PlannedRun, run: "StoredRun") -> None:
    """Raise StoreError if the store in this place belongs to another run."""
    from spacelang.runtime.storage.store_errors import StoreError

    header, facts = run.header, entry.dataset.facts_for_seed(entry.key.seed, entry.criteria)
    there = (header.seed, header.optimizer, header.data.fingerprint)
    if there != (entry.key.seed, entry.configured_optimizer.optimizer.name, facts.fingerprint):
        raise StoreError(f"`{run.path}` is not the run of {entry.key}", "delete it to repeat the run")


def _winner_score(test: "StoredUnseenScore | None", records: "Sequence[TrialRecord]") -> "WinnerScore | None":
    """Return the score of the winner on test rows, together with its loss as a trial."""
    from spacelang.bench.comparison.results import WinnerScore

    if test is None:
        return None
    reported = next(each.trial.loss for each in records if each.index == test.trial)
    assert reported is not None
    return WinnerScore(test.score, reported)


def _run_result(
    entry: PlannedRun, records: "Sequence[TrialRecord]", seconds: float, ended: str, reason: str = ""
) -> "RunResult":
    from spacelang.bench.comparison.curves import incumbent_curve
    from spacelang.bench.comparison.results import IncumbentCandidates, RunResult

    limit = entry.dataset.experiment.budget.seconds
    until = inf if limit is None else limit
    trials = [each.trial for each in records]
    scores = [
        (each.request.fidelity, (record.finished, each.loss))
        for record, each in zip(records, trials, strict=True)
        if each.loss is not None and each.is_feasible
    ]
    full = [score for rows, score in scores if rows is None or rows >= entry.criteria.training_size]
    curves = {
        IncumbentCandidates.FULL: incumbent_curve(full, until),
        IncumbentCandidates.ANY: incumbent_curve((score for _, score in scores), until),
    }
    why = "" if curves[IncumbentCandidates.ANY].losses else reason or _reason_without_score(trials)
    failed = sum(each.loss is None for each in trials)
    return RunResult(entry.key, curves, len(trials), failed, seconds, ended, why)


def _reason_without_score(trials: "Sequence[Trial]") -> str:
    """Return the reason why no trial of a run counts."""
    reasons = Counter(each.reason for each in trials if each.loss is None)
    if not trials:
        return "no trial finished within the budget"
    if reasons.total() < len(trials):
        within = any(each.is_feasible and each.loss is not None for each in trials)
        return "no trial finished within the budget" if within else "no trial satisfies all bounds of the task"
    reason, number = reasons.most_common(1)[0]
    return f"none of {len(trials)} trials succeeded; {number} x {reason}"
