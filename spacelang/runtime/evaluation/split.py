"""Splits: which rows are held out, and in which order training takes the others."""

import hashlib
import heapq
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spacelang.ir.task import CrossValidation, Declared, Given, Holdout
from spacelang.runtime.errors import DataError

Rows = npt.NDArray[np.int64]
"""Row numbers of a table."""

DIGITS: Final = 12
"""So many hexadecimal digits tell given splits apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Row numbers of a table, from 0: those to train on and those to judge on."""

    training: Rows
    held_out: Rows


def given(splits: Sequence[Split], source: str) -> Given:
    """The validation that judges on these splits and no others; `source` is what the user calls their data."""
    total = hashlib.sha256()
    for split in splits:
        for rows in (split.training, split.held_out):
            numbers = np.ascontiguousarray(rows, dtype="<i8")
            total.update(len(numbers).to_bytes(8, "little") + numbers.tobytes())
    return Given(len(splits), source, total.hexdigest()[:DIGITS])


def check_splits(splits: Sequence[Split], rows: int, source: str) -> None:
    """Raise DataError unless each split trains on some of the rows and judges on others, each of these once."""
    for place, split in enumerate(splits):
        named = f"split {place + 1} of {len(splits)} of `{source}`"
        if not (len(split.training) and len(split.held_out)):
            raise DataError(f"{named} has no rows to {'judge' if len(split.training) else 'train'} on")
        both = np.concatenate([split.training, split.held_out])
        if both.min() < 0 or both.max() >= rows:
            raise DataError(f"{named} takes row {both.max() if both.max() >= rows else both.min()} of {rows}")
        if len(np.unique(split.held_out)) < len(split.held_out):
            raise DataError(f"{named} judges on a row twice")
        shared = np.intersect1d(split.training, split.held_out)
        if len(shared):
            raise DataError(
                f"{named} judges on {len(shared)} of the rows that it trains on",
                "give splits of your own: `--validate holdout(0.3)`",
            )


def stratified_holdout(codes: Rows, test_size: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Training rows and held-out rows: of every class the share `test_size` is held out, but never none and never all.

    `codes` are the classes of n rows, each with two rows at least. Both answers are in random order.
    """
    training, held_out = [], []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        count = min(max(round(test_size * len(rows)), 1), len(rows) - 1)
        held_out.append(rows[:count])
        training.append(rows[count:])
    return rng.permutation(np.concatenate(training)), rng.permutation(np.concatenate(held_out))


def plain_holdout(count: int, test_size: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Training rows and held-out rows of a table of `count` rows, two at least, in random order."""
    rows = rng.permutation(count)
    held_out = min(max(math.ceil(test_size * count), 1), count - 1)
    return rows[held_out:], rows[:held_out]


def stratified_folds(codes: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Training and held-out rows of each of k splits: every row is held out once, and every class as evenly as can be.

    The held-out parts differ by at most one row, in each class and together. All rows are in random order. `folds` is
    from 2 to the number of rows; a class with fewer rows than folds is missing in some of the held-out parts.
    """
    members = [rng.permutation(np.flatnonzero(codes == code)) for code in np.unique(codes)]
    return _dealt(np.concatenate(members), folds, rng)


def plain_folds(count: int, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Training and held-out rows of each of k splits of a table of `count` rows, from 2 to `count`; in random order."""
    return _dealt(rng.permutation(count), folds, rng)


def _dealt(rows: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """One row to each fold in turn: neighbours, which are of one class, are in different folds."""
    fold_of = np.arange(len(rows)) % folds
    return [(rng.permutation(rows[fold_of != fold]), rng.permutation(rows[fold_of == fold])) for fold in range(folds)]


def stratified_order(codes: Rows, rng: np.random.Generator) -> Rows:
    """A permutation of n rows of which every prefix is a stratified sample.

    See spacelang/optimizers/README.md, section "Fidelity grid".

    In a prefix of t rows each class differs by less than one row from its share of t; two classes are there from the
    second row on.
    """
    members = [rng.permutation(np.flatnonzero(codes == code)) for code in np.unique(codes)]
    turns = _interleaved([len(rows) for rows in members])
    taken = [iter(rows) for rows in members]
    return np.array([next(taken[turn]) for turn in turns], dtype=np.int64)


def _interleaved(counts: Sequence[int]) -> list[int]:
    """Whose turn it is, place by place: each class in proportion to its count.

    The k-th row of a class has a window of places in which it keeps the class within one row of its share. Taking
    among the rows whose window is open the one whose window closes first misses no window (earliest deadline first,
    optimal for unit jobs on one machine; the windows are those of Steiner and Yeomans' just-in-time sequences).
    """
    total = sum(counts)
    waiting = [(0, number, 0) for number in range(len(counts))]  # (place from which it is open, class, rows before it)
    open_now: list[tuple[int, int, int]] = []  # (last place of the window, class, rows before it)
    turns: list[int] = []
    for place in range(total):
        while waiting and waiting[0][0] <= place:
            _, number, before = heapq.heappop(waiting)
            heapq.heappush(open_now, (-(-(before + 1) * total // counts[number]) - 1, number, before))
        number, before = _next(open_now, turns)
        turns.append(number)
        if before + 1 < counts[number]:
            heapq.heappush(waiting, ((before + 1) * total // counts[number], number, before + 1))
    return turns


def _next(open_now: list[tuple[int, int, int]], turns: list[int]) -> tuple[int, int]:
    """Take the row whose window closes first; as the second row of all one of another class than the first's.

    That one exception postpones only rows of the first class, each by one place, and none has its window end so soon:
    it is not all of the rows.
    """
    _, number, before = heapq.heappop(open_now)
    if len(turns) == 1 and number == turns[0] and open_now:
        _, other, other_before = heapq.heappop(open_now)
        heapq.heappush(open_now, (0, number, before))
        return other, other_before
    return number, before


# ---- what users write


_VALIDATION: Final = re.compile(r"\s*(holdout|cv)\s*\(\s*([0-9]*\.?[0-9]+)\s*\)\s*")


def parse_validation(text: str) -> Declared:
    """The validation of `holdout(0.3)` or `cv(5)`.

    Raises ValueError, with a message for people, for another text, a share that is not between 0 and 1, and fewer than
    2 folds.
    """
    match = _VALIDATION.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a validation such as `holdout(0.3)` or `cv(5)`")
    name, number = match.groups()
    if name == "holdout":
        if not 0 < float(number) < 1:
            raise ValueError(f"the share of held-out rows must lie between 0 and 1, not be {number}")
        return Holdout(float(number))
    if not number.isdigit() or int(number) < 2:
        raise ValueError(f"the number of folds must be a whole number from 2, not {number}")
    return CrossValidation(int(number))
