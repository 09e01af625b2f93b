"""Functions that modules have which build pipelines, word by word.

`BUILD` and `ESTIMATOR` are filled in for a space; of `USES` a module has those that it calls.
"""

from typing import Final

THERE: Final = '''\
def there(steps: Sequence[tuple[str | None, Any]]) -> list[Step]:
    """The steps that are not left out; one without a name is called like its class."""
    return [(type(part).__name__.lower() if name is None else name, part) for name, part in steps if part is not None]
'''

CHAIN: Final = '''\
def chain(steps: Sequence[tuple[str | None, Any]]) -> Any:
    """The steps as one: None where all are left out, the only one, or a pipeline."""
    kept = there(steps)
    return pipeline(kept) if len(kept) > 1 else kept[0][1] if kept else None
'''

PIPELINE: Final = '''\
def pipeline(steps: Sequence[Step]) -> Any:
    """The pipeline of some steps, whose names differ."""
    return Pipeline(named_apart(steps))
'''

RESAMPLING: Final = '''\
def pipeline(steps: Sequence[Step]) -> Any:
    """The pipeline of some steps, whose names differ; imbalanced-learn's where one changes the rows."""
    chained = flattened(steps)
    return pipeline_class(chained)(named_apart(chained))
'''

UNION: Final = '''\
def union(sides: Sequence[tuple[str | None, Any]]) -> Any:
    """The sides that are there, side by side; None where all are left out."""
    kept = there(sides)
    return FeatureUnion(named_apart(kept)) if kept else None
'''

PASSED: Final = '''\
def passed(part: Any) -> Any:
    """What a `ColumnTransformer` takes for a part; columns of one that is left out pass as they are."""
    return "passthrough" if part is None else part
'''

ORDERED: Final = '''\
def ordered(order: str, steps: Mapping[str, Sequence[tuple[str | None, Any]]]) -> list[tuple[str | None, Any]]:
    """The steps, which are known by their labels, in an order."""
    orders = {", ".join(labels): labels for labels in permutations(steps)}
    return [step for label in orders[order] for step in steps[label]]
'''

UNKNOWN: Final = '''\
def unknown(name: object, key: str) -> ValueError:
    """The error for a name that a decision does not have."""
    return ValueError(f"`{name}` is no alternative of `{key}`")
'''

BUILD: Final = '''\
def build(configuration: Mapping[str, Any], random_state: int | None = None) -> Any:
    """The unfitted pipeline of a configuration; raises ValueError or KeyError where a decision is unknown or missing.

    Ranges and constraints are not looked at. What a task prepares before, such as missing values, is no part of it.
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
"""What is written down where it is called."""


ESTIMATOR: Final = '''\
class Estimator(Configured):
    """The pipeline of one configuration as an estimator, for `RandomizedSearchCV(Estimator(), dictionaries)`."""

    kind = {kind}

    def build(self) -> Any:
        """The unfitted pipeline."""
        return build(decode(default) if self.configuration is None else self.configuration, self.random_state)
'''
