"""`spacelang fmt` and `import`: format spaces with the canonical layout, and convert files of other tools to spaces."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from spacelang.cli._options import (
    STANDARD_INPUT,
    SpacesArgument,
    read_standard_input,
    refuse_repeated_standard_input,
    standard_input_source,
)
from spacelang.cli._output import exit_with_error, overwrite_file, print_diagnostics, print_error, should_use_colours
from spacelang.cli._process import BAD_INPUT, print_file_content
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.files import os_error_text, replace_atomically

GROUP = ("Write a space", 4)
_STYLES: Final = {"---": "\x1b[1m", "+++": "\x1b[1m", "@@ ": "\x1b[36m", "-": "\x1b[31m", "+": "\x1b[32m"}


@dataclass(frozen=True, slots=True)
class _FormattedSpace:
    """A space file before and after formatting: its `content` and the formatted `text`.

    `path` is None for the standard input.
    """

    name: str
    path: Path | None
    content: bytes
    text: str

    @property
    def is_changed(self) -> bool:
        return self.content != self.text.encode()


def fmt_command(
    spaces: SpacesArgument,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; list files that would change, status 1.")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what would change.")] = False,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the result instead of writing it.")] = False,
) -> None:
    """Format spaces in place, all with the same layout. Comments stay; a file with syntax errors is left alone.

    Example: `spacelang fmt credit.space --diff`
    """
    if check + diff + stdout > 1:
        exit_with_error("`--check`, `--diff` and `--stdout` exclude each other", "give only one of these options")
    refuse_repeated_standard_input(*spaces)
    if not (check or diff or stdout):
        _refuse_bundled(spaces)
    status = 0
    for reference in spaces:
        layout = _format(reference)
        if layout is None:
            status = BAD_INPUT
        elif check:
            status = BAD_INPUT if layout.is_changed else status
            sys.stdout.write(f"{replace_unprintable(layout.name)}\n" if layout.is_changed else "")
        elif diff:
            _print_difference(layout)
        elif stdout or layout.path is None:
            print_file_content(layout.text)
        elif not _write(layout, layout.path):
            status = BAD_INPUT
    if status:
        raise typer.Exit(status)


def _refuse_bundled(spaces: list[str]) -> None:
    from spacelang.syntax.sources import bundled_names

    for reference in spaces:
        if reference in bundled_names():
            help_ = f"print it with `spacelang fmt {reference} --stdout`; `./{reference}` names a file of your own"
            exit_with_error(f"`{reference}` is a bundled space, which cannot be overwritten", help_)


def _format(reference: str) -> _FormattedSpace | None:
    from spacelang.serialization.json_documents import is_compiled_space
    from spacelang.syntax.parser import parse
    from spacelang.syntax.printer import format_text
    from spacelang.syntax.sources import read_source

    content = read_standard_input() if reference == STANDARD_INPUT else None
    source = read_source(reference) if content is None else standard_input_source(content)
    if not isinstance(source, Diagnostic) and is_compiled_space(source.text):
        what = f"`{source.name}` is a compiled space, not the text of one"
        print_error(what, "format the text from which it was compiled")
        return None
    problems = (source,) if isinstance(source, Diagnostic) else (parsed := parse(source)).diagnostics
    print_diagnostics(problems)
    if problems or isinstance(source, Diagnostic):
        return None
    text = format_text(source.text)
    if parse(type(source)(source.name, text)).file != parsed.file:
        what = f"`{source.name}` is left unchanged: formatting would change its meaning"
        print_error(what, "please report this as a bug")
        return None
    if content is not None or source.origin is None:
        return _FormattedSpace(source.name, None, content or b"", text)
    return _FormattedSpace(source.name, source.origin.path, source.origin.path.read_bytes(), text)


def _print_difference(layout: _FormattedSpace) -> None:
    styled = should_use_colours(sys.stdout)
    for line in _difference(layout):
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "") if styled else ""
        shown = replace_unprintable(line) if sys.stdout.isatty() else line
        print_file_content(f"{style}{shown}\x1b[0m\n" if style else f"{shown}\n")


def _difference(layout: _FormattedSpace) -> Iterator[str]:
    """Yield the lines of a unified diff, which `patch` understands."""
    from difflib import unified_diff

    # For `patch`, only line feeds end lines.
    for line in unified_diff(_lines(layout.content.decode()), _lines(layout.text), layout.name, layout.name):
        yield from line.removesuffix("\n").split("\n")


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([f"{last}\n\\ No newline at end of file"] if last else [])]


def _write(layout: _FormattedSpace, path: Path) -> bool:
    name = replace_unprintable(layout.name)
    if not layout.is_changed:
        typer.echo(f"{name}: unchanged")
        return True
    try:
        _replace(path, layout.text.encode())
    except OSError as error:
        print_error(f"cannot write `{layout.name}`: {os_error_text(error)}")
        return False
    typer.echo(f"{name}: formatted")
    return True


def _replace(path: Path, content: bytes) -> None:
    """Replace the content of a file atomically: readers and interrupts find either the old or the new content."""
    if not os.access(path, os.W_OK):
        raise PermissionError(0, "permission denied")
    with replace_atomically(path) as new, new.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        new.chmod(path.stat().st_mode & 0o7777)


def import_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file of ConfigSpace: PCS (`.pcs`) or JSON (`.json`).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.space", help="Write to this file.")
    ] = None,
) -> None:
    """Convert a search space of ConfigSpace to a `.space` file.

    Everything that is lost is reported with its line. If the members would differ, nothing is written.

    Example: `spacelang import old.pcs -o new.space`
    """
    from spacelang.diagnostics.diagnostic import Diagnostic
    from spacelang.importers._import_steps import import_space
    from spacelang.syntax.sources import read_file

    source = read_file(file, "give a `.pcs` or `.json` file of ConfigSpace")
    if isinstance(source, Diagnostic):
        print_diagnostics((source,))
        raise typer.Exit(BAD_INPUT)
    imported, diagnostics = import_space(source)
    print_diagnostics(diagnostics)
    if imported is None:
        raise typer.Exit(BAD_INPUT)
    if output is None:
        print_file_content(imported.text)
    else:
        overwrite_file(output, imported.text, own=file, own_name="the imported file itself")
