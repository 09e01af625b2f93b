"""Ensembles of what a run has tried: which pipelines vote, how often each, and the estimator that they are together."""

from typing import Final

VOTES: Final = 32
"""The votes of an ensemble of which nothing else is said."""
