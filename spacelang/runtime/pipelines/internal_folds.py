"""Seeded folds for `TargetEncoder`, which shuffles rows, and takes a seed only in `cv` since scikit-learn 1.9."""

import inspect
from typing import Any, Final

from sklearn.model_selection import KFold, StratifiedKFold

from spacelang.ir.space import Node, Operator
from spacelang.runtime.errors import BuildError
from spacelang.runtime.pipelines.catalogue_access import import_operator_class, task_kind

SHUFFLES: Final = ("sklearn", "TargetEncoder")  # The catalogue and name of the operator with shuffled folds
OWN_SHUFFLING: Final = frozenset({"shuffle", "random_state"})  # If a space sets these, the folds are left as they are


def internal_splitter(operator: Operator, root: Node) -> type[Any] | None:
    """Return the class of the folds that an operator shuffles and that need a seed; None for other operators.

    scikit-learn stratifies these folds if the labels are classes, here if the last stage of the space with the tree
    `root` has only classifiers. The result is None if that stage has neither only classifiers nor only regressors.
    """
    if (operator.catalogue, operator.name) != SHUFFLES:
        return None
    named = (*(name for name, _ in operator.fixed), *(each.name for each in (*operator.children, *operator.computed)))
    own_seed = inspect.signature(import_operator_class(operator)).parameters.get("random_state")
    if not OWN_SHUFFLING.isdisjoint(named) or (own_seed is not None and own_seed.default is None):
        return None
    try:
        kind = task_kind(root)
    except BuildError:
        return None
    splitters: dict[str, type[Any]] = {"classification": StratifiedKFold, "regression": KFold}
    return splitters[kind]


def with_seeded_folds(encoder: Any, splitter: Any, random_state: int | None) -> Any:
    """Replace an encoder's number of folds with seeded folds if there is a seed, and return the encoder."""
    if random_state is None:
        return encoder
    folds = 5 if encoder.cv is None else encoder.cv
    return encoder.set_params(cv=splitter(folds, shuffle=True, random_state=random_state))
