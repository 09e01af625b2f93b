"""The argument of commands that take a configuration: a JSON file, or the standard input."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from spacelang.cli._output import fail
from spacelang.cli._shell_completion import BAD_INPUT
from spacelang.files import os_error_text

HELP: Final = "write one JSON object, as `sample` prints it"

ConfigurationArgument = Annotated[
    str, typer.Argument(metavar="CONFIG.json", help="A file with one JSON object; `-` reads standard input.")
]


def read_configuration(path: str) -> dict[str, object]:
    """Return the configuration in a file, or on the standard input for `-`.

    Ends the program if the file cannot be read or holds no configuration.
    """
    from spacelang.ir.configuration import Configuration

    shown = "the standard input" if path == "-" else f"`{path}`"
    if path != "-" and _is_special_file(Path(path)):
        remedy = "pipe it in: `-` reads the standard input"
        fail(f"cannot read {shown}: it is not a regular file", remedy, status=BAD_INPUT)
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
        return dict(Configuration.from_json(text))
    except UnicodeDecodeError as error:
        fail(f"{shown} is not text in UTF-8 (byte {error.start + 1})", status=BAD_INPUT)
    except OSError as error:
        fail(f"cannot read {shown}: {os_error_text(error)}", status=BAD_INPUT)
    except RecursionError:
        fail(f"{shown} is not a configuration: it is nested too deeply", HELP, status=BAD_INPUT)
    except (ValueError, TypeError) as error:
        fail(f"{shown} is not a configuration: {_lower_first(str(error))}", HELP, status=BAD_INPUT)


def _is_special_file(path: Path) -> bool:
    """Return True if the path is a device or a pipe, which must not be opened because reading it may never end."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except (OSError, ValueError):
        return False  # reading the file reports the error


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]
