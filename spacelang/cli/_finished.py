"""What the commands share that take a pipeline of a stored run: their options, and what is told of it."""

from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli._shared import fail, note

if TYPE_CHECKING:
    from spacelang.api.finished import ReopenedRun
    from spacelang.cli._options import FoundOptions
    from spacelang.runtime.ensembles.assembling import EnsembleSelection
    from spacelang.runtime.history import Record

KeptTestOption = Annotated[
    float | None,
    typer.Option("--test", metavar="SHARE", help="The share of the rows that the run kept for testing; else its own."),
]


def must_agree(options: "FoundOptions") -> None:
    """End the command where the options ask for one pipeline and for several at once."""
    if options.votes is not None and not options.ensemble:
        fail("`--votes` is of an ensemble, and none is asked for", "add `--ensemble`")
    if options.rank is not None and options.ensemble:
        fail("`--rank` is of one pipeline, and `--ensemble` of several", "leave one of them out")


def chosen_of(finished: "ReopenedRun", options: "FoundOptions") -> "Record | EnsembleSelection":
    """The trial of a rank, or those that vote; raises InputError where there are none."""
    return finished.ensemble(options.votes) if options.ensemble else finished.ranked(options.rank or 1)


def numbers_of(chosen: "Record | EnsembleSelection") -> list[int]:
    """The numbers of the trials."""
    from spacelang.runtime.ensembles.assembling import EnsembleSelection

    return [each.record.index for each in chosen.members] if isinstance(chosen, EnsembleSelection) else [chosen.index]


def votes_of(chosen: "Record | EnsembleSelection") -> int | None:
    """How many votes there are; None of one pipeline."""
    from spacelang.runtime.ensembles.assembling import EnsembleSelection

    return len(chosen.bag.order) if isinstance(chosen, EnsembleSelection) else None


def provenance(finished: "ReopenedRun", chosen: "Record | EnsembleSelection", options: "FoundOptions") -> list[str]:
    """What is known of a pipeline, in lines: which trials of which run, the loss there, what it keeps to, versions.

    Of an ensemble also who said how many votes it has.
    """
    from spacelang.ir.task import describe_bound
    from spacelang.report.ensembles import elected
    from spacelang.report.stored import measured
    from spacelang.runtime.ensembles.assembling import EnsembleSelection

    header = finished.header
    if isinstance(chosen, EnsembleSelection):
        numbers = ", ".join(map(str, numbers_of(chosen)))
        said = [f"{elected(chosen)}, trials {numbers}: {header.metric} {chosen.bag.losses[-1]:.6g}"]
    else:
        trial = chosen.trial
        said = [f"trial {chosen.index}: {header.metric} {trial.loss:.6g}"]
        said += [f"{describe_bound(each.bound)}: {measured(each)}" for each in trial.constraints]
    versions = ", ".join(f"{name} {said}" for name, said in header.versions.items())
    said[0] += f" ({header.validation})"
    if options.ensemble:
        said.insert(1, _whose_votes(finished.votes, options.votes))
    return [*said, f"of a search of `{header.space}` on {header.data}", f"with {versions}"]


def _whose_votes(asked: int | None, given: int | None) -> str:
    """Who said how many votes the ensemble has."""
    if given is not None:
        return "as many votes as `--votes` says" + ("" if asked in (None, given) else f"; its run asked for {asked}")
    return (
        "as many votes as usual: the store knows of none of its run"
        if asked is None
        else "as many votes as its run asked for"
    )


def tell(finished: "ReopenedRun", said: list[str]) -> None:
    """Tell it, and which versions have changed."""
    for line in said:
        note(line)
    for line in finished.changes:
        note(f"{line}: what it predicts may differ by that")
