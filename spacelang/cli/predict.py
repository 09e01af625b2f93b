"""`spacelang predict`: predict new rows with a pipeline of a stored run."""

from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli._finished import KeptTestOption, chosen_of, must_agree, provenance, tell
from spacelang.cli._options import AllowOption, FoundOptions, JsonOption, ReadingOptions, TargetColumnOption
from spacelang.cli._running import be_ready_to_fork
from spacelang.cli._shared import must_be_free, note, print_json, write_new
from spacelang.cli._streams import write_file
from spacelang.cli.show import RunArgument


def command(
    run: RunArgument,
    *,
    data: Annotated[
        str, typer.Option("--data", "-d", help="The rows to predict, with a column of labels or without one.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.csv", help="Write the predictions here.")
    ] = None,
    found: FoundOptions,
    fitted_on: Annotated[
        str | None,
        typer.Option(
            "--fitted-on", metavar="DATA", help="The data of the run; by default the file with its name in this folder."
        ),
    ] = None,
    target_column: TargetColumnOption = None,
    test: KeptTestOption = None,
    reading: ReadingOptions,
    allow: AllowOption = None,
    json: JsonOption = False,
) -> None:
    """Fit the best pipeline of a stored run on the data of the run, and predict the rows of a file.

    Columns are matched by name: all feature columns of the run must be there, in any order. A column of labels may be
    there; other columns are ignored. Class probabilities are written if the pipeline has them. The pipeline is fitted
    as at the end of the run, on all rows that trials could see. Options for reading files apply to `--data`, and to
    `--fitted-on` if that is given. Without them both are read as the run read its data. Existing files are not
    overwritten.

    Example: `spacelang predict runs/credit-20260131-120000.db --data new.csv -o predictions.csv`
    """
    if output is not None:
        must_be_free(output)
    must_agree(found)
    be_ready_to_fork()
    from spacelang.api.finished import take_up
    from spacelang.api.predicting import new_rows, predictions
    from spacelang.runtime.pipelines.inputs import PipelineInput

    given = reading.given
    then = None if fitted_on is None else given
    finished = take_up(run, data=fitted_on, target=target_column, test=test, reading=then, allow=allow or ())
    rows = new_rows(data, finished.objective.dataset, given or finished.reading.fitting(data))
    chosen = chosen_of(finished, found)
    tell(finished, provenance(finished, chosen, found))
    if rows.passed_over:
        note(f"ignored columns: {', '.join(f'`{name}`' for name in rows.passed_over)}")
    predicted = predictions(finished.fitted(chosen, PipelineInput.GIVEN, forks=True), rows)
    if output is not None:
        write_new(output, predicted.csv)
    if json:
        print_json({"file": None if output is None else str(output), **predicted.document})
    elif output is None:
        write_file(predicted.csv)
