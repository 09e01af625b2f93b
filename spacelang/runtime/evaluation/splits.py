"""Splits of the rows of a table: which are held out, and in which order the others are used for training."""

import hashlib
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.ir.validation import PredefinedSplits
from spacelang.runtime.errors import DataError

Rows = npt.NDArray[np.int64]  # Row numbers of a table
OTHER_VALIDATION_HELP: Final = "choose another validation, such as `--validate holdout(0.3)`"
FINGERPRINT_DIGITS: Final = 12  # The number of hexadecimal digits in the fingerprint of predefined splits


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of a table, from 0: the training rows and the held-out rows."""

    training: Rows
    held_out: Rows


def predefined_splits(splits: Sequence[Split], source: str) -> PredefinedSplits:
    """Return the validation of these splits, with their fingerprint; `source` is the name of the data for the user."""
    total = hashlib.sha256()
    for split in splits:
        for rows in (split.training, split.held_out):
            numbers = np.ascontiguousarray(rows, dtype="<i8")
            total.update(len(numbers).to_bytes(8, "little") + numbers.tobytes())
    return PredefinedSplits(len(splits), source, total.hexdigest()[:FINGERPRINT_DIGITS])


def check_splits(splits: Sequence[Split], rows: int, source: str) -> None:
    """Raise DataError if a split lacks rows, has unknown rows, or holds out a row twice or one of its training rows."""
    for place, split in enumerate(splits):
        split_name = f"split {place + 1} of {len(splits)} of `{source}`"
        if not (len(split.training) and len(split.held_out)):
            raise DataError(f"{split_name} has no rows to {'evaluate' if len(split.training) else 'train'} on")
        both = np.concatenate([split.training, split.held_out])
        if both.min() < 0 or both.max() >= rows:
            wrong = both.max() if both.max() >= rows else both.min()
            raise DataError(
                f"{split_name} refers to row {wrong}, but the {rows} rows are numbered from 0 to {rows - 1}"
            )
        if len(np.unique(split.held_out)) < len(split.held_out):
            raise DataError(f"{split_name} holds out the same row twice")
        shared = np.intersect1d(split.training, split.held_out)
        if len(shared):
            raise DataError(f"{split_name} holds out {len(shared)} of its own training rows", OTHER_VALIDATION_HELP)


def stratified_holdout(codes: Rows, test_size: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return training and held-out rows in random order: a share of every class, at least 1 row, but not all."""
    training, held_out = [], []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        count = min(max(round(test_size * len(rows)), 1), len(rows) - 1)
        held_out.append(rows[:count])
        training.append(rows[count:])
    return rng.permutation(np.concatenate(training)), rng.permutation(np.concatenate(held_out))


def plain_holdout(count: int, test_size: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return training rows and held-out rows of a table with `count` >= 2 rows, in random order."""
    rows = rng.permutation(count)
    held_out = min(max(math.ceil(test_size * count), 1), count - 1)
    return rows[held_out:], rows[:held_out]


def stratified_folds(codes: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the training and held-out rows of each stratified fold in random order; sizes differ by at most a row."""
    members = [rng.permutation(np.flatnonzero(codes == code)) for code in np.unique(codes)]
    return _deal(np.concatenate(members), folds, rng)


def plain_folds(count: int, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the training and held-out rows of each fold, in random order, of `count` rows in 2 to `count` folds."""
    return _deal(rng.permutation(count), folds, rng)


def _deal(rows: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Assign rows to folds in turn, so that neighbors, which have the same class, are in different folds."""
    fold_of = np.arange(len(rows)) % folds
    return [(rng.permutation(rows[fold_of != fold]), rng.permutation(rows[fold_of == fold])) for fold in range(folds)]


def stratified_order(codes: Rows, rng: np.random.Generator) -> Rows:
    """Return a permutation of n rows of which every prefix is a stratified sample.

    In a prefix of t rows, the rows of each class differ by less than one from its share of t. Rows of two classes are
    present from the second row on. See spacelang/optimizers/README.md, section "Fidelity grid".
    """
    members = [rng.permutation(np.flatnonzero(codes == code)) for code in np.unique(codes)]
    turns = _interleave([len(rows) for rows in members])
    taken = [iter(rows) for rows in members]
    return np.array([next(taken[turn]) for turn in turns], dtype=np.int64)


def _interleave(counts: Sequence[int]) -> list[int]:
    """Return the class of each position, so that each class occurs in proportion to its count.

    The k-th row of a class has a window of positions that keep the class within one row of its share. At each position,
    among the rows whose window is open, the row whose window closes first is taken. This misses no window: earliest
    deadline first is optimal for unit jobs on one machine. The windows are those of Steiner and Yeomans' just-in-time
    sequences.
    """
    total = sum(counts)
    waiting = [(0, number, 0) for number in range(len(counts))]  # (start of the window, class, earlier rows of it)
    open_now: list[tuple[int, int, int]] = []  # (end of the window, class, earlier rows of it)
    turns: list[int] = []
    for place in range(total):
        while waiting and waiting[0][0] <= place:
            _, number, before = heapq.heappop(waiting)
            heapq.heappush(open_now, (-(-(before + 1) * total // counts[number]) - 1, number, before))
        number, before = _pop_next(open_now, turns)
        turns.append(number)
        if before + 1 < counts[number]:
            heapq.heappush(waiting, ((before + 1) * total // counts[number], number, before + 1))
    return turns


def _pop_next(open_now: list[tuple[int, int, int]], turns: list[int]) -> tuple[int, int]:
    """Remove and return the row whose window closes first; the second row is of another class, missing no window."""
    _, number, before = heapq.heappop(open_now)
    if len(turns) == 1 and number == turns[0] and open_now:
        _, other, other_before = heapq.heappop(open_now)
        heapq.heappush(open_now, (0, number, before))
        return other, other_before
    return number, before
