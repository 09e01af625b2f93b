"""Describe an ensemble: in words, and as part of the JSON document of its run."""

from typing import TYPE_CHECKING

from spacelang.report.summary import skipped_trial_document
from spacelang.report.unseen_rows import score_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spacelang.runtime.ensembles.construction import Ensemble, EnsembleSelection, Member


def ensemble_document(ensemble: "Ensemble") -> dict[str, object]:
    """Return what `run --json` prints of an ensemble.

    `loss` is the loss on the rows by which `members` were chosen (None without members). `losses` are those of the
    multisets of 1, 2, … votes on the way. `library` is the number of pipelines to choose from. `weight` is the share of
    all votes. `seconds` is the time of the fits, of each member and of all. `left_out` are the pipelines that could not
    be fitted on all `rows`.
    """
    return {
        "votes": len(ensemble.choice.models.order),
        "loss": ensemble.loss,
        "losses": [*ensemble.choice.models.losses],
        "library": ensemble.choice.library,
        "members": [_member(member, weight) for member, weight in zip(ensemble.members, ensemble.weights, strict=True)],
        "left_out": [*map(skipped_trial_document, ensemble.left_out)],
        "rows": ensemble.rows,
        "seconds": ensemble.seconds,
        "test": None if ensemble.test is None else score_document(ensemble.test),
    }


def _member(member: "Member", weight: float) -> dict[str, object]:
    trial = member.record.trial
    return {
        "trial": member.record.index,
        "votes": member.votes,
        "weight": weight,
        "loss": trial.loss,
        "configuration": trial.request.configuration.to_dict(),
        "seconds": member.seconds,
    }


def describe_ensemble(choice: "EnsembleSelection") -> str:
    """Describe the ensemble: the numbers of pipelines and votes, and how many pipelines there were to choose from."""
    votes = _counted(len(choice.models.order), "vote")
    pipelines = _counted(len(choice.members), "pipeline")
    return f"ensemble of {pipelines} with {votes}, chosen from the best {choice.library}"


def describe_weights(members: "Sequence[Member]") -> str:
    """Describe the weights of the members, the largest first: `weights: trial 2 9/16, trial 5 7/16`."""
    ranked = sorted(members, key=lambda member: (-member.votes, member.record.index))
    votes = sum(member.votes for member in members)
    weights = (f"trial {member.record.index} {member.votes}/{votes}" for member in ranked)
    return f"weights: {', '.join(weights)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
