"""Trials as lines across the axes of the variables that mattered most: parallel coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spacelang.codings.rows import domain_of
from spacelang.codings.vectors import VectorCoding
from spacelang.ir.domain import Categorical, Domain, Grid, Real, parts
from spacelang.report.page.axes import Tick, axis_of, short
from spacelang.report.stored import shown_value

if TYPE_CHECKING:
    from spacelang.codings.rows import Field
    from spacelang.draws.codes import Array
    from spacelang.report.page.importance import Importances
    from spacelang.report.page.material import Material, MemberTrials

AXES: Final = 9
"""At most so many variables have an axis, beside the loss."""

BEST: Final = 60
"""So many of the best trials are drawn, and at most a tenth of all."""

OTHERS: Final = 240
"""So many of the others, evenly by their loss."""

FLOOR: Final = 88.0
"""Values lie above this height, in percent; below it, at the end, is what is not active."""

WIDEST: Final = 14
"""Characters of what is written at an axis."""

NAMES: Final = 8
"""An axis names at most so many values of a set; of more the first and the last."""


@dataclass(frozen=True, slots=True)
class Upright:
    """An axis: where it stands, in percent of the width, and what is written at it, as far as there is room.

    `whole` is the address of its variable, `owner` the alternative that the variable belongs to, if any.
    """

    at: float
    owner: str
    label: str
    whole: str
    ticks: tuple[Tick, ...]
    has_inactive: bool


@dataclass(frozen=True, slots=True)
class Parallel:
    """The picture: paths in units, the best trials apart; `best` and `others` are how many of `trials` are drawn."""

    axes: tuple[Upright, ...]
    best_path: str
    other_path: str
    best: int
    others: int
    trials: int


def parallel(told: "Material", mattering: "Importances | None") -> Parallel | None:
    """The successful trials on all rows; None where there are fewer than two, or nothing that varies."""
    members = told.members
    if told.space is None or members is None:
        return None
    whole = np.array([told.is_whole(each) for each in members.records])
    rows = np.flatnonzero(whole & ~np.isnan(members.losses))
    if len(rows) < 2:
        return None
    rows = rows[np.argsort(members.losses[rows], kind="stable")]
    best = min(BEST, max(1, len(rows) // 10))
    others = rows[best:]
    shown = others[np.unique(np.linspace(0, len(others) - 1, min(OTHERS, len(others))).round().astype(int))]
    drawn = np.concatenate([rows[:best], shown])
    fields, points = _places(told, members, drawn, mattering)
    if not fields:
        return None
    heights, loss = _heights(fields, points, members.losses[drawn])
    axes = [*(_upright(each, place, len(fields), points) for place, each in enumerate(fields)), loss]
    paths = [_path(row) for row in heights]
    return Parallel(tuple(axes), "".join(paths[:best]), "".join(paths[best:]), best, len(shown), len(rows))


def _places(
    told: "Material", members: "MemberTrials", drawn: "Array", mattering: "Importances | None"
) -> "tuple[Sequence[Field], Array]":
    """The fields of the variables that have an axis, in the order of the text, and all points of the drawn trials."""
    assert told.space is not None
    coding = VectorCoding(told.space)
    points = coding.encode([members.records[row].trial.request.configuration for row in drawn])
    active = {each.variable.address: np.count_nonzero(~np.isnan(points[:, each.start])) for each in coding.fields}
    found = () if mattering is None else mattering.rows
    order = {each.address: place for place, each in enumerate(found)}
    wanted = sorted((name for name in active if active[name]), key=lambda name: (order.get(name, 99), -active[name]))
    chosen = {*wanted[:AXES]}
    return [each for each in coding.fields if each.variable.address in chosen], points


def _heights(fields: "Sequence[Field]", points: "Array", losses: "Array") -> "tuple[Array, Upright]":
    """The heights of the lines at all axes, in percent from above, and the axis of the loss."""
    axis = axis_of([float(each) for each in losses])
    last = np.array([100 - axis.at(float(each)) for each in losses])
    columns = [_heights_of(each, points) for each in fields]
    ticks = tuple(Tick(100 - each.at, each.label) for each in axis.ticks)
    return np.column_stack([*columns, last]), Upright(100.0, "", "loss", "loss", ticks, has_inactive=False)


def _heights_of(field: "Field", points: "Array") -> "Array":
    """The parts of a union have bands of one height, one above the other; a single value lies in the middle of its."""
    several = field.coding.parts
    active = ~np.isnan(points[:, field.start])
    if len(several) == 1 and not field.coding.has_part:
        share = points[:, field.start]
    else:
        chosen = np.round(np.nan_to_num(points[:, field.start]) * (len(several) - 1)).astype(int)
        inside = np.full(len(points), 0.5)
        for place, column in field.coding.columns.items():
            inside = np.where(chosen == place, points[:, field.start + column], inside)
        share = (chosen + inside) / len(several)
    return np.where(active, FLOOR * (1 - np.nan_to_num(share)), 100.0)


def _upright(field: "Field", place: int, count: int, points: "Array") -> Upright:
    address = field.variable.address
    owners = [branch for _, branch in field.variable.owners]
    name = field.variable.node.name
    has_inactive = bool(np.isnan(points[:, field.start]).any())
    ticks = tuple(_ticks(domain_of(field.variable)))
    return Upright(100 * place / count, _cut(owners[-1] if owners else ""), _cut(name), address, ticks, has_inactive)


def _ticks(domain: Domain) -> list[Tick]:
    several = parts(domain)
    found = []
    for place, part in enumerate(several):
        for share, label in _ends(part):
            found.append(Tick(FLOOR * (1 - (place + share) / len(several)), _cut(label)))
    return found


def _ends(part: Categorical | Grid | Real) -> list[tuple[float, str]]:
    """What is written at a part, and where: values of small sets, else its ends."""
    match part:
        case Categorical():
            last = part.size - 1
            if not last:
                return [(0.5, shown_value(part.values[0]))]
            named = range(part.size) if part.size <= NAMES else (0, last)
            return [(place / last, shown_value(part.values[place])) for place in named]
        case Grid() | Real():
            if part.lower == part.upper:
                return [(0.5, short(float(part.lower)))]
            return [(0.0, short(float(part.lower))), (1.0, short(float(part.upper)))]


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _path(heights: "Array") -> str:
    count = len(heights) - 1
    points = (f"{round(1000 * place / count)} {round(10 * height)}" for place, height in enumerate(heights))
    return "M" + "L".join(points)
