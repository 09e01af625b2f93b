"""The ensemble of a search: chosen by the predictions that were kept, fitted by what evaluated the trials."""

from typing import TYPE_CHECKING

from spacelang.runtime.objective import Votable

if TYPE_CHECKING:
    import pandas as pd

    from spacelang.api.result import Result
    from spacelang.runtime.ensembles.assembling import Ensemble
    from spacelang.runtime.executors import Executor


def assembled(result: "Result", votes: int, executor: "Executor") -> "Ensemble":
    """The ensemble of so many votes, fitted on all rows; raises the runtime's InputError where there is none."""
    from spacelang.runtime.ensembles.assembling import EnsembleError, assemble, choose

    objective, limits, form = result.objective, result.experiment.workers.limits, result.form
    if form is None or not isinstance(objective, Votable):
        raise EnsembleError(f"`{objective.facts.name}` has no predictions, by which an ensemble is chosen")
    choice = choose(result.outcome, objective, result.predictions, votes)
    return assemble(choice, result.outcome, objective, executor, limits=limits, form=form, is_wanted=True)


def members(ensemble: "Ensemble") -> "pd.DataFrame":
    """One row a member: the number of its trial, votes, the share of all votes, loss, seconds, configuration."""
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
