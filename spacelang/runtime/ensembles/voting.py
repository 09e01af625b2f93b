"""A vote of pipelines as scikit-learn's own estimator, made of pipelines that are fitted already."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from spacelang.runtime.ensembles.hard_vote import HardVote


def member(pipeline: Any, *, is_classifier: bool) -> Any:
    """The unfitted pipeline as a vote takes it: as it is, unless it is a classifier that gives no probabilities."""
    return HardVote(pipeline) if is_classifier and not hasattr(pipeline, "predict_proba") else pipeline


def vote(members: Mapping[str, Any], votes: Sequence[int], *, is_classifier: bool) -> Any:
    """The vote of unfitted members by their names, each with so many votes.

    Of probabilities it takes the weighted mean, and of classes the one in which that is the highest, the first of equal
    ones; of numbers the weighted mean.
    """
    from sklearn.ensemble import VotingClassifier, VotingRegressor

    # One vote each is what it takes without weights.
    weights = None if set(votes) == {1} else [*votes]
    if is_classifier:
        return VotingClassifier([*members.items()], voting="soft", weights=weights)
    return VotingRegressor([*members.items()], weights=weights)


def fitted_vote(unfitted: Any, members: Sequence[Any], classes: Sequence[Any]) -> Any:
    """The vote as `fit` would leave it, of members that are fitted already, in the order of the unfitted ones.

    Classifiers are fitted on the places of labels in `classes`, which are sorted: that is how a vote fits them.
    """
    from sklearn.preprocessing import LabelEncoder

    names = [name for name, _ in unfitted.estimators]
    unfitted.estimators_ = [*members]
    unfitted.named_estimators_ = Bunch(**dict(zip(names, members, strict=True)))
    if classes:
        unfitted.le_ = LabelEncoder().fit(np.asarray(classes))
        unfitted.classes_ = unfitted.le_.classes_
    for each in members:
        if hasattr(each, "feature_names_in_"):
            unfitted.feature_names_in_ = each.feature_names_in_
    return unfitted
