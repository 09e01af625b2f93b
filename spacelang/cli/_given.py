"""A configuration that a command is given, as a file or on the standard input."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from spacelang.cli._shared import fail
from spacelang.cli._shell import BAD_INPUT
from spacelang.files import said_by

HELP: Final = "write one JSON object, as `sample` prints it"

ConfigurationArgument = Annotated[
    str, typer.Argument(metavar="CONFIG.json", help="A file with one JSON object; `-` reads standard input.")
]


def read_configuration(path: str) -> dict[str, object]:
    """The configuration; ends the program for what is none."""
    from spacelang.ir.configuration import Configuration

    shown = "the standard input" if path == "-" else f"`{path}`"
    if path != "-" and _may_not_end(Path(path)):
        remedy = "pipe it in: `-` reads the standard input"
        fail(f"cannot read {shown}: it is no regular file", remedy, status=BAD_INPUT)
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
        return dict(Configuration.from_json(text))
    except UnicodeDecodeError as error:
        fail(f"{shown} is not text in UTF-8 (byte {error.start + 1})", status=BAD_INPUT)
    except OSError as error:
        fail(f"cannot read {shown}: {said_by(error)}", status=BAD_INPUT)
    except RecursionError:
        fail(f"{shown} is not a configuration: it is nested too deeply", HELP, status=BAD_INPUT)
    except (ValueError, TypeError) as error:
        fail(f"{shown} is not a configuration: {_lowered(str(error))}", HELP, status=BAD_INPUT)


def _may_not_end(path: Path) -> bool:
    """Whether there is something that is neither a file nor a folder, as a device or a pipe, which nothing opens."""
    try:
        return path.exists() and not (path.is_file() or path.is_dir())
    except (OSError, ValueError):
        return False  # reading it says why


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
