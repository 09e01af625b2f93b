"""Write a pipeline as a Python module that needs scikit-learn, but not spacelang, and reproduces a trial.

The module also contains what a trial does around its pipeline: the columns and their types, the conversion of labels,
and the seed for steps without a random state.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from spacelang.diagnostics.terminal_cells import make_visible
from spacelang.report.code_writer import literal_expression, pipeline_source
from spacelang.runtime.pipelines.input_conversion import columns_cast_to_float

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.objective import DataObjective

# Python reads the encoding of a file from its first two lines, so no foreign name may be written there.
HEAD: Final = '''"""A scikit-learn pipeline that was found by spacelang, and that does not need spacelang.

    fitted = fit(table, table[LABEL])   # a pandas DataFrame with labels
    fitted.predict(take(new))           # a DataFrame of new rows
"""
'''

IMPORTS: Final = """\
import random

import numpy
from sklearn.base import clone
from threadpoolctl import threadpool_limits
"""

BUILD: Final = '''\

def build():
    """Return the unfitted pipeline."""
    return clone(pipeline)
'''

TAKE: Final = '''\

def take(table):
    """Return the columns of the table that the pipeline takes, in their order."""
    return table[FEATURES]
'''

TAKE_FLOATS: Final = '''\

def take(table):
    """Return the columns that the pipeline takes, in their order, with all numbers as floats."""
    return table[FEATURES].astype(dict.fromkeys(COUNTS, float))
'''

TAKE_SPARSE: Final = '''\

def take(features):
    """Return the sparse matrix unchanged: the pipeline takes all columns."""
    return features
'''

FIT: Final = '''\

def fit(features, labels):
    """Return the pipeline, fitted as a trial fits it: the same rows give the same predictions."""
    random.seed(SEED)
    numpy.random.seed(SEED)  # for steps that use the global random state
    with threadpool_limits(limits=1):  # more threads would add numbers in another order
        return build().fit(take(features), {labels})
'''


def pipeline_module_text(pipeline: Any, objective: "DataObjective", provenance: Iterable[str]) -> str:
    """Return the text of a module that builds and fits the unfitted pipeline, or vote, of an objective.

    It defines `pipeline` (unfitted), `build()`, `take(table)` and `fit(table, labels)`, and the constants `FEATURES`,
    `LABEL`, `SEED` and `CLASSES` (in the order of probabilities). The lines of `provenance` become comments; they may
    contain foreign text. Raises TypeError and BuildError as `pipeline_source` does.
    """
    data = objective.dataset
    said = "".join(f"# {make_visible(line)}\n" for line in provenance)
    facts: dict[str, object] = {"LABEL": str(data.target.name), "SEED": objective.random_state}
    take = TAKE_SPARSE
    if isinstance(data.features, pd.DataFrame):
        facts["FEATURES"] = [*data.features.columns]
        counts = columns_cast_to_float(data.features, objective.preparation)
        take = TAKE_FLOATS if counts else TAKE
        facts |= {"COUNTS": counts} if counts else {}
    if data.classes:
        facts["CLASSES"] = [*data.classes]
    constants = "".join(f"{name} = {literal_expression(value)}\n" for name, value in facts.items())
    labels = "numpy.asarray([*labels])" if data.classes else "numpy.asarray(labels, dtype=float)"
    parts = (constants, BUILD, take, FIT.format(labels=labels))
    return f"{HEAD}\n{said}\n{IMPORTS}{pipeline_source(pipeline)}\n" + "\n".join(parts)
