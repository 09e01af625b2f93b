"""What commands share: writing a file, and how problems are shown."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

import typer

from spacelang.cli._shell import BAD_INPUT, WRONG_USAGE
from spacelang.diagnostics.cells import visible
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.files import said_by


def end(diagnostics: tuple[Diagnostic, ...], *, as_json: bool) -> NoReturn:
    """End the program because of a space with errors."""
    if as_json:
        from spacelang.diagnostics.as_json import records

        print_json({"diagnostics": records(diagnostics)})
    show(diagnostics)
    raise typer.Exit(BAD_INPUT)


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, in colours on a terminal."""
    found = tuple(diagnostics)
    if found:
        from spacelang.diagnostics.terminal import render

        print(render(found, color=colours(sys.stderr)), file=sys.stderr)


def colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shall show colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(document: object) -> None:
    """Print one JSON document, in characters that the standard output can write; those that do not show are escapes."""
    # The surrogates that stand for the bytes of a file name are written as escapes, which JSON knows.
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=not is_unicode, allow_nan=False)
    print(text if text.isprintable() else "".join(each if each.isprintable() else _escape(each) for each in text))


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def fail(
    message: str,
    help: str | None = None,  # noqa: A002
    *,
    status: int = WRONG_USAGE,
    notes: Iterable[str] = (),
) -> NoReturn:
    """End the program with a message and what to do about it."""
    report(message, help, notes)
    raise typer.Exit(status)


def report(message: str, help: str | None = None, notes: Iterable[str] = ()) -> None:  # noqa: A002
    """Print an error that has no place in a space to standard error, like a diagnostic."""
    title = "\x1b[1;31merror\x1b[0m" if colours(sys.stderr) else "error"
    print(f"{title}: {visible(message)}", file=sys.stderr)
    if help:
        print(f"  = help: {visible(help)}", file=sys.stderr)
    for note in notes:
        print(f"  = note: {visible(note)}", file=sys.stderr)


def must_be_free(output: Path) -> None:
    """End the program where something is in the place of a file that is to be written, or nothing can be."""
    if output.exists():
        fail(f"`{output}` is there already", "give `-o` another file, or remove that one")
    if not output.parent.is_dir():
        fail(f"cannot write `{output}`: there is no folder `{output.parent}`")


def write_new(output: Path, content: str | bytes) -> None:
    """Write a file that was not there; ends the program where it is by now, or cannot be written."""
    # Created, never written over, even if somebody else was faster.
    with writing(output), output.open("xb") as file:
        # A table may hold what is no text: bytes of a name in another encoding.
        file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))


def write_over(output: Path, text: str, *, own: str = "", what: str = "") -> None:
    """Write a text in place of what is there; ends the program where it cannot be, or would replace its `own` source.

    That is told as `what` it is.
    """
    with writing(output):
        if own and output.is_file() and Path(own).is_file() and output.samefile(own):
            fail(f"`{output}` is {what}", "give `-o` another file")
        output.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """End the program where a file cannot be written."""
    try:
        yield
    except OSError as error:
        fail(f"cannot write `{output}`: {said_by(error)}")


@contextmanager
def as_usage() -> Iterator[None]:
    """End the program for a text of an option that a ValueError says is none."""
    try:
        yield
    except ValueError as error:
        fail(str(error))


def note(message: str, help: str = "") -> None:  # noqa: A002
    """Print what a user should know to standard error, like a diagnostic."""
    title = "\x1b[1;36mnote\x1b[0m" if colours(sys.stderr) else "note"
    print(f"{title}: {visible(message)}", file=sys.stderr)
    if help:
        print(f"  = help: {visible(help)}", file=sys.stderr)


def settings(pairs: list[str] | None) -> dict[str, str]:
    """The options of `--set NAME=VALUE …`; ends the program for what is no pair or is given twice."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            fail(f"`--set {pair}` is not an option", "write `--set NAME=VALUE`")
        if name.strip() in found:
            fail(f"the option `{name.strip()}` is set twice")
        found[name.strip()] = value.strip()
    return found


def plugin(plugins: Any, name: str, pairs: list[str] | None) -> Any:
    """The configured target or optimizer; raises UnknownPluginError and OptionError."""
    return plugins.configure(plugins.load(name), settings(pairs))
