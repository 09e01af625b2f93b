"""Source text of functions that are copied into exported modules which build pipelines.

`BUILD` and `ESTIMATOR` are filled in for a space. A module has those functions of `USES` that it calls.
"""

from typing import Final

THERE: Final = '''\
def there(steps: Sequence[tuple[str | None, Any]]) -> list[Step]:
    """Return the steps that are not left out. A step without a name gets that of its class."""
    return [(type(part).__name__.lower() if name is None else name, part) for name, part in steps if part is not None]
'''

CHAIN: Final = '''\
def chain(steps: Sequence[tuple[str | None, Any]]) -> Any:
    """Return the steps as one: None if all are left out, the only step, or a pipeline."""
    kept = there(steps)
    return pipeline(kept) if len(kept) > 1 else kept[0][1] if kept else None
'''

PIPELINE: Final = '''\
def pipeline(steps: Sequence[Step]) -> Any:
    """Return the pipeline of the steps, with unique names."""
    return Pipeline(with_distinct_names(steps))
'''

RESAMPLING: Final = '''\
def pipeline(steps: Sequence[Step]) -> Any:
    """Return the pipeline of the steps, with unique names; that of imbalanced-learn if a step resamples rows."""
    chained = flattened(steps)
    return pipeline_class(chained)(with_distinct_names(chained))
'''

UNION: Final = '''\
def union(sides: Sequence[tuple[str | None, Any]]) -> Any:
    """Return the union of the parts that are not left out, or None if all are left out."""
    kept = there(sides)
    return FeatureUnion(with_distinct_names(kept)) if kept else None
'''

PASSED: Final = '''\
def passed(part: Any) -> Any:
    """Return the transformer for `ColumnTransformer`. If it is left out, its columns pass through unchanged."""
    return "passthrough" if part is None else part
'''

ORDERED: Final = '''\
def ordered(order: str, steps: Mapping[str, Sequence[tuple[str | None, Any]]]) -> list[tuple[str | None, Any]]:
    """Return the steps in the given order, which is written as their labels with commas between them."""
    orders = {", ".join(labels): labels for labels in permutations(steps)}
    return [step for label in orders[order] for step in steps[label]]
'''

UNKNOWN: Final = '''\
def unknown(name: object, key: str) -> ValueError:
    """Return the error for a name that is no alternative of the decision."""
    return ValueError(f"`{name}` is not an alternative of `{key}`")
'''

BUILD: Final = '''\
def build(configuration: Mapping[str, Any], random_state: int | None = None) -> Any:
    """Return the unfitted pipeline of a configuration.

    Raises ValueError for an unknown alternative, and KeyError for a missing decision. Ranges and constraints are not
    checked. Preparations of a task, such as handling missing values, are not part of the pipeline.
    """
    given = {{key: value.item() if hasattr(value, "item") else value for key, value in configuration.items()}}
    steps = there({steps})
    if not steps:
        raise ValueError("every step of the pipeline is left out")
    return pipeline(steps)
'''

USES: Final = {
    "chain": CHAIN,
    "union": UNION,
    "passed": PASSED,
    "ordered": ORDERED,
}
"""The functions that a module has only if it calls them."""


ESTIMATOR: Final = '''\
class Estimator(Configured):
    """An estimator that is the pipeline of a configuration, for `RandomizedSearchCV(Estimator(), dictionaries)`."""

    kind = {kind}

    def build(self) -> Any:
        """Return the unfitted pipeline."""
        return build(decode(default) if self.configuration is None else self.configuration, self.random_state)
'''
