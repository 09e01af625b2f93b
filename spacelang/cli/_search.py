"""The search of `run` and `resume`, and its end: pipeline and ensemble, fitted on all rows, scored on unseen ones."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from spacelang.cli import _run_steps as steps
from spacelang.cli._output import print_error, print_json
from spacelang.cli._process import (
    BAD_INPUT,
    INTERRUPTED,
    NOTHING_SUCCEEDED,
    ignore_closed_output_pipe,
    unsanitized_stream,
)
from spacelang.cli._run_steps import make_run_facts, print_code, print_code_comments, print_summary_and_next_steps
from spacelang.report.run_facts import FinalWorkResult

if TYPE_CHECKING:
    from spacelang.api import Result, Space
    from spacelang.api.experiment import EvaluationData
    from spacelang.api.run_options import RunOptions
    from spacelang.report.run_facts import RunFacts
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final_fit import FinalFit
    from spacelang.runtime.run_deadline import RunDeadline

    SpaceChoice = Callable[[Callable[[], EvaluationData]], tuple[Space, str]]


def search_and_print_result(
    choose_space: "SpaceChoice",
    data: str,
    target_column: str | tuple[str, ...] | None,
    options: "RunOptions",
    *,
    complete: "Callable[[EvaluationData], EvaluationData]" = lambda data: data,
    as_json: bool,
    with_code: bool,
) -> int:
    """Search a space on data, print the result, and return the exit status.

    `choose_space` returns the space, and the reason for the choice if the user named no space; it is called with a
    function that reads the data. `complete` adds stored properties of the rows, such as groups and splits, to the data
    of a resumed run.
    """
    steps.limit_threads_before_fork(options["workers"], options["executor"])
    from spacelang.api.executor_settings import choose_number_of_ensemble_votes
    from spacelang.api.experiment import Experiment, experiment_fields_from_options, make_budget
    from spacelang.optimizers import OPTIMIZERS, default_optimizer

    optimizer, settings = options["optimizer"], options["optimizer_options"]
    seconds, of_search = map(steps.parse_seconds, (options["time"], options["search_time"]))
    steps.parse_validation_option(options["validate"])
    if optimizer is not None:
        OPTIMIZERS.create(optimizer, settings or {})  # report mistakes before anything is loaded
    described = experiment_fields_from_options(options)
    read = cache(lambda: complete(steps.load_data(data, target_column, options)))
    loaded, chosen = choose_space(read)
    votes = choose_number_of_ensemble_votes(options["ensemble"], chosen, options["store"], resume=options["resume"])
    if without := steps.has_no_rows(data):
        steps.refuse_row_options(data, target_column, options)
    else:
        OPTIMIZERS.create(optimizer or default_optimizer(), settings or {})  # before rows are read
    workers = steps.checked_worker_settings(loaded, options, is_table=steps.is_loss_table(data))
    budget = make_budget(loaded, seconds, options["trials"], of_search)
    rows = read()
    steps.warn_of_useless_columns(rows, loaded, described["validation"])
    experiment = Experiment(
        space=loaded, data=rows, workers=workers, budget=budget, chosen=chosen, **(described | {"ensemble": votes})
    ).with_optimizer(optimizer, settings)
    prepared = steps.prepare_experiment(experiment)
    # Even if nobody reads the output any more, the best pipeline is still fitted and scored.
    with ignore_closed_output_pipe(), steps.run_search(prepared, options) as (found, crew, answer_time):
        if without:
            return steps.print_result_without_rows(found, as_json=as_json, with_code=with_code)
        return FinishedSearch(data, found, crew, answer_time).fit_and_print_result(as_json=as_json, with_code=with_code)


ENSEMBLE_NAME = "ensemble"  # The name of the variable of the ensemble in the printed code


@dataclass(frozen=True)
class FinishedSearch:
    """A finished search on rows of data, with the executor of its trials, which still runs.

    `answer_time` is the time until the answer, None without a limit.
    """

    data: str
    found: "Result"
    executor: "Executor"
    answer_time: "RunDeadline | None" = None

    @property
    def objective(self) -> "DataObjective":
        """The objective that was minimized."""
        from spacelang.runtime.evaluation.objective import DataObjective

        assert isinstance(self.found.objective, DataObjective)
        return self.found.objective

    @cached_property
    def run_facts(self) -> "RunFacts":
        """The facts of the run that its summary needs besides the outcome."""
        return make_run_facts(self.found, self.objective.preparation.description_sentence)

    def fit_and_print_result(self, *, as_json: bool, with_code: bool = False) -> int:
        """Print the result and return the exit status; unless interrupted, the best pipeline is fitted on all rows."""
        with _status_on_terminal("fitting the best pipeline on all rows", is_shown=not as_json):
            finale, status = self._final_fit()
            ensemble, notes, status = self._fit_ensemble(finale, status)
        if as_json:
            self._print_json(finale, ensemble)
            return status
        outcome = self.found.outcome
        if finale is None and outcome.best is not None and not self.run_facts.objectives:
            notes = ("interrupted: the final fit was skipped", *notes)
        if ensemble is not None and ensemble.members and self.objective.bounds:
            notes = (
                *notes,
                "each member satisfies the bounds of the task, but the ensemble as a whole may violate them",
            )
        time = self.answer_time
        is_limited = time is not None and time.is_enforced and outcome.ended != "interrupted"
        left = time.seconds_left if time is not None and is_limited else None
        start = None if time is None else time.costs.preceding_seconds
        print_summary_and_next_steps(
            self.found, self.run_facts, FinalWorkResult(finale, ensemble, notes, left, start), self.data
        )
        if with_code:
            self._print_code(finale, ensemble)
        return status

    def _print_json(self, finale: "FinalFit | None", ensemble: "Ensemble | None") -> None:
        from spacelang.report.run_document import ensemble_document, run_json_document

        time_note = "; ".join(each.note for each in (finale, ensemble) if each is not None and each.note)
        vote = None if ensemble is None else ensemble_document(ensemble, self.run_facts.metric)
        print_json(run_json_document(self.found.outcome, self.run_facts, finale, vote, time_note))

    def _final_fit(self) -> "tuple[FinalFit | None, int]":
        """Fit the best pipeline on all rows and store its test score; return the fit and the exit status.

        The fit is None after an interruption, without a successful trial, with several objectives, and after an error.
        """
        from spacelang.api.final_fits import store_test_score
        from spacelang.runtime.errors import InputError
        from spacelang.runtime.final_fit import fit_best_pipeline

        outcome, limits = self.found.outcome, self.found.experiment.workers.limits
        if outcome.ended == "interrupted" or outcome.best is None:
            return None, INTERRUPTED if outcome.ended == "interrupted" else NOTHING_SUCCEEDED
        if self.run_facts.objectives:
            return None, 0
        try:
            finale = fit_best_pipeline(
                outcome, self.objective, self.executor, limits=limits, answer_time=self.answer_time
            )
        except KeyboardInterrupt:
            return None, INTERRUPTED
        except InputError as error:
            print_error(error.message, error.help)
            return None, BAD_INPUT
        if finale.record is None:
            count = len(finale.skipped)
            message = f"none of the {count} best pipelines can be fitted on all rows"
            message = "the best pipeline cannot be fitted on all rows" if count == 1 else message
            print_error(message, "all trials are stored; list them with `spacelang show`")
            return finale, NOTHING_SUCCEEDED
        assert self.found.store is not None
        try:
            store_test_score(self.found.store, finale)
            replace(self.found, finale=finale).store_time_note()
        except InputError as error:
            print_error(error.message, error.help)
            return finale, BAD_INPUT
        return finale, 0

    def _print_code(self, finale: "FinalFit | None", ensemble: "Ensemble | None") -> None:
        """Print the code of the pipeline and of the ensemble; everything else is in comments, so that it can be run."""
        from spacelang.report.code_writer import pipeline_module_source
        from spacelang.report.summary import describe_ensemble, describe_member_weights
        from spacelang.runtime.ensembles.construction import make_unfitted_vote

        best = self.found.outcome.best
        shown = best if finale is None or finale.record is None else finale.record
        if shown is None:
            return
        if self.run_facts.objectives:
            print_code_comments(
                f"the code of one of these pipelines: spacelang export {self.found.store} --rank 1 -o …"
            )
            return
        print_code_comments(f"the pipeline of trial {shown.index}:")
        print()
        print_code(pipeline_module_source(self.objective.make_pipeline(shown.trial.request.configuration)))
        self._print_fit_line()
        if ensemble is not None and ensemble.members:
            print_code_comments(describe_ensemble(ensemble.choice), describe_member_weights(ensemble.members))
            print()
            print_code(pipeline_module_source(make_unfitted_vote(self.objective, ensemble.members), ENSEMBLE_NAME))
            self._print_fit_line(ENSEMBLE_NAME)

    def _print_fit_line(self, name: str = "pipeline") -> None:
        """Print a line of Python that fits what was printed last, if pandas or scikit-learn can read the data."""
        from spacelang.api.search_data import TabularData
        from spacelang.ir.validation import excluded_columns
        from spacelang.report.code_writer import fit_statement

        rows = self.found.experiment.data
        assert isinstance(rows, TabularData)
        reading, splits = rows.table.reading, excluded_columns(self.objective.validation)
        unused = replace(reading, drop_columns=(*reading.drop_columns, *splits))
        code = fit_statement(self.data, self.objective.dataset.target_columns, name, unused)
        if code is not None:
            print_code_comments(f"to fit it: {code}")

    # ---- the ensemble

    def _fit_ensemble(self, finale: "FinalFit | None", status: int) -> "tuple[Ensemble | None, tuple[str, ...], int]":
        """Fit the ensemble; return it, None without one, sentences on what is missing, and the exit status."""
        from spacelang.runtime.ensembles.construction import (
            EnsembleError,
            NoEligibleTrialError,
            fit_ensemble,
            select_members,
        )
        from spacelang.runtime.errors import InputError
        from spacelang.runtime.storage.store import Store

        votes, outcome, objective = self.found.experiment.ensemble, self.found.outcome, self.objective
        if votes is None or finale is None or finale.record is None or status:
            return None, (), status
        assert self.found.store is not None
        by_default = self.found.experiment.has_default_ensemble
        try:
            with Store.read(self.found.store) as kept:
                choice = select_members(outcome, objective, kept.predictions, votes, self.answer_time)
            limits = self.found.experiment.workers.limits
            ensemble = fit_ensemble(
                choice, outcome, objective, self.executor, limits=limits, answer_time=self.answer_time
            )
            replace(self.found, finale=finale, assembled=ensemble).store_time_note()
        except KeyboardInterrupt:
            return None, ("interrupted: the ensemble was not fitted on all rows",), INTERRUPTED
        except InputError as error:
            if (by_default and isinstance(error, EnsembleError)) or isinstance(error, NoEligibleTrialError):
                return None, (error.message,), status  # the best pipeline is an answer without it
            print_error(error.message, error.help)
            return None, (), BAD_INPUT
        if ensemble.left_out and not ensemble.members:
            what = "none of the members of the ensemble can be fitted on all rows"
            if by_default:
                return ensemble, (what,), status
            print_error(what, "use the best single pipeline, which was fitted")
            return ensemble, (), NOTHING_SUCCEEDED
        return ensemble, (), 0


@contextmanager
def _status_on_terminal(text: str, *, is_shown: bool) -> Iterator[None]:
    """Show a text while the block runs, if standard error is a terminal and `is_shown` is set."""
    from rich.console import Console

    console = Console(file=unsanitized_stream(sys.stderr))
    with console.status(text) if is_shown and console.is_terminal else nullcontext():
        yield
