"""Run an optimizer of spacelang on one task of the benchmark: `python examples/default/candidates.py FOLDER`.

The options of the task are those of `search`, with `optimizer` among them.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from default.single_run import Fitted, Rows, RunTask, perform, predict

import spacelang as sl
from spacelang.runtime.errors import InputError


def fit(task: RunTask, rows: Rows) -> Fitted:
    """Search with the default space for the data, and fit the best pipeline and the ensemble."""
    options: dict[str, Any] = {"seed": task.seed, "time": task.seconds, "progress": False, **task.options}
    result = sl.search(None, rows.features, rows.target, **options)
    minimized, expected = result.objective.metric.formula, f"1 - {task.metric}"
    if minimized != expected:
        raise ValueError(
            f"the search minimized `{minimized}` and not `{expected}`: the labels were understood otherwise"
        )
    models, note = {}, ""
    try:
        models["ensemble"] = result.ensemble
    except (InputError, sl.RefitError) as error:
        note = f"no ensemble: {error}"
    models["best"] = result.best_pipeline
    models = {name: model for name, model in models.items() if model is not None}

    return Fitted(
        lambda: {name: predict(model, rows.test_features, task) for name, model in models.items()},
        len(result.trials),
        note,
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    perform(fit, f"spacelang {sl.__version__}", Path(sys.argv[1]).resolve())
