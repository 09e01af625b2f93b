"""`spacelang export` and `predict`: write the best pipeline of a stored run to a file, or predict new rows with it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.api.run_options import ReadingOptions, target_column_or_columns
from spacelang.cli._options import JsonOption, RunArgument, StoredPipelineOptions
from spacelang.cli._output import exit_if_output_exists, exit_with_error, print_json, print_note, write_new_file
from spacelang.cli._process import print_file_content
from spacelang.cli._run_options import AllowOption, TargetColumnsOption, parse_read_options
from spacelang.cli._run_steps import limit_threads_before_fork

if TYPE_CHECKING:
    from spacelang.api.reopened_runs import ReopenedRun
    from spacelang.runtime.ensembles.construction import EnsembleSelection
    from spacelang.runtime.history import TrialRecord

GROUP = ("Use a run", 5)
CODE, SKOPS, ONNX = ".py", ".skops", ".onnx"
SUFFIXES: Final = (CODE, SKOPS, ONNX)
MAX_SHOWN_INPUTS: Final = 8  # The most inputs of an ONNX model that are shown
TestShareOption = Annotated[
    float | None,
    typer.Option(
        "--test", metavar="SHARE", help="The share of the rows that the run kept for testing; by default as in the run."
    ),
]


def export_command(
    run: RunArgument,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE.py|FILE.skops|FILE.onnx", help="The output file: code, or a fitted model."
        ),
    ],
    found: StoredPipelineOptions,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="The data of the run; by default the file with its name in this folder."),
    ] = None,
    target_column: TargetColumnsOption = None,
    test: TestShareOption = None,
    reading: ReadingOptions,
    allow: AllowOption = None,
    json: JsonOption = False,
) -> None:
    """Write the best pipeline of a run, as code or fitted.

    The files need no spacelang. A `.py` module builds the pipeline with the libraries of its steps alone. Fitted to the
    training rows of a trial, it predicts what the trial predicted. A `.skops` or `.onnx` file holds the pipeline fitted
    on all rows that trials could see. All of them need the data of the run, which is read as in the run; other data is
    an error. An ONNX model computes with 32-bit floats. It is compared with the pipeline on rows of the run, and not
    written if the predictions differ or if ONNX does not support a step. Existing files are not overwritten.

    Example: `spacelang export runs/credit-20260131-120000.db -o pipeline.py`
    """
    if output.suffix not in SUFFIXES:
        exit_with_error(f"unknown file type: `{output.name}`", f"the name must end in {' or '.join(SUFFIXES)}")
    exit_if_output_exists(output)
    check_single_or_ensemble(found)
    if output.suffix != CODE:
        limit_threads_before_fork()
    from spacelang.api.reopened_runs import reopen_run
    from spacelang.runtime.ensembles.construction import EnsembleSelection

    then = parse_read_options(reading)
    finished = reopen_run(
        run, data=data, target=target_column_or_columns(target_column), test=test, reading=then, allow=allow or ()
    )
    chosen = select_trial_or_ensemble(finished, found)
    origin = provenance_lines(finished, chosen, found)
    needed = finished.restricted_to_used_columns(chosen)
    made = _exported(needed, chosen, origin, output)
    write_new_file(output, made.content)
    if json:
        if isinstance(chosen, EnsembleSelection):
            members = [each.record.index for each in chosen.members]
            trials: dict[str, object] = {"trials": members, "votes": len(chosen.models.order)}
        else:
            trials = {"trials": [chosen.index], "votes": None}
        print_json({"file": str(output), **trials, "trusted": made.trusted, "inputs": made.inputs})
        return
    print_provenance(finished, origin)
    if unused := finished.columns_missing_in(needed):
        print_note(f"columns that the pipeline does not use: {', '.join(f'`{name}`' for name in unused)}")
    if made.trusted:
        names = ", ".join(f'"{name}"' for name in made.trusted)
        print_note(f"to load the model: `skops.io.load({str(output)!r}, trusted=[{names}])`")
    if made.inputs:
        more = len(made.inputs) - MAX_SHOWN_INPUTS
        rest = f" and {more} more, which `--json` lists" if more > 0 else ""
        print_note(f"the inputs of the model: {', '.join(made.inputs[:MAX_SHOWN_INPUTS])}{rest}")


@dataclass(frozen=True)
class _Exported:
    """The content of an exported file.

    `trusted` are the types that a reader must trust in a skops file, and `inputs` describe the inputs of an ONNX model.
    """

    content: str | bytes
    trusted: list[str] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)


def _exported(
    finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection", origin: list[str], output: Path
) -> _Exported:
    if output.suffix == SKOPS:
        content, trusted = _skops_model(finished, chosen)
        return _Exported(content, trusted=trusted)
    if output.suffix == ONNX:
        from spacelang.report.onnx_export import check_onnx_installed, convert_to_onnx

        check_onnx_installed()
        fitted = finished.fit_pipeline(chosen, forks=True)
        content, inputs = convert_to_onnx(fitted, finished.objective.dataset.features, origin)
        return _Exported(content, inputs=inputs)
    return _Exported(_code(finished, chosen, origin))


def _code(finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection", origin: list[str]) -> str:
    from spacelang.report.pipeline_module import pipeline_module_text
    from spacelang.runtime.errors import BuildError

    try:
        return pipeline_module_text(finished.unfitted_pipeline(chosen), finished.objective, origin)
    except TypeError as error:
        raise BuildError(
            str(error), f"write the pipeline as a fitted model: to a file that ends in `{SKOPS}`"
        ) from error


def _skops_model(finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection") -> tuple[bytes, list[str]]:
    from spacelang.report.pipeline_module import check_skops_installed, dump_skops_model

    check_skops_installed()
    dump_skops_model(finished.unfitted_pipeline(chosen))  # fails early, before minutes are spent on the fit
    return dump_skops_model(finished.fit_pipeline(chosen, forks=True))


def check_single_or_ensemble(options: "StoredPipelineOptions") -> None:
    """End the program if the options ask for a single pipeline and for an ensemble at once."""
    if options.votes is not None and not options.ensemble:
        exit_with_error("`--votes` needs `--ensemble`", "add `--ensemble`")
    if options.rank is not None and options.ensemble:
        exit_with_error("`--rank` and `--ensemble` exclude each other", "leave one of them out")


def select_trial_or_ensemble(
    finished: "ReopenedRun", options: "StoredPipelineOptions"
) -> "TrialRecord | EnsembleSelection":
    """Return the trial of the given rank, or the trials of the ensemble. Raises InputError if the run has none."""
    return finished.select_ensemble(options.votes) if options.ensemble else finished.trial_of_rank(options.rank)


def provenance_lines(
    finished: "ReopenedRun", chosen: "TrialRecord | EnsembleSelection", options: "StoredPipelineOptions"
) -> list[str]:
    """Return lines that say where a pipeline comes from.

    They name the trials, their score and constraints, the space, the data and the library versions. For an ensemble, a
    line says where its number of votes comes from.
    """
    from spacelang.ir.task import describe_bound
    from spacelang.ir.trial import LossName
    from spacelang.report.stored_run_output import describe_measurement
    from spacelang.report.summary import describe_ensemble
    from spacelang.runtime.ensembles.construction import EnsembleSelection

    header, metric = finished.header, LossName.of_formula(finished.header.metric)
    if isinstance(chosen, EnsembleSelection):
        numbers = ", ".join(str(each.record.index) for each in chosen.members)
        lines = [f"{describe_ensemble(chosen)}, trials {numbers}: {metric.describe(chosen.models.losses[-1])}"]
    else:
        trial = chosen.trial
        lines = [f"trial {chosen.index}: {metric.describe(trial.loss or 0.0)}"]
        lines += [f"{describe_bound(each.bound)}: {describe_measurement(each)}" for each in trial.constraints]
    versions = ", ".join(f"{name} {version}" for name, version in header.versions.items())
    lines[0] += f" ({header.validation})"
    if options.ensemble:
        votes, asked, given = "the number of votes is the same as in the run", finished.votes, options.votes
        if given is not None:
            votes = "the number of votes is given by `--votes`" + (
                "" if asked in (None, given) else f"; the run had {asked}"
            )
        elif asked is None:
            votes = "the number of votes is the default, because the store does not record the number of the run"
        lines.insert(1, votes)
    return [*lines, f"from a search of `{header.space}` on {header.data}", f"with {versions}"]


def print_provenance(finished: "ReopenedRun", lines: list[str]) -> None:
    """Print the lines of `provenance` as notes, and a note for each library whose version has changed since the run."""
    for line in lines:
        print_note(line)
    for version_change in finished.library_version_changes:
        print_note(f"{version_change}: predictions may differ because of this change")


def predict_command(
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
    """Predict the rows of a file with the best pipeline of a run.

    The pipeline is fitted as at the end of the run, on all rows that trials could see. Columns are matched by name:
    those that the pipeline uses must be there, in any order; others are ignored. If the file has the column of labels,
    the score is printed, too. Class probabilities are written if the pipeline has them. Options for reading files apply
    to `--data`, and to `--fitted-on` if that is given. Without them both are read as the run read its data. Existing
    files are not overwritten.

    Example: `spacelang predict runs/credit-20260131-120000.db --data new.csv -o predictions.csv`
    """
    if output is not None:
        exit_if_output_exists(output)
    check_single_or_ensemble(found)
    limit_threads_before_fork()
    from spacelang.api.new_rows import load_new_rows, predict_rows, score_rows, share_of_fitted_rows
    from spacelang.api.reopened_runs import reopen_run
    from spacelang.report.trial_results import document_of_test_score, format_named_test_score_with_interval
    from spacelang.runtime.pipelines import PipelineInput

    given = parse_read_options(reading)
    then = None if fitted_on is None else given
    target = target_column_or_columns(target_column)
    finished = reopen_run(run, data=fitted_on, target=target, test=test, reading=then, allow=allow or ())
    chosen = select_trial_or_ensemble(finished, found)
    needed = finished.restricted_to_used_columns(chosen)
    objective, reading_now = needed.objective, given or finished.reading.applicable_to(data)
    rows = load_new_rows(data, objective.dataset, reading_now, finished.columns_missing_in(needed))
    fitted = needed.fit_pipeline(chosen, PipelineInput.GIVEN, forks=True)
    predicted = predict_rows(fitted, rows)
    score = score_rows(fitted, rows, objective) if needed.is_metric_known else None
    if output is not None:
        write_new_file(output, predicted.csv_text)
    if json:
        scored = None if score is None else {"metric": objective.metric.formula, **document_of_test_score(score)}
        print_json({"file": None if output is None else str(output), **predicted.json_document, "score": scored})
    elif output is None:
        print_file_content(predicted.csv_text)
    if score is not None:
        print_note(
            f"on the {score.rows} rows with a label: {format_named_test_score_with_interval(score, objective.metric)}"
        )
        if seen := share_of_fitted_rows(rows, objective.dataset):
            print_note(f"the pipeline was fitted to {100 * seen:.0f} % of these rows, so this score is optimistic")
    print_provenance(finished, provenance_lines(finished, chosen, found)[:-1])  # `show` and `export` list the versions
    if rows.ignored_columns:
        print_note(f"ignored columns: {', '.join(f'`{name}`' for name in rows.ignored_columns)}")
