"""Classifiers that learn nothing but the codes 0, 1, … as labels, made to learn any by scikit-learn's own means."""

from typing import Any, Final

from spacelang.runtime.pipelines.library import CODES_ONLY

CODING: Final = frozenset(
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
"""The classifiers that give codes to those inside them, whatever labels they are given themselves."""

WEIGHING: Final = frozenset({"AdaBoostClassifier", "RUSBoostClassifier"})
"""The classifiers that give labels to those inside them, and weights of rows, which a vote does not take."""


def for_labels(pipeline: Any, classes: tuple[Any, ...]) -> Any:
    """The unfitted pipeline, changed in place to learn these labels, in sorted order; none are no labels but numbers.

    Where the labels are no codes, each classifier that takes codes only votes alone: a vote codes the labels on the way
    in, decodes them on the way out, and changes nothing else.
    """
    are_codes = all(type(label) is int for label in classes) and classes == tuple(range(len(classes)))
    return pipeline if are_codes else _voting(pipeline)


def learns_codes(value: Any) -> bool:
    """Whether what takes codes only is among the parts of a value that are given the labels as they are."""
    if isinstance(value, list | tuple):
        return any(map(learns_codes, value))
    if isinstance(value, type) or not hasattr(value, "get_params") or type(value).__name__ in CODING:
        return False
    return _takes_codes_only(value) or learns_codes([*value.get_params(deep=False).values()])


def votes_alone(estimator: Any) -> bool:
    """Whether an estimator is the vote of one classifier that takes codes only."""
    if type(estimator).__name__ != "VotingClassifier":
        return False
    return len(estimator.estimators) == 1 and _takes_codes_only(estimator.estimators[0][1])


def _takes_codes_only(estimator: Any) -> bool:
    name = type(estimator).__name__
    return name in CODES_ONLY or (name in WEIGHING and _takes_codes_only(estimator.estimator))


def _voting(value: Any) -> Any:
    """A value with a vote in place of each classifier that takes codes only and is given labels."""
    if not learns_codes(value):
        return value
    if isinstance(value, list | tuple):
        return type(value)(map(_voting, value))
    if _takes_codes_only(value):
        from sklearn.ensemble import VotingClassifier

        return VotingClassifier([(_name(value), value)], voting="soft")
    held = value.get_params(deep=False)
    changed = {name: _voting(part) for name, part in held.items() if learns_codes(part)}
    if "estimator" in changed and "importance_getter" in held:
        changed["importance_getter"] = _through_vote(held["importance_getter"], held["estimator"])
    return value.set_params(**changed)


def _name(classifier: Any) -> str:
    return type(classifier).__name__.lower()


def _through_vote(getter: Any, classifier: Any) -> Any:
    """Where a selector of features finds their importances in a vote."""
    if not _takes_codes_only(classifier) or not isinstance(getter, str):
        return getter
    attribute = "feature_importances_" if getter == "auto" else getter
    return f"named_estimators_.{_name(classifier)}.{attribute}"
