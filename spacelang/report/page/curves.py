"""The incumbent over time, of one run or of several that can be compared, and its score on test rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Final

from spacelang.report.page.axes import Axis, Times, axis_of, seconds, short, thinned, times_to

if TYPE_CHECKING:
    from spacelang.report.page.material import Material
    from spacelang.runtime.history import Improvement, Record

UNITS: Final = 1000
"""The side of the square in which lines are drawn, which is stretched to the picture."""

DOTS: Final = 800
"""At most so many trials are drawn as dots."""

COLOURS: Final = 6
DASHES: Final = 3
"""So many colours and kinds of lines there are."""

LINES: Final = 60
"""At most so many improvements are in the table of a curve."""


@dataclass(frozen=True, slots=True)
class Whisker:
    """A score on test rows: where it stands, in percent, with the ends of its interval where it has any."""

    at: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """The curve of a run: `number` says its colour, `path` is in units, `said` what it is in words."""

    number: int
    name: str
    path: str
    said: str
    rows: tuple[tuple[str, str, str], ...]
    place: float
    whisker: Whisker | None = None

    @property
    def look(self) -> str:
        """The classes of its colour and its dashes."""
        return look(self.number)


@dataclass(frozen=True, slots=True)
class Curves:
    """A picture of curves: `x` and `y` are its axes, `dots` the trials, those that break a bound apart."""

    x: Axis
    x_title: str
    y: Axis
    lines: tuple[Line, ...]
    dots: str = ""
    beyond: str = ""
    notes: tuple[str, ...] = ()


def look(number: int) -> str:
    """The classes of the colour and the dashes of a run: lines beyond the colours there are have dashes."""
    return f"c{(number - 1) % COLOURS + 1} k{(number - 1) // COLOURS % DASHES}"


def curve_of(told: "Material", number: int = 1) -> Curves | None:
    """The curve of a run over all its trials; None where no trial succeeded."""
    if not told.known:
        return None
    losses = [each.trial.loss for each in told.known if each.trial.loss is not None]
    x, y = _axes([told], median(losses), min(losses))
    shown = thinned(told.known, DOTS)
    inside = [each for each in shown if each.trial.loss is not None and y.has(each.trial.loss)]
    notes = []
    if len(shown) < len(told.known):
        notes.append(f"Dots are {len(shown):,} of {len(told.known):,} successful trials, evenly over time.")
    if len(inside) < len(shown):
        notes.append(f"{len(shown) - len(inside):,} dots would lie above the picture.")
    keeping, beyond = (
        _dots([each for each in inside if each.trial.is_feasible is kind], x, y) for kind in (True, False)
    )
    return Curves(x.axis, f"time in {x.unit}", y, (_line(told, number, x, y),), keeping, beyond, tuple(notes))


def curves_of(runs: "Sequence[tuple[int, Material]]") -> Curves | None:
    """The curves of several runs, each behind its number, on one picture; None where none has any."""
    some = [(number, told) for number, told in runs if told.run.curve]
    if not some:
        return None
    x, y = _axes([told for _, told in some])
    return Curves(x.axis, f"time in {x.unit}", y, tuple(_line(told, number, x, y) for number, told in some))


def _dots(records: "Sequence[Record]", x: Times, y: Axis) -> str:
    places = ((x.at(each.finished), y.at(each.trial.loss or 0.0)) for each in records)
    return "".join(f"M{_unit(at)} {UNITS - _unit(height)}h0" for at, height in places)


def _axes(runs: "Sequence[Material]", *more: float) -> tuple[Times, Axis]:
    curves = [told.run.curve for told in runs]
    ends = [told.summary.seconds for told in runs] + [each.seconds for curve in curves for each in curve]
    tests = [each.score for told in runs if (each := told.run.test) is not None]
    scores = [value for each in tests for value in (each.loss, each.low, each.high) if value is not None]
    losses = [each.loss for curve in curves for each in curve]
    return times_to(max(ends, default=1.0)), axis_of([*losses, *scores, *more])


def _line(told: "Material", number: int, x: Times, y: Axis) -> Line:
    curve, end = told.run.curve, told.summary.seconds
    found = told.run.test
    whisker = None
    if found is not None and found.score.loss is not None and isfinite(found.score.loss):
        score = found.score
        ends = (score.loss if value is None else value for value in (score.low, score.high))
        whisker = Whisker(*(100 - y.at(value) for value in (score.loss, *ends) if value is not None))
    rows = [(seconds(each.seconds), f"{each.trial}", short(each.loss)) for each in thinned(curve, LINES)]
    return Line(number, f"Run {number}", _steps(curve, end, x, y), _said(curve, end), tuple(rows), x.at(end), whisker)


def _steps(curve: "Sequence[Improvement]", end: float, x: Times, y: Axis) -> str:
    if not curve:
        return ""
    places = [(_unit(x.at(each.seconds)), UNITS - _unit(y.at(each.loss))) for each in curve]
    parts = [f"M{places[0][0]} {places[0][1]}"]
    for (_, before), (at, level) in pairwise(places):
        parts += [f"H{at}"] if level == before else [f"H{at}V{level}"]
    return "".join([*parts, f"H{_unit(x.at(end))}"])


def _unit(percent: float) -> int:
    return round(percent * UNITS / 100)


def _said(curve: "Sequence[Improvement]", end: float) -> str:
    if not curve:
        return "no trial that keeps to all bounds"
    first, last = curve[0], curve[-1]
    if len(curve) == 1:
        return f"the loss of the incumbent is {short(last.loss)} from {seconds(last.seconds)} on, to {seconds(end)}"
    falls = f"the loss of the incumbent falls from {short(first.loss)} to {short(last.loss)}"
    return f"{falls} in {len(curve)} steps, the last after {seconds(last.seconds)} of {seconds(end)}"
