"""Splits of the rows of a table, and the order of the training rows, also for rows with groups or times."""

import hashlib
import heapq
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
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
    """Return the training rows and the held-out rows, both in random order.

    Of each class, about the share `test_size` is held out, at least 1 row, but not all.
    """
    training, held_out = [], []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        count = min(max(round(test_size * len(rows)), 1), len(rows) - 1)
        held_out.append(rows[:count])
        training.append(rows[count:])
    return rng.permutation(np.concatenate(training)), rng.permutation(np.concatenate(held_out))


def plain_holdout(count: int, test_size: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return the training rows and the held-out rows of a table with `count` >= 2 rows, both in random order.

    The share `test_size` of the rows, rounded up, is held out, at least 1 row, but not all.
    """
    rows = rng.permutation(count)
    held_out = min(max(math.ceil(test_size * count), 1), count - 1)
    return rows[held_out:], rows[:held_out]


def stratified_folds(codes: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the training and held-out rows of each stratified fold in random order; sizes differ by at most a row."""
    members = [rng.permutation(np.flatnonzero(codes == code)) for code in np.unique(codes)]
    return _deal(np.concatenate(members), folds, rng)


def plain_folds(count: int, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the training and held-out rows of each of `folds` folds of `count` rows, each in random order."""
    return _deal(rng.permutation(count), folds, rng)


def _deal(rows: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the training and held-out rows of each fold, in random order; the rows are assigned to the folds in turn.

    Neighbors, which have the same class, are therefore in different folds.
    """
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
    """Remove the row whose window closes first; return its class, and the number of earlier rows of the class.

    The second row of all is taken from another class than the first, if there is one. Even so, no window is missed.
    """
    _, number, before = heapq.heappop(open_now)
    if len(turns) == 1 and number == turns[0] and open_now:
        _, other, other_before = heapq.heappop(open_now)
        heapq.heappush(open_now, (0, number, before))
        return other, other_before
    return number, before


SEED_LIMIT: Final = 2**32  # The number of seeds that scikit-learn accepts
OTHER_GROUPS_HELP: Final = "choose a column with more groups, fewer folds, or a holdout"


@dataclass(frozen=True, slots=True, eq=False)
class RowRelations:
    """The relations between the n rows of a table that splits must respect.

    `groups` has the number of the group of each row, from 0: rows of one group are on the same side of a split. `times`
    has the rank of each row in time, from 0, equal for equal times: held-out rows are later than their training rows.
    """

    groups: Rows | None = None
    times: Rows | None = None

    def __bool__(self) -> bool:
        return self.groups is not None or self.times is not None

    def select_rows(self, rows: Rows) -> "RowRelations":
        """Return the relations between some of the rows, in the order given."""
        groups = None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1]
        return RowRelations(groups, None if self.times is None else self.times[rows])

    @property
    def fingerprint_texts(self) -> dict[str, str]:
        """Texts by name, with fingerprints of groups and times, that are equal for rows with equal relations."""
        known = {name: codes for name in RELATION_NAMES if (codes := getattr(self, name)) is not None}
        return {
            name: f"{len(np.unique(codes))} in {len(codes)} rows, content {_fingerprint(codes)}"
            for name, codes in known.items()
        }


RELATION_NAMES: Final = tuple(each.name for each in fields(RowRelations))  # The names of the relations
UNRELATED: Final = RowRelations()  # The relations of rows without groups and times


def _fingerprint(codes: Rows) -> str:
    return hashlib.sha256(np.ascontiguousarray(codes, dtype="<i8").tobytes()).hexdigest()[:FINGERPRINT_DIGITS]


# ---- splits by groups


def grouped_folds(codes: Rows, groups: Rows, folds: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
    """Return the training and held-out rows of each fold, all rows of a group in one fold, in random order.

    `codes` are the classes of the rows, by which scikit-learn's StratifiedGroupKFold stratifies; equal codes, as for a
    regression, only balance the sizes of the folds. There are at least `folds` groups.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    codes = _without_rare_codes(codes, folds)
    splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=int(rng.integers(SEED_LIMIT)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer rows than folds
        splits = [*splitter.split(np.zeros(len(codes)), codes, groups)]
    return [(rng.permutation(training), rng.permutation(held_out)) for training, held_out in splits]


def _without_rare_codes(codes: Rows, folds: int) -> Rows:
    """Return the codes, or only zeros if every code is rarer than `folds`, which scikit-learn refuses."""
    return codes if np.bincount(codes).max() >= folds else np.zeros_like(codes)


def grouped_holdout(codes: Rows, groups: Rows, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return training and held-out rows in random order: whole groups with about this share of every class.

    Groups are visited in random order, so that large and small ones are held out alike. A group is held out if that
    brings the held-out share of the classes closer to `share`. Each side has at least one group, and every class that
    at least two groups have has training rows.
    """
    counts = np.zeros((int(groups.max()) + 1, int(codes.max()) + 1))
    np.add.at(counts, (groups, codes), 1)
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    order = rng.permutation(len(counts))
    lacking, chosen = np.where(shares.sum(axis=0) > 0, share, 0.0), []
    left = (counts > 0).sum(axis=0)  # the number of groups that train, for each class
    for group in order:
        remaining = left - (counts[group] > 0)
        if ((remaining == 0) & (counts[group] > 0)).any():
            continue  # a class would have no training rows
        if np.sum((lacking - shares[group]) ** 2) < np.sum(lacking**2):
            chosen.append(group)
            lacking, left = lacking - shares[group], remaining
    if not chosen:
        by_size = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
        chosen = [_smallest_removable(by_size, counts)]
    is_held_out = np.isin(groups, chosen)
    return rng.permutation(np.flatnonzero(~is_held_out)), rng.permutation(np.flatnonzero(is_held_out))


def _smallest_removable(order: Rows, counts: npt.NDArray[np.float64]) -> int:
    """Return the smallest group whose classes all have other groups, or else the smallest group.

    `order` has the groups in the order of falling size.
    """
    alone = (counts > 0).sum(axis=0) == 1
    for group in order[::-1]:
        if not (alone & (counts[group] > 0)).any():
            return int(group)
    return int(order[-1])


def check_groups(
    relations: RowRelations, codes: Rows, classes: tuple[object, ...], folds: int, group_column: str
) -> None:
    """Raise DataError for fewer groups than `folds`, and for a class that a single group has.

    `group_column` names the groups in messages, in the singular. `classes` are the labels of the codes, empty for a
    regression.
    """
    assert relations.groups is not None
    count = len(np.unique(relations.groups))
    if count < folds:
        found_groups = "1 group" if count == 1 else f"{count} groups"
        raise DataError(f"{group_column} forms {found_groups}, but the split needs at least {folds}", OTHER_GROUPS_HELP)
    for code, label in enumerate(classes):
        if len(np.unique(relations.groups[codes == code])) == 1:
            problem = (
                f"only one group of {group_column} has the class `{label}`, so it cannot be trained on and held out"
            )
            raise DataError(problem, "drop the class, merge it with another, or choose another validation")


# ---- splits by time


def time_folds(times: Rows, folds: int, what: str) -> list[tuple[Rows, Rows]]:
    """Return the training and the held-out rows of `folds` splits, in the order of time.

    The rows are divided into `folds` + 1 periods with about equally many rows; rows of equal times are in the same
    period. Split k holds out period k + 1 and trains on all earlier periods. Raise DataError if there are too few
    different times; `what` names them in the message.
    """
    order, cuts = _time_order_and_boundaries(times, [place / (folds + 1) for place in range(1, folds + 1)], what)
    ends = [*cuts[1:], len(order)]
    return [(order[:start], order[start:end]) for start, end in zip(cuts, ends, strict=True)]


def time_holdout(times: Rows, share: float, what: str) -> tuple[Rows, Rows]:
    """Return the earlier rows, and the later ones, which are about `share` of all; equal times are not separated.

    Both are in the order of time. Raise DataError if all times are equal; `what` names them in the message.
    """
    order, (cut,) = _time_order_and_boundaries(times, [1 - share], what)
    return order[:cut], order[cut:]


def _time_order_and_boundaries(times: Rows, shares: list[float], time_column: str) -> tuple[Rows, list[int]]:
    """Return the row numbers in the order of time, and one position in them for each share, at which the time changes.

    Each position is near its share of the rows. Raise DataError if the times change too rarely.
    """
    order = np.argsort(times, kind="stable")
    changes = np.flatnonzero(np.diff(times[order])) + 1
    if len(changes) < len(shares):
        distinct = "a single time" if not len(changes) else f"{len(changes) + 1} different times"
        needed = f"the split needs at least {len(shares) + 1}"
        raise DataError(
            f"{time_column} has {distinct}, but {needed}", "choose another column, fewer folds, or a holdout"
        )
    cuts: list[int] = []
    first = 0
    for number, share in enumerate(shares, start=1):
        possible = changes[first : len(changes) - len(shares) + number]
        nearest = int(np.argmin(np.abs(possible - share * len(order))))
        cuts.append(int(possible[nearest]))
        first += nearest + 1
    return order, cuts


# ---- orders of the training rows


def order_by_groups_or_times(
    relations: RowRelations, codes: Rows | None, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Return an order of the n training rows, and the ascending lengths that its prefixes may have.

    Rows in time are in reverse order, so that a prefix has the latest rows. Rows of groups follow one another, and a
    prefix consists of whole groups; the groups are in random order, stratified by their most frequent class. `codes`
    are the classes, of which each prefix has at least two; None for a regression.
    """
    if relations.times is not None:
        shuffled = rng.permutation(len(relations.times))
        order = shuffled[np.argsort(-relations.times[shuffled], kind="stable")]
        lengths = np.arange(1, len(order) + 1)
    else:
        assert relations.groups is not None
        order, lengths = _order_of_groups(relations.groups, codes, rng)
    if codes is None:
        return order, lengths
    ordered = codes[order]
    second = int(np.argmax(ordered != ordered[0])) + 1  # the fewest rows with two classes
    return order, lengths[lengths >= second]


def _order_of_groups(groups: Rows, codes: Rows | None, rng: np.random.Generator) -> tuple[Rows, Rows]:
    numbers, groups = np.unique(groups, return_inverse=True)
    if codes is None:
        order = rng.permutation(len(numbers))
    else:
        counts = np.zeros((len(numbers), int(codes.max()) + 1), dtype=np.int64)
        np.add.at(counts, (groups, codes), 1)
        order = stratified_order(counts.argmax(axis=1), rng)
    place_of = np.empty(len(numbers), dtype=np.int64)
    place_of[order] = np.arange(len(numbers))
    shuffled = rng.permutation(len(groups))
    rows = shuffled[np.argsort(place_of[groups[shuffled]], kind="stable")]
    return rows, np.cumsum(np.bincount(groups)[order])


def smallest_sufficient_length(lengths: Rows, wanted: int) -> int:
    """Return the smallest of the ascending `lengths` that is at least `wanted`, or else the largest one."""
    return int(lengths[min(int(np.searchsorted(lengths, wanted)), len(lengths) - 1)])
