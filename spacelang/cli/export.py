"""`spacelang export`: write a pipeline of a stored run as a Python module, or as a fitted model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from spacelang.cli._finished import KeptTestOption, chosen_of, must_agree, numbers_of, provenance, tell, votes_of
from spacelang.cli._options import AllowOption, FoundOptions, JsonOption, ReadingOptions, TargetColumnOption
from spacelang.cli._running import be_ready_to_fork
from spacelang.cli._shared import fail, must_be_free, note, print_json, write_new
from spacelang.cli.show import RunArgument

if TYPE_CHECKING:
    from spacelang.api.finished import ReopenedRun
    from spacelang.runtime.ensembles.assembling import EnsembleSelection
    from spacelang.runtime.history import Record

MODEL: Final = ".skops"
SUFFIXES: Final = (".py", MODEL)


def command(
    run: RunArgument,
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE.py|FILE.skops", help="The output file: code, or a fitted model."),
    ],
    found: FoundOptions,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="The data of the run; by default the file with its name in this folder."),
    ] = None,
    target_column: TargetColumnOption = None,
    test: KeptTestOption = None,
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
    must_be_free(output)
    must_agree(found)
    if output.suffix == MODEL:
        be_ready_to_fork()
    from spacelang.api.finished import take_up

    finished = take_up(run, data=data, target=target_column, test=test, reading=reading.given, allow=allow or ())
    chosen = chosen_of(finished, found)
    said = provenance(finished, chosen, found)
    content, trusted = _model(finished, chosen) if output.suffix == MODEL else (_code(finished, chosen, said), [])
    write_new(output, content)
    if json:
        trials = numbers_of(chosen)
        print_json({"file": str(output), "trials": trials, "votes": votes_of(chosen), "trusted": trusted})
        return
    tell(finished, said)
    if trusted:
        names = ", ".join(f'"{name}"' for name in trusted)
        note(f"to load it: `skops.io.load({str(output)!r}, trusted=[{names}])`")


def _code(finished: "ReopenedRun", chosen: "Record | EnsembleSelection", said: list[str]) -> str:
    from spacelang.report.module import module
    from spacelang.runtime.errors import BuildError

    try:
        return module(finished.unfitted(chosen), finished.objective, said)
    except TypeError as error:
        raise BuildError(str(error), f"write it as a model: a file that ends in `{MODEL}`") from error


def _model(finished: "ReopenedRun", chosen: "Record | EnsembleSelection") -> tuple[bytes, list[str]]:
    from spacelang.report.model import dumped, must_have_skops

    must_have_skops()
    dumped(finished.unfitted(chosen))  # fails early, before minutes are spent on the fit
    return dumped(finished.fitted(chosen, forks=True))
