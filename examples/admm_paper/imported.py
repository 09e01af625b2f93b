"""ADMM on a space of ConfigSpace's format as it is imported: MOSAIC's, whose operators are auto-sklearn's components.

    spacelang import mosaic_1_0.pcs --output mosaic.space
    python examples/admm_paper/imported.py mosaic.space DATA.csv.gz --store RUN.db [--seconds 600]

The components are names alone: what a configuration is worth says the objective here, which makes of each what
scikit-learn has for it. The data has two classes and numbers in all columns but `target`, so that what the space
decides of categories has no effect. The run is kept, and what was stopped, or killed, goes on by the same command.
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
Make = Callable[[dict[str, Any]], BaseEstimator | str]

SCORES: Final = {"chi2": chi2, "f_classif": f_classif, "mutual_info": mutual_info_classif}
LOSSES: Final = {"log": "log_loss"}
"""Whose names have changed."""


def _plain(operator: type[BaseEstimator], **fixed: Any) -> Make:
    """Hyperparameters that are called as the library calls them."""
    return lambda values: operator(**values, **fixed)


def _renamed(operator: type[BaseEstimator], names: Mapping[str, str], **fixed: Any) -> Make:
    """Those that are called something else there; those that it has not, by an empty name, have no effect."""

    def make(values: dict[str, Any]) -> BaseEstimator:
        called = {names.get(name, name): value for name, value in values.items()}
        return operator(**{name: value for name, value in called.items() if name}, **fixed)

    return make


def _range(values: dict[str, Any]) -> BaseEstimator:
    return RobustScaler(quantile_range=(100 * values["q_min"], 100 * values["q_max"]))


def _ica(values: dict[str, Any]) -> BaseEstimator:
    return FastICA(**{**values, "whiten": values["whiten"] and "unit-variance"}, random_state=0)


def _agglomeration(values: dict[str, Any]) -> BaseEstimator:
    function = getattr(np, values.pop("pooling_func"))
    return FeatureAgglomeration(metric=values.pop("affinity"), pooling_func=function, **values)


def _scored(operator: type[BaseEstimator]) -> Make:
    def make(values: dict[str, Any]) -> BaseEstimator:
        selector = operator(**{**values, "score_func": SCORES[values["score_func"]]})
        # chi2 takes no negative numbers.
        return make_pipeline(MinMaxScaler(clip=True), selector) if values["score_func"] == "chi2" else selector

    return make


def _discriminant(values: dict[str, Any]) -> BaseEstimator:
    shrinkage = {"none": None, None: None, "auto": "auto"}.get(values["shrinkage"], values.get("shrinkage_factor"))
    return LinearDiscriminantAnalysis("svd" if shrinkage is None else "lsqr", shrinkage=shrinkage, tol=values["tol"])


def _boosted(values: dict[str, Any]) -> BaseEstimator:
    early = values.pop("early_stop")
    share = {"validation_fraction": None} if early == "train" else {}
    return HistGradientBoostingClassifier(**{**values, **share, "early_stopping": early != "off"}, random_state=0)


def _adaboost(values: dict[str, Any]) -> BaseEstimator:
    values.pop("algorithm")
    tree = DecisionTreeClassifier(max_depth=values.pop("max_depth"), random_state=0)
    return AdaBoostClassifier(tree, **values, random_state=0)


def _tree(values: dict[str, Any]) -> BaseEstimator:
    return _Deep(values.pop("max_depth_factor"), DecisionTreeClassifier(**values, random_state=0))


class _Deep(BaseEstimator):  # type: ignore[misc]
    """A tree as deep as a multiple of the number of columns."""

    def __init__(self, factor: float, tree: BaseEstimator) -> None:
        self.factor = factor
        self.tree = tree

    def fit(self, features: Any, target: Any) -> "_Deep":
        """Fit the tree."""
        depth = max(1, round(self.factor * features.shape[1]))
        self.tree_ = clone(self.tree).set_params(max_depth=depth).fit(features, target)
        return self

    def predict_proba(self, features: Any) -> Any:
        """Shares of the leaves."""
        return self.tree_.predict_proba(features)


IMPUTED: Final = ("mean", "median", "most_frequent")
RESCALED: Final[Mapping[str, Make]] = {
    "minmax": _plain(MinMaxScaler),
    "none": lambda _: "passthrough",
    "normalize": _plain(Normalizer),
    "quantile_transformer": _plain(QuantileTransformer, random_state=0),
    "robust_scaler": _range,
    "standardize": _plain(StandardScaler),
}
FEATURES: Final[Mapping[str, Make]] = {
    "extra_trees_preproc_for_classification": lambda values: SelectFromModel(
        ExtraTreesClassifier(**values, random_state=0)
    ),
    "fast_ica": _ica,
    "feature_agglomeration": _agglomeration,
    "kernel_pca": _plain(KernelPCA, random_state=0),
    "kitchen_sinks": _plain(RBFSampler, random_state=0),
    "liblinear_svc_preprocessor": lambda values: SelectFromModel(
        LinearSVC(C=values["C"], tol=values["tol"], penalty="l1", dual=False, random_state=0)
    ),
    "no_preprocessing": lambda _: "passthrough",
    "nystroem_sampler": _plain(Nystroem, random_state=0),
    "pca": _renamed(PCA, {"keep_variance": "n_components"}, random_state=0),
    "polynomial": _plain(PolynomialFeatures),
    "random_trees_embedding": _renamed(
        RandomTreesEmbedding, {"bootstrap": "", "min_weight_fraction_leaf": ""}, random_state=0
    ),
    "select_percentile_classification": _scored(SelectPercentile),
    "select_rates": lambda values: _scored(GenericUnivariateSelect)({"param": values.pop("alpha"), **values}),
}
CLASSIFIED: Final[Mapping[str, Make]] = {
    "adaboost": _adaboost,
    "bernoulli_nb": _plain(BernoulliNB),
    "decision_tree": _tree,
    "extra_trees": _plain(ExtraTreesClassifier, random_state=0),
    "gaussian_nb": _plain(GaussianNB),
    "gradient_boosting": _boosted,
    "k_nearest_neighbors": _plain(KNeighborsClassifier),
    "lda": _discriminant,
    "liblinear_svc": _renamed(LinearSVC, {"multi_class": ""}, random_state=0),
    "libsvm_svc": _plain(SVC, random_state=0),
    "multinomial_nb": _plain(MultinomialNB),
    "passive_aggressive": lambda values: SGDClassifier(
        learning_rate={"hinge": "pa1", "squared_hinge": "pa2"}[values["loss"]],
        eta0=values["C"],
        penalty=None,
        average=values["average"],
        tol=values["tol"],
        random_state=0,
    ),
    "qda": _plain(QuadraticDiscriminantAnalysis),
    "random_forest": _plain(RandomForestClassifier, random_state=0),
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

STAGES: Final[Mapping[str, Mapping[str, Make]]] = {
    "imputation": {name: _plain(SimpleImputer, strategy=name, keep_empty_features=True) for name in IMPUTED},
    "rescaling": RESCALED,
    "feature_preprocessor": FEATURES,
    "classifier": CLASSIFIED,
}
"""In their order; what else the space decides is of categories, or of `balancing`."""


def pipeline_of(configuration: Values) -> Pipeline:
    """The unfitted pipeline that stands for a configuration of the imported space."""
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
class Held:
    """1 - AUROC on the held-out 30 % of the rows, of a pipeline that was fitted to the others."""

    features: np.ndarray
    target: np.ndarray

    @classmethod
    def read(cls, path: Path) -> "Held":
        """Of a file with the label in the column `target`."""
        table = pd.read_csv(path)
        labels = np.unique(table["target"], return_inverse=True)[1]
        return cls(table.drop(columns="target").to_numpy(dtype=float), labels)

    def __call__(self, configuration: Values) -> float:
        """Raises what the library raises, which is a failed trial."""
        parts = train_test_split(self.features, self.target, test_size=0.3, random_state=0, stratify=self.target)
        training, held_out, labels, judged = parts
        pipeline = pipeline_of(configuration)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline.fit(training, labels)
            decides = hasattr(pipeline[-1], "decision_function")
            scores = pipeline.decision_function(held_out) if decides else pipeline.predict_proba(held_out)[:, 1]
            return 1 - float(roc_auc_score(judged, scores))


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, or go on with a search, and print what came of it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("space", type=Path)
    options.add_argument("data", type=Path)
    options.add_argument("--store", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=600.0)
    options.add_argument("--trials", type=int)
    chosen = options.parse_args(arguments)
    result = sl.search(
        sl.load(chosen.space),
        objective=Held.read(chosen.data),
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
