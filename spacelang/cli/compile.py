"""`spacelang compile`: the form that a target gives a space, and what it could not keep."""

import json as json_module
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spacelang.cli._shared import AllowOption, BindOption, SetOption, SpaceArgument, fail, load, plugin
from spacelang.diagnostics.cells import visible

if TYPE_CHECKING:
    from spacelang.targets._lowered import Lowered


class Format(StrEnum):
    """What a form is written as."""

    JSON = "json"
    TEXT = "text"
    DOT = "dot"
    PYTHON = "python"


def command(
    space: SpaceArgument,
    target: Annotated[str, typer.Option("--target", "-t", help="The target; see `spacelang targets`.")],
    set_: SetOption = None,
    allow: AllowOption = None,
    bind: BindOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here.")] = None,
    format_: Annotated[Format, typer.Option("--format", "-f", help="How the form is written.")] = Format.TEXT,
) -> None:
    """Compile a space to the form of a target."""
    from spacelang.targets import TARGETS

    chosen = plugin(TARGETS, target, set_)
    loaded = load(space, as_json=format_ is Format.JSON, allow=allow, bind=bind)
    lowered = chosen.lower(loaded.checked)
    text = _text(target, loaded.checked, lowered, format_)
    if output is None:
        # Names of files may be of any characters, and the name of a space may be that of its file.
        print("\n".join(map(visible, text.split("\n"))))
    else:
        _write(output, text, space)


def _write(output: Path, text: str, space: str) -> None:
    try:
        if output.is_file() and Path(space).is_file() and output.samefile(space):
            fail(f"`{output}` is the space itself", "give `-o` another file")
        output.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        fail(f"cannot write `{output}`: {(error.strerror or str(error)).lower()}")


def _text(target: str, space: Any, lowered: "Lowered[Any, Any]", format_: Format) -> str:
    from spacelang.targets._lowered import document

    if format_ is Format.JSON:
        return json_module.dumps(document(target, space, lowered), ensure_ascii=False)
    if format_ is Format.DOT:
        return str(lowered.form.to_dot())
    if format_ is Format.PYTHON:
        fail(f"the target `{target}` has no form in Python", "formats are `json`, `text` and `dot`")
    return "\n".join([str(lowered.form.to_text()), *_report(lowered)])


def _report(lowered: "Lowered[Any, Any]") -> list[str]:
    lines = ["", "what became of the space:"] if lowered.report else []
    for entry in lowered.report:
        place = f" (line {entry.line})" if entry.line is not None else ""
        lines.append(f"  {entry.status.value:<13}{entry.construct}{place}: {entry.message}")
    return lines
