"""Output functions of all commands: writing files, and printing diagnostics, errors, notes, plug-ins and JSON."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import typer

from spacelang.cli._process import BAD_INPUT, WRONG_USAGE
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.terminal_cells import replace_unprintable
from spacelang.files import os_error_text

if TYPE_CHECKING:
    from spacelang.ir.membership import ExclusionReason

DATABASE: Final = b"SQLite format 3\0"  # The first bytes of a store
GZIP: Final = b"\x1f\x8b"  # The first bytes of a compressed file


def exit_with_diagnostics(diagnostics: tuple[Diagnostic, ...], *, as_json: bool) -> NoReturn:
    """End the program because a space has errors, which are printed; status 1."""
    if as_json:
        from spacelang.diagnostics.json_output import diagnostics_to_json_records

        print_json({"diagnostics": diagnostics_to_json_records(diagnostics)})
    print_diagnostics(diagnostics)
    raise typer.Exit(BAD_INPUT)


def print_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Print diagnostics to standard error, in colours on a terminal."""
    found = tuple(diagnostics)
    if found:
        from spacelang.diagnostics.terminal import render_diagnostics

        print(render_diagnostics(found, color=should_use_colours(sys.stderr)), file=sys.stderr)


def should_use_colours(stream: TextIO) -> bool:
    """Return True if the stream is a terminal that should show colours (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def print_json(document: object) -> None:
    """Print one JSON document; characters that cannot be encoded or printed are written as JSON escapes."""
    # Surrogates, which stand for undecodable bytes of a file name, are written as JSON escapes.
    is_unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(document, ensure_ascii=not is_unicode, allow_nan=False)
    print(text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


def exit_with_error(
    message: str,
    help: str | None = None,  # noqa: A002
    *,
    status: int = WRONG_USAGE,
    notes: Iterable[str] = (),
) -> NoReturn:
    """End the program with an error message, and with a line that says what to do about it."""
    print_error(message, help, notes)
    raise typer.Exit(status)


def print_error(message: str, help: str | None = None, notes: Iterable[str] = ()) -> None:  # noqa: A002
    """Print an error without a place in a space to standard error, in the format of a diagnostic."""
    _print_titled("error", 31, replace_unprintable(message), help, notes)


def print_note(message: str, help: str = "") -> None:  # noqa: A002
    """Print a note to standard error, in the format of a diagnostic."""
    _print_titled("note", 36, replace_unprintable(message), help)


def print_warning(sentence: str) -> None:
    """Print a warning to standard error."""
    _print_titled("warning", 33, sentence)


def _print_titled(
    title: str, colour: int, message: str, help_text: str | None = None, notes: Iterable[str] = ()
) -> None:
    title = f"\x1b[1;{colour}m{title}\x1b[0m" if should_use_colours(sys.stderr) else title
    print(f"{title}: {message}", file=sys.stderr)
    if help_text:
        print(f"  = help: {replace_unprintable(help_text)}", file=sys.stderr)
    for note in notes:
        print(f"  = note: {replace_unprintable(note)}", file=sys.stderr)


def exit_if_output_exists(output: Path) -> None:
    """End the program if the output file exists, or its folder does not."""
    if output.exists():
        exit_with_error(f"`{output}` already exists", "choose another file with `-o`, or remove the existing one")
    if not output.parent.is_dir():
        exit_with_error(f"cannot write `{output}`: the folder `{output.parent}` does not exist")


def write_new_file(output: Path, content: str | bytes) -> None:
    """Write a new file. Ends the program if the file exists by now, or cannot be written."""
    # Mode "x" never overwrites, even if another process has created the file since it was checked.
    with exit_on_write_error(output), output.open("xb") as file:
        # A text may hold surrogates: undecodable bytes of a name in another encoding.
        file.write(content if isinstance(content, bytes) else content.encode(errors="backslashreplace"))


def exit_if_not_replaceable(output: Path, begins: str = "", kind: str = "", *, option: str = "-o") -> None:
    """End the program if the output file is a database, or if it does not begin as an earlier output does.

    Without `begins`, the start of an earlier output, all files but databases may be replaced. An empty file may always
    be. `kind` describes an output and `option` names the file in the message.
    """
    with exit_on_write_error(output):
        start = _first_bytes(output) if output.is_file() else b""
    if start.startswith(DATABASE):
        what = "is the store of a run, or another database, and cannot be overwritten"
        exit_with_error(f"`{output}` {what}", f"choose another file with `{option}`")
    if start and not start.startswith(begins.encode(errors="replace")):
        remedy = f"choose another file with `{option}`, or remove the existing one"
        exit_with_error(f"`{output}` already exists and is not {kind}, so it is not overwritten", remedy)


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked if it is compressed. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(GZIP):
        import gzip
        import zlib

        with suppress(OSError, EOFError, zlib.error), gzip.open(path) as unpacked:
            return unpacked.read(64)
    return start


def overwrite_file(
    output: Path, text: str, *, begins: str = "", kind: str = "", own: str = "", own_name: str = ""
) -> None:
    """Write a text to a file, and replace an earlier output, which starts with `begins`.

    Ends the program if the file cannot be written, if `exit_if_not_replaceable` does, or if the file is `own`, the file
    from which the text was made. `own_name` describes `own` in the message.
    """
    with exit_on_write_error(output):
        if own and output.is_file() and Path(own).is_file() and output.samefile(own):
            exit_with_error(f"`{output}` is {own_name}, which is not overwritten", "choose another file with `-o`")
        exit_if_not_replaceable(output, begins, kind)
        output.write_text(text, encoding="utf-8", errors="backslashreplace")


@contextmanager
def exit_on_write_error(output: Path) -> Iterator[None]:
    """End the program with a message if the block raises an OSError because it cannot write the file `output`."""
    try:
        yield
    except OSError as error:
        exit_with_error(f"cannot write `{output}`: {os_error_text(error)}")


@contextmanager
def exit_on_value_error() -> Iterator[None]:
    """If the block raises a ValueError, end the program with its message and the status for wrong usage."""
    try:
        yield
    except ValueError as error:
        exit_with_error(str(error))


def exclusion_document(excluded: "ExclusionReason") -> dict[str, object]:
    """Return, as a JSON object, why a configuration is not a member of a space."""
    return {"key": excluded.key or None, "reason": excluded.reason, "line": excluded.span.line}


def print_exclusion(excluded: "ExclusionReason") -> None:
    """Print why a configuration is not a member, with the line of the space that excludes it."""
    typer.echo(f"no: {replace_unprintable(excluded.reason)}")
    span = excluded.span
    if span.source.text:
        typer.echo(f"  --> {replace_unprintable(span.source.name)}:{span.line}:{span.column}")


def print_keys_without_meaning(keys: tuple[str, ...]) -> None:
    """Print a note with the keys of a configuration that were ignored, because they have no meaning for the data."""
    if keys:
        from spacelang.solver.nearest_configuration import dropped_keys_sentence

        print_note(dropped_keys_sentence(keys))


def parse_settings(pairs: list[str] | None) -> dict[str, str]:
    """Return the options of `--set NAME=VALUE …` by name; ends the program for another form or a repetition."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            exit_with_error(f"`--set {pair}` is not of the form NAME=VALUE", "write `--set NAME=VALUE`")
        if name.strip() in found:
            exit_with_error(f"the option `{name.strip()}` is given twice")
        found[name.strip()] = value.strip()
    return found


def configure_plugin(plugins: Any, name: str, pairs: list[str] | None) -> Any:
    """Return the configured target or optimizer. Raises UnknownPluginError or OptionError."""
    return plugins.configure(plugins.load(name), parse_settings(pairs))


def print_plugins(plugins: Any, chosen: str | None, *, command: str, as_json: bool) -> None:
    """Print a line for each plug-in, or the plug-in `chosen` with its options and defaults.

    JSON output always has the options. `command` is the name of the calling command, for messages. Raises
    UnknownPluginError for an unknown name.
    """
    found = [(name, plugins.load(name)) for name in ([chosen] if chosen else plugins.names())]
    if as_json:
        print_json([_plugin_document(plugins, name, plugin) for name, plugin in found])
        return
    from rich.console import Console

    console = Console(highlight=False)
    width = max(len(name) for name, _ in found)
    for name, plugin in found:
        gap = " " * (width - len(name) + 2)
        console.print(f"[bold]{name}[/bold]{gap}{_summary(plugin)}", markup=True, soft_wrap=True)
        if chosen is None:
            continue
        if paper := getattr(plugin, "paper", ""):
            console.print(f"    [dim]{paper}[/dim]", soft_wrap=True)
        for option in plugins.options(plugin):
            console.print(
                f"    [cyan]{option.name}[/cyan] = {_format_default(option.default)}  ({option.type}) {option.doc}",
                soft_wrap=True,
            )
        for preset, options in plugins.presets(plugin).items():
            settings = ", ".join(f"{option}={text}" for option, text in options.items())
            console.print(f"    [cyan]preset={preset}[/cyan]  {settings}", soft_wrap=True)
    if chosen is None:
        print(f"\nThe options of one of them: `spacelang {command} {found[0][0]}`")


def _plugin_document(plugins: Any, name: str, plugin: Any) -> dict[str, object]:
    options = [
        {"name": option.name, "type": option.type, "default": option.default, "description": option.doc}
        for option in plugins.options(plugin)
    ]
    document: dict[str, object] = {"name": name, "description": _summary(plugin), "options": options}
    if hasattr(plugin, "paper"):
        document["paper"] = plugin.paper
    if presets := plugins.presets(plugin):
        document["presets"] = {preset: dict(given) for preset, given in presets.items()}
    return document


def _summary(plugin: Any) -> str:
    return (plugin.__doc__ or "").strip().splitlines()[0]


def _format_default(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:.6g}" if isinstance(default, float) else str(default)
