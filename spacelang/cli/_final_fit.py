"""The end of `spacelang run`: the best pipeline and the ensemble as code, fitted on all rows, scored on unseen rows.

The code is printed before the pipeline is fitted, so that it is not lost if the fit fails. Everything below the code is
printed as Python comments: the output from the code on can be run as it is.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from spacelang.cli._output import print_error, print_json
from spacelang.cli._process import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED
from spacelang.cli._run_steps import print_code, print_comment, print_comments, run_facts
from spacelang.shell import shell_word

if TYPE_CHECKING:
    from spacelang.api import Result
    from spacelang.report.summary import RunFacts
    from spacelang.runtime.ensembles.construction import Ensemble, EnsembleSelection, Member
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final_fit import FinalFit, SkippedTrial
    from spacelang.runtime.history import TrialRecord
    from spacelang.runtime.run_deadline import RunDeadline

Announce: TypeAlias = "Callable[[TrialRecord, tuple[SkippedTrial, ...]], None]"
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
    def facts(self) -> "RunFacts":
        """The facts of the run that its summary needs besides the outcome."""
        return run_facts(self.found, self.objective.preparation.sentence)

    def fit_and_print_result(self, *, as_json: bool) -> int:
        """Print the result and return the exit status; unless interrupted, the best pipeline is fitted on all rows."""
        if not as_json:
            return self._print_text()
        from spacelang.report.summary import document

        finale, status = self._final_fit()
        ensemble, status = self._fit_ensemble(finale, status, as_json=True)
        notes = ("" if finale is None else finale.note, "" if ensemble is None else str(ensemble["time_note"]))
        time_note = "; ".join(filter(None, notes))
        print_json(document(self.found.outcome, self.facts, finale, ensemble, time_note))
        return status

    def _print_text(self) -> int:
        from rich.console import Console

        from spacelang.report.summary import print_summary
        from spacelang.report.trial_results import describe_constraints, describe_score

        outcome = self.found.outcome
        print_summary(outcome, self.facts, Console(highlight=False))
        if outcome.best is not None and outcome.ended == "interrupted":
            self._print_pipeline(outcome.best, ())
        finale, status = self._final_fit(self._print_pipeline)
        if finale is None:
            if outcome.best is not None:
                print_comments("interrupted: the final fit was skipped")
                self._print_fit_line()
        elif finale.record is None:
            print_comments(f"the fit on all {finale.rows} rows failed: {finale.skipped[-1].reason}")
        else:
            fitted = f"fitted on all {finale.rows} rows in {finale.seconds:.1f} s"
            print_comments(finale.note if finale.is_trial_model else fitted)
            if finale.test is not None:
                print_comment(describe_score(finale.test, self.facts.metric.formula))
                for line in describe_constraints(finale.test, finale.record.trial):
                    print_comment(line)
            self._print_fit_line()
        status = self._fit_ensemble(finale, status, as_json=False)[1]
        if self.answer_time is not None and self.answer_time.is_enforced:
            print_comments(_distance_from_time(self.answer_time.seconds_left))
        return status

    def _final_fit(self, announce: Announce = lambda *_: None) -> "tuple[FinalFit | None, int]":
        """Fit the best pipeline and store its score; return the result, None if there is none, and the status."""
        from spacelang.api.final_fits import store_score
        from spacelang.runtime.errors import InputError
        from spacelang.runtime.final_fit import fit_best_pipeline

        outcome, limits = self.found.outcome, self.found.experiment.workers.limits
        if outcome.ended == "interrupted" or outcome.best is None:
            return None, INTERRUPTED if outcome.ended == "interrupted" else NOTHING_SUCCEEDED
        try:
            finale = fit_best_pipeline(
                outcome,
                self.objective,
                self.executor,
                limits=limits,
                announce=announce,
                answer_time=self.answer_time,
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
            store_score(self.found.store, finale)
            replace(self.found, finale=finale).store_time_note()
        except InputError as error:
            print_error(error.message, error.help)
            return finale, BAD_INPUT
        return finale, 0

    def _print_pipeline(self, record: "TrialRecord", passed_over: "tuple[SkippedTrial, ...]") -> None:
        """Print the code of a pipeline before it is fitted, and why the better one before it was skipped."""
        from spacelang.report.code_writer import pipeline_source

        if passed_over:
            print_comments(f"the fit on all {self.objective.rows} rows failed: {passed_over[-1].reason}")
            loss = f"{self.facts.metric.formula} {record.trial.loss:.6g}"
            print_comment(f"the next best pipeline is that of trial {record.index}, with {loss}:")
            print()
        else:
            print("\nthe best pipeline:\n")
        print_code(pipeline_source(self.objective.make_pipeline(record.trial.request.configuration)))
        sys.stdout.flush()

    def _print_fit_line(self, name: str = "pipeline") -> None:
        """Print a line of Python that fits what was printed last, if pandas or scikit-learn can read the data."""
        from spacelang.api.search_data import TabularData
        from spacelang.ir.validation import excluded_columns
        from spacelang.report.code_writer import fit_statement

        rows = self.found.experiment.data
        assert isinstance(rows, TabularData)
        reading, splits = rows.table.reading, excluded_columns(self.objective.validation)
        unused = replace(reading, drop_columns=(*reading.drop_columns, *splits))
        code = fit_statement(self.data, str(self.objective.dataset.target.name), name, unused)
        if code is not None:
            print_comment(f"to fit it: {code}")

    # ---- the ensemble

    def _fit_ensemble(
        self, finale: "FinalFit | None", status: int, *, as_json: bool
    ) -> "tuple[dict[str, object] | None, int]":
        """Fit the ensemble and print it unless `as_json`; return its document, None without one, and the status."""
        from spacelang.report.summary import ensemble_document
        from spacelang.runtime.ensembles.construction import EnsembleError, fit_ensemble, select_members
        from spacelang.runtime.errors import InputError
        from spacelang.runtime.storage.store import Store

        votes, outcome, objective = self.found.experiment.ensemble, self.found.outcome, self.objective
        if votes is None or finale is None or finale.record is None or status:
            return None, status
        assert self.found.store is not None
        try:
            with Store.read(self.found.store) as kept:
                choice = select_members(outcome, objective, kept.predictions, votes, self.answer_time)
            if not as_json:
                self._print_selection(choice)
            announce = (lambda *_: None) if as_json else partial(self._print_members, len(choice.members))
            limits = self.found.experiment.workers.limits
            ensemble = fit_ensemble(
                choice,
                outcome,
                objective,
                self.executor,
                limits=limits,
                announce=announce,
                answer_time=self.answer_time,
            )
            replace(self.found, finale=finale, assembled=ensemble).store_time_note()
        except KeyboardInterrupt:
            if not as_json:
                print_comments("interrupted: the ensemble was not fitted on all rows")
            return None, INTERRUPTED
        except InputError as error:
            if self.found.experiment.has_default_ensemble and isinstance(error, EnsembleError):
                if not as_json:
                    print_comments(error.message)
                return None, status
            print_error(error.message, error.help)
            return None, BAD_INPUT
        if ensemble.left_out and not ensemble.members:
            what = "none of the members of the ensemble can be fitted on all rows"
            print_error(what, "the best pipeline is not affected")
        if not as_json:
            self._print_ensemble_score(ensemble, finale)
        return ensemble_document(ensemble), 0 if ensemble.members or not ensemble.left_out else NOTHING_SUCCEEDED

    def _print_selection(self, choice: "EnsembleSelection") -> None:
        """Print who votes, and the ensemble's loss next to that of the best pipeline."""
        from spacelang.report.summary import describe_ensemble

        best = self.found.outcome.best
        formula, loss = self.objective.metric.formula, choice.loss_of(choice.members)
        alone = "" if best is None else f"; the best pipeline alone: {best.trial.loss:.6g}"
        print_comments(
            describe_ensemble(choice),
            f"{formula} {loss:.6g} on the held-out rows, by which the ensemble was chosen{alone}",
        )
        if self.objective.bounds:
            print_comment("every member keeps to the bounds of the task, but the ensemble as a whole may not")

    def _print_members(self, wanted: int, members: "Sequence[Member]", left_out: "tuple[SkippedTrial, ...]") -> None:
        """Print the code of the members before they are fitted, and again if some of them could not be fitted."""
        from spacelang.report.code_writer import pipeline_source
        from spacelang.report.summary import describe_weights
        from spacelang.runtime.ensembles.construction import make_unfitted

        if left_out or len(members) < wanted:
            lines = _failure_lines(left_out, self.objective.rows)
            print_comments(*lines, "the remaining members of the ensemble share the votes:")
        print_comment(describe_weights(members))
        print()
        print_code(pipeline_source(make_unfitted(self.objective, members), ENSEMBLE_NAME))
        sys.stdout.flush()

    def _print_ensemble_score(self, ensemble: "Ensemble", finale: "FinalFit") -> None:
        """Print comments below the code: the fit, the score on unseen rows, and next steps."""
        from spacelang.report.trial_results import describe_interval, describe_score

        formula = self.objective.metric.formula
        if not ensemble.members:
            print_comments(*filter(None, (*_failure_lines(ensemble.left_out, ensemble.rows), ensemble.note)))
            return
        together = "" if len(ensemble.members) == 1 else f", all {len(ensemble.members)} members together"
        fitted = f"fitted on all {ensemble.rows} rows in {ensemble.seconds:.1f} s{together}"
        print_comments(ensemble.note or fitted)
        if ensemble.test is not None:
            beside = "" if finale.test is None else describe_interval(finale.test, formula)
            beside = "" if finale.test is None else f"; the best pipeline alone: {beside}"
            print_comment(f"{describe_score(ensemble.test, formula)}{beside}")
        self._print_fit_line(ENSEMBLE_NAME)
        store = shell_word(str(self.found.store))
        print_comment(f"to export the ensemble: spacelang export {store} --ensemble -o ensemble.py")


def _failure_lines(left_out: "tuple[SkippedTrial, ...]", rows: int) -> list[str]:
    return [f"the fit of trial {each.record.index} on all {rows} rows failed: {each.reason}" for each in left_out]


def _distance_from_time(left: float) -> str:
    return f"ended {abs(left):.1f} s {'before' if left >= 0 else 'after'} the time was up"
