"""The end of `spacelang run --ensemble N`: the ensemble as code, and its score next to that of the best pipeline."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from spacelang.cli._running import add, comment, print_code, reading_in
from spacelang.cli._shared import report
from spacelang.cli._shell import BAD_INPUT, INTERRUPTED, NOTHING_SUCCEEDED

if TYPE_CHECKING:
    from spacelang.api import Result
    from spacelang.runtime.ensembles.assembling import Ensemble, EnsembleSelection, Member
    from spacelang.runtime.evaluation.objective import DataObjective
    from spacelang.runtime.executors import Executor
    from spacelang.runtime.final import Finale, PassedOver

NAME = "ensemble"
"""The name of the variable in the printed code."""


@dataclass(frozen=True, slots=True)
class Election:
    """The ensemble to build after a search: `size` votes, chosen by the losses of `objective`."""

    size: int
    objective: "DataObjective"
    found: "Result"
    executor: "Executor"

    def hold(self, *, as_json: bool) -> "tuple[Ensemble | None, int]":
        """Choose and fit the ensemble, and print its code unless `as_json`.

        Return the ensemble, or None if there is none, and the exit status.
        """
        from spacelang.runtime.ensembles.assembling import assemble
        from spacelang.runtime.errors import InputError

        try:
            choice = self._choice()
            if not as_json:
                self._introduce(choice)
            announce = _silent if as_json else self._announce
            outcome, limits = self.found.outcome, self.found.experiment.workers.limits
            ensemble = assemble(choice, outcome, self.objective, self.executor, limits=limits, announce=announce)
        except KeyboardInterrupt:
            if not as_json:
                comment("interrupted: the ensemble was not fitted on all rows")
            return None, INTERRUPTED
        except InputError as error:
            report(error.message, error.help)
            return None, BAD_INPUT
        if not ensemble.members:
            report("none of the members of the ensemble can be fitted on all rows", "the best pipeline is not affected")
            return ensemble, NOTHING_SUCCEEDED
        return ensemble, 0

    def tell(self, ensemble: "Ensemble", finale: "Finale", data: str) -> None:
        """Print comments below the code: the fit, the score on unseen rows, and next steps."""
        from spacelang.report.code import fitting
        from spacelang.report.reached import interval, tested

        formula = self.objective.metric.formula
        if not ensemble.members:
            comment(*_failures(ensemble.left_out, ensemble.rows))
            return
        together = "" if len(ensemble.members) == 1 else f", all {len(ensemble.members)} members together"
        comment(f"fitted on all {ensemble.rows} rows in {ensemble.seconds:.1f} s{together}")
        if ensemble.test is not None:
            beside = "" if finale.test is None else f"; the best pipeline alone: {interval(finale.test, formula)}"
            add(f"{tested(ensemble.test, formula)}{beside}")
        label = str(self.objective.dataset.target.name)
        if (line := fitting(data, label, NAME, reading_in(self.found))) is not None:
            add(f"to fit it: {line}")
        store = quote(str(self.found.store))
        add(f"to export it: spacelang export {store} --ensemble -o ensemble.py")

    def _choice(self) -> "EnsembleSelection":
        """Choose the members by their stored predictions."""
        from spacelang.runtime.ensembles.assembling import choose
        from spacelang.runtime.storing.store import Store

        assert self.found.store is not None
        with Store.read(self.found.store) as kept:
            return choose(self.found.outcome, self.objective, kept.predictions, self.size)

    def _introduce(self, choice: "EnsembleSelection") -> None:
        """Print who votes, and the ensemble's loss next to that of the best pipeline."""
        from spacelang.report.ensembles import elected

        best = self.found.outcome.best
        formula, loss = self.objective.metric.formula, choice.among(choice.members)
        alone = "" if best is None else f"; the best pipeline alone: {best.trial.loss:.6g}"
        comment(elected(choice), f"{formula} {loss:.6g} on the held-out rows, by which it was chosen{alone}")
        if self.objective.bounds:
            add("every member keeps to the bounds of the task, but the ensemble as a whole may not")

    def _announce(self, members: "Sequence[Member]", left_out: "tuple[PassedOver, ...]") -> None:
        """Print the code of the members before they are fitted, and again if some of them could not be fitted."""
        from spacelang.report.code import source
        from spacelang.report.ensembles import electorate
        from spacelang.runtime.ensembles.assembling import unfitted

        if left_out:
            comment(*_failures(left_out, self.objective.rows), "the remaining members share the votes:")
        add(electorate(members))
        print()
        print_code(source(unfitted(self.objective, members), NAME))
        sys.stdout.flush()


def _silent(*_: object) -> None:
    """Print nothing."""


def _failures(left_out: "tuple[PassedOver, ...]", rows: int) -> list[str]:
    """Return a line for each member that could not be fitted on all rows."""
    return [f"the fit of trial {each.record.index} on all {rows} rows failed: {each.reason}" for each in left_out]
