"""Permutation importance of decisions and hyperparameters, by random forests fitted to the encoded trials.

Forests are fitted to two thirds of the trials and predict the ranks of the losses of the others. Ranks are used because
a few outlying losses would dominate otherwise. The importance of a variable is the drop in the explained variance after
its values are permuted.

Values are permuted only among the trials in which the variable is active. A decision is permuted together with
everything below it, so that no configuration has the values of one alternative and the name of another. scikit-learn's
`permutation_importance` permutes single columns in all rows, and is not used for that reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from spacelang.encodings.row_encodings import VariableColumns, VectorEncoding
from spacelang.ir.space import Choice
from spacelang.report.page.axes import Axis
from spacelang.report.page.run_data import RunData
from spacelang.sampling.value_codes import Array
from spacelang.surrogates.forest import Forest

MIN_TRIALS: Final = 50  # The minimum number of trials for which importances are computed
MAX_TRIALS: Final = 900  # The maximum number of trials used; of more trials a random sample of this size is taken
REPEATS: Final = 10
"""The number of forests. Each is fitted to another split of the trials, with one permutation per variable."""
TREES: Final = 20  # The number of trees of a forest
FEATURES: Final = 0.2  # The share of columns considered at a split. A third explains no more, and takes a third longer
HELD_OUT: Final = 1 / 3  # The share of the trials that a forest predicts, and is not fitted to
WEAK: Final = 0.1  # Importances are weak evidence if forests explain less than this share of the variance
SHOWN: Final = 15  # The maximum number of variables shown, the most important first
SPAN: Final = (0.05, 0.95)  # The quantiles over the repeats that are the ends of an interval


@dataclass(frozen=True, slots=True)
class VariableImportance:
    """The importance of a variable: the drop in explained variance if its values are permuted.

    `mean` is the mean over the forests, `low` and `high` are its interval; `middle`, `left` and `right` are their
    positions in percent. `active` is the number of trials in which the variable is active.
    """

    address: str
    is_decision: bool
    active: int
    mean: float
    low: float
    high: float
    middle: float = 0.0
    left: float = 0.0
    right: float = 0.0


@dataclass(frozen=True, slots=True)
class Importances:
    """The importance of variables, most important first.

    There are no `rows` if there are too few successful `trials`, or if forests explain nothing. `explained` is the
    share of the variance of the held-out ranks that forests explain, `used` the number of trials that were used, and
    `left` the number of less important variables that are not shown.
    """

    trials: int
    used: int = 0
    explained: float = 0.0
    rows: tuple[VariableImportance, ...] = ()
    left: int = 0
    repeats: int = REPEATS
    axis: Axis | None = None

    @property
    def has_too_few_trials(self) -> bool:
        """True if there are too few trials to estimate importances."""
        return self.trials < MIN_TRIALS

    @property
    def zero_position(self) -> float | None:
        """The position of zero on the axis, in percent."""
        return None if self.axis is None else self.axis.position(0.0)

    @property
    def is_weak_evidence(self) -> bool:
        """True if forests explain so little that the importances are weak evidence."""
        return self.explained < WEAK

    @property
    def explained_percent(self) -> str:
        """The share of explained variance in percent, and 0 % if it is negative."""
        return f"{100 * max(0.0, self.explained):.0f} %"


def compute_importances(run_data: RunData) -> Importances | None:
    """Return the importance of variables in a run, or None if its space is unknown or has no variables."""
    members = run_data.trials_in_space
    if run_data.space is None or not run_data.space.variables or members is None:
        return None
    known = np.flatnonzero(~np.isnan(members.losses))
    if len(known) < MIN_TRIALS:
        return Importances(len(known))
    # The seed of the run is used, so that the page of a run is always the same.
    rng = np.random.default_rng(run_data.run.header.seed)
    used = np.sort(rng.choice(known, MAX_TRIALS, replace=False)) if len(known) > MAX_TRIALS else known
    points, fields = _encode(run_data, used)
    ranks = _ranks(members.losses[used])
    groups = [_columns(field, fields) for field in fields]
    found = [_permutation_importance_once(points, ranks, groups, rng) for _ in range(REPEATS)]
    lost = np.array([each for _, each in found])
    explained = float(np.mean([each for each, _ in found]))
    if explained <= 0:
        return Importances(len(known), len(used), explained)
    rows = [_variable_importance(field, points, lost[:, place]) for place, field in enumerate(fields)]
    rows.sort(key=lambda each: -each.mean)
    shown = rows[:SHOWN]
    axis = Axis(min(0.0, *(each.low for each in shown)), max(0.01, *(each.high for each in shown)))
    placed = tuple(_with_position(each, axis) for each in shown)
    return Importances(len(known), len(used), explained, placed, len(rows) - len(shown), axis=axis)


def _encode(run_data: RunData, used: Array) -> tuple[Array, Sequence[VariableColumns]]:
    """Return the trials in the rows `used` of `trials_in_space` as a matrix, and the columns of each variable in it.

    A further column at the end is the share of all training rows that a trial had.
    """
    assert run_data.space is not None
    assert run_data.trials_in_space is not None
    coding = VectorEncoding(run_data.space)
    requests = [run_data.trials_in_space.records[row].trial.request for row in used]
    size = run_data.run.header.training_size
    shares = [[1.0 if each.fidelity is None or not size else each.fidelity / size] for each in requests]
    return np.hstack([coding.encode([each.configuration for each in requests]), shares]), coding.fields


def _ranks(losses: Array) -> Array:
    """Return the ranks of the losses, from 0 to 1. Equal losses share the middle of their ranks."""
    _, place, counts = np.unique(losses, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[place] / len(losses))


def _columns(field: VariableColumns, fields: Sequence[VariableColumns]) -> Array:
    address = field.variable.address
    mine = [each for each in fields if each is field or any(owner == address for owner, _ in each.variable.owners)]
    return np.concatenate([np.arange(each.start, each.end) for each in mine])


def _permutation_importance_once(
    points: Array, ranks: Array, groups: Sequence[Array], rng: np.random.Generator
) -> tuple[float, Array]:
    """Return the share of variance that a new forest explains on held-out trials, and its drop for each group.

    A group is the columns of one variable, which are permuted together.
    """
    held, fitted = np.split(rng.permutation(len(points)), [round(HELD_OUT * len(points))])
    forest = Forest(TREES, FEATURES).fit(points[fitted], ranks[fitted], rng)
    asked, target = points[held], ranks[held]
    changed = [_permuted(asked, group, rng) for group in groups]
    predicted, _ = forest.posterior(np.concatenate([asked, *(rows for _, rows in changed)]))
    before, *after = np.split(predicted, np.cumsum([len(asked), *(len(rows) for _, rows in changed)])[:-1])
    whole = float(np.sum((target - target.mean()) ** 2))
    if not whole:
        return 0.0, np.zeros(len(groups))
    errors = (target - before) ** 2
    places = (at for at, _ in changed)
    lost = [float(np.sum((target[at] - new) ** 2 - errors[at])) / whole for at, new in zip(places, after, strict=True)]
    return 1 - float(errors.sum()) / whole, np.array(lost)


def _permuted(points: Array, group: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    at = np.flatnonzero(~np.isnan(points[:, group[0]]))
    rows = points[at]
    rows[:, group] = points[np.ix_(rng.permutation(at), group)]
    return at, rows


def _variable_importance(field: VariableColumns, points: Array, lost: Array) -> VariableImportance:
    variable = field.variable
    low, high = np.quantile(lost, SPAN)
    active = int(np.count_nonzero(~np.isnan(points[:, field.start])))
    is_decision = isinstance(variable.node, Choice)
    return VariableImportance(variable.address, is_decision, active, float(lost.mean()), float(low), float(high))


def _with_position(each: VariableImportance, axis: Axis) -> VariableImportance:
    middle, left, right = map(axis.position, (each.mean, each.low, each.high))
    return replace(each, middle=middle, left=left, right=right)
