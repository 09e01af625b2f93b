"""Validations: how the rows of a table are split into training and held-out rows, and their syntax."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from spacelang.ir.domain import literal
from spacelang.spelling_suggestions import nearest_name
from spacelang.text import format_number


@dataclass(frozen=True, slots=True)
class Holdout:
    """A single split that holds out a fraction `share` of the rows, between 0 and 1.

    The rows are drawn at random, by default one by one. With the column `group`, rows of equal value stay together.
    With the column `by`, the latest rows are held out; `keep` is True if that column is also a feature.
    """

    share: float
    group: str | None = None
    by: str | None = None
    keep: bool = False


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Cross-validation with `folds` splits, at least 2; each row is held out exactly once.

    Rows with equal values in the column `group` are in the same fold.
    """

    folds: int
    group: str | None = None


@dataclass(frozen=True, slots=True)
class TimeSeriesSplits:
    """Splits in the order of the column `by`: each of `folds` periods is held out, and earlier rows train.

    The first period is never held out. `keep` is True if the column is also a feature.
    """

    folds: int
    by: str
    keep: bool = False


@dataclass(frozen=True, slots=True)
class PredefinedSplits:
    """Predefined splits that come with the data: their number, their source, and a hash of their rows."""

    folds: int
    source: str
    digest: str


DeclaredValidation: TypeAlias = Holdout | CrossValidation | TimeSeriesSplits
Validation: TypeAlias = DeclaredValidation | PredefinedSplits

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "holdout": ("group", "by", "keep"),
    "cv": ("group",),
    "time": ("by", "keep"),
}
"""The kinds of declared validations by name, with their options."""
SPLITTER_HELP: Final = "in Python, `sl.search(validate=SPLITTER, groups=…)` takes a splitter of your own that does both"
"""The remedy for a split that is to keep groups together and to follow time."""
VALIDATION_EXAMPLES: Final = "`holdout(0.3)`, `cv(5)`, `cv(5, group=COLUMN)` or `time(5, by=COLUMN)`"
WordOption: TypeAlias = tuple[str, str | None]  # An option as written: its name, and its value if it has one


def group_column(validation: Validation | None) -> str | None:
    """Return the column whose equal values keep rows together, or None."""
    return validation.group if isinstance(validation, Holdout | CrossValidation) else None


def time_column(validation: Validation | None) -> str | None:
    """Return the column that orders the rows, or None."""
    return validation.by if isinstance(validation, Holdout | TimeSeriesSplits) else None


def excluded_columns(validation: Validation | None) -> tuple[str, ...]:
    """Return the columns that a validation uses and that are no features: its groups, and its time without `keep`."""
    is_kept = isinstance(validation, Holdout | TimeSeriesSplits) and validation.keep
    columns = (group_column(validation), None if is_kept else time_column(validation))
    return tuple(column for column in columns if column is not None)


class SplitOptionError(ValueError):
    """An error for the options of a validation; `place` is the index of the wrong one, None if one is missing."""

    def __init__(self, place: int | None, problem: str, remedy: str) -> None:
        self.place, self.problem, self.remedy = place, problem, remedy
        super().__init__(f"{problem}: {remedy}")


def make_validation(kind: str, number: float, options: Sequence[WordOption] = ()) -> DeclaredValidation:
    """Return the validation of a known kind with a valid number; raise SplitOptionError for wrong options."""
    _check_options(kind, options)
    columns = {name: value for name, value in options if value is not None}
    group, by, keep = columns.get("group"), columns.get("by"), ("keep", None) in options
    match kind:
        case "holdout":
            return Holdout(float(number), group, by, keep)
        case "cv":
            return CrossValidation(int(number), group)
        case _:
            assert by is not None
            return TimeSeriesSplits(int(number), by, keep)


def _check_options(kind: str, options: Sequence[WordOption]) -> None:
    names = [name for name, _ in options]
    for place, (name, value) in enumerate(options):
        _check_option(kind, place, name, value)
        if name in names[:place]:
            raise SplitOptionError(place, f"`{name}` is given twice", "keep one of them")
    if "group" in names and "by" in names:
        place = max(names.index("group"), names.index("by"))
        raise SplitOptionError(
            place, "a split cannot both keep groups together and follow time", f"leave one of them out; {SPLITTER_HELP}"
        )
    if kind == "time" and "by" not in names:
        raise SplitOptionError(None, "`time` needs the column that orders the rows", "write `time(5, by=COLUMN)`")
    if "keep" in names and "by" not in names:
        problem = "`keep` needs `by`, whose column it keeps as a feature"
        raise SplitOptionError(names.index("keep"), problem, "leave `keep` out, or write `by=COLUMN, keep`")


def _check_option(kind: str, place: int, name: str, value: str | None) -> None:
    if name not in KINDS[kind]:
        raise SplitOptionError(place, *_unknown_option(kind, name))
    if name == "keep" and value is not None:
        raise SplitOptionError(place, "`keep` takes no value", "write `by=COLUMN, keep`")
    if name != "keep" and value is None:
        raise SplitOptionError(place, f"`{name}` needs the name of a column", f"write `{name}=COLUMN`")


def _unknown_option(kind: str, name: str) -> tuple[str, str]:
    """Return the problem and the remedy for an option that a kind of validation does not have."""
    match kind, name:
        case "cv", "by" | "keep":
            return f"`cv` has no option `{name}`, because its folds train on later rows", "write `time(5, by=COLUMN)`"
        case "time", "group":
            return (
                "`time` cannot keep groups together",
                f"write `cv(5, group=COLUMN)`, or leave `group` out; {SPLITTER_HELP}",
            )
        case _:
            near = nearest_name(name, KINDS[kind])
            known = " and ".join(f"`{each}`" for each in KINDS[kind])
            remedy = f"the options of `{kind}` are {known}" if near is None else f"did you mean `{near}`?"
            return f"`{kind}` has no option `{name}`", remedy


def non_default_options(validation: DeclaredValidation) -> tuple[WordOption, ...]:
    """Return the options of a validation that are not at their defaults, in the order in which they are written."""
    columns = (("group", group_column(validation)), ("by", time_column(validation)))
    keeps = isinstance(validation, Holdout | TimeSeriesSplits) and validation.keep
    return (*((name, column) for name, column in columns if column is not None), *((("keep", None),) if keeps else ()))


def kind_and_number(validation: DeclaredValidation) -> tuple[str, float]:
    """Return the name of a validation, and its share or its number of folds."""
    match validation:
        case Holdout(share):
            return "holdout", share
        case CrossValidation(folds):
            return "cv", folds
        case TimeSeriesSplits(folds):
            return "time", folds
        case _:
            assert_never(validation)


# ---- text


_COLUMN: Final = r"[A-Za-z_]\w*|\"(?:[^\"\\]|\\.)*\""
_OPTION: Final = re.compile(rf"\s*,\s*([A-Za-z_]\w*)\s*(?:=\s*({_COLUMN}))?", re.DOTALL | re.ASCII)
_VALIDATION: Final = re.compile(
    rf"\s*(\w+)\s*\(\s*([0-9]*\.?[0-9]+)((?:{_OPTION.pattern})*)\s*,?\s*\)\s*", re.DOTALL | re.ASCII
)
_UNQUOTED_COLUMN: Final = re.compile(r"\b(group|by)\s*=\s*('?)([^\"',()]*[^\"',()\s])\2")
"""Matches an option whose column is not in the quotes that a name with spaces or other characters needs."""


def parse_validation(text: str) -> DeclaredValidation:
    """Parse a validation such as `holdout(0.3)`, `cv(5, group=subject)` or `time(5, by="sold at", keep)`.

    A share is in (0, 1), and a number of folds at least 2. Raise ValueError for anything else.
    """
    match = _VALIDATION.fullmatch(text)
    if match is None or match[1] not in KINDS:
        quoted = _UNQUOTED_COLUMN.sub(r'\1="\3"', text)
        if quoted != text and (match := _VALIDATION.fullmatch(quoted)) and match[1] in KINDS:
            remedy = f"put the name of the column in quotes: `{quoted}`, in a shell with single quotes around all of it"
            raise ValueError(f"invalid validation `{text}`; {remedy}")
        raise ValueError(f"invalid validation `{text}`; write {VALIDATION_EXAMPLES}")
    kind, number = match[1], match[2]
    if kind == "holdout" and not 0 < float(number) < 1:
        raise ValueError(f"the share of held-out rows must be between 0 and 1, not {number}")
    if kind != "holdout" and not (number.isdigit() and int(number) >= 2):
        raise ValueError(f"the number of folds must be an integer of at least 2, not {number}")
    options = [(name, _column(value)) for name, value in _OPTION.findall(match[3])]
    return make_validation(kind, float(number), options)


def parse_validation_or_none(text: str) -> DeclaredValidation | None:
    """Parse a validation as `parse_validation` does; return None for anything else, such as predefined splits."""
    try:
        return parse_validation(text)
    except ValueError:
        return None


def _column(written: str) -> str | None:
    """Return the name of a column as written, a word or a string with the escapes of JSON; None if there is none."""
    if not written:
        return None
    return str(json.loads(written, strict=False)) if written.startswith('"') else written


def describe_validation(validation: Validation) -> str:
    """Return a validation as written (`cv(5, group=subject)`), or in words for predefined splits."""
    if isinstance(validation, PredefinedSplits):
        count = "the split" if validation.folds == 1 else f"the {validation.folds} splits"
        return f"{count} of {validation.source} (rows {validation.digest})"
    kind, number = kind_and_number(validation)
    options = (name if value is None else f"{name}={literal(value)}" for name, value in non_default_options(validation))
    return f"{kind}({', '.join((format_number(number), *options))})"


def describe_validation_rows(validation: Validation) -> str:
    """Return, for a formula, on which rows a loss was measured, such as ` on 30 % of the rows, held out`."""
    match validation:
        case Holdout(share, by=str(column)):
            return f" on the latest {_percent(share)} of the rows by {literal(column)}, held out"
        case Holdout(share, group):
            return f" on {_percent(share)} of the rows, held out{_whole_groups(group)}"
        case CrossValidation(folds, group):
            return f", mean over {folds} folds{_whole_groups(group)}"
        case TimeSeriesSplits(folds, by):
            return f", mean over {folds} periods by {literal(by)}, each after its training rows"
        case PredefinedSplits(folds, source):
            several = f", mean over the {folds} splits of {source}"
            return several if folds > 1 else f" on the rows that {source} holds out"
        case _:
            assert_never(validation)


def _percent(share: float) -> str:
    return f"{format_number(float(f'{share * 100:.6g}'))} %"


def _whole_groups(column: str | None) -> str:
    return "" if column is None else f" as whole groups of {literal(column)}"
