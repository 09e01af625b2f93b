"""What a fitted pipeline takes: known to all who pass pipelines on, and need no library of them for it."""

from enum import StrEnum


class PipelineInput(StrEnum):
    """What a fitted pipeline takes."""

    TABLE = "table"
    """The table, or the sparse array, that was read: the pipeline is plain scikit-learn."""
    ARRAY = "array"
    """The array of floats that a program holds: the same."""
    GIVEN = "given"
    """Whatever the search was given, of which a first step makes the table."""
