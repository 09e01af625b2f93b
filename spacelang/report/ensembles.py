"""What became of an ensemble: in words, and as part of the JSON document of its run."""

from typing import TYPE_CHECKING

from spacelang.report.reached import score_document
from spacelang.report.summary import passed_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spacelang.runtime.ensembles.assembling import Ensemble, EnsembleSelection, Member


def ensemble_document(ensemble: "Ensemble") -> dict[str, object]:
    """What `run --json` prints of an ensemble.

    `loss` is that on the rows by which `members` were chosen (None without any member), `losses` those of the bags of
    1, 2, … votes on the way; `library` is the number of pipelines that they were chosen from. `weight` is the share of
    all votes. `seconds` is what fitting took, of each and of all; `left_out` could not be fitted on all `rows`.
    """
    return {
        "votes": len(ensemble.choice.bag.order),
        "loss": ensemble.loss,
        "losses": [*ensemble.choice.bag.losses],
        "library": ensemble.choice.library,
        "members": [_member(member, weight) for member, weight in zip(ensemble.members, ensemble.weights, strict=True)],
        "left_out": [*map(passed_over, ensemble.left_out)],
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


def elected(choice: "EnsembleSelection") -> str:
    """Who votes, and among how many they were chosen."""
    votes = len(choice.bag.order)
    voters = _counted(len(choice.members), "pipeline")
    return f"an ensemble of {_counted(votes, 'vote')} by {voters}, chosen among the best {choice.library}"


def electorate(members: "Sequence[Member]") -> str:
    """How many votes each has, those with most votes first."""
    ranked = sorted(members, key=lambda member: (-member.votes, member.record.index))
    return ", ".join(f"{member.votes} x trial {member.record.index}" for member in ranked)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
