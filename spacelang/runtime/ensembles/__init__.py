"""Ensembles of a run's pipelines: which of them vote, how often each, and the estimator they form."""

from typing import Final

DEFAULT_VOTES: Final = 32
"""The default number of votes of an ensemble."""
