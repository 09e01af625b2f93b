"""Creation of archives and portfolios from stored runs.

A portfolio has configurations that together do well on many tables, chosen by gain per second. See
spacelang/optimizers/README.md, section "AUTO: portfolio".
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from spacelang.ir.configuration import Configuration
from spacelang.ir.space import Space
from spacelang.runtime.archives.archive import Archive, ArchiveError, ArchiveRow, SpaceIdentity, identify_space
from spacelang.runtime.archives.auto_sklearn import SPACE_NAME, is_auto_sklearn, read_auto_sklearn
from spacelang.runtime.storage.run_listing import list_runs
from spacelang.runtime.storage.store import Store
from spacelang.runtime.storage.store_errors import damaged_store_error
from spacelang.runtime.storage.stored_run import StoredRun
from spacelang.serialization.definition import space_from_json
from spacelang.serialization.json_documents import DefinitionError
from spacelang.serialization.portfolio import Portfolio

K = TypeVar("K")
Floats = npt.NDArray[np.float64]
SHORTEST: Final = 1e-3  # Shorter evaluations count as these seconds in a geometric mean
MIN_SECONDS: Final = 0.05  # A faster evaluation counts as if it took so long, which is what a trial costs besides


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The loss of a configuration on a table, None if it failed, and the seconds that it took."""

    loss: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class PortfolioStep(Generic[K]):
    """A chosen configuration, the geometric mean of its seconds, and the mean regret of the portfolio with it."""

    configuration: K
    seconds: float
    regret: float


def choose_portfolio(tables: Sequence[Mapping[K, Evaluation]], size: int) -> list[PortfolioStep[K]]:
    """Return at most `size` configurations, each chosen for the largest gain per second beyond those chosen before.

    The gain is the decrease of the mean regret over the tables, divided by the geometric mean of the configuration's
    seconds. On a table, the regret is that of the portfolio's best configuration: 0 for the lowest loss, and 1 from the
    median on and without a success. The choice ends when no configuration has a gain.
    """
    names = [*dict.fromkeys(each for table in tables for each in table)]
    regrets = np.ones((len(names), len(tables)))
    seconds = np.full((len(names), len(tables)), np.nan)
    for column, table in enumerate(tables):
        known = np.array([each.loss for each in table.values() if each.loss is not None])
        for row, name in enumerate(names):
            found = table.get(name)
            if found is None:
                continue
            seconds[row, column] = found.seconds
            if found.loss is not None:
                regrets[row, column] = _regret(found.loss, known)
    cost = np.maximum(np.exp(np.nanmean(np.log(np.maximum(seconds, SHORTEST)), axis=1)), MIN_SECONDS)
    chosen: list[PortfolioStep[K]] = []
    left, current = [*range(len(names))], np.ones(len(tables))
    while left and len(chosen) < size:
        gains = np.array([(current - np.minimum(current, regrets[row])).mean() / cost[row] for row in left])
        if not gains.max() > 0:
            break
        row = left.pop(int(gains.argmax()))
        current = np.minimum(current, regrets[row])
        chosen.append(PortfolioStep(names[row], float(cost[row]), float(current.mean())))
    return chosen


def _regret(loss: float, known: Floats) -> float:
    best, middle = float(known.min()), float(np.median(known))
    return 0.0 if loss <= best else min((loss - best) / (middle - best), 1.0) if middle > best else 1.0


@dataclass(frozen=True, slots=True)
class NewArchive:
    """A new archive, and a sentence for each run or configuration that was left out."""

    archive: Archive
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _UnusableRun:
    reason: str


def make_archive(places: Iterable[Path], name: str, bundled: Callable[[str], Space]) -> NewArchive:
    """Return the archive of the stores at `places`; a place is a store, a folder of stores or auto-sklearn's files.

    `bundled` returns the bundled space with a given name. auto-sklearn's configurations are translated to the space
    `mosaic`. Of several runs on the same data, with the same space and loss, the one with the smallest loss is used,
    the first of equal ones.

    Raises StoreError for unreadable stores, DataError for invalid files of auto-sklearn, and ArchiveError if no row is
    left.
    """
    best: dict[tuple[str, str, str], ArchiveRow] = {}
    left_out: list[str] = []
    for found in (each for place in places for each in _read_rows(place, bundled)):
        if isinstance(found, _UnusableRun):
            left_out.append(found.reason)
            continue
        key = (found.fingerprint or found.data, found.space.vocabulary, found.metric)
        before = best.get(key)
        if before is not None:
            left_out.append(
                f"one of several runs on `{found.data}`, of which only the one with the smallest loss is used"
            )
        if before is None or found.loss < before.loss:
            best[key] = found
    if not best:
        help_text = left_out[0] if left_out else "give files with stored runs on data, or folders with such files"
        raise ArchiveError("no run can be used for an archive", help_text)
    return NewArchive(Archive(name, tuple(best.values())), tuple(left_out))


def _read_rows(place: Path, bundled: Callable[[str], Space]) -> Iterator[ArchiveRow | _UnusableRun]:
    if not place.is_dir():
        yield _read_row(place)
    elif is_auto_sklearn(place):
        found = read_auto_sklearn(place, bundled(SPACE_NAME))
        yield from found.rows
        yield from map(_UnusableRun, found.left_out)
    else:
        listing = list_runs(place)
        yield from (_read_row(each.path) for each in sorted(listing.runs, key=lambda run: run.path.name))
        yield from (_UnusableRun(f"`{path.name}`: {error.message}") for path, error in listing.unreadable)


def _read_row(path: Path) -> ArchiveRow | _UnusableRun:
    with Store.read(path) as run:
        header, best = run.header, run.best
        if not header.meta_features:
            reason = "the run had no data, or was made by an earlier version of spacelang"
            return _UnusableRun(f"`{path.name}` has no meta-features: {reason}")
        if best is None or not best[2]:
            return _UnusableRun(f"`{path.name}` has no successful trial" + (" within all bounds" if best else ""))
        number, loss, _ = best
        winner = next(each for each in run.records() if each.index == number).trial.request
        if winner.fidelity is not None and winner.fidelity < header.training_size:
            return _UnusableRun(f"`{path.name}` has no trial that was trained on all training rows")
        space = _space_of(run)
        data, features = header.data, header.meta_features
        return ArchiveRow(data.name, space, header.metric, loss, winner.configuration, data.fingerprint, features)


def _space_of(run: StoredRun) -> SpaceIdentity:
    try:
        return identify_space(space_from_json(json.loads(run.header.definition)))
    except (DefinitionError, ValueError) as error:
        raise damaged_store_error(run.path, f"the space of the run cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class NewPortfolio:
    """A new portfolio of the runs on `tables` tables, its steps, and a sentence for each run that was left out."""

    portfolio: Portfolio
    steps: tuple[PortfolioStep[Configuration], ...]
    tables: int
    left_out: tuple[str, ...]


def make_portfolio(places: Iterable[Path], size: int) -> NewPortfolio:
    """Return the portfolio of at most `size` configurations chosen from stored runs (see `choose_portfolio`).

    A place is a store or a folder of stores. Runs on the same data are one table. Only trials on all training rows and
    within all bounds count. The space and the loss are those of the first run; runs for others are left out.

    Raises StoreError for unreadable stores, and ArchiveError if no trial is left.
    """
    tables: dict[str, dict[Configuration, Evaluation]] = {}
    left_out: list[str] = []
    judged: tuple[SpaceIdentity, str] | None = None
    for path in _stores(places, left_out):
        with Store.read(path) as run:
            header = run.header
            space = _space_of(run)
            judged = judged or (space, header.metric)
            if (space, header.metric) != judged:
                left_out.append(f"`{path.name}` is for another space or loss than the first run")
                continue
            table = tables.setdefault(header.data.fingerprint or header.data.name, {})
            for trial in (record.trial for record in run.records()):
                rows = trial.request.fidelity
                if (rows is None or rows >= header.training_size) and trial.is_feasible:
                    table[trial.request.configuration] = Evaluation(trial.loss, trial.seconds_without_sharing)
    tables = {name: table for name, table in tables.items() if any(each.loss is not None for each in table.values())}
    if judged is None or not tables:
        help_text = left_out[0] if left_out else "give files with stored runs on data, or folders with such files"
        raise ArchiveError("no run can be used for a portfolio", help_text)
    steps = choose_portfolio([*tables.values()], size)
    chosen = Portfolio(judged[0].name, (tuple(step.configuration for step in steps),))
    return NewPortfolio(chosen, tuple(steps), len(tables), tuple(left_out))


def _stores(places: Iterable[Path], left_out: list[str]) -> Iterator[Path]:
    for place in places:
        if not place.is_dir():
            yield place
            continue
        listing = list_runs(place)
        yield from sorted((each.path for each in listing.runs), key=lambda path: path.name)
        left_out += (f"`{path.name}`: {error.message}" for path, error in listing.unreadable)
