"""Literal values, names of operators and annotations: what they stand for."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.catalog.catalogue import Catalogue, CatalogueEntry, FileCatalogues
from spacelang.catalog.snapshot import BUNDLED, load_catalogue
from spacelang.diagnostics.diagnostic import Diagnostic, RelatedPlace
from spacelang.diagnostics.names import UnknownAnnotation, UnknownOperator
from spacelang.diagnostics.parameters import AmbiguousOperator
from spacelang.diagnostics.reading import UnexpectedText
from spacelang.diagnostics.structure import MisplacedAnnotation, WrongAnnotationArguments
from spacelang.frozen import frozen
from spacelang.ir.domain import literal
from spacelang.ir.prior import PRIORS, Prior, expected_arguments, make_prior, usage
from spacelang.ir.space import DEFAULT_CATALOGUE
from spacelang.ir.value import Value
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span


class InvalidValue:
    """The type of `NO_VALUE`, which stands for an expression that is not a value, after a diagnostic was added."""


NO_VALUE = InvalidValue()


def literal_value(value: ast.Value, report: DiagnosticCollector) -> Value | InvalidValue:
    """Return the value of a literal, or `NO_VALUE` after reporting an operator with a body."""
    match value:
        case ast.Number() | ast.QuotedString() | ast.NamedConstant():
            return value.value
        case ast.DottedName():
            return value.text
        case ast.TupleLiteral():
            items = [literal_value(item, report) for item in value.items]
            return NO_VALUE if any(isinstance(item, InvalidValue) for item in items) else tuple(items)  # type: ignore[arg-type]
        case ast.OperatorValue():
            report.add(misplaced_body_diagnostic(value))
            return NO_VALUE


def misplaced_body_diagnostic(value: ast.OperatorValue) -> UnexpectedText:
    """Return the diagnostic of an operator's body in a default, tuple or comparison, where only a name may be."""
    name = value.name.text
    hint = f"only alternatives can have a body: write the name alone, `{name}`"
    return UnexpectedText(value.span, found=f"`{name} {{ … }}`", expected="a value", hint=hint)


def suggest_value(value: Value, known: Iterable[Value]) -> str | None:
    """Return the known value that a word was probably meant to be, as it is written, or None."""
    if not isinstance(value, str):
        return None
    words = {word: literal(word) for word in known if isinstance(word, str)}
    keywords = {literal(word): literal(word) for word in known if word is None or isinstance(word, bool)}
    near = value if value in keywords else nearest_name(value, [*keywords, *words])
    return None if near is None else {**words, **keywords}[near]


class OperatorFinder:
    """A lookup of operators by name. Names of refused catalogues are not reported a second time."""

    def __init__(self, catalogue: Catalogue | FileCatalogues, report: DiagnosticCollector) -> None:
        self.catalogue = catalogue if isinstance(catalogue, FileCatalogues) else FileCatalogues(catalogue)
        self._report = report

    def find(
        self, name: ast.DottedName, hint: str | None = None, others: Collection[str] = ()
    ) -> CatalogueEntry | None:
        """Return the catalogue entry of an operator, or None if the name is unknown.

        An unknown name is reported, unless it belongs to a refused catalogue.

        The remedy is `hint` if it is given, else the nearest name of an operator or of `others`.
        """
        entry = self.catalogue.get(name.text)
        if entry is None and not self.is_in_refused_catalogue(name):
            self._report.add(self._unknown_diagnostic(name, hint, others))
        return entry

    def other_catalogue_diagnostic(self, name: ast.DottedName) -> Diagnostic | None:
        """Return a diagnostic for a name that the author must have meant as an operator, else None.

        That is a full name in a used catalogue, a name that several used catalogues have, or a name in a bundled
        catalogue that is not in use.
        """
        is_full = len(name.words) > 1 and name.words[0].text in self.catalogue.used
        if is_full or self.catalogue.full_names(name.text) or self._use_hint(name) is not None:
            return self._unknown_diagnostic(name, None, ())
        return None

    def is_in_refused_catalogue(self, name: ast.DottedName) -> bool:
        """Return True if a name belongs to a refused catalogue."""
        return self.catalogue.is_in_refused_catalogue(name.text)

    def _unknown_diagnostic(self, name: ast.DottedName, hint: str | None, others: Collection[str]) -> Diagnostic:
        meanings = self.catalogue.full_names(name.text)
        if meanings:
            full = " or ".join(f"`{meaning}`" for meaning in meanings)
            return AmbiguousOperator(name.span, name=name.text, full=full)
        elsewhere = self._use_hint(name)
        near = None if elsewhere is not None or name.text in NONE_SYNONYMS else self._near(name, others)
        hint = hint or elsewhere or ("write `none` to leave the step out" if name.text in NONE_SYNONYMS else None)
        if hint is None and near is None:
            hint = self.package_hint(name, others)
        return UnknownOperator(name.span, name=name.text, catalogue=self._title(name), hint=hint, near=near)

    def _use_hint(self, name: ast.DottedName) -> str | None:
        first, last = name.words[0].text, name.words[-1].text
        unused = (known for known in BUNDLED if known not in {DEFAULT_CATALOGUE, *self.catalogue.used})
        home = next((known for known in unused if first in (last, known) and last in load_catalogue(known)), None)
        return None if home is None else f"it is an operator of {BUNDLED[home]}: write `use {home}`"

    def package_hint(self, name: ast.DottedName, others: Collection[str]) -> str | None:
        """Return how to use the package that a dotted name may begin with.

        Return None for a plain name, and for one that begins with a package in use or one of `others`.
        """
        first, last = name.words[0].text, name.words[-1].text
        known = {DEFAULT_CATALOGUE, *self.catalogue.used, *others}
        if len(name.words) == 1 or first in known or not first.isidentifier():
            return None
        called = f" and `{first}.{last}`" if len(name.words) > 2 else ""
        return f"if the package `{first}` exports `{last}`, write `use {first}`{called}"

    def _title(self, name: ast.DottedName) -> str:
        first = name.words[0].text
        if len(name.words) > 1 and first in self.catalogue.used:
            return TITLES.get(first, first)
        *others, last = (TITLES.get(known, known) for known in (self.catalogue.default_name, *self.catalogue.used))
        return f"{', '.join(others)} or {last}" if others else last

    def _near(self, name: ast.DottedName, others: Collection[str]) -> str | None:
        first, last = name.words[0].text, name.words[-1].text
        of_used = self.catalogue.used.get(first) if len(name.words) > 1 else None
        if of_used is not None:
            near = last if last in of_used else nearest_name(last, of_used)
            return None if near is None else f"{first}.{near}"
        whole = next((each for each in (last, f"{last}Classifier", f"{last}Regressor") if each in self.catalogue), None)
        if whole is not None:
            return whole
        if len(self._report.found) >= MAX_PROBLEMS_WITH_SUGGESTIONS:
            return None
        return nearest_name(last, others) or nearest_name(last, self.catalogue)


NONE_SYNONYMS: Final = frozenset(
    {"passthrough", "nothing", "null", "identity", "Identity", "skip", "drop", "noop", "off"}
)
MAX_PROBLEMS_WITH_SUGGESTIONS: Final = 500
"""After this many problems names are no longer suggested, to keep the check fast."""
TITLES: Final = {
    "sklearn": "scikit-learn", "imblearn": "imbalanced-learn", "lightgbm": "LightGBM", "catboost": "CatBoost",
}  # fmt: skip


MARKED_CONSTRUCTS: Final = {
    "default": "alternatives", "weight": "alternatives", "first": "stages", "split": "hyperparameters",
    "prior": "hyperparameters",
}  # fmt: skip
"""The constructs that each annotation marks."""


@frozen
class AnnotationValues:
    """The values of the annotations at one place of a text."""

    default: bool = False
    first: bool = False
    weight: float = 1.0
    split: int | None = None
    prior: Prior | None = None


def read_annotations(
    annotations: Sequence[ast.Annotation], place: str, report: DiagnosticCollector
) -> AnnotationValues:
    """Return the annotations at a place and report mistakes; `place` is what they mark, as in `MARKED_CONSTRUCTS`."""
    known: dict[str, ast.Annotation] = {}
    for annotation in annotations:
        name = annotation.name.text
        if name not in MARKED_CONSTRUCTS:
            near = nearest_name(name, MARKED_CONSTRUCTS)
            at = Span(annotation.span.source, annotation.span.start, annotation.name.span.end)
            report.add(UnknownAnnotation(at, name=name, near=f"@{near}" if near else None))
        elif MARKED_CONSTRUCTS[name] != place:
            problem, reason = f"cannot mark {place}", f"it marks {MARKED_CONSTRUCTS[name]}"
            is_default = name == "default" and place == "hyperparameters"
            value = annotation.arguments[0].span.text if annotation.arguments else "…"
            hint = f"the default of a hyperparameter follows `=`: write `= {value}`" if is_default else None
            report.add(MisplacedAnnotation(annotation.span, name=name, problem=problem, reason=reason, hint=hint))
        elif name in known:
            problem, related = "is given twice", (RelatedPlace(known[name].span, "the first one"),)
            report.add(
                MisplacedAnnotation(
                    annotation.span, name=name, problem=problem, reason="the second one", related=related
                )
            )
        elif (wanted := _CHECKS[name](annotation.arguments)) is not None:
            expected = f"expected {wanted}"
            report.add(
                WrongAnnotationArguments(
                    annotation.span, name=name, problem="has the wrong arguments", expected=expected
                )
            )
        else:
            known[name] = annotation
    return _annotation_values(known)


def span_of_annotation(name: str, annotations: Sequence[ast.Annotation]) -> Span:
    """Return the span of the first annotation with a name."""
    return next(annotation.span for annotation in annotations if annotation.name.text == name)


def _annotation_values(known: dict[str, ast.Annotation]) -> AnnotationValues:
    weight = known.get("weight")
    split = known.get("split")
    prior = known.get("prior")
    return AnnotationValues(
        default="default" in known,
        first="first" in known,
        weight=_numbers(weight.arguments)[0] if weight else 1.0,
        split=int(_numbers(split.arguments)[0]) if split else None,
        prior=make_prior(_word(prior.arguments[0]), _numbers(prior.arguments[1:])) if prior else None,
    )


def _check_no_arguments(arguments: Sequence[ast.Value]) -> str | None:
    return "no arguments" if arguments else None


def _check_weight(arguments: Sequence[ast.Value]) -> str | None:
    numbers = _numbers(arguments)
    return None if len(arguments) == len(numbers) == 1 and numbers[0] > 0 else "one number greater than 0"


def _check_split(arguments: Sequence[ast.Value]) -> str | None:
    numbers = _numbers(arguments)
    sound = len(arguments) == len(numbers) == 1 and numbers[0] >= 1 and float(numbers[0]).is_integer()
    return None if sound else "one whole number of at least 1"


def _check_prior(arguments: Sequence[ast.Value]) -> str | None:
    name, numbers = _word(arguments[0]) if arguments else "", _numbers(arguments[1:])
    if name in PRIORS and len(numbers) < len(arguments) - 1:
        return usage(PRIORS[name])
    return expected_arguments(name, numbers)


_CHECKS: Final[dict[str, Callable[[Sequence[ast.Value]], str | None]]] = {
    "default": _check_no_arguments, "first": _check_no_arguments, "weight": _check_weight, "split": _check_split,
    "prior": _check_prior,
}  # fmt: skip


def _numbers(arguments: Sequence[ast.Value]) -> list[float]:
    return [argument.value for argument in arguments if isinstance(argument, ast.Number)]


def _word(argument: ast.Value) -> str:
    return argument.text if isinstance(argument, ast.DottedName) else ""
