"""Chains: which pipeline holds some steps, and what becomes of pipelines among them.

scikit-learn's own pipeline has no step that changes which rows there are. imbalanced-learn's has, and does so while
fitting only; but it takes no other pipeline as a step before the last.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

Step: TypeAlias = tuple[str, Any]
"""A name and an unfitted estimator, as scikit-learn's `Pipeline` takes them."""

TAKEN: Final = frozenset({"steps", "memory", "verbose", "transform_input", "transformer_list", "n_jobs"})
"""Names that a step cannot have because they are parameters of the pipeline itself."""


def pipeline_class(steps: Iterable[Step]) -> Any:
    """The class whose instances can hold these steps: imbalanced-learn's pipeline where one changes the rows."""
    from sklearn.pipeline import Pipeline

    if not any(resamples(part) for _, part in steps):
        return Pipeline
    from imblearn.pipeline import Pipeline as ResamplingPipeline

    return ResamplingPipeline


def flattened(steps: Sequence[Step]) -> list[Step]:
    """The steps as the pipeline of their class takes them.

    Where one changes the rows, the steps of a pipeline before the last one stand in its place; else nothing changes.
    Names may occur twice then.
    """
    if not any(resamples(part) for _, part in steps):
        return [*steps]
    return [*dissolved(steps[:-1]), steps[-1]]


def named_apart(steps: Iterable[Step]) -> list[Step]:
    """The steps under names that differ from each other and that scikit-learn allows."""
    result: dict[str, Any] = {}
    for wanted, part in steps:
        name = wanted.replace("__", "_")
        base = f"{name}_" if name in TAKEN else name
        name, number = base, 1
        while name in result:
            number += 1
            name = f"{base}_{number}"
        result[name] = part
    return list(result.items())


def dissolved(steps: Sequence[Step]) -> list[Step]:
    """The steps with those of pipelines among them in their places."""
    from sklearn.pipeline import Pipeline

    result: list[Step] = []
    for name, part in steps:
        result += dissolved(part.steps) if isinstance(part, Pipeline) else [(name, part)]
    return result


def resamples(part: Any) -> bool:
    """Whether a part changes the rows that the next ones are fitted to."""
    from sklearn.pipeline import Pipeline

    if isinstance(part, Pipeline):
        return any(resamples(inner) for _, inner in part.steps)
    return hasattr(part, "fit_resample")
