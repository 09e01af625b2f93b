"""Warnings about the rows of a run before it starts: columns that hold the labels, and misleading random splits."""

from spacelang.api.experiment import PreparedExperiment
from spacelang.ir.validation import CrossValidation, Holdout


def row_warnings(prepared: PreparedExperiment) -> list[str]:
    """Return warnings about columns that hold the labels, and about rows that are split at random.

    The latter name columns by which to split the rows, and the share of rows on both sides.
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
