"""Adapt classifiers that accept only the labels 0, 1, … to any labels, with scikit-learn's own classes."""

from typing import Any, Final

from spacelang.runtime.pipelines.catalogue_access import CODES_ONLY

LABEL_ENCODING_CLASSIFIERS: Final = frozenset(
    {
        "BaggingClassifier",
        "BalancedBaggingClassifier",
        "EasyEnsembleClassifier",
        "OneVsOneClassifier",
        "OneVsRestClassifier",
        "OutputCodeClassifier",
        "StackingClassifier",
        "VotingClassifier",
    }
)
"""Meta-classifiers that encode labels before they fit the classifiers inside them."""

WEIGHTING_CLASSIFIERS: Final = frozenset({"AdaBoostClassifier", "RUSBoostClassifier"})
"""Meta-classifiers that pass labels to the classifiers inside them, with sample weights, which a vote refuses."""


def adapt_to_labels(pipeline: Any, classes: tuple[Any, ...]) -> Any:
    """Change an unfitted pipeline in place so that it can learn these labels, and return it.

    `classes` are the sorted labels, or empty for regression. Unless the labels are 0, 1, …, each classifier that
    accepts only these is wrapped in a `VotingClassifier` of its own. That encodes the labels, decodes the predictions,
    and changes nothing else.
    """
    are_codes = all(type(label) is int for label in classes) and classes == tuple(range(len(classes)))
    return pipeline if are_codes else _wrap_in_votes(pipeline)


def needs_codes(value: Any) -> bool:
    """Return True if a value contains a classifier that accepts only codes and gets the labels unencoded."""
    if isinstance(value, list | tuple):
        return any(map(needs_codes, value))
    if (
        isinstance(value, type)
        or not hasattr(value, "get_params")
        or type(value).__name__ in LABEL_ENCODING_CLASSIFIERS
    ):
        return False
    return _takes_codes_only(value) or needs_codes([*value.get_params(deep=False).values()])


def is_single_vote(estimator: Any) -> bool:
    """Return True if an estimator is a vote of a single classifier that accepts only codes."""
    if type(estimator).__name__ != "VotingClassifier":
        return False
    return len(estimator.estimators) == 1 and _takes_codes_only(estimator.estimators[0][1])


def _takes_codes_only(estimator: Any) -> bool:
    name = type(estimator).__name__
    return name in CODES_ONLY or (name in WEIGHTING_CLASSIFIERS and _takes_codes_only(estimator.estimator))


def _wrap_in_votes(value: Any) -> Any:
    """Return the value with every classifier that accepts only codes, and would get labels, wrapped in a vote."""
    if not needs_codes(value):
        return value
    if isinstance(value, list | tuple):
        return type(value)(map(_wrap_in_votes, value))
    if _takes_codes_only(value):
        from sklearn.ensemble import VotingClassifier

        return VotingClassifier([(_name(value), value)], voting="soft")
    held = value.get_params(deep=False)
    changed = {name: _wrap_in_votes(part) for name, part in held.items() if needs_codes(part)}
    if "estimator" in changed and "importance_getter" in held:
        changed["importance_getter"] = _importance_path(held["importance_getter"], held["estimator"])
    return value.set_params(**changed)


def _name(classifier: Any) -> str:
    return type(classifier).__name__.lower()


def _importance_path(getter: Any, classifier: Any) -> Any:
    """Return the path to feature importances for a feature selector whose classifier is wrapped in a vote."""
    if not _takes_codes_only(classifier) or not isinstance(getter, str):
        return getter
    attribute = "feature_importances_" if getter == "auto" else getter
    return f"named_estimators_.{_name(classifier)}.{attribute}"
