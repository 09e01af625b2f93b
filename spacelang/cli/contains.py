"""`spacelang contains`: is a configuration in a space, and if not, which line keeps it out."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from spacelang.cli import BAD_INPUT
from spacelang.cli._shared import AllowOption, BindOption, JsonOption, SpaceArgument, fail, load, print_json
from spacelang.diagnostics.cells import visible

HELP = "write one JSON object, as `sample` prints it"


def command(
    space: SpaceArgument,
    configuration: Annotated[
        str, typer.Argument(metavar="CONFIG.json", help="A file with one JSON object; `-` reads standard input.")
    ],
    allow: AllowOption = None,
    bind: BindOption = None,
    json: JsonOption = False,
) -> None:
    """Say whether a configuration is a member (status 0), and if not (status 1), why."""
    loaded = load(space, as_json=json, allow=allow, bind=bind)
    excluded = loaded.exclusion(_read(configuration))
    if json:
        print_json(
            {
                "member": excluded is None,
                "key": excluded.key or None if excluded else None,
                "reason": excluded.reason if excluded else None,
                "line": excluded.span.line if excluded else None,
            }
        )
    elif excluded is None:
        typer.echo("yes")
    else:
        typer.echo(f"no: {visible(excluded.reason)}")
        span = excluded.span
        if span.source.text:
            typer.echo(f"  --> {visible(span.source.name)}:{span.line}:{span.column}")
    if excluded is not None:
        raise typer.Exit(BAD_INPUT)


def _read(path: str) -> dict[str, object]:
    from spacelang.ir.configuration import Configuration

    shown = "the standard input" if path == "-" else f"`{path}`"
    try:
        text = sys.stdin.read() if path == "-" else _text(Path(path))
        return dict(Configuration.from_json(text))
    except UnicodeDecodeError as error:
        fail(f"{shown} is not text in UTF-8 (byte {error.start + 1})", status=BAD_INPUT)
    except OSError as error:
        fail(f"cannot read {shown}: {(error.strerror or str(error)).lower()}", status=BAD_INPUT)
    except RecursionError:
        fail(f"{shown} is not a configuration: it is nested too deeply", HELP, status=BAD_INPUT)
    except (ValueError, TypeError) as error:
        fail(f"{shown} is not a configuration: {_lowered(str(error))}", HELP, status=BAD_INPUT)


def _text(path: Path) -> str:
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError("it is no regular file")
    return path.read_text(encoding="utf-8-sig")


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
