"""The task: what a search over a space is to reach, how it judges trials, and what it may spend.

Spans are there for messages and left out of comparisons, as in the rest of the tree.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from math import inf, isfinite
from typing import ClassVar, Final, Literal, TypeAlias, assert_never

from spacelang.ir.domain import literal
from spacelang.text import NOWHERE, Span

Kind: TypeAlias = Literal["classification", "regression"]


NEGATED: Final = "neg_"
"""How the names of scorers begin whose score is an error with the sign turned."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A scorer that is minimised or maximised, or 1 minus it where `from_one` is true."""

    direction: Literal["minimize", "maximize"]
    scorer: str
    from_one: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def formula(self) -> str:
        """What is minimised or maximised, as the language writes it."""
        return f"1 - {self.scorer}" if self.from_one else self.scorer


class Measure(StrEnum):
    """What a constraint on trials is about, beside their loss."""

    LATENCY = "predict_latency"
    """Seconds that a prediction takes for each row."""
    SIZE = "pickled_size"
    """Bytes of the fitted pipeline when it is pickled."""
    DISPARITY = "disparity"
    """The largest minus the smallest score among the groups of rows that a column forms."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`subject to MEASURE <= limit`: `limit` in seconds, bytes or the unit of the score; `strict` is `<`.

    `scorer` and `column` are those of a disparity, empty for the other measures.
    """

    measure: Measure
    limit: float
    strict: bool = False
    scorer: str = ""
    column: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def name(self) -> str:
        """What is measured, as the language writes it: `predict_latency`, `disparity(roc_auc, age)`."""
        if self.measure is Measure.DISPARITY:
            return f"{self.measure.value}({self.scorer}, {literal(self.column)})"
        return self.measure.value

    def describe(self, value: float) -> str:
        """A value of the measure in the unit in which it is shortest."""
        match self.measure:
            case Measure.LATENCY:
                return quantity(value, SECONDS)
            case Measure.SIZE:
                return quantity(value, BYTES)
            case Measure.DISPARITY:
                return positional(value)
            case _:
                assert_never(self.measure)

    def holds(self, measured: float) -> bool:
        """Whether a measured value keeps to the bound; what could not be measured (nan) does not."""
        return measured < self.limit if self.strict else measured <= self.limit


@dataclass(frozen=True, slots=True)
class FunctionBound:
    """`limit` on what a function gives that a user of the Python interface wrote, and calls by this name.

    No text says it: a `Task` has none of them. The function itself is not here, as bounds go wherever trials go.
    """

    name: str
    limit: float
    strict: ClassVar[bool] = False

    def describe(self, value: float) -> str:
        """A value of the function; infinity is `inf`."""
        return repr(float(value)).removesuffix(".0")

    def holds(self, measured: float) -> bool:
        """Whether a value keeps to the bound; what is not a number does not."""
        return measured <= self.limit


AnyBound: TypeAlias = Bound | FunctionBound
"""What a run can be subject to."""


@dataclass(frozen=True, slots=True)
class Holdout:
    """One split: the share of the rows that is held out, between 0 and 1."""

    share: float


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """So many splits, 2 or more, each row held out in exactly one of them."""

    folds: int


@dataclass(frozen=True, slots=True)
class Given:
    """The splits that the data brings along: how many, from where, and a hash that tells their rows from others."""

    folds: int
    source: str
    digest: str


Declared: TypeAlias = Holdout | CrossValidation
"""What a task block can say."""

Validation: TypeAlias = Declared | Given
"""On which rows trials are judged."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Training rows as a resource: `first` for a first training, and by which `factor` they grow from one to the next.

    They are b and eta of the optimizers that train on growing data.
    """

    first: int
    factor: float
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a single trial and a whole run may take: seconds and bytes; None is no limit."""

    trial_seconds: float | None = None
    trial_bytes: float | None = None
    run_seconds: float | None = None


UNLIMITED: Final = Limits()


@dataclass(frozen=True, slots=True)
class Task:
    """A checked task block; what it does not say is None or empty, and up to whoever runs the search."""

    kind: Kind
    goal: Goal | None = None
    bounds: tuple[Bound, ...] = ()
    validation: Declared | None = None
    fidelity: Fidelity | None = None
    limits: Limits = UNLIMITED
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---- units and text


SECONDS: Final[Mapping[str, Fraction]] = {
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "min": Fraction(60),
    "m": Fraction(60),
    "h": Fraction(3600),
}
"""The units of time."""

BYTES: Final[Mapping[str, Fraction]] = {
    "kB": Fraction(10**3),
    "KB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "TB": Fraction(10**12),
}
"""The units of size."""

LARGEST: Final = Fraction(sys.float_info.max)


def in_unit(number: float, unit: Fraction) -> float:
    """The number of seconds or bytes: the float nearest to what the author wrote, infinity beyond all floats."""
    if not isfinite(number):
        return number
    # Decimal digits mean themselves: 10us is 1e-05 s, and not what the float next to a millionth gives.
    exact = Fraction(repr(number)) * unit
    return float(exact) if exact <= LARGEST else inf


def quantity(value: float, units: Mapping[str, Fraction]) -> str:
    """Seconds or bytes, without a fraction if that can be, in the unit in which they are shortest.

    The language reads exactly the same value again.
    """
    # Of two names of a unit the first.
    names = {factor: name for name, factor in reversed([*units.items()])}
    written = [(positional(float(Fraction(repr(value)) / factor)), names[factor]) for factor in units.values()]
    exact = [f"{number}{name}" for number, name in written if in_unit(float(number), units[name]) == value]
    # Petabytes with all their bytes are beyond what floats divide exactly: there the nearest number must do.
    return min(exact or ["".join(parts) for parts in written], key=lambda text: ("." in text, len(text)))


def positional(number: float) -> str:
    """A number without an exponent and without a needless fraction: `0.00001`, `30`."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def lines(task: Task) -> tuple[str, ...]:
    """What stands between the braces of the task block, as the language writes it."""
    found = [] if task.goal is None else [f"{task.goal.direction} {task.goal.formula}"]
    found.extend(f"subject to {describe_bound(bound)}" for bound in task.bounds)
    if task.validation is not None:
        found.append(f"validate {describe_validation(task.validation)}")
    if task.fidelity is not None:
        found.append(f"fidelity samples from {task.fidelity.first} by {positional(task.fidelity.factor)}")
    return (*found, *describe_limits(task.limits))


def describe_bound(bound: AnyBound) -> str:
    """A bound as the language writes it: `predict_latency <= 10us`; that of a function likewise: `leaves <= 100`."""
    return f"{bound.name} {'<' if bound.strict else '<='} {bound.describe(bound.limit)}"


def read_bound(text: str) -> AnyBound:
    """The bound that `describe_bound` has made a text of; raises ValueError for any other text."""
    found = re.fullmatch(r"(.+) (<=?) (\d\S*|inf)", text, re.DOTALL)
    if found is None:
        raise ValueError(f"`{text}` is no bound")
    name, sign, limit = found.groups()
    if name == Measure.LATENCY.value:
        return Bound(Measure.LATENCY, _seconds_or_bytes(limit, SECONDS), sign == "<")
    if name == Measure.SIZE.value:
        return Bound(Measure.SIZE, _seconds_or_bytes(limit, BYTES), sign == "<")
    if (groups := re.fullmatch(rf"{Measure.DISPARITY.value}\((\w+), (.+)\)", name, re.DOTALL)) is not None:
        scorer, column = groups.groups()
        # What is quoted has the escapes of JSON, and characters that JSON would have as escapes.
        said = json.loads(column, strict=False) if column.startswith('"') else column
        return Bound(Measure.DISPARITY, float(limit), sign == "<", scorer, said)
    return FunctionBound(name, float(limit))


def _seconds_or_bytes(text: str, units: Mapping[str, Fraction]) -> float:
    number = text.rstrip("abcdefghijklmnopqrstuvwxyzBGKMT")
    return in_unit(float(number), units[text[len(number) :]])


def describe_validation(validation: Validation) -> str:
    """A validation as the language writes it: `holdout(0.3)`, `cv(5)`; it has no words for splits that are given."""
    match validation:
        case Holdout(share):
            return f"holdout({positional(share)})"
        case CrossValidation(folds):
            return f"cv({folds})"
        case Given(folds, source, digest):
            number = "the split" if folds == 1 else f"the {folds} splits"
            return f"{number} of {source} (rows {digest})"
        case _:
            assert_never(validation)


def judged_on(validation: Validation) -> str:
    """On which rows a loss was measured, for people, to stand behind its formula: ` on 30 % of the rows, held out`."""
    match validation:
        case Holdout(share):
            return f" on {positional(float(f'{share * 100:.6g}'))} % of the rows, held out"
        case CrossValidation(folds):
            return f", mean over {folds} folds"
        case Given(folds, source):
            several = f", mean over the {folds} splits of {source}"
            return several if folds > 1 else f" on the rows that {source} holds out"
        case _:
            assert_never(validation)


def describe_limits(limits: Limits) -> Iterator[str]:
    """The lines that limit trials and runs, in this order, as the language writes them."""
    trial = [quantity(limits.trial_seconds, SECONDS)] if limits.trial_seconds is not None else []
    trial += [quantity(limits.trial_bytes, BYTES)] if limits.trial_bytes is not None else []
    if trial:
        yield f"limit trial {' '.join(trial)}"
    if limits.run_seconds is not None:
        yield f"limit run {quantity(limits.run_seconds, SECONDS)}"
