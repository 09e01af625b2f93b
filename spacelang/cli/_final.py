"""The end of `spacelang run`: the best pipeline as code, and what became of it on all rows.

The code comes first, so that nothing is lost whatever the pipeline does then. What is said behind it are comments: all
from the code on can be run as it stands.
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
    """A search on some data that has ended, and the executor of its trials."""

    data: str
    found: "Result"
    executor: "Executor"

    @property
    def objective(self) -> "DataObjective":
        """What was minimised."""
        from spacelang.runtime.evaluation.objective import DataObjective

        assert isinstance(self.found.objective, DataObjective)
        return self.found.objective

    @cached_property
    def facts(self) -> "RunFacts":
        """What its summary says beside the outcome."""
        return facts_of(self.found, self.objective.preparation.sentence)

    def tell(self, *, as_json: bool) -> int:
        """Print what was found, refitted unless the user has interrupted the search; the exit status."""
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
                comment("it was not fitted on all rows")
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
        """The ensemble as JSON, or told behind the best pipeline; None where none is wanted, or there is none."""
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
        """The line that does so, for the pipeline that was printed last."""
        from spacelang.report.code import fitting

        line = fitting(self.data, str(self.objective.dataset.target.name), reading=reading_in(self.found))
        if line is not None:
            add(f"to fit it: {line}")

    def _finale(self, announce: Announce = lambda *_: None) -> "tuple[Finale | None, int]":
        """What became of the best pipelines on all rows, None where that was not tried or interrupted; the status."""
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
            report(f"{which} be fitted on all rows", "the losses of all trials stay as they are: `--store` keeps them")
            return finale, NOTHING_SUCCEEDED
        assert self.found.store is not None
        try:
            keep_score(self.found.store, finale)
        except InputError as error:
            report(error.message, error.help)
            return finale, BAD_INPUT
        return finale, 0

    def _announce(self, record: "Record", passed_over: "tuple[PassedOver, ...]") -> None:
        """Print the code of a pipeline before it is fitted, and why the one before was passed over."""
        from spacelang.report.code import source

        if passed_over:
            comment(_failed(self.objective.rows, passed_over[-1]))
            loss = f"{self.facts.metric.formula} {record.trial.loss:.6g}"
            add(f"the next best is that of trial {record.index}, with {loss}:")
            print()
        else:
            print("\nthe best pipeline:\n")
        print_code(source(self.objective.pipeline(record.trial.request.configuration)))
        sys.stdout.flush()


def _failed(rows: int, passed_over: "PassedOver") -> str:
    return f"on all {rows} rows it failed: {passed_over.reason}"
