"""The command line. The module of a command imports what it needs only when the command runs."""

import gc
import sys
from collections.abc import Sequence
from errno import EMFILE, ENFILE

from spacelang.cli._process import (
    BAD_INPUT,
    FILES_HELP,
    INTERRUPTED,
    CommandStartTime,
    check_limits_for_imports,
    connect_closed_streams_to_null,
    redirect_to_null,
    sanitize_streams,
    sigterm_as_interrupt,
)
from spacelang.errors import UserError
from spacelang.files import os_error_text

OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""New objects between two runs of the garbage collector. A check makes many lasting objects and hardly any cycles."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command named by the arguments and exit with status 0, 1, 2, 3 or 130."""
    CommandStartTime.record(is_process=arguments is None)
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    if connect_closed_streams_to_null():
        print("warning: the standard output is closed, so nothing is printed to it", file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A file name or a limited terminal cannot end a command by a character that cannot be encoded.
            stream.reconfigure(errors="backslashreplace")
    with sanitize_streams(), sigterm_as_interrupt(), check_limits_for_imports():
        status = _status(arguments)
    # At exit Python collects garbage several times; skipping all imported objects saves a sixth of a short command.
    gc.freeze()
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    """Run the command and return its exit status.

    Interrupts, output streams that are closed or full, and limits of the process that are too small end the command
    with a short message instead of a traceback.
    """
    status: int
    try:
        from spacelang.cli._app import run_command_line

        status = run_command_line(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _flush_stdout()
        status = INTERRUPTED
    except BrokenPipeError:
        # The reader of the output has closed it (`spacelang sample … | head`).
        redirect_to_null(sys.stdout.fileno())
        status = 0
    except UserError as error:
        status = _print_error(error.message, error.help)
    except OSError as error:
        if error.errno in (EMFILE, ENFILE):
            return _print_error("too many files are open", FILES_HELP)
        if error.filename is not None:
            raise
        redirect_to_null(sys.stdout.fileno())
        status = _print_error(f"cannot write the output: {os_error_text(error)}")
    return status


def _print_error(message: str, help_text: str = "") -> int:
    """Print an error without any import, which may be what fails; return the exit status."""
    print(f"error: {message}", file=sys.stderr)
    if help_text:
        print(f"  = help: {help_text}", file=sys.stderr)
    return BAD_INPUT


def _flush_stdout() -> None:
    """Flush the standard output after an interrupt. If its reader has gone, drop what is left."""
    try:
        sys.stdout.flush()
    except (OSError, KeyboardInterrupt):
        redirect_to_null(sys.stdout.fileno())
