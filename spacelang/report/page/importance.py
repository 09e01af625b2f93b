"""Which decisions and hyperparameters mattered: permutation importance of a random forest over the encoded trials.

Forests are fitted to two thirds of the trials, and asked for the ranks of the others: of ranks, as a few losses that
are far off would say all else. A variable's importance is by how much less of their variance is explained once its
values have changed places. They do so among the trials in which it is active only, and a decision takes all below it
along, so that no configuration arises that has the values of one alternative and is called another one; that is why
scikit-learn's `permutation_importance`, which permutes single columns in all rows, is not what is used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.codings.vectors import VectorCoding
from spacelang.ir.space import Choice
from spacelang.report.page.axes import Axis
from spacelang.surrogates.forest import Forest

if TYPE_CHECKING:
    from spacelang.codings.rows import Field
    from spacelang.draws.codes import Array
    from spacelang.report.page.material import Material

FEWEST: Final = 50
"""Trials without which nothing is said."""

MOST: Final = 900
"""Trials that forests are fitted to and asked for; of more, so many are drawn."""

REPEATS: Final = 10
"""Forests, each fitted to other trials, with one permutation of every variable each."""

TREES: Final = 20
"""Of a forest."""

FEATURES: Final = 0.2
"""The share of the columns that a split looks at: a third explains no more, and takes a third longer."""

HELD_OUT: Final = 1 / 3
"""The share of the trials that a forest is asked for."""

WEAK: Final = 0.1
"""Less than this share of the variance is next to nothing."""

SHOWN: Final = 15
"""So many variables are shown, those that mattered most first."""

SPAN: Final = (0.05, 0.95)
"""Of the repeats lies between the ends of an interval."""


@dataclass(frozen=True, slots=True)
class Mattering:
    """A variable: by how much less is explained without it, on the average and between which ends in most repeats.

    `middle`, `left` and `right` are where these lie on the axis of the picture, in percent.
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
    """What mattered, the most first; nothing where `trials`, those that succeeded, are too few, or none is explained.

    `explained` is the share of the variance of the held-out ranks that forests explain, `used` how many trials they
    were fitted to or asked for, `left` how many variables mattered less than those.
    """

    trials: int
    used: int = 0
    explained: float = 0.0
    rows: tuple[Mattering, ...] = ()
    left: int = 0
    repeats: int = REPEATS
    axis: Axis | None = None

    @property
    def are_too_few(self) -> bool:
        """Whether there are too few trials to say anything."""
        return self.trials < FEWEST

    @property
    def zero(self) -> float | None:
        """Where nothing lies on the axis, in percent."""
        return None if self.axis is None else self.axis.at(0.0)

    @property
    def is_weak(self) -> bool:
        """Whether forests explain so little that importances say next to nothing."""
        return self.explained < WEAK

    @property
    def percent(self) -> str:
        """The share that is explained; one that is worse than the average explains nothing."""
        return f"{100 * max(0.0, self.explained):.0f} %"


def importances(told: "Material") -> Importances | None:
    """What mattered in a run; None where its space is not known, or has nothing to decide."""
    members = told.members
    if told.space is None or not told.space.variables or members is None:
        return None
    known = np.flatnonzero(~np.isnan(members.losses))
    if len(known) < FEWEST:
        return Importances(len(known))
    # The same page for the same run: its seed says which trials are drawn.
    rng = np.random.default_rng(told.run.header.seed)
    used = np.sort(rng.choice(known, MOST, replace=False)) if len(known) > MOST else known
    points, fields = _encoded(told, used)
    ranks = _ranks(members.losses[used])
    groups = [_columns(field, fields) for field in fields]
    found = [_repeat(points, ranks, groups, rng) for _ in range(REPEATS)]
    lost = np.array([each for _, each in found])
    explained = float(np.mean([each for each, _ in found]))
    if explained <= 0:
        return Importances(len(known), len(used), explained)
    rows = [_mattering(field, points, lost[:, place]) for place, field in enumerate(fields)]
    rows.sort(key=lambda each: -each.mean)
    shown = rows[:SHOWN]
    axis = Axis(min(0.0, *(each.low for each in shown)), max(0.01, *(each.high for each in shown)))
    return Importances(len(known), len(used), explained, tuple(_placed(shown, axis)), len(rows) - len(shown), axis=axis)


def _encoded(told: "Material", used: "Array") -> "tuple[Array, Sequence[Field]]":
    """The points of some trials, and the fields of their variables; the last column has the rows of training."""
    assert told.space is not None
    assert told.members is not None
    coding = VectorCoding(told.space)
    requests = [told.members.records[row].trial.request for row in used]
    size = told.run.header.training_size
    shares = [[1.0 if each.fidelity is None or not size else each.fidelity / size] for each in requests]
    points = coding.encode([each.configuration for each in requests])
    return np.hstack([points, shares]), coding.fields


def _ranks(losses: "Array") -> "Array":
    """From 0 to 1; equal losses share the middle of their ranks."""
    _, place, counts = np.unique(losses, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[place] / len(losses))


def _columns(field: "Field", fields: "Sequence[Field]") -> "Array":
    """The columns of a variable, and of all that it decides about."""
    address = field.variable.address
    mine = [each for each in fields if each is field or any(owner == address for owner, _ in each.variable.owners)]
    return np.concatenate([np.arange(each.start, each.end) for each in mine])


def _repeat(
    points: "Array", ranks: "Array", groups: "Sequence[Array]", rng: np.random.Generator
) -> "tuple[float, Array]":
    """The share that a new forest explains of trials that it has not seen, and what each group is worth of it."""
    order = rng.permutation(len(points))
    held, fitted = np.split(order, [round(HELD_OUT * len(points))])
    forest = Forest(TREES, FEATURES).fitted(points[fitted], ranks[fitted], rng)
    asked, target = points[held], ranks[held]
    changed = [_changed(asked, group, rng) for group in groups]
    said, _ = forest.posterior(np.concatenate([asked, *(rows for _, rows in changed)]))
    before, *after = np.split(said, np.cumsum([len(asked), *(len(rows) for _, rows in changed)])[:-1])
    whole = float(np.sum((target - target.mean()) ** 2))
    if not whole:
        return 0.0, np.zeros(len(groups))
    errors = (target - before) ** 2
    lost = [
        float(np.sum((target[at] - new) ** 2 - errors[at])) / whole for (at, _), new in zip(changed, after, strict=True)
    ]
    return 1 - float(errors.sum()) / whole, np.array(lost)


def _changed(points: "Array", group: "Array", rng: np.random.Generator) -> "tuple[Array, Array]":
    """The rows in which the first column of a group is active, and these with the values of another one of them."""
    at = np.flatnonzero(~np.isnan(points[:, group[0]]))
    rows = points[at]
    rows[:, group] = points[np.ix_(rng.permutation(at), group)]
    return at, rows


def _mattering(field: "Field", points: "Array", lost: "Array") -> Mattering:
    variable = field.variable
    low, high = np.quantile(lost, SPAN)
    active = int(np.count_nonzero(~np.isnan(points[:, field.start])))
    is_decision = isinstance(variable.node, Choice)
    return Mattering(variable.address, is_decision, active, float(lost.mean()), float(low), float(high))


def _placed(rows: "Sequence[Mattering]", axis: Axis) -> Iterator[Mattering]:
    for each in rows:
        yield replace(each, middle=axis.at(each.mean), left=axis.at(each.low), right=axis.at(each.high))
