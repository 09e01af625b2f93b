"""What commands share: arguments, reading a space, and how problems are shown."""

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer

from spacelang.cli import BAD_INPUT, WRONG_USAGE
from spacelang.diagnostics.cells import visible
from spacelang.diagnostics.diagnostic import Diagnostic

if TYPE_CHECKING:
    from spacelang.api import Space

SpaceArgument = Annotated[
    str,
    typer.Argument(metavar="SPACE", help="A `.space` file, or the name of a bundled space (see `spacelang spaces`)."),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option; give it as often as needed.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Equal seeds give equal results.")]


def load(reference: str, *, as_json: bool = False) -> "Space":
    """The space, its warnings printed to standard error; ends the program where it has errors."""
    from spacelang.api import SpaceError
    from spacelang.api import load as load_space

    try:
        space = load_space(reference)
    except SpaceError as error:
        if as_json:
            from spacelang.diagnostics.as_json import records

            print_json({"diagnostics": records(error.diagnostics)})
        show(error.diagnostics)
        raise typer.Exit(BAD_INPUT) from None
    show(space.warnings)
    return space


def show(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, in colours on a terminal."""
    from spacelang.diagnostics.terminal import render

    found = tuple(diagnostics)
    if found:
        print(render(found, color=colours(sys.stderr)), file=sys.stderr)


def colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that shall show colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(document: object) -> None:
    """Print one JSON document, in characters that the standard output can write."""
    # The surrogates that stand for the bytes of a file name are written as escapes, which JSON knows.
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(document, ensure_ascii=not is_unicode, allow_nan=False))


def fail(message: str, help: str | None = None, *, status: int = WRONG_USAGE) -> NoReturn:  # noqa: A002
    """End the program with a message and what to do about it."""
    report(message, help)
    raise typer.Exit(status)


def report(message: str, help: str | None = None) -> None:  # noqa: A002 - the word of the house's diagnostics
    """Print an error that has no place in a space to standard error, like a diagnostic."""
    title = "\x1b[1;31merror\x1b[0m" if colours(sys.stderr) else "error"
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
    """The configured target or optimizer; ends the program where it or an option of it does not exist."""
    from spacelang.plugins import OptionError, UnknownPluginError

    try:
        return plugins.configure(plugins.load(name), settings(pairs))
    except (UnknownPluginError, OptionError) as error:
        fail(error.message, error.help)
