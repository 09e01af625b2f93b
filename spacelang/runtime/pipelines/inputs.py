"""The kinds of features that a fitted pipeline takes. This module imports no library."""

from enum import StrEnum


class PipelineInput(StrEnum):
    """The kind of features that a fitted pipeline takes."""

    TABLE = "table"
    """The table, or the sparse array, that was loaded: the pipeline consists of plain scikit-learn steps."""
    ARRAY = "array"
    """An array of floats that the user passed: the pipeline consists of plain scikit-learn steps, too."""
    GIVEN = "given"
    """Any form of the user's features: a first step, `AsTable`, converts them to the table."""
