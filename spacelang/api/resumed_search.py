"""`resume`: continue a stored run with the data, the space and the options that are in its store."""

from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Unpack, cast

from spacelang.api.experiment import EvaluationData
from spacelang.api.options import PATH, accept_options, check_argument, options_of
from spacelang.api.result import Result
from spacelang.api.resuming import ResumableRun, is_table_reference, open_resumable_run
from spacelang.api.run_options import SearchOptions, SearchResumeOptions
from spacelang.api.run_search import run_on_data, table_data
from spacelang.api.search_data import BlackBoxData, TabularData
from spacelang.runtime.black_box import ARTIFICIAL_PREFIX
from spacelang.runtime.storage.store_errors import StoreError

AGAIN: Final = ("metric", "sample_weight", "groups")  # What a program may give again if the store does not hold it


@accept_options(SearchResumeOptions)
def resume(
    store: str | PathLike[str], features: Any = None, target: Any = None, **options: Unpack[SearchResumeOptions]
) -> Result:
    """Continue a stored run, like `spacelang resume`, and return its result.

    >>> import tempfile
    >>> import spacelang as sl
    >>> from sklearn.datasets import load_iris
    >>> features, labels = load_iris(return_X_y=True)
    >>> store = f"{tempfile.mkdtemp()}/run.db"
    >>> space = sl.parse("stage estimator = GaussianNB | KNeighborsClassifier { n_neighbors : int[1, 9] = 5 }")
    >>> _ = sl.search(space, features, labels, trials=2, workers=0, store=store)
    >>> len(sl.resume(store, features, labels, trials=4).trials)
    4

    Parameters
    ----------
    store
        The file of the run.
    features, target
        The rows of the run, as `search` takes them; only needed if the run was on rows of a program, not of a file.

    Notes
    -----
    The store has the space, the options, the groups, times and weights of rows, the splits of a splitter, and the
    scorer, if it is made of a function that can be imported. Only functions of `sklearn.metrics` are imported because a
    store names them; the packages of others must be allowed, because a store may come from someone else.

    Raises StoreError for what only the program has, such as `objective` functions or a lambda as a scorer, with the
    call that continues the run, and otherwise the errors of `search`.
    """
    started = perf_counter()
    check_argument("store", store, (PATH, "takes the path of a file"))
    found = open_resumable_run(Path(fspath(store)), [name for name in AGAIN if options[name] is not None])
    if found.is_table or is_table_reference(found.header):
        what = f"the run in `{found.store}` is on a table of losses"
        raise StoreError(what, f"resume it by `{found.command}`")
    values = cast(
        SearchOptions,
        {name: option.default for name, option in options_of(SearchOptions).items()}
        | dict(options)
        | found.options(options),
    )
    space = found.space(options["allow"])
    data = found.complete(_data(found, features, target, options, values))
    rows = data.table.features if isinstance(data, TabularData) and features is None else features
    return run_on_data(space, data, values, chosen=found.chosen, features=rows, started=started)


def _data(
    found: ResumableRun, features: Any, target: Any, options: SearchResumeOptions, values: SearchOptions
) -> EvaluationData:
    """Return the given rows, or else the data that the store names."""
    from spacelang.runtime.data.loading import load_dataset
    from spacelang.runtime.data.read_options import read_options_of

    if features is not None:
        return table_data(features, target, read_options_of(values), values)
    reference = found.data(options["data"])
    if reference.startswith(ARTIFICIAL_PREFIX):
        return BlackBoxData(reference)
    return TabularData(load_dataset(reference, found.target_column, read_options_of(values)), reference=reference)
