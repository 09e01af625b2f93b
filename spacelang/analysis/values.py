"""Values as written to values as meant, judged by the parameter that takes them."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from spacelang.analysis.report import Report
from spacelang.catalog.catalogue import Catalogue, Parameter
from spacelang.catalog.catalogue import Operator as Entry
from spacelang.catalog.catalogues import Catalogues
from spacelang.catalog.packages import OWN
from spacelang.catalog.snapshot import SHIPPED, load
from spacelang.catalog.wording import spell
from spacelang.diagnostics.catalogues import AmbiguousOperator
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.names import UnknownOperator
from spacelang.diagnostics.parameters import NoOperatorExpected, RefusedParameter, RejectedValue
from spacelang.diagnostics.syntax import UnexpectedText
from spacelang.ir.domain import literal
from spacelang.ir.value import Value
from spacelang.suggest import nearest
from spacelang.syntax import ast
from spacelang.text import Span


class NoValue:
    """The answer for what cannot be a value; the reason is in the report."""


NO_VALUE = NoValue()


def plain(value: ast.Value, report: Report) -> Value | NoValue:
    """The literal that is written; an operator with a body is none."""
    match value:
        case ast.Number() | ast.Text() | ast.Keyword():
            return value.value
        case ast.Dotted():
            return value.text
        case ast.Tuple():
            items = [plain(item, report) for item in value.items]
            return NO_VALUE if any(isinstance(item, NoValue) for item in items) else tuple(items)  # type: ignore[arg-type]
        case ast.OperatorValue():
            report.add(misplaced_body(value))
            return NO_VALUE


def misplaced_body(value: ast.OperatorValue) -> UnexpectedText:
    """That an operator has a body where it is only named: in a default, a tuple, or what is compared with."""
    name = value.name.text
    hint = f"a body stands where an operator is an alternative; elsewhere it goes by its name: `{name}`"
    return UnexpectedText(primary=value.span, found=f"`{name} {{ … }}`", expected="a value", hint=hint)


_MEMBERS_STAY: Final = "none of the list can be left out: write the lists as alternatives, such as `(A & B) | A`"

_CONSTANTS: Final[Mapping[str, Value]] = {
    "yes": True,
    "on": True,
    "True": True,
    "no": False,
    "off": False,
    "False": False,
    "null": None,
    "nil": None,
    "None": None,
    "nothing": None,
}
"""What other languages call the three constants."""


def _meant(value: Value, written: str, parameter: Parameter) -> str | None:
    """The constant that a word stands for elsewhere, or the number that is written as another, where it is taken."""
    number = re.fullmatch(r'"?(-?\d{1,15})(?:\.0)?"?', written)
    if number is not None:
        meant: Value = int(number[1])
    elif isinstance(value, str) and value in _CONSTANTS:
        meant = _CONSTANTS[value]
    else:
        return None
    return spell(meant) if parameter.rejects(meant) is None else None


def judge(value: Value, span: Span, entry: Entry | None, parameter: Parameter | None, report: Report) -> bool:
    """Whether the parameter takes the value; where not, the reason is reported."""
    if entry is None or parameter is None:
        return True
    refusal = parameter.refusal(value)
    if refusal is not None:
        report.add(RefusedParameter(primary=span, operator=entry.name, parameter=parameter.name, reason=refusal))
        return False
    expected = parameter.rejects(value)
    if expected is None:
        return True
    report.add(
        RejectedValue(
            primary=span,
            operator=entry.name,
            parameter=parameter.name,
            value=literal(value),
            expected="expected operators" if parameter.several else f"expected {expected}",
            near=near_value(value, parameter.options) or _meant(value, span.text, parameter),
            hint=_MEMBERS_STAY if value is None and parameter.several else None,
            instead=f"{parameter.name} : A | B" if parameter.operators and _is_class(value) else None,
            notes=report.symbols.notes(report.symbols.within(span)),
        )
    )
    return False


def _is_class(value: Value) -> bool:
    """Whether a value looks like the name of an operator that was to stand for itself."""
    return isinstance(value, str) and value.isidentifier() and value[0].isupper()


def near_value(value: Value, known: Iterable[Value]) -> str | None:
    """The known value that a word was probably meant to be, as it is written; None where none is near."""
    if not isinstance(value, str):
        return None
    words = {word: literal(word) for word in known if isinstance(word, str)}
    keywords = {literal(word): literal(word) for word in known if word is None or isinstance(word, bool)}
    near = value if value in keywords else nearest(value, [*keywords, *words])
    return None if near is None else {**words, **keywords}[near]


class OperatorFinder:
    """Looks operators up; names of catalogues that were refused already are not reported once more."""

    def __init__(self, catalogue: Catalogue | Catalogues, report: Report) -> None:
        self.catalogue = catalogue if isinstance(catalogue, Catalogues) else Catalogues(catalogue)
        self.refused: set[str] = set()
        self._report = report

    def find(self, name: ast.Dotted, hint: str | None = None, others: Collection[str] = ()) -> Entry | None:
        """The operator of a name; where there is none, that is reported. `others` could stand there as well."""
        entry = self.catalogue.get(name.text)
        if entry is None and not self.is_refused(name):
            self._report.add(self._unknown(name, hint, others))
        return entry

    def foreign(self, name: ast.Dotted) -> Diagnostic | None:
        """What is wrong with a name that can only be one of another catalogue's; None where it could be any name."""
        is_full = len(name.words) > 1 and name.words[0].text in self.catalogue.used
        if is_full or self.catalogue.meanings(name.text) or self._elsewhere(name) is not None:
            return self._unknown(name, None, ())
        return None

    def is_refused(self, name: ast.Dotted) -> bool:
        """Whether a name is one of a refused catalogue."""
        return name.words[0].text in self.refused or self.catalogue.is_refused(name.text)

    def _unknown(self, name: ast.Dotted, hint: str | None, others: Collection[str]) -> Diagnostic:
        meanings = self.catalogue.meanings(name.text)
        if meanings:
            full = " or ".join(f"`{meaning}`" for meaning in meanings)
            return AmbiguousOperator(primary=name.span, name=name.text, full=full)
        elsewhere = self._elsewhere(name)
        near = None if elsewhere is not None or name.text in LEFT_OUT else self._near(name, others)
        hint = hint or elsewhere or ("write `none`: the step is left out" if name.text in LEFT_OUT else None)
        return UnknownOperator(primary=name.span, name=name.text, catalogue=self._title(name), hint=hint, near=near)

    def _elsewhere(self, name: ast.Dotted) -> str | None:
        """How an operator comes into sight that a shipped catalogue has and the file does not use; else None."""
        first, last = name.words[0].text, name.words[-1].text
        unused = (known for known in SHIPPED if known not in {OWN, *self.catalogue.used})
        home = next((known for known in unused if first in (last, known) and last in load(known)), None)
        return None if home is None else f"it is an operator of {SHIPPED[home]}: write `use {home}`"

    def _title(self, name: ast.Dotted) -> str:
        first = name.words[0].text
        if len(name.words) > 1 and first in self.catalogue.used:
            return TITLES.get(first, first)
        *others, last = (TITLES.get(known, known) for known in (self.catalogue.name, *self.catalogue.used))
        return f"{', '.join(others)} or {last}" if others else last

    def _near(self, name: ast.Dotted, others: Collection[str]) -> str | None:
        first, last = name.words[0].text, name.words[-1].text
        of_used = self.catalogue.used.get(first) if len(name.words) > 1 else None
        if of_used is not None:
            near = last if last in of_used else nearest(last, of_used)
            return None if near is None else f"{first}.{near}"
        whole = next((each for each in (last, f"{last}Classifier", f"{last}Regressor") if each in self.catalogue), None)
        if whole is not None:
            return whole
        if len(self._report.found) >= ENOUGH:
            return None
        return nearest(last, others) or nearest(last, self.catalogue)


LEFT_OUT: Final = frozenset({"passthrough", "nothing", "null", "identity", "Identity", "skip", "drop", "noop", "off"})
"""What other tools call an alternative that leaves its step out."""

ENOUGH: Final = 500
"""After so many problems names are no longer suggested: nobody reads so far, and a check must not take long."""

TITLES: Final = {
    "sklearn": "scikit-learn",
    "imblearn": "imbalanced-learn",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
}
"""What catalogues are called in messages, where not by the name of their package."""


def judge_operator(inner: Entry, span: Span, entry: Entry | None, parameter: Parameter | None, report: Report) -> bool:
    """Whether the parameter takes this operator as its value; where not, the reason is reported."""
    if entry is None or parameter is None:
        return True
    expected = entry.rejects_operator(parameter, inner)
    if expected is not None:
        report.add(
            NoOperatorExpected(
                primary=span,
                operator=entry.name,
                parameter=parameter.name,
                expected=f"expected {expected}",
                kind="such operator" if parameter.operators or parameter.several else "operator",
            )
        )
    return expected is None
