"""Search an imported space with ADMM: that of MOSAIC, whose operators are components of auto-sklearn.

    spacelang import mosaic_1_0.pcs --output mosaic.space
    python examples/admm_paper/imported.py mosaic.space DATA.csv.gz --store RUN.db [--seconds 600]

In the imported space, components are only names. The objective of this script therefore maps each component to its
counterpart in scikit-learn. The data has two classes, and numbers in all columns except `target`, so decisions about
categorical columns have no effect. The run is stored, and the same command resumes an interrupted or killed run.
"""

import argparse
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import FeatureAgglomeration
from sklearn.decomposition import PCA, FastICA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.feature_selection import (
    GenericUnivariateSelect,
    SelectFromModel,
    SelectPercentile,
    chi2,
    f_classif,
    mutual_info_classif,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import spacelang as sl

Values = Mapping[str, Any]
Factory = Callable[[dict[str, Any]], BaseEstimator | str]

SCORES: Final = {"chi2": chi2, "f_classif": f_classif, "mutual_info": mutual_info_classif}
LOSSES: Final = {"log": "log_loss"}
"""Losses that have another name in scikit-learn."""


def _make_factory(operator: type[BaseEstimator], **fixed: Any) -> Factory:
    """Return a factory of an operator whose hyperparameters have the same names in the library."""
    return lambda values: operator(**values, **fixed)


def _make_renaming_factory(operator: type[BaseEstimator], names: Mapping[str, str], **fixed: Any) -> Factory:
    """Return a factory that renames hyperparameters; those with an empty new name are ignored."""

    def make(values: dict[str, Any]) -> BaseEstimator:
        renamed = {names.get(name, name): value for name, value in values.items()}
        return operator(**{name: value for name, value in renamed.items() if name}, **fixed)

    return make


def _make_robust_scaler(values: dict[str, Any]) -> BaseEstimator:
    return RobustScaler(quantile_range=(100 * values["q_min"], 100 * values["q_max"]))


def _make_fast_ica(values: dict[str, Any]) -> BaseEstimator:
    return FastICA(**{**values, "whiten": values["whiten"] and "unit-variance"}, random_state=0)


def _make_agglomeration(values: dict[str, Any]) -> BaseEstimator:
    function = getattr(np, values.pop("pooling_func"))
    return FeatureAgglomeration(metric=values.pop("affinity"), pooling_func=function, **values)


def _make_selector_factory(operator: type[BaseEstimator]) -> Factory:
    def make(values: dict[str, Any]) -> BaseEstimator:
        selector = operator(**{**values, "score_func": SCORES[values["score_func"]]})
        # chi2 does not accept negative numbers.
        return make_pipeline(MinMaxScaler(clip=True), selector) if values["score_func"] == "chi2" else selector

    return make


def _make_discriminant(values: dict[str, Any]) -> BaseEstimator:
    shrinkage = {"none": None, None: None, "auto": "auto"}.get(values["shrinkage"], values.get("shrinkage_factor"))
    return LinearDiscriminantAnalysis("svd" if shrinkage is None else "lsqr", shrinkage=shrinkage, tol=values["tol"])


def _make_boosting(values: dict[str, Any]) -> BaseEstimator:
    early = values.pop("early_stop")
    share = {"validation_fraction": None} if early == "train" else {}
    return HistGradientBoostingClassifier(**{**values, **share, "early_stopping": early != "off"}, random_state=0)


def _make_adaboost(values: dict[str, Any]) -> BaseEstimator:
    values.pop("algorithm")
    tree = DecisionTreeClassifier(max_depth=values.pop("max_depth"), random_state=0)
    return AdaBoostClassifier(tree, **values, random_state=0)


def _make_tree(values: dict[str, Any]) -> BaseEstimator:
    return _RelativeDepthTree(values.pop("max_depth_factor"), DecisionTreeClassifier(**values, random_state=0))


class _RelativeDepthTree(BaseEstimator):  # type: ignore[misc]
    """A decision tree whose maximum depth is a multiple of the number of columns."""

    def __init__(self, factor: float, tree: BaseEstimator) -> None:
        self.factor = factor
        self.tree = tree

    def fit(self, features: Any, target: Any) -> "_RelativeDepthTree":
        """Fit the tree."""
        depth = max(1, round(self.factor * features.shape[1]))
        self.tree_ = clone(self.tree).set_params(max_depth=depth).fit(features, target)
        return self

    def predict_proba(self, features: Any) -> Any:
        """Return the class shares of the leaves."""
        return self.tree_.predict_proba(features)


IMPUTATION_STRATEGIES: Final = ("mean", "median", "most_frequent")
RESCALERS: Final[Mapping[str, Factory]] = {
    "minmax": _make_factory(MinMaxScaler),
    "none": lambda _: "passthrough",
    "normalize": _make_factory(Normalizer),
    "quantile_transformer": _make_factory(QuantileTransformer, random_state=0),
    "robust_scaler": _make_robust_scaler,
    "standardize": _make_factory(StandardScaler),
}
PREPROCESSORS: Final[Mapping[str, Factory]] = {
    "extra_trees_preproc_for_classification": lambda values: SelectFromModel(
        ExtraTreesClassifier(**values, random_state=0)
    ),
    "fast_ica": _make_fast_ica,
    "feature_agglomeration": _make_agglomeration,
    "kernel_pca": _make_factory(KernelPCA, random_state=0),
    "kitchen_sinks": _make_factory(RBFSampler, random_state=0),
    "liblinear_svc_preprocessor": lambda values: SelectFromModel(
        LinearSVC(C=values["C"], tol=values["tol"], penalty="l1", dual=False, random_state=0)
    ),
    "no_preprocessing": lambda _: "passthrough",
    "nystroem_sampler": _make_factory(Nystroem, random_state=0),
    "pca": _make_renaming_factory(PCA, {"keep_variance": "n_components"}, random_state=0),
    "polynomial": _make_factory(PolynomialFeatures),
    "random_trees_embedding": _make_renaming_factory(
        RandomTreesEmbedding, {"bootstrap": "", "min_weight_fraction_leaf": ""}, random_state=0
    ),
    "select_percentile_classification": _make_selector_factory(SelectPercentile),
    "select_rates": lambda values: _make_selector_factory(GenericUnivariateSelect)(
        {"param": values.pop("alpha"), **values}
    ),
}
CLASSIFIERS: Final[Mapping[str, Factory]] = {
    "adaboost": _make_adaboost,
    "bernoulli_nb": _make_factory(BernoulliNB),
    "decision_tree": _make_tree,
    "extra_trees": _make_factory(ExtraTreesClassifier, random_state=0),
    "gaussian_nb": _make_factory(GaussianNB),
    "gradient_boosting": _make_boosting,
    "k_nearest_neighbors": _make_factory(KNeighborsClassifier),
    "lda": _make_discriminant,
    "liblinear_svc": _make_renaming_factory(LinearSVC, {"multi_class": ""}, random_state=0),
    "libsvm_svc": _make_factory(SVC, random_state=0),
    "multinomial_nb": _make_factory(MultinomialNB),
    "passive_aggressive": lambda values: SGDClassifier(
        learning_rate={"hinge": "pa1", "squared_hinge": "pa2"}[values["loss"]],
        eta0=values["C"],
        penalty=None,
        average=values["average"],
        tol=values["tol"],
        random_state=0,
    ),
    "qda": _make_factory(QuadraticDiscriminantAnalysis),
    "random_forest": _make_factory(RandomForestClassifier, random_state=0),
    "sgd": lambda values: SGDClassifier(
        **{**values, "loss": LOSSES.get(values["loss"], values["loss"])}, random_state=0
    ),
    "xgradient_boosting": lambda values: GradientBoostingClassifier(
        learning_rate=values["learning_rate"],
        max_depth=values["max_depth"],
        max_features=values["colsample_bylevel"],
        min_samples_leaf=max(1, values["min_child_weight"]),
        subsample=values["subsample"],
        random_state=0,
    ),
}

STAGES: Final[Mapping[str, Mapping[str, Factory]]] = {
    "imputation": {
        name: _make_factory(SimpleImputer, strategy=name, keep_empty_features=True) for name in IMPUTATION_STRATEGIES
    },
    "rescaling": RESCALERS,
    "feature_preprocessor": PREPROCESSORS,
    "classifier": CLASSIFIERS,
}
"""The stages in their order; other decisions of the space are about categorical columns, or are `balancing`."""


def build_pipeline(configuration: Values) -> Pipeline:
    """Return the unfitted pipeline of a configuration of the imported space."""
    steps: list[tuple[str, Any]] = []
    for stage, alternatives in STAGES.items():
        alternative, prefix = configuration[stage], f"{stage}."
        values = {key.removeprefix(prefix): value for key, value in configuration.items() if key.startswith(prefix)}
        steps.append((stage, alternatives[alternative](values)))
    pipeline = Pipeline(steps)
    if configuration["balancing"] == "weighting" and "class_weight" in steps[-1][1].get_params():
        pipeline.set_params(classifier__class_weight="balanced")
    return pipeline


@dataclass(frozen=True)
class HoldoutObjective:
    """An objective: 1 - AUROC on a held-out 30 % of the rows, of a pipeline fitted to the other rows."""

    features: np.ndarray
    target: np.ndarray

    @classmethod
    def read(cls, path: Path) -> "HoldoutObjective":
        """Read the data from a file with labels in the column `target`."""
        table = pd.read_csv(path)
        labels = np.unique(table["target"], return_inverse=True)[1]
        return cls(table.drop(columns="target").to_numpy(dtype=float), labels)

    def __call__(self, configuration: Values) -> float:
        """Return the loss; errors of the library are not caught, and make the trial fail."""
        parts = train_test_split(self.features, self.target, test_size=0.3, random_state=0, stratify=self.target)
        training, held_out, labels, true_labels = parts
        pipeline = build_pipeline(configuration)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline.fit(training, labels)
            has_decisions = hasattr(pipeline[-1], "decision_function")
            scores = pipeline.decision_function(held_out) if has_decisions else pipeline.predict_proba(held_out)[:, 1]
            return 1 - float(roc_auc_score(true_labels, scores))


def main(arguments: Sequence[str] | None = None) -> None:
    """Start or resume the search, and print its result."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("space", type=Path, help="file of the imported space")
    options.add_argument("data", type=Path, help="CSV file with labels in the column `target`")
    options.add_argument("--store", type=Path, required=True, help="file in which the run is stored")
    options.add_argument("--seconds", type=float, default=600.0, help="time limit of the run")
    options.add_argument("--trials", type=int, help="maximum number of trials")
    chosen = options.parse_args(arguments)
    result = sl.search(
        sl.load(chosen.space),
        objective=HoldoutObjective.read(chosen.data),
        optimizer="admm",
        time=chosen.seconds,
        trials=chosen.trials,
        trial_limit="60s 4GB",
        store=chosen.store,
        resume=chosen.store.exists(),
    )
    outcome = result.outcome
    print(f"{outcome.seconds:.1f} s, {len(outcome.records)} trials, {outcome.failed} failed, loss {result.loss:.4f}")
    print(result.best_configuration)


if __name__ == "__main__":
    main()
