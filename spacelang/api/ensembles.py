"""The ensemble of a search: members are selected by stored predictions and fitted where the trials were evaluated."""

from typing import TYPE_CHECKING

from spacelang.runtime.objective import EnsembleObjective

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.api.result import Result
    from spacelang.runtime.ensembles.construction import Ensemble
    from spacelang.runtime.executors import Executor


def fit_ensemble(result: "Result", votes: int, executor: "Executor") -> "Ensemble":
    """Select an ensemble with the given number of votes and fit it on all rows; raises the runtime's InputError."""
    from spacelang.runtime.ensembles.construction import EnsembleError, fit_ensemble, select_members

    objective, limits, form = result.objective, result.experiment.workers.limits, result.form
    if form is None or not isinstance(objective, EnsembleObjective):
        raise EnsembleError(f"`{objective.facts.name}` has no predictions to select an ensemble by")
    choice = select_members(result.outcome, objective, result.predictions, votes)
    return fit_ensemble(choice, result.outcome, objective, executor, limits=limits, form=form, is_wanted=True)


def members_table(ensemble: "Ensemble") -> "pd.DataFrame":
    """Return a table with one row for each member of an ensemble.

    Its columns are `trial` (number), `votes`, `weight` (share of all votes), `loss`, `seconds` and `configuration`.
    """
    import pandas as pd

    rows = [
        {
            "trial": member.record.index,
            "votes": member.votes,
            "weight": weight,
            "loss": member.record.trial.loss,
            "seconds": member.seconds,
            "configuration": member.record.trial.request.configuration.to_dict(),
        }
        for member, weight in zip(ensemble.members, ensemble.weights, strict=True)
    ]
    return pd.DataFrame(rows, columns=["trial", "votes", "weight", "loss", "seconds", "configuration"])
