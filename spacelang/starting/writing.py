"""The text of a starting space: what the data is like, the stages, how they are joined, and the task."""

import re
from pathlib import PurePath
from shlex import quote
from typing import Final

from spacelang.diagnostics.cells import visible
from spacelang.ir.domain import is_word
from spacelang.runtime.data.content import Content
from spacelang.runtime.data.profile import Profile
from spacelang.starting import stages
from spacelang.syntax.printer import format_text
from spacelang.text import counted

FEW_ROWS: Final = 1_000
"""Up to so many rows trials are judged by a cross-validation."""
FOLDS: Final = 5
SHOWN: Final = 6
"""So many columns are named one by one."""


def starting_space(data: Profile, reference: str, options: str = "", place: str | None = None) -> str:
    """The text of a space for such data, laid out as `fmt` does; it passes `check`.

    `reference` is how the user named the data, `options` what else was said of it, each with a space before it, and
    `place` the file that is written, if any.
    """
    parts = (
        f'space {_name(data)} "{_title(data)}"\n',
        stages.imputer(data),
        stages.scaler(data),
        stages.encoder(data),
        stages.reader(data),
        stages.calendar(data),
        stages.selector(data),
        stages.estimator(data),
        _pipeline(data),
        stages.constraint(data),
        _task(data),
    )
    return format_text(f"{_heading(data, reference, options, place)}\n" + "\n".join(filter(None, parts)))


def _heading(data: Profile, reference: str, options: str, place: str | None) -> str:
    file = quote(place or f"{_name(data)}.space")
    lines = [
        f"{data.name}: {data.rows:,} rows, {counted(len(data.columns), 'column')}, labels in {data.label}.",
        f"{_labels(data)}",
        *(f"! {warning}." for warning in (*data.refused, *data.warnings)),
        "",
        "A space says which pipelines may be tried. Change what you like, and then:",
        "",
        f"    spacelang check {file}",
        f"    spacelang stats {file}",
        f"    spacelang run {file} --data {quote(reference)}{options}",
    ]
    return "".join(stages.remark(line) if line[:1].strip() else f"# {visible(line)}".rstrip() + "\n" for line in lines)


def _labels(data: Profile) -> str:
    if data.kind == "regression":
        return "They are numbers: a regression."
    shown = [f"{label} {rows / data.rows:.1%}" for label, rows in data.classes[:SHOWN]]
    more = f" and {len(data.classes) - SHOWN} more" if len(data.classes) > SHOWN else ""
    rare = " Some class is rare: a share of right answers would not see it." if data.is_imbalanced else ""
    return f"They are {len(data.classes):,} classes: {', '.join(shown)}{more}.{rare}"


def _pipeline(data: Profile) -> str:
    """How the stages are joined: column by column where there is more than numbers."""
    numbers = " -> ".join(name for name, text in _NUMBERS if text(data))
    parts = {
        "numeric": numbers if data.of(Content.NUMBER) else "",
        "categorical": "encoder" if data.of(Content.CATEGORY) else "",
        "text": "reader" if data.texts else "",
        "datetime": "calendar" if data.of(Content.DATE) else "",
    }
    given = [f"{kind}: {part}" for kind, part in parts.items() if part]
    is_plain = parts["numeric"] and len(given) == 1
    first = numbers if is_plain else f"columns({', '.join(given)})"
    steps = [first, *(["selector"] if stages.selector(data) else []), "estimator"]
    said = "The columns of each type go their own way, and side by side into what follows." if len(given) > 1 else ""
    return f"{stages.remark(said) if said else ''}pipeline = {' -> '.join(steps)}\n"


_NUMBERS: Final = (("imputer", stages.imputer), ("scaler", stages.scaler))


def _task(data: Profile) -> str:
    folds = min(FOLDS, data.rarest)
    is_folded = data.rows <= FEW_ROWS and folds >= 2
    validate = f"cv({folds})" if is_folded else "holdout(0.3)"
    said = "What is searched for. A bound is one more line, such as `subject to predict_latency <= 1ms`."
    return f"""\
{stages.remark(said)}task {data.kind} {{
  maximize {_metric(data)}
  validate {validate}
  limit trial 60s 4GB
  limit run 10min
}}
"""


def _metric(data: Profile) -> str:
    if data.kind == "regression":
        return "r2"
    return "roc_auc" if len(data.classes) == 2 else "balanced_accuracy"


def _name(data: Profile) -> str:
    """A word after the data."""
    stem = PurePath(data.name.partition(":")[2] or data.name).name.partition(".")[0]
    word = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    return word if is_word(word) else f"space_{word}".rstrip("_")


def _title(data: Profile) -> str:
    return f"{_plain(data.label)} of {_plain(data.name)}"


def _plain(text: str) -> str:
    """A text between quotes."""
    return re.sub(r'["\\]', "'", visible(text))
