"""A found pipeline as a module of Python that needs scikit-learn alone, and does in it what the trial did.

What a trial has done beside its pipeline is in the module as well: which columns it takes and of which type, what it
makes of labels, and from which seed those steps draw that have no random state of their own.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from spacelang.diagnostics.cells import visible
from spacelang.report.code import source, written
from spacelang.runtime.pipelines.taking import whole_numbers

if TYPE_CHECKING:
    from spacelang.runtime.evaluation.objective import DataObjective

# Python looks for the encoding of a file in its first two lines: no name of a stranger may stand there.
HEAD: Final = '''"""A pipeline of scikit-learn that spacelang has found, and that does not need it.

    fitted = fit(table, table[LABEL])   # a DataFrame of pandas with labels
    fitted.predict(take(new))           # another one
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
    """The unfitted pipeline."""
    return clone(pipeline)
'''

TAKE: Final = '''\

def take(table):
    """What the pipeline takes of a table: its columns in their order."""
    return table[FEATURES]
'''

TAKE_FLOATS: Final = '''\

def take(table):
    """What the pipeline takes of a table: its columns in their order, and floats where it holds other numbers."""
    return table[FEATURES].astype(dict.fromkeys(COUNTS, float))
'''

TAKE_SPARSE: Final = '''\

def take(features):
    """What the pipeline takes of a sparse matrix that has the columns of the data: all of it."""
    return features
'''

FIT: Final = '''\

def fit(features, labels):
    """The pipeline, fitted to rows with labels as a trial fits it: the same rows give the same predictions."""
    random.seed(SEED)
    numpy.random.seed(SEED)  # from here those steps draw that have no random state of their own
    with threadpool_limits(limits=1):  # several threads add up in another order
        return build().fit(take(features), {labels})
'''


def module(pipeline: Any, objective: "DataObjective", provenance: Iterable[str]) -> str:
    """The text of a module that builds and fits an unfitted pipeline, or a vote, of an objective.

    It has `pipeline`, unfitted, `build()`, `take(table)` and `fit(table, labels)`; `FEATURES`, `LABEL`, `CLASSES` in
    the order of probabilities, and `SEED`. `provenance` are lines for people, which may be a stranger's. Raises as
    `code.source` does.
    """
    data = objective.dataset
    said = "".join(f"# {visible(line)}\n" for line in provenance)
    facts: dict[str, object] = {"LABEL": str(data.target.name), "SEED": objective.random_state}
    take = TAKE_SPARSE
    if isinstance(data.features, pd.DataFrame):
        facts["FEATURES"] = [*data.features.columns]
        counts = whole_numbers(data.features, objective.preparation)
        take = TAKE_FLOATS if counts else TAKE
        facts |= {"COUNTS": counts} if counts else {}
    if data.classes:
        facts["CLASSES"] = [*data.classes]
    constants = "".join(f"{name} = {written(value)}\n" for name, value in facts.items())
    labels = "numpy.asarray([*labels])" if data.classes else "numpy.asarray(labels, dtype=float)"
    parts = (constants, BUILD, take, FIT.format(labels=labels))
    return f"{HEAD}\n{said}\n{IMPORTS}{source(pipeline)}\n" + "\n".join(parts)
