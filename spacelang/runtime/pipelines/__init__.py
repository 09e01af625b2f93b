"""Pipelines: from configurations to scikit-learn estimators, with the preparation that the data needs."""

from enum import StrEnum

from spacelang.deprecation import rename_module

# Pickled pipelines name the modules of their steps.
rename_module(f"{__name__}.configured", f"{__name__}.configuration_estimator")
rename_module(f"{__name__}.taking", f"{__name__}.input_conversion")


class PipelineInput(StrEnum):
    """The kind of features that a fitted pipeline takes."""

    TABLE = "table"
    """The table, or the sparse array, that was loaded: the pipeline consists of plain scikit-learn steps."""
    ARRAY = "array"  # An array of floats that the user passed: the pipeline consists of plain scikit-learn steps, too
    GIVEN = "given"  # Any form of the user's features: a first step, `AsTable`, converts them to the table
