"""The end of `spacelang run --ensemble N`: the ensemble as code, and its score next to that of the best pipeline."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from spacelang.cli._output import print_error
from spacelang.cli._run_steps import print_code, print_comment, print_comments, read_options_of
from spacelang.cli._shell_completion import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED

if TYPE_CHECKING:
    from spacelang.api import Result
    from spacelang.runtime.ensembles.construction import Ensemble, EnsembleSelection, Member
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final_fit import FinalFit, SkippedTrial

NAME = "ensemble"
"""The name of the variable in the printed code."""


@dataclass(frozen=True, slots=True)
class EnsembleRequest:
    """The ensemble to build after a search: `size` votes, chosen by the losses of `objective`."""

    size: int
    objective: "DataObjective"
    found: "Result"
    executor: "Executor"

    def build(self, *, as_json: bool) -> "tuple[Ensemble | None, int]":
        """Choose and fit the ensemble, and print its code unless `as_json`.

        Return the ensemble, or None if there is none, and the exit status.
        """
        from spacelang.runtime.ensembles.construction import fit_ensemble
        from spacelang.runtime.errors import InputError

        try:
            choice = self._select()
            if not as_json:
                self._print_selection(choice)
            announce = _silent if as_json else self._print_code
            outcome, limits = self.found.outcome, self.found.experiment.workers.limits
            ensemble = fit_ensemble(choice, outcome, self.objective, self.executor, limits=limits, announce=announce)
        except KeyboardInterrupt:
            if not as_json:
                print_comments("interrupted: the ensemble was not fitted on all rows")
            return None, INTERRUPTED
        except InputError as error:
            print_error(error.message, error.help)
            return None, BAD_INPUT
        if not ensemble.members:
            print_error(
                "none of the members of the ensemble can be fitted on all rows", "the best pipeline is not affected"
            )
            return ensemble, NOTHING_SUCCEEDED
        return ensemble, 0

    def print_score(self, ensemble: "Ensemble", finale: "FinalFit", data: str) -> None:
        """Print comments below the code: the fit, the score on unseen rows, and next steps."""
        from spacelang.report.code_writer import fit_line
        from spacelang.report.unseen_rows import describe_interval, describe_score

        formula = self.objective.metric.formula
        if not ensemble.members:
            print_comments(*_failure_lines(ensemble.left_out, ensemble.rows))
            return
        together = "" if len(ensemble.members) == 1 else f", all {len(ensemble.members)} members together"
        print_comments(f"fitted on all {ensemble.rows} rows in {ensemble.seconds:.1f} s{together}")
        if ensemble.test is not None:
            beside = (
                "" if finale.test is None else f"; the best pipeline alone: {describe_interval(finale.test, formula)}"
            )
            print_comment(f"{describe_score(ensemble.test, formula)}{beside}")
        label = str(self.objective.dataset.target.name)
        if (line := fit_line(data, label, NAME, read_options_of(self.found))) is not None:
            print_comment(f"to fit it: {line}")
        store = quote(str(self.found.store))
        print_comment(f"to export it: spacelang export {store} --ensemble -o ensemble.py")

    def _select(self) -> "EnsembleSelection":
        """Choose the members by their stored predictions."""
        from spacelang.runtime.ensembles.construction import select_members
        from spacelang.runtime.storage.store import Store

        assert self.found.store is not None
        with Store.read(self.found.store) as kept:
            return select_members(self.found.outcome, self.objective, kept.predictions, self.size)

    def _print_selection(self, choice: "EnsembleSelection") -> None:
        """Print who votes, and the ensemble's loss next to that of the best pipeline."""
        from spacelang.report.ensembles import describe_ensemble

        best = self.found.outcome.best
        formula, loss = self.objective.metric.formula, choice.loss_of(choice.members)
        alone = "" if best is None else f"; the best pipeline alone: {best.trial.loss:.6g}"
        print_comments(
            describe_ensemble(choice),
            f"{formula} {loss:.6g} on the held-out rows, by which the ensemble was chosen{alone}",
        )
        if self.objective.bounds:
            print_comment("every member keeps to the bounds of the task, but the ensemble as a whole may not")

    def _print_code(self, members: "Sequence[Member]", left_out: "tuple[SkippedTrial, ...]") -> None:
        """Print the code of the members before they are fitted, and again if some of them could not be fitted."""
        from spacelang.report.code_writer import pipeline_source
        from spacelang.report.ensembles import describe_weights
        from spacelang.runtime.ensembles.construction import make_unfitted

        if left_out:
            print_comments(*_failure_lines(left_out, self.objective.rows), "the remaining members share the votes:")
        print_comment(describe_weights(members))
        print()
        print_code(pipeline_source(make_unfitted(self.objective, members), NAME))
        sys.stdout.flush()


def _silent(*_: object) -> None:
    """Print nothing."""


def _failure_lines(left_out: "tuple[SkippedTrial, ...]", rows: int) -> list[str]:
    """Return a line for each member that could not be fitted on all rows."""
    return [f"the fit of trial {each.record.index} on all {rows} rows failed: {each.reason}" for each in left_out]
