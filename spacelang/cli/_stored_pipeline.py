"""Options and messages shared by the commands that use a pipeline of a stored run (`export`, `predict`)."""

from typing import TYPE_CHECKING, Annotated

import typer

from spacelang.cli._output import fail, print_note

if TYPE_CHECKING:
    from spacelang.api.stored_runs import ReopenedRun
    from spacelang.cli._options import StoredPipelineOptions
    from spacelang.runtime.ensembles.construction import EnsembleSelection
    from spacelang.runtime.history import TrialRecord

TestShareOption = Annotated[
    float | None,
    typer.Option(
        "--test", metavar="SHARE", help="The share of the rows that the run kept for testing; by default as in the run."
    ),
]


def check_options(options: "StoredPipelineOptions") -> None:
    """End the program if the options ask for a single pipeline and for an ensemble at once."""
    if options.votes is not None and not options.ensemble:
        fail("`--votes` needs `--ensemble`", "add `--ensemble`")
    if options.rank is not None and options.ensemble:
        fail("`--rank` and `--ensemble` exclude each other", "leave one of them out")


def select_trials(finished: "ReopenedRun", options: "StoredPipelineOptions") -> "TrialRecord | EnsembleSelection":
    """Return the trial of the given rank, or the trials of the ensemble.

    Raises InputError if the run has none.
    """
    return finished.select_ensemble(options.votes) if options.ensemble else finished.trial_of_rank(options.rank or 1)


def trial_numbers(chosen: "TrialRecord | EnsembleSelection") -> list[int]:
    """Return the numbers of the chosen trials."""
    from spacelang.runtime.ensembles.construction import EnsembleSelection

    return [each.record.index for each in chosen.members] if isinstance(chosen, EnsembleSelection) else [chosen.index]


def vote_count(chosen: "TrialRecord | EnsembleSelection") -> int | None:
    """Return the number of votes of the ensemble, or None for a single pipeline."""
    from spacelang.runtime.ensembles.construction import EnsembleSelection

    return len(chosen.models.order) if isinstance(chosen, EnsembleSelection) else None


def provenance(
    finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection", options: "StoredPipelineOptions"
) -> list[str]:
    """Return lines that say where a pipeline comes from.

    They name the trials, their loss and constraints, the space, the data and the library versions. For an ensemble, a
    line says where its number of votes comes from.
    """
    from spacelang.ir.task import describe_bound
    from spacelang.report.ensembles import describe_ensemble
    from spacelang.report.stored_runs import describe_measurement
    from spacelang.runtime.ensembles.construction import EnsembleSelection

    header = finished.header
    if isinstance(chosen, EnsembleSelection):
        numbers = ", ".join(map(str, trial_numbers(chosen)))
        said = [f"{describe_ensemble(chosen)}, trials {numbers}: {header.metric} {chosen.models.losses[-1]:.6g}"]
    else:
        trial = chosen.trial
        said = [f"trial {chosen.index}: {header.metric} {trial.loss:.6g}"]
        said += [f"{describe_bound(each.bound)}: {describe_measurement(each)}" for each in trial.constraints]
    versions = ", ".join(f"{name} {said}" for name, said in header.versions.items())
    said[0] += f" ({header.validation})"
    if options.ensemble:
        said.insert(1, _vote_count_source(finished.votes, options.votes))
    return [*said, f"from a search of `{header.space}` on {header.data}", f"with {versions}"]


def _vote_count_source(asked: int | None, given: int | None) -> str:
    """Return a line that says where the number of votes comes from: `asked` at the run, or `given` now."""
    if given is not None:
        return "the number of votes is that of `--votes`" + ("" if asked in (None, given) else f"; its run had {asked}")
    return (
        "the number of votes is the default: the store does not record that of the run"
        if asked is None
        else "the number of votes is that of its run"
    )


def print_provenance(finished: "ReopenedRun", said: list[str]) -> None:
    """Print the lines of `provenance` as notes, and a note for each library whose version has changed since the run."""
    for line in said:
        print_note(line)
    for line in finished.version_changes:
        print_note(f"{line}: predictions may differ because of it")
