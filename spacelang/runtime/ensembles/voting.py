"""Build scikit-learn's voting estimators from pipelines that are fitted already."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from spacelang.runtime.ensembles.one_hot_probability_classifier import OneHotProbabilityClassifier


def as_voting_member(pipeline: Any, *, is_classifier: bool) -> Any:
    """Return an unfitted pipeline as a member of a vote.

    A classifier without `predict_proba` is wrapped in a `OneHotProbabilityClassifier`.
    """
    has_probabilities = hasattr(pipeline, "predict_proba")
    return OneHotProbabilityClassifier(pipeline) if is_classifier and not has_probabilities else pipeline


def as_fitted_voting_member(pipeline: Any, is_classifier: bool) -> Any:
    """Return a fitted pipeline as a fitted member of a vote, wrapped as by `as_voting_member`.

    A classifier must have been fitted on class codes.
    """
    member = as_voting_member(pipeline, is_classifier=is_classifier)
    if member is not pipeline:
        member.estimator_, member.classes_ = pipeline, pipeline.classes_
    return member


def make_fitted_voting_estimator(pipelines: Mapping[str, Any], classes: Sequence[Any]) -> Any:
    """Return the fitted vote, with equal votes, of fitted pipelines; `classes` are empty for a regression.

    Classifiers must be fitted on class codes; the vote predicts the labels in `classes`.
    """
    members = {name: as_fitted_voting_member(each, bool(classes)) for name, each in pipelines.items()}
    unfitted = make_voting_estimator(members, [1] * len(members), is_classifier=bool(classes))
    return as_fitted_voting_estimator(unfitted, [*members.values()], classes)


def make_voting_estimator(members: Mapping[str, Any], votes: Sequence[int], *, is_classifier: bool) -> Any:
    """Return scikit-learn's unfitted voting estimator: a soft vote of classifiers, the weighted mean of regressors."""
    from sklearn.ensemble import VotingClassifier, VotingRegressor

    # Without weights, each member has one vote.
    weights = None if set(votes) == {1} else [*votes]
    if is_classifier:
        return VotingClassifier([*members.items()], voting="soft", weights=weights)
    return VotingRegressor([*members.items()], weights=weights)


def as_fitted_voting_estimator(unfitted: Any, members: Sequence[Any], classes: Sequence[Any]) -> Any:
    """Return the voting estimator as `fit` would leave it, with members that are fitted already.

    The members must be in the order of the unfitted ones. Classifiers must be fitted on label codes, the indices in the
    sorted `classes`, as a vote fits them. `unfitted` is modified.
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
