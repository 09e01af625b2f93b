"""The search of `run` and `resume`: from a space, data and options to the printed result."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from spacelang.cli import _run_steps as steps
from spacelang.cli._final_fit import FinishedSearch
from spacelang.cli._process import ignore_closed_reader

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.api.experiment import EvaluationData
    from spacelang.api.run_options import RunOptions

    SpaceChoice = Callable[[Callable[[], EvaluationData]], tuple[Space, str]]


def search(
    choose_space: "SpaceChoice",
    data: str,
    target_column: str | tuple[str, ...] | None,
    options: "RunOptions",
    *,
    as_json: bool,
    with_code: bool,
) -> int:
    """Search a space on data, print the result, and return the exit status.

    `choose_space` returns the space, and the reason for it if the user named none; it is called with a function that
    reads the data.
    """
    steps.limit_threads_before_fork(options["workers"], options["executor"])
    from spacelang.api.execution import ensemble_votes
    from spacelang.api.experiment import Experiment, budget_of, experiment_fields
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    optimizer, settings = options["optimizer"], options["optimizer_options"]
    seconds, of_search = map(steps.parse_seconds, (options["time"], options["search_time"]))
    steps.parse_validation_option(options["validate"])
    if optimizer is not None:
        OPTIMIZERS.create(optimizer, settings or {})  # report mistakes before anything is loaded
    described = experiment_fields(options)
    read = cache(partial(steps.load_data, data, target_column, options))
    loaded, chosen = choose_space(read)
    votes = ensemble_votes(options["ensemble"], chosen, options["store"], resume=options["resume"])
    if without := steps.has_no_rows(data):
        steps.refuse_row_options(data, target_column, options)
    else:
        OPTIMIZERS.create(optimizer or default_optimizer(), settings or {})  # before rows are read
    workers = steps.check_workers(loaded, options, is_table=steps.is_loss_table(data))
    budget = budget_of(loaded, seconds, options["trials"], of_search)
    rows = read()
    steps.warn_of_columns(rows, loaded, described["validation"])
    experiment = Experiment(
        space=loaded, data=rows, workers=workers, budget=budget, chosen=chosen, **(described | {"ensemble": votes})
    ).with_optimizer(optimizer, settings)
    prepared = steps.prepare(experiment)
    # Even if nobody reads the output any more, the best pipeline is still fitted and scored.
    with ignore_closed_reader(), steps.run_search(prepared, options) as (found, crew, answer_time):
        if without:
            return steps.print_result(found, as_json=as_json, with_code=with_code)
        return FinishedSearch(data, found, crew, answer_time).fit_and_print_result(as_json=as_json, with_code=with_code)
