"""Warnings of data leakage before a run: columns that hold the labels, and rows related across a random split."""

from spacelang.api.experiment import PreparedExperiment
from spacelang.ir.validation import CrossValidation, Holdout


def leakage_warnings(prepared: PreparedExperiment) -> list[str]:
    """Return warnings of data leakage: columns that copy the labels, and related rows on both sides of random splits.

    The latter name columns (groups or times) by which to split the rows, and the share of held-out rows that are also
    training rows. Empty for data without rows.
    """
    objective, experiment = prepared.objective, prepared.experiment
    if not experiment.data.has_rows:
        return []
    from spacelang.runtime.data.labels import label_column_warnings, target_series
    from spacelang.runtime.data.profile import find_split_hints
    from spacelang.runtime.data.split_hints import repeated_held_out_share, repeated_rows_message
    from spacelang.runtime.evaluation.folds import split_rows
    from spacelang.runtime.evaluation.objective import DataObjective

    if not isinstance(objective, DataObjective):
        return []
    data, validation = objective.dataset, objective.validation
    copies = label_column_warnings(data)
    if data.relations.times is not None or not isinstance(validation, Holdout | CrossValidation):
        return copies
    share = repeated_held_out_share(data.features, split_rows(data, validation, experiment.seed))
    found = [repeated_rows_message(share, "the held-out rows are also training rows")] if share else []
    target = target_series(data.target)[0]  # of several targets, the first one stands for all
    hints = () if data.relations.groups is not None else find_split_hints(data.features, target, data.kind)
    return [*copies, *(hint.message for hint in hints), *found]
