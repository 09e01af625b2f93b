"""The text of a starter space: a summary of the data, the stages, the pipeline and the task."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from shlex import quote
from textwrap import fill
from typing import Final

from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.ir.domain import is_bare_word
from spacelang.runtime.data.profile import ColumnProfile, TableProfile
from spacelang.runtime.data.tables import ColumnContent
from spacelang.starter_spaces import stage_text
from spacelang.starter_spaces.stage_text import KERNEL_ROWS, NEIGHBOUR_ROWS, Learner, learners_for_kind
from spacelang.syntax.printer import format_text
from spacelang.text import count_with_noun

FOLDS: Final = 5
MAX_CV_ROWS: Final = 1_000  # The maximum number of rows for which pipelines are evaluated by cross-validation
WIDTH: Final = 110  # The maximum width of comments, in characters
MANY_COLUMNS: Final = 10  # The number of numeric columns from which feature selection is worth trying
MANY_VALUES: Final = 12  # The number of categories from which target encoding is worth trying


def starter_space_text(data: TableProfile, reference: str, options: str = "", place: str | None = None) -> str:
    """Return the text of a space for a data set, formatted as by `fmt`. It passes `check`.

    `reference` is how the user named the data. `options` are the other options for the data, each with a space before
    it. `place` is the path of the file that is written, if any.
    """
    title = f"{_quotable(data.label)} of {_quotable(data.name)}"
    before = (_imputer, _scaler, _encoder, _text_vectorizer, _calendar, _selector, _estimator)
    features = data.without_split_columns
    stages = (*(stage(features) for stage in (*before, _pipeline, _constraint)), _task(data))
    parts = (f'space {_name(data)} "{title}"\n', *filter(None, stages))
    return format_text(f"{_heading(data, reference, options, place)}\n" + "\n".join(parts))


def _heading(data: TableProfile, reference: str, options: str, place: str | None) -> str:
    file = quote(place or f"{_name(data)}.space")
    lines = [
        f"{data.name}: {data.rows:,} rows, {count_with_noun(len(data.columns), 'column')}, labels in {data.label}.",
        _labels(data),
        *(f"! {warning}." for warning in (*data.refused, *data.warnings)),
        "",
        "A space defines which pipelines a search may try. Change it as you like, then run:",
        "",
        f"    spacelang check {file}",
        f"    spacelang stats {file}",
        f"    spacelang run {file} --data {quote(reference)}{options}",
    ]
    return "".join(
        format_as_comment(line) if line[:1].strip() else f"# {replace_unprintable(line)}".rstrip() + "\n"
        for line in lines
    )


def _labels(data: TableProfile) -> str:
    if data.targets > 1:
        task = "0 or 1: a multi-label classification" if data.kind == "classification" else "numbers: a regression"
        return f"The {data.targets} columns of labels are {task}. Only operators that take several targets are here."
    if data.kind == "regression":
        return "The labels are numbers: a regression task."
    shares = [f"{label} {rows / data.rows:.1%}" for label, rows in data.classes]
    rare = " A class is rare, so accuracy would be misleading." if data.is_imbalanced else ""
    return f"The labels are {len(data.classes):,} classes: {_listed(shares, 6)}.{rare}"


# ---- stages and the constraint, each with a comment, or an empty string if the data has no use for it


def _imputer(data: TableProfile) -> str:
    lacking = [column for column in data.columns_with(ColumnContent.NUMBER) if column.missing]
    if not lacking:
        return ""
    shares = [f"{each.name} {each.missing:.1%}" for each in sorted(lacking, key=lambda column: -column.missing)]
    note = (
        f"Missing numbers: {_listed(shares, 3)}. Braces list the values to choose from, and the value after `=` "
        "is the default. `add_indicator` adds columns that mark missing values. Without missing numbers "
        "(`n_missing`) there is nothing to search here."
    )
    return format_as_comment(note) + stage_text.IMPUTER


def _scaler(data: TableProfile) -> str:
    if not data.columns_with(ColumnContent.NUMBER):
        return ""
    note = "A stage is a choice between alternatives; `none` leaves the step out. "
    if data.is_sparse:
        return (
            format_as_comment(f"{note}Nearly all numbers are 0, and this scaler keeps them 0.")
            + stage_text.SPARSE_SCALER
        )
    note += "`int[10, 1000] log` is a range from 10 to 1000 on a logarithmic scale; here the bounds depend on the data."
    return format_as_comment(note) + stage_text.SCALER


def _encoder(data: TableProfile) -> str:
    categories = data.columns_with(ColumnContent.CATEGORY)
    if not categories:
        return ""
    most = max(categories, key=lambda column: column.distinct)
    note = f"Categories: {_names(categories)}; `{most.name}` has the most values, {most.distinct:,}."
    if most.distinct < MANY_VALUES:
        return format_as_comment(note) + stage_text.encoder_stage_text(data.kind)
    joined = f"{note} Rare values are merged into one, so that no column is encoded to thousands of columns."
    kept = min(stage_text.MAX_CATEGORIES, most.distinct)
    stage = stage_text.encoder_stage_text(data.kind, kept, takes_several=data.targets > 1)
    return format_as_comment(joined) + stage


def _text_vectorizer(data: TableProfile) -> str:
    if not data.free_text_columns:
        return ""
    note = f"Free text: {_names(data.free_text_columns)}. `->` joins steps to a sequence, here within an alternative."
    return format_as_comment(note) + stage_text.TEXT_VECTORIZER


def _calendar(data: TableProfile) -> str:
    if not (dates := data.columns_with(ColumnContent.DATE)):
        return ""
    return format_as_comment(f"Date columns: {_names(dates)}. {stage_text.DATES_REMARK}") + stage_text.CALENDAR


def _selector(data: TableProfile) -> str:
    if len(data.columns_with(ColumnContent.NUMBER)) < MANY_COLUMNS:
        return ""
    note = (
        "Fewer columns: keep the best ones, or combine them. `@default` marks the default alternative of a stage; "
        "without it, the default is the first one."
    )
    stage = stage_text.feature_selection_stage_text(data.kind, is_sparse=data.is_sparse, takes_several=data.targets > 1)
    return format_as_comment(note) + stage


def _estimator(data: TableProfile) -> str:
    notes = [
        "The body of an estimator has its hyperparameters: `name : values` is searched, and `name = value` is fixed. "
        "`when` says under which condition a hyperparameter is active."
    ]
    if data.rows > KERNEL_ROWS:
        slow = "Neighbours and kernel methods" if data.rows > NEIGHBOUR_ROWS else "Kernel methods"
        notes.append(f"{slow} are left out: they are slow with {data.rows:,} rows.")
    if data.is_imbalanced:
        notes.append("`class_weight = balanced` gives rare classes as much weight as frequent ones.")
    notes.append(
        "To try another library, write for example `use lightgbm` below the `space` line, add its operators here, and "
        "run with `--allow lightgbm`."
    )
    return format_as_comment(" ".join(notes)) + stage_text.estimator_stage_text(
        _learners(data), weighs=data.is_imbalanced
    )


def _pipeline(data: TableProfile) -> str:
    """Return the `pipeline` line of the space, after a comment if there are columns of several types.

    It uses `columns(…)` unless all columns are numeric.
    """
    numbers = " -> ".join(name for name, stage in (("imputer", _imputer), ("scaler", _scaler)) if stage(data))
    parts = {
        "numeric": numbers if data.columns_with(ColumnContent.NUMBER) else "",
        "categorical": "encoder" if data.columns_with(ColumnContent.CATEGORY) else "",
        "text": "reader" if data.free_text_columns else "",
        "datetime": "calendar" if data.columns_with(ColumnContent.DATE) else "",
    }
    given = [f"{kind}: {part}" for kind, part in parts.items() if part]
    first = numbers if parts["numeric"] and len(given) == 1 else f"columns({', '.join(given)})"
    steps = [first, *(["selector"] if _selector(data) else []), "estimator"]
    note = "Columns of each type are processed separately, and the results are joined." if len(given) > 1 else ""
    return f"{format_as_comment(note) if note else ''}pipeline = {' -> '.join(steps)}\n"


def _constraint(data: TableProfile) -> str:
    if not data.columns_with(ColumnContent.NUMBER):
        return ""
    note = "Distances and gradients need columns on the same scale. Forbidden combinations are never tried."
    return format_as_comment(note) + stage_text.scaling_constraint_text(_learners(data))


def _learners(data: TableProfile) -> list[Learner]:
    """Return the learners of scikit-learn that can fit such data in a reasonable time for a first search."""
    return [
        each
        for each in learners_for_kind(data.kind)
        if not each.package
        and (each.most_rows is None or data.rows <= each.most_rows)
        and (each.takes_sparse or not data.is_sparse)
        and (each.takes_several or data.targets == 1)
    ]


def _task(data: TableProfile) -> str:
    folds = min(FOLDS, data.rarest_class_size)
    validate = f"cv({folds})" if data.rows <= MAX_CV_ROWS and folds >= 2 else "holdout(0.3)"
    hint = data.split_hint
    lines = [f"  validate {validate if hint is None else hint.validation_text}\n"]
    if hint is not None:
        role = "It is not used as a feature" + ("." if hint.is_group else ", unless `, keep` follows its name.")
        lines.insert(0, format_as_comment(f"{hint.finding}, and {hint.reason}. {role}", "  "))
    for other in data.split_hints:
        if other is not hint:
            when = "such rows belong together" if other.is_group else "later rows are to be predicted"
            lines.append(format_as_comment(f"{other.finding}, but {other.reason}. If {when}, write:", "  "))
            lines.append(format_as_comment(f"validate {other.validation_text}", "  "))
    note = "The goal of the search. To add a constraint, write a line such as `subject to predict_latency <= 1ms`."
    return f"""\
{format_as_comment(note)}task {data.kind} {{
  maximize {_metric(data)}
{"".join(lines)}  limit trial 60s 4GB
  limit run 10min
}}
"""


def _metric(data: TableProfile) -> str:
    if data.kind == "regression":
        return "r2"
    if data.targets > 1:
        return "f1_macro"
    return "roc_auc" if len(data.classes) == 2 else "balanced_accuracy"


def format_as_comment(text: str, indent: str = "") -> str:
    """Return a text as wrapped comment lines; control characters, as column names may have, are made visible."""
    begin = f"{indent}# "
    return (
        fill(replace_unprintable(text), WIDTH, initial_indent=begin, subsequent_indent=begin, break_on_hyphens=False)
        + "\n"
    )


def _name(data: TableProfile) -> str:
    """Return a name for the space, made from the name of the data."""
    stem = PurePath(data.name.partition(":")[2] or data.name).name.partition(".")[0]
    word = re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_").lower()
    return word if is_bare_word(word) else f"space_{word}".rstrip("_")


def _quotable(text: str) -> str:
    return re.sub(r'["\\]', "'", replace_unprintable(text))


def _listed(texts: Sequence[str], most: int) -> str:
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def _names(columns: Sequence[ColumnProfile]) -> str:
    return _listed([each.name for each in columns], 4)
