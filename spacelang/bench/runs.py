"""The runs of a comparison: made one after the other, or read where they were made before."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import product
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote_plus

from spacelang.bench.arenas import Arena, Criteria
from spacelang.bench.contestants import Contestant

if TYPE_CHECKING:
    from spacelang.bench.comparison.progress import ComparisonListener
    from spacelang.bench.comparison.results import OnTestRows, RunKey, RunResult
    from spacelang.ir.trial import Trial
    from spacelang.runtime.history import Record
    from spacelang.runtime.storing.store import StoredRun
    from spacelang.runtime.storing.store_tests import StoredTest

INTERRUPTED: Final = "interrupted"
"""The ending of a run that the user stopped."""

FAILED: Final = "failed"
"""The ending of a run that could not begin."""

LONGEST: Final = 120
"""So many bytes of a name are in that of a file."""


@dataclass(frozen=True, slots=True)
class WantedRun:
    """A run that is wanted."""

    key: "RunKey"
    arena: Arena
    contestant: Contestant
    judged: Criteria


@dataclass(frozen=True, slots=True)
class CompleteSeeds:
    """All runs of the seeds of which every run was made; `interrupted` where the user wanted no more."""

    seeds: tuple[int, ...]
    runs: "tuple[RunResult, ...]"
    interrupted: bool


def entries(
    seeds: Iterable[int], arenas: Sequence[tuple[Arena, Criteria]], contestants: Sequence[Contestant]
) -> tuple[WantedRun, ...]:
    """All runs, seed after seed: so a comparison that was stopped has some seeds whole."""
    from spacelang.bench.comparison.results import RunKey

    return tuple(
        WantedRun(RunKey(arena.label, each.label, seed), arena, each, judged)
        for seed, (arena, judged), each in product(seeds, arenas, contestants)
    )


def make(wanted: Sequence[WantedRun], folder: Path | None, listener: "ComparisonListener") -> CompleteSeeds:
    """Make what is not in the folder yet; raises KeyboardInterrupt where that was stopped before a seed was whole.

    Raises InputError, StoreError among them: what was made before is kept.
    """
    found: dict[RunKey, RunResult] = {}
    interrupted = False
    try:
        if folder is not None:
            earlier = ((each.key, _earlier(each, folder)) for each in wanted)
            found.update((key, run) for key, run in earlier if run is not None)
        listener.planned(len(wanted), len(found))
        for entry in (each for each in wanted if each.key not in found):
            listener.begins(entry.key)
            run = _run(entry, folder, listener)
            if run.ended == INTERRUPTED:
                interrupted = True
                break
            found[entry.key] = run
            listener.ends(run)
    except KeyboardInterrupt:
        interrupted = True
    lacking = {each.key.seed for each in wanted if each.key not in found}
    seeds = tuple(seed for seed in dict.fromkeys(each.key.seed for each in wanted) if seed not in lacking)
    if not seeds:
        raise KeyboardInterrupt
    return CompleteSeeds(seeds, tuple(run for key, run in found.items() if key.seed not in lacking), interrupted)


def file_name(key: "RunKey") -> str:
    """The name of the store of a run, another one for every run, of characters that every system has in names."""
    return f"{_written(key.data)}@{_written(key.optimizer)}@{key.seed}.db"


def _written(name: str) -> str:
    text = quote_plus(name, safe="=", errors="surrogatepass")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 17]}~{sha256(text.encode()).hexdigest()[:16]}"


def _run(entry: WantedRun, folder: Path | None, listener: "ComparisonListener") -> "RunResult":
    """One run; what keeps this optimizer from searching there ends this run alone."""
    from spacelang.draws.sampling import UnlikelyError

    place = None if folder is None else folder / file_name(entry.key)
    try:
        outcome, test = entry.arena.run(entry.contestant, entry.key.seed, place, listener)
    except UnlikelyError as error:
        return _summary(entry, (), 0.0, FAILED, str(error))
    summary = _summary(entry, outcome.records, outcome.seconds, outcome.ended.value)
    return replace(summary, tested=_tested(test, outcome.records))


def _earlier(entry: WantedRun, folder: Path) -> "RunResult | None":
    """The run that was made before; None where it has to be begun, to go on or to be tested. Raises StoreError."""
    from spacelang.runtime.storing.store import Store, is_blank
    from spacelang.runtime.storing.stored import RunState

    path = folder / file_name(entry.key)
    if is_blank(path):
        return None
    with Store.read(path) as run:
        if run.state is not RunState.FINISHED:
            return None
        _check(entry, run)
        test = run.test
        if entry.judged.test and test is None and run.best is not None:
            return None
        records = tuple(run.records())
        summary = _summary(entry, records, run.seconds, run.sessions[-1].ending or "")
        return replace(summary, tested=_tested(test, records))


def _check(entry: WantedRun, run: "StoredRun") -> None:
    """Raise StoreError for a store that somebody has put in the place of another one."""
    from spacelang.runtime.storing.store_faults import StoreError

    header, facts = run.header, entry.arena.facts(entry.key.seed, entry.judged)
    there = (header.seed, header.optimizer, header.data.fingerprint)
    if there != (entry.key.seed, entry.contestant.optimizer.name, facts.fingerprint):
        raise StoreError(f"`{run.path}` is not the run of {entry.key}", "delete it, and the run is made again")


def _tested(test: "StoredTest | None", records: "Sequence[Record]") -> "OnTestRows | None":
    """The winner on test rows, beside its loss as a trial."""
    from spacelang.bench.comparison.results import OnTestRows

    if test is None:
        return None
    reported = next(each.trial.loss for each in records if each.index == test.trial)
    assert reported is not None
    return OnTestRows(test.score, reported)


def _summary(
    entry: WantedRun, records: "Sequence[Record]", seconds: float, ended: str, reason: str = ""
) -> "RunResult":
    from spacelang.bench.comparison.curves import incumbent
    from spacelang.bench.comparison.results import Models, RunResult

    limit = entry.arena.experiment.budget.seconds
    until = inf if limit is None else limit
    trials = [each.trial for each in records]
    scores = [
        (each.request.fidelity, (record.finished, each.loss))
        for record, each in zip(records, trials, strict=True)
        if each.loss is not None and each.is_feasible
    ]
    full = [score for rows, score in scores if rows is None or rows >= entry.judged.training_size]
    curves = {
        Models.FULL: incumbent(full, until),
        Models.ANY: incumbent((score for _, score in scores), until),
    }
    why = "" if curves[Models.ANY].losses else reason or _without_a_score(trials)
    failed = sum(each.loss is None for each in trials)
    return RunResult(entry.key, curves, len(trials), failed, seconds, ended, why)


def _without_a_score(trials: "Sequence[Trial]") -> str:
    """Why no trial counts."""
    reasons = Counter(each.reason for each in trials if each.loss is None)
    if not trials:
        return "no trial ended within the budget"
    if reasons.total() < len(trials):
        within = any(each.is_feasible and each.loss is not None for each in trials)
        return "no trial ended within the budget" if within else "no trial keeps to all that the task is subject to"
    reason, number = reasons.most_common(1)[0]
    return f"none of {len(trials)} trials succeeded; {number} x {reason}"
