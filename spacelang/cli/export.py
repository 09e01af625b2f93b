"""`spacelang export`: write a pipeline of a stored run as a Python module, or as a fitted model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._options import AllowOption, JsonOption, ReadingOptions, StoredPipelineOptions, TargetColumnOption
from spacelang.cli._output import check_output_is_new, fail, print_json, print_note, write_new
from spacelang.cli._run_steps import limit_threads_before_fork
from spacelang.cli._stored_pipeline import (
    TestShareOption,
    check_options,
    print_provenance,
    provenance,
    select_trials,
    trial_numbers,
    vote_count,
)
from spacelang.cli.show import RunArgument

if TYPE_CHECKING:
    from spacelang.api.stored_runs import ReopenedRun
    from spacelang.runtime.ensembles.construction import EnsembleSelection
    from spacelang.runtime.history import TrialRecord

MODEL: Final = ".skops"
SUFFIXES: Final = (".py", MODEL)


def command(
    run: RunArgument,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE.py|FILE.skops", help="The output file: code, or a fitted model."),
    ],
    found: StoredPipelineOptions,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="The data of the run; by default the file with its name in this folder."),
    ] = None,
    target_column: TargetColumnOption = None,
    test: TestShareOption = None,
    reading: ReadingOptions,
    allow: AllowOption = None,
    json: JsonOption = False,
) -> None:
    """Write the best pipeline of a stored run for use without spacelang: as code, or fitted.

    A `.py` module builds the pipeline with the libraries of its steps alone. Fitted to the training rows of a trial, it
    predicts what the trial predicted. A `.skops` file holds the pipeline fitted on all rows that trials could see. Both
    need the data of the run, which is read as it was then; other data is refused. Existing files are not overwritten.

    Example: `spacelang export runs/credit-20260131-120000.db -o pipeline.py`
    """
    if output.suffix not in SUFFIXES:
        fail(f"unknown file type: `{output.name}`", f"the name must end in {' or '.join(SUFFIXES)}")
    check_output_is_new(output)
    check_options(found)
    if output.suffix == MODEL:
        limit_threads_before_fork()
    from spacelang.api.stored_runs import reopen_run

    finished = reopen_run(
        run, data=data, target=target_column, test=test, reading=reading.reading_if_given, allow=allow or ()
    )
    chosen = select_trials(finished, found)
    said = provenance(finished, chosen, found)
    content, trusted = _model(finished, chosen) if output.suffix == MODEL else (_code(finished, chosen, said), [])
    write_new(output, content)
    if json:
        trials = trial_numbers(chosen)
        print_json({"file": str(output), "trials": trials, "votes": vote_count(chosen), "trusted": trusted})
        return
    print_provenance(finished, said)
    if trusted:
        names = ", ".join(f'"{name}"' for name in trusted)
        print_note(f"to load it: `skops.io.load({str(output)!r}, trusted=[{names}])`")


def _code(finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection", said: list[str]) -> str:
    from spacelang.report.pipeline_module import pipeline_module_text
    from spacelang.runtime.errors import BuildError

    try:
        return pipeline_module_text(finished.unfitted_pipeline(chosen), finished.objective, said)
    except TypeError as error:
        raise BuildError(str(error), f"write it as a model: a file that ends in `{MODEL}`") from error


def _model(finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection") -> tuple[bytes, list[str]]:
    from spacelang.report.skops_model import check_skops_installed, dump_model

    check_skops_installed()
    dump_model(finished.unfitted_pipeline(chosen))  # fails early, before minutes are spent on the fit
    return dump_model(finished.fit_pipeline(chosen, forks=True))
