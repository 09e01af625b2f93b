"""The end of `spacelang run`: the best pipeline as code, its fit on all rows, and its score on unseen rows.

The code is printed before the pipeline is fitted, so that it is not lost if the fit fails. Everything below the code is
printed as Python comments: the output from the code on can be run as it is.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from spacelang.cli._running import add, comment, facts_of, print_code, reading_in
from spacelang.cli._shared import print_json, report
from spacelang.cli._shell import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED

if TYPE_CHECKING:
    from spacelang.api import Result
    from spacelang.report.summary import RunFacts
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final import Finale, PassedOver
    from spacelang.runtime.history import Record

Announce: TypeAlias = "Callable[[Record, tuple[PassedOver, ...]], None]"


@dataclass(frozen=True)
class EndedSearch:
    """A finished search on rows of data, with the executor of its trials, which still runs."""

    data: str
    found: "Result"
    executor: "Executor"

    @property
    def objective(self) -> "DataObjective":
        """The objective that was minimized."""
        from spacelang.runtime.evaluation.objective import DataObjective

        assert isinstance(self.found.objective, DataObjective)
        return self.found.objective

    @cached_property
    def facts(self) -> "RunFacts":
        """The facts of the run that its summary needs besides the outcome."""
        return facts_of(self.found, self.objective.preparation.sentence)

    def tell(self, *, as_json: bool) -> int:
        """Print the result and return the exit status.

        The best pipeline is fitted on all rows, unless the user interrupted the search.
        """
        return self._as_json() if as_json else self._as_text()

    def _as_json(self) -> int:
        from spacelang.report.summary import document

        finale, status = self._finale()
        ensemble, status = self._ensemble(finale, status, as_json=True)
        print_json(document(self.found.outcome, self.facts, finale, ensemble))
        return status

    def _as_text(self) -> int:
        from rich.console import Console

        from spacelang.report.reached import kept_to, tested
        from spacelang.report.summary import print_summary

        outcome = self.found.outcome
        print_summary(outcome, self.facts, Console(highlight=False))
        if outcome.best is not None and outcome.ended == "interrupted":
            self._announce(outcome.best, ())
        finale, status = self._finale(self._announce)
        if finale is None:
            if outcome.best is not None:
                comment("interrupted: the final fit was skipped")
                self._tell_how_to_fit()
        elif finale.record is None:
            comment(_failed(finale.rows, finale.passed_over[-1]))
        else:
            comment(f"fitted on all {finale.rows} rows in {finale.seconds:.1f} s")
            if finale.test is not None:
                add(tested(finale.test, self.facts.metric.formula))
                for line in kept_to(finale.test, finale.record.trial):
                    add(line)
            self._tell_how_to_fit()
        return self._ensemble(finale, status, as_json=False)[1]

    def _ensemble(
        self, finale: "Finale | None", status: int, *, as_json: bool
    ) -> "tuple[dict[str, object] | None, int]":
        """Build the ensemble, and print it unless `as_json`.

        Return its JSON document and the exit status. The document is None if no ensemble was asked for or none could be
        built.
        """
        from spacelang.cli._ensemble import Election
        from spacelang.report.ensembles import ensemble_document

        votes = self.found.experiment.ensemble
        if votes is None or finale is None or finale.record is None or status:
            return None, status
        election = Election(votes, self.objective, self.found, self.executor)
        ensemble, status = election.hold(as_json=as_json)
        if ensemble is None:
            return None, status
        if not as_json:
            election.tell(ensemble, finale, self.data)
        return ensemble_document(ensemble), status

    def _tell_how_to_fit(self) -> None:
        """Print a line of Python that fits the pipeline printed last, if pandas or scikit-learn can read the data."""
        from spacelang.report.code import fitting

        line = fitting(self.data, str(self.objective.dataset.target.name), reading=reading_in(self.found))
        if line is not None:
            add(f"to fit it: {line}")

    def _finale(self, announce: Announce = lambda *_: None) -> "tuple[Finale | None, int]":
        """Fit the best pipeline on all rows, and store its score on unseen rows.

        Return the result and the exit status. The result is None if the search or the fit was interrupted, or no trial
        succeeded. `announce` is called before each fit.
        """
        from spacelang.api.result import keep_score
        from spacelang.runtime.errors import InputError
        from spacelang.runtime.final import finish

        outcome, limits = self.found.outcome, self.found.experiment.workers.limits
        if outcome.ended == "interrupted" or outcome.best is None:
            return None, INTERRUPTED if outcome.ended == "interrupted" else NOTHING_SUCCEEDED
        try:
            finale = finish(outcome, self.objective, self.executor, limits=limits, announce=announce)
        except KeyboardInterrupt:
            return None, INTERRUPTED
        except InputError as error:
            report(error.message, error.help)
            return None, BAD_INPUT
        if finale.record is None:
            count = len(finale.passed_over)
            which = "the best pipeline cannot" if count == 1 else f"none of the {count} best pipelines can"
            report(f"{which} be fitted on all rows", "all trials are stored; list them with `spacelang show`")
            return finale, NOTHING_SUCCEEDED
        assert self.found.store is not None
        try:
            keep_score(self.found.store, finale)
        except InputError as error:
            report(error.message, error.help)
            return finale, BAD_INPUT
        return finale, 0

    def _announce(self, record: "Record", passed_over: "tuple[PassedOver, ...]") -> None:
        """Print the code of a pipeline before it is fitted, and why the better one before it was skipped."""
        from spacelang.report.code import source

        if passed_over:
            comment(_failed(self.objective.rows, passed_over[-1]))
            loss = f"{self.facts.metric.formula} {record.trial.loss:.6g}"
            add(f"the next best is trial {record.index}, with {loss}:")
            print()
        else:
            print("\nthe best pipeline:\n")
        print_code(source(self.objective.pipeline(record.trial.request.configuration)))
        sys.stdout.flush()


def _failed(rows: int, passed_over: "PassedOver") -> str:
    return f"the fit on all {rows} rows failed: {passed_over.reason}"
