"""`spacelang compile`: compile a space for a target, and report what the result does not preserve."""

import json as json_module
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.cli._options import SpaceInputArgument, SpaceOptions, TargetOption, load
from spacelang.cli._output import configure_plugin, fail, overwrite
from spacelang.cli._run_options import SetOption
from spacelang.diagnostics.terminal_cells import make_visible

if TYPE_CHECKING:
    from spacelang.api import Space
    from spacelang.targets._lowering import LoweringResult

GROUP = ("Compile a space", 2)


class Format(StrEnum):
    """The output formats of a compiled space."""

    JSON = "json"
    TEXT = "text"
    DOT = "dot"
    PYTHON = "python"


def command(
    space: SpaceInputArgument,
    target: TargetOption,
    *,
    set_: SetOption = None,
    options: SpaceOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")] = None,
    format_: Annotated[Format, typer.Option("--format", "-f", help="The output format.")] = Format.TEXT,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if the target can only approximate the space.")
    ] = False,
) -> None:
    """Compile a space for a target, such as another library's search space.

    With `--format python` the output is a module that needs only the target's library and those of the space's
    operators. Next to the library's own object it has `decode`, which turns a result of the library into a
    configuration, and `build`, which turns a configuration into an unfitted pipeline.

    Example: `spacelang compile credit.space --target optuna --format python -o credit_optuna.py`
    """
    from spacelang.api.compilation import compile_with_target
    from spacelang.targets import TARGETS
    from spacelang.targets._lowering import compiled_document

    chosen = configure_plugin(TARGETS, target, set_)
    loaded = load(space, options)
    form = compile_with_target(target, chosen, loaded.counted, strict=strict)
    if format_ is Format.JSON:
        found = compiled_document(target, loaded.checked, form, asdict(chosen), loaded.bound)
        # For a terminal, special characters are written as JSON escapes, so that every text can be read back.
        text = json_module.dumps(found, ensure_ascii=output is None, allow_nan=False)
    else:
        text = _text(target, form, format_, loaded)
    if output is None:
        # The name of a space may be that of its file, which may have control characters.
        print("\n".join(map(make_visible, text.split("\n"))))
    else:
        overwrite(output, text + "\n", own=space, what="the space itself")


def _text(target: str, lowered: "LoweringResult[Any, Any]", format_: Format, space: "Space") -> str:
    from spacelang.api.compilation import python_module
    from spacelang.targets._lowering import SourceForm

    if format_ is Format.DOT:
        return str(lowered.form.to_dot())
    if format_ is Format.PYTHON:
        if not isinstance(lowered.form, SourceForm):
            fail(f"the target `{target}` has no output in Python", "its formats are `json`, `text` and `dot`")
        return python_module(target, lowered, space.checked)
    lines = ["", "how the target represents the space:"] if lowered.report else []
    for entry in lowered.report:
        lines.append(f"  {entry.status.value:<13}{entry.construct}{entry.lines_text}: {entry.message}")
    return "\n".join([str(lowered.form.to_text()), *lines])
