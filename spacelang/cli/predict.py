"""`spacelang predict`: predict new rows with a pipeline of a stored run."""

from pathlib import Path
from typing import Annotated

import typer

from spacelang.api.run_options import ReadingOptions
from spacelang.cli._options import JsonOption, StoredPipelineOptions
from spacelang.cli._output import check_output_is_new, print_json, print_note, write_new
from spacelang.cli._process import print_file_text
from spacelang.cli._run_options import AllowOption, TargetColumnsOption, read_options_if_given, target_of
from spacelang.cli._run_steps import limit_threads_before_fork
from spacelang.cli.export import TestShareOption, check_single_or_ensemble, print_provenance, provenance, select_trials
from spacelang.cli.show import RunArgument

GROUP = ("Use a run", 6)


def command(
    run: RunArgument,
    *,
    data: Annotated[
        str, typer.Option("--data", "-d", help="The rows to predict, with a column of labels or without one.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.csv", help="Write the predictions here.")
    ] = None,
    found: StoredPipelineOptions,
    fitted_on: Annotated[
        str | None,
        typer.Option(
            "--fitted-on", metavar="DATA", help="The data of the run; by default the file with its name in this folder."
        ),
    ] = None,
    target_column: TargetColumnsOption = None,
    test: TestShareOption = None,
    reading: ReadingOptions,
    allow: AllowOption = None,
    json: JsonOption = False,
) -> None:
    """Fit the best pipeline of a stored run on the data of the run, and predict the rows of a file.

    Columns are matched by name: those that the pipeline uses must be there, in any order; others are ignored. If the
    file has the column of labels, the score is printed, too. Class probabilities are written if the pipeline has them.
    The pipeline is fitted as at the end of the run, on all rows that trials could see. Options for reading files apply
    to `--data`, and to `--fitted-on` if that is given. Without them both are read as the run read its data. Existing
    files are not overwritten.

    Example: `spacelang predict runs/credit-20260131-120000.db --data new.csv -o predictions.csv`
    """
    if output is not None:
        check_output_is_new(output)
    check_single_or_ensemble(found)
    limit_threads_before_fork()
    from spacelang.api.new_rows import load_new_rows, predict_rows, score_rows
    from spacelang.api.stored_runs import reopen_run
    from spacelang.report.trial_results import describe_interval, score_document
    from spacelang.runtime.pipelines import PipelineInput

    given = read_options_if_given(reading)
    then = None if fitted_on is None else given
    target = target_of(target_column)
    finished = reopen_run(run, data=fitted_on, target=target, test=test, reading=then, allow=allow or ())
    chosen = select_trials(finished, found)
    needed = finished.restricted_to_used_columns(chosen)
    objective, reading_now = needed.objective, given or finished.reading.applicable_to(data)
    rows = load_new_rows(data, objective.dataset, reading_now, finished.columns_unused_by(needed))
    print_provenance(finished, provenance(finished, chosen, found))
    if rows.ignored_columns:
        print_note(f"ignored columns: {', '.join(f'`{name}`' for name in rows.ignored_columns)}")
    fitted = needed.fit_pipeline(chosen, PipelineInput.GIVEN, forks=True)
    predicted = predict_rows(fitted, rows)
    score = score_rows(fitted, rows, objective) if needed.is_metric_known else None
    if output is not None:
        write_new(output, predicted.csv)
    if json:
        scored = None if score is None else {"metric": objective.metric.formula, **score_document(score)}
        print_json({"file": None if output is None else str(output), **predicted.document, "score": scored})
        return
    if output is None:
        print_file_text(predicted.csv)
    if score is not None:
        print_note(f"on the {score.rows} rows with a label: {describe_interval(score, objective.metric)}")
