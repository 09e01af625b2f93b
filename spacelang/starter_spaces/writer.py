"""The text of a starter space: a summary of the data, the stages, the pipeline and the task."""

import re
from pathlib import PurePath
from shlex import quote
from typing import Final

from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.ir.domain import is_bare_word
from spacelang.runtime.data.column_content import ColumnContent
from spacelang.runtime.data.profile import Profile
from spacelang.starter_spaces import commented_stages
from spacelang.syntax.printer import format_text
from spacelang.text import count_with_noun

MAX_CV_ROWS: Final = 1_000
"""The maximum number of rows for which pipelines are evaluated by cross-validation."""
FOLDS: Final = 5
MAX_SHOWN: Final = 6
"""The maximum number of classes that are listed."""


def starter_space(data: Profile, reference: str, options: str = "", place: str | None = None) -> str:
    """Return the text of a space for a data set, formatted as by `fmt`. It passes `check`.

    `reference` is how the user named the data. `options` are the other options for the data, each with a space before
    it. `place` is the path of the file that is written, if any.
    """
    parts = (
        f'space {_name(data)} "{_title(data)}"\n',
        commented_stages.imputer(data),
        commented_stages.scaler(data),
        commented_stages.encoder(data),
        commented_stages.text_vectorizer(data),
        commented_stages.calendar(data),
        commented_stages.selector(data),
        commented_stages.estimator(data),
        _pipeline(data),
        commented_stages.constraint(data),
        _task(data),
    )
    return format_text(f"{_heading(data, reference, options, place)}\n" + "\n".join(filter(None, parts)))


def _heading(data: Profile, reference: str, options: str, place: str | None) -> str:
    file = quote(place or f"{_name(data)}.space")
    lines = [
        f"{data.name}: {data.rows:,} rows, {count_with_noun(len(data.columns), 'column')}, labels in {data.label}.",
        f"{_labels(data)}",
        *(f"! {warning}." for warning in (*data.refused, *data.warnings)),
        "",
        "A space defines which pipelines a search may try. Change it as you like, then run:",
        "",
        f"    spacelang check {file}",
        f"    spacelang stats {file}",
        f"    spacelang run {file} --data {quote(reference)}{options}",
    ]
    return "".join(
        commented_stages.as_comment(line) if line[:1].strip() else f"# {make_visible(line)}".rstrip() + "\n"
        for line in lines
    )


def _labels(data: Profile) -> str:
    if data.kind == "regression":
        return "The labels are numbers: a regression task."
    shown = [f"{label} {rows / data.rows:.1%}" for label, rows in data.classes[:MAX_SHOWN]]
    more = f" and {len(data.classes) - MAX_SHOWN} more" if len(data.classes) > MAX_SHOWN else ""
    rare = " A class is rare, so accuracy would be misleading." if data.is_imbalanced else ""
    return f"The labels are {len(data.classes):,} classes: {', '.join(shown)}{more}.{rare}"


def _pipeline(data: Profile) -> str:
    """Return the `pipeline` line. It has `columns(…)` if there are other columns than numbers."""
    numbers = " -> ".join(name for name, text in _NUMBERS if text(data))
    parts = {
        "numeric": numbers if data.columns_with(ColumnContent.NUMBER) else "",
        "categorical": "encoder" if data.columns_with(ColumnContent.CATEGORY) else "",
        "text": "reader" if data.texts else "",
        "datetime": "calendar" if data.columns_with(ColumnContent.DATE) else "",
    }
    given = [f"{kind}: {part}" for kind, part in parts.items() if part]
    is_plain = parts["numeric"] and len(given) == 1
    first = numbers if is_plain else f"columns({', '.join(given)})"
    steps = [first, *(["selector"] if commented_stages.selector(data) else []), "estimator"]
    said = "Columns of each type are processed separately, and the results are joined." if len(given) > 1 else ""
    return f"{commented_stages.as_comment(said) if said else ''}pipeline = {' -> '.join(steps)}\n"


_NUMBERS: Final = (("imputer", commented_stages.imputer), ("scaler", commented_stages.scaler))


def _task(data: Profile) -> str:
    folds = min(FOLDS, data.rarest_class_size)
    is_folded = data.rows <= MAX_CV_ROWS and folds >= 2
    validate = f"cv({folds})" if is_folded else "holdout(0.3)"
    said = "The goal of the search. To add a constraint, write a line such as `subject to predict_latency <= 1ms`."
    return f"""\
{commented_stages.as_comment(said)}task {data.kind} {{
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
    """Return a name for the space, made from the name of the data."""
    stem = PurePath(data.name.partition(":")[2] or data.name).name.partition(".")[0]
    word = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    return word if is_bare_word(word) else f"space_{word}".rstrip("_")


def _title(data: Profile) -> str:
    return f"{_quotable(data.label)} of {_quotable(data.name)}"


def _quotable(text: str) -> str:
    """Return a text that can stand between quotes."""
    return re.sub(r'["\\]', "'", make_visible(text))
