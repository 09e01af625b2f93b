"""Parameters of irace, made from the questions of a space: names, labels, ranges and conditions."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from spacelang.ir.domain import Categorical, Grid, Ordinal, Real, SimpleDomain, literal
from spacelang.ir.value import Value, is_number, to_python_scalar
from spacelang.reductions.case_splits import CaseSplit
from spacelang.reductions.space_questions import (
    DrawnPiece,
    FixedPiece,
    IndependentHyperparameterDraw,
    Question,
    Questions,
)
from spacelang.targets._exports import r_conditions as r
from spacelang.targets._exports.library_function_forms import case_label
from spacelang.text import unique_name

if TYPE_CHECKING:
    from random import Random

    from numpy.random import Generator

DIGITS: Final = 15  # The number of decimals to which irace rounds real numbers: its maximum
RESERVED: Final = {
    *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
    *("TRUE", "FALSE", "NULL", "Inf", "NaN", "NA", "T", "F", "c"),
    *("NA_integer_", "NA_real_", "NA_complex_", "NA_character_"),
}
"""Words of R, which cannot be names of parameters."""
MISSING: Final = ("NA", "<NA>")  # The words by which R writes a missing value
Kind = Literal["c", "o", "i", "r", "i,log", "r,log"]


@dataclass(frozen=True, slots=True)
class IraceParameter:
    """A parameter of irace. A categorical or ordinal parameter has `labels`, the others have `bounds`."""

    name: str
    question: Question
    kind: Kind
    labels: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0, 0)
    condition: str = r.ALWAYS

    @property
    def domain(self) -> str:
        """The values in the syntax of irace."""
        words = map(r.quoted, self.labels) if self.labels else map(r.number_text, self.bounds)
        return f"({', '.join(words)})"

    def encode(self, answer: Any) -> Value:
        """Return the irace value for an answer to the question."""
        if not self.labels:
            assert isinstance(self.question, DrawnPiece)
            return r.encode_number(self.question, answer)
        place = self.question.domain.index_of(answer) if isinstance(self.question, DrawnPiece) else answer
        return self.labels[place]

    def draw(self, rng: "Generator | Random") -> Value:
        """Draw a value like irace: uniformly, or uniformly on the log scale, and rounded."""
        if self.labels:
            return self.labels[int(rng.random() * len(self.labels))]
        (lower, upper), place = self.bounds, float(rng.random())
        if self.kind.startswith("i"):
            if self.kind == "i":
                return min(int(lower) + int(place * (int(upper) - int(lower) + 1)), int(upper))
            return min(int(math.exp(math.log(lower) + place * math.log((upper + 1) / lower))), int(upper))
        number = lower * (upper / lower) ** place if self.kind == "r,log" else lower + place * (upper - lower)
        return min(max(round(number, DIGITS), lower), upper)

    def decode(self, value: Any) -> Value:
        """Return the answer to the question for an irace value, which may be text; raise ValueError if invalid."""
        if self.labels:
            if value not in self.labels:
                raise ValueError(f"`{self.name}` is one of {', '.join(self.labels)}")
            place = self.labels.index(value)
            return self.question.domain.value_at(place) if isinstance(self.question, DrawnPiece) else place
        number = float(value) if isinstance(value, str) else to_python_scalar(value)
        if not is_number(number) or not self.bounds[0] <= number <= self.bounds[1]:
            raise ValueError(f"`{self.name}` is a number from {self.bounds[0]} to {self.bounds[1]}")
        assert isinstance(self.question, DrawnPiece)
        if isinstance(self.question.domain, Grid):
            if not r.is_drawn_as_rounded_real(self.question) and number != round(number):
                raise ValueError(f"`{self.name}` is an integer")
            return round(number)
        return r.scaling_of(self.question).decode(number)


def make_condition_writer(questions: Questions) -> r.RConditionWriter:
    """Return a writer of conditions that has the names and the labels of the parameters."""
    labels = {name: labels for name, question in questions.by_name.items() if (labels := _labels_of(question))}
    return r.RConditionWriter(questions, _parameter_names(questions.by_name), labels)


def make_parameter(name: str, asked: Question, labels: tuple[str, ...], condition: str) -> IraceParameter:
    """Return the parameter that answers a question; it has labels if the answers are listed."""
    if labels:
        is_ordered = isinstance(asked, DrawnPiece) and isinstance(asked.domain, Ordinal)
        return IraceParameter(name, asked, "o" if is_ordered else "c", labels, condition=condition)
    assert isinstance(asked, DrawnPiece)
    assert isinstance(asked.domain, Grid | Real)
    lower, upper = (r.encode_number(asked, end) for end in (asked.domain.least, asked.domain.greatest))
    is_real = isinstance(asked.domain, Real) or r.is_drawn_as_rounded_real(asked)
    kind: Kind = ("r,log" if is_real else "i,log") if asked.domain.log else ("r" if is_real else "i")
    return IraceParameter(name, asked, kind, bounds=(lower, upper), condition=condition)


def _parameter_names(questions: Mapping[str, Question]) -> dict[str, str]:
    """Return a name in the syntax of R for each question: letters, digits, dots and underscores."""
    found: dict[str, str] = {}
    for question in questions:
        word = re.sub(r"[^A-Za-z0-9._]+", "_", question).strip("_")
        if not word[:1].isalpha() or word in RESERVED:
            word = f"p_{word}"
        found[question] = unique_name(word, {*found.values()}, "_")
    return found


def _labels_of(question: Question) -> tuple[str, ...]:
    """Return the labels of a question with listed answers, without characters that irace interprets.

    Return none if the answers are numbers of a range.
    """
    match question:
        case CaseSplit():
            words = [case_label(question, case) for case in question.cases]
        case IndependentHyperparameterDraw():
            words = [literal(p.value) if isinstance(p, FixedPiece) else _kind_of(p.part) for p in question.pieces]
        case DrawnPiece(domain=Categorical(values=values)):
            words = [value if isinstance(value, str) else literal(value) for value in values]
        case _:
            return ()
    plain = [re.sub(r"[^A-Za-z0-9._+*/=<>-]+", "_", word).strip("_") or "value" for word in words]
    found: list[str] = []
    for word in plain:
        found.append(unique_name(f"{word}_" if word in MISSING else word, {*found}, "_"))
    return tuple(found)


def _kind_of(part: SimpleDomain) -> str:
    return "set" if isinstance(part, Categorical) else "integer" if isinstance(part, Grid) else "real"
