"""Ensembles of a run's pipelines: which of them vote, how often each, and the estimator they form."""

from typing import Final

from spacelang.deprecation import rename_module

# Pickled ensembles name the modules of their members.
rename_module(f"{__name__}.hard_vote", f"{__name__}.one_hot_probability_classifier")

DEFAULT_VOTES: Final = 32  # The default number of votes of an ensemble
