"""Annotations, which guide a search but never change the set of configurations: reading and checking them."""

from collections.abc import Callable, Sequence
from typing import Final

from spacelang.analysis.diagnostic_collector import DiagnosticCollector
from spacelang.diagnostics.diagnostic import Related
from spacelang.diagnostics.names import UnknownAnnotation
from spacelang.diagnostics.structure import AnnotationArguments, MisplacedAnnotation
from spacelang.frozen import frozen
from spacelang.ir.prior import PRIORS, Prior, expected_arguments, make_prior, usage
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span

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
            problem, related = "is given twice", (Related(known[name].span, "the first one"),)
            report.add(
                MisplacedAnnotation(
                    annotation.span, name=name, problem=problem, reason="the second one", related=related
                )
            )
        elif (wanted := _CHECKS[name](annotation.arguments)) is not None:
            expected = f"expected {wanted}"
            report.add(
                AnnotationArguments(annotation.span, name=name, problem="has the wrong arguments", expected=expected)
            )
        else:
            known[name] = annotation
    return _annotation_values(known)


def span_of(name: str, annotations: Sequence[ast.Annotation]) -> Span:
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
