"""Pipeline classes for a list of steps, with and without steps that resample rows.

scikit-learn's own pipeline cannot have a step that changes the number of rows. imbalanced-learn's can, and applies such
a step only in `fit`. But no step before its last may be a pipeline.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

Step: TypeAlias = tuple[str, Any]
"""A name and an unfitted estimator, as scikit-learn's `Pipeline` takes them."""

TAKEN: Final = frozenset({"steps", "memory", "verbose", "transform_input", "transformer_list", "n_jobs"})
"""Names that a step cannot have because they are parameters of the pipeline itself."""


def pipeline_class(steps: Iterable[Step]) -> Any:
    """Return the pipeline class for these steps: imbalanced-learn's if one of them resamples rows."""
    from sklearn.pipeline import Pipeline

    if not any(resamples(part) for _, part in steps):
        return Pipeline
    from imblearn.pipeline import Pipeline as ResamplingPipeline

    return ResamplingPipeline


def flatten_for_resampling(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in the form that their pipeline class accepts.

    If one of them resamples rows, pipelines before the last step are replaced by their steps; names may then occur
    twice. Otherwise nothing changes.
    """
    if not any(resamples(part) for _, part in steps):
        return [*steps]
    return [*expand_nested_pipelines(steps[:-1]), steps[-1]]


def with_distinct_names(steps: Iterable[Step]) -> list[Step]:
    """Return the steps with distinct names that scikit-learn allows."""
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


def expand_nested_pipelines(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with every pipeline replaced by its own steps."""
    from sklearn.pipeline import Pipeline

    result: list[Step] = []
    for name, part in steps:
        result += expand_nested_pipelines(part.steps) if isinstance(part, Pipeline) else [(name, part)]
    return result


def resamples(part: Any) -> bool:
    """Return True if a part changes which rows the next steps are fitted on."""
    from sklearn.pipeline import Pipeline

    if isinstance(part, Pipeline):
        return any(resamples(inner) for _, inner in part.steps)
    return hasattr(part, "fit_resample")
