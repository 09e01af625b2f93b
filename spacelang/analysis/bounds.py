"""The bounds that a task sets with `subject to`: a measure and its limit."""

from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.analysis.scorers import ScorerReader
from spacelang.diagnostics.tasks import BoundForm, SettingOutOfRange, UnknownMeasure, WrongUnit
from spacelang.ir.task import BYTES, SECONDS, Bound, Measure, to_base_unit
from spacelang.suggest import nearest_name
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_expression

MEASURES: Final = tuple(measure.value for measure in Measure)

SYNONYMS: Final[Mapping[str, Measure]] = {
    "inference_time": Measure.LATENCY,
    "latency": Measure.LATENCY,
    "prediction_time": Measure.LATENCY,
    "fairness": Measure.DISPARITY,
    "model_size": Measure.SIZE,
    "size": Measure.SIZE,
}
"""Synonyms of the measures."""

_MIRRORED: Final = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}


class BoundReader:
    """A reader of the expressions after `subject to`."""

    def __init__(self, scorers: ScorerReader, report: DiagnosticCollector) -> None:
        self._scorers = scorers
        self._report = report

    def read(self, written: ast.Expression) -> Bound | None:
        """Return the bound that an expression states, or None after reporting why it states none."""
        match written:
            case ast.Binary(relation, left, right) if relation in _MIRRORED or relation in ("==", "!="):
                pass
            case ast.Logical():
                problem, remedy = "a constraint bounds one measure", "write one `subject to` line for each measure"
                self._report.add(BoundForm(primary=written.span, problem=problem, remedy=remedy))
                return None
            case _:
                remedy = "write `subject to MEASURE <= NUMBER`"
                self._report.add(BoundForm(primary=written.span, problem="this is not a bound", remedy=remedy))
                return None
        if _is_number(left) and not _is_number(right):
            left, right, relation = right, left, _MIRRORED.get(relation, relation)
        measure = self._measure(left)
        if measure is None:
            return None
        if relation not in ("<=", "<"):
            shown = spell_expression(left)
            problem = f"`{shown}` can only be bounded from above"
            self._report.add(BoundForm(primary=written.span, problem=problem, remedy=f"write `{shown} <= …`"))
            return None
        scorer, column = self._arguments(left) if measure is Measure.DISPARITY else ("", "")
        limit = self._limit(measure, right)
        if scorer is None or column is None or limit is None:
            return None
        if limit < 0 or (limit == 0 and (measure is not Measure.DISPARITY or relation == "<")):
            problem = f"no pipeline can satisfy `{spell_expression(written)}`"
            expected = (
                "a bound of at least 0"
                if measure is Measure.DISPARITY and relation == "<="
                else "a bound greater than 0"
            )
            self._report.add(SettingOutOfRange(primary=right.span, problem=problem, expected=expected))
            return None
        return Bound(measure, limit, relation == "<", scorer, column, written.span)

    def _measure(self, written: ast.Expression) -> Measure | None:
        match written:
            case ast.DottedName(text=name):
                place = written.span
            case ast.FunctionCall(function=ast.Word(text=name, span=place)):
                pass
            case _:
                remedy = "write `subject to MEASURE <= NUMBER`"
                self._report.add(BoundForm(primary=written.span, problem="this is not a measure", remedy=remedy))
                return None
        if name not in MEASURES:
            near = SYNONYMS.get(name.lower(), nearest_name(name, MEASURES))
            self._report.add(UnknownMeasure(primary=place, name=name, near=near))
            return None
        measure = Measure(name)
        takes_arguments = measure is Measure.DISPARITY
        if takes_arguments is isinstance(written, ast.FunctionCall):
            return measure
        problem = f"`{name}` needs arguments" if takes_arguments else f"`{name}` takes no arguments"
        remedy = "write `disparity(scorer, column)`" if takes_arguments else f"write `{name}`"
        self._report.add(BoundForm(primary=written.span, problem=problem, remedy=remedy))
        return None

    def _arguments(self, written: ast.Expression) -> tuple[str | None, str | None]:
        """Return the scorer and the column of a `disparity`, or None for each after reporting a mistake."""
        assert isinstance(written, ast.FunctionCall)
        match written.arguments:
            case (ast.DottedName() as scorer, ast.DottedName(text=column) | ast.Text(value=column)):
                return self._scorers.read(scorer), column
            case _:
                problem = "`disparity` takes a scorer and a column of the data"
                remedy = "write `disparity(roc_auc, age_group)`, or the column in quotes"
                self._report.add(BoundForm(primary=written.span, problem=problem, remedy=remedy))
                return None, None

    def _limit(self, measure: Measure, written: ast.Expression) -> float | None:
        match written:
            case ast.Quantity(number, unit) if unit in _units(measure):
                value = to_base_unit(number, _units(measure)[unit])
                # A size is a whole number of bytes.
                value = float(round(value)) if measure is Measure.SIZE and isfinite(value) else value
            case ast.Number(value) if measure is Measure.DISPARITY:
                value = float(value)
            case ast.Unary("-", ast.Number() | ast.Quantity()):
                return -1.0
            case ast.Number() | ast.Quantity():
                self._report.add(_wrong_unit(measure, written))
                return None
            case _:
                self._report.add(BoundForm(primary=written.span, problem="this bound is not a number"))
                return None
        if isfinite(value):
            return value
        self._report.add(BoundForm(primary=written.span, problem="this bound is not finite"))
        return None


def _is_number(written: ast.Expression) -> bool:
    return isinstance(written, ast.Number | ast.Quantity | ast.Unary)


def _units(measure: Measure) -> Mapping[str, Fraction]:
    return {Measure.LATENCY: SECONDS, Measure.SIZE: BYTES, Measure.DISPARITY: {}}[measure]


def _wrong_unit(measure: Measure, written: ast.Number | ast.Quantity) -> WrongUnit:
    expected, remedy = {
        Measure.LATENCY: ("a duration", "write a time for a row, such as `10us` or `2ms`"),
        Measure.SIZE: ("a size", "write a size such as `500kB` or `2MB`"),
        Measure.DISPARITY: ("a difference of scores", "write a number without a unit, such as `0.1`"),
    }[measure]
    reason = f"`{measure}` is {expected}"
    shown = spell_expression(written)
    return WrongUnit(primary=written.span, quantity=shown, expected=expected, reason=reason, remedy=remedy)
