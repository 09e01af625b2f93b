"""The command line: one module a command. A module imports what its command needs when the command runs."""

import gc
import sys
from collections.abc import Sequence

from spacelang.cli._shell import BAD_INPUT, INTERRUPTED
from spacelang.cli._stopping import stoppable
from spacelang.cli._streams import forget, guarded
from spacelang.files import said_by

OBJECTS_BETWEEN_COLLECTIONS = 200_000
"""Python looks for circles of garbage after 700 new objects: a check makes many that stay, and next to no circles."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name; the exit status is 0, 1, 2, 3 or 130."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    _write_what_comes()
    with guarded(), stoppable():
        status = _status(arguments)
    # Python looks at all that a command has imported before it ends, several times, for a sixth of its time.
    gc.freeze()
    sys.exit(status)


def _status(arguments: Sequence[str] | None) -> int:
    status: int
    try:
        from spacelang.cli._app import run

        status = run(sys.argv[1:] if arguments is None else arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        _write_the_rest()
        status = INTERRUPTED
    except BrokenPipeError:
        # Who reads our output has seen enough (`spacelang sample … | head`).
        forget(sys.stdout)
        status = 0
    except OSError as error:
        if error.filename is not None:
            raise
        forget(sys.stdout)
        print(f"error: the output cannot be written: {said_by(error)}", file=sys.stderr)
        status = BAD_INPUT
    return status


def _write_what_comes() -> None:
    """Names of files need not be text, and a terminal need not know every character: neither must end a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _write_the_rest() -> None:
    """Write what was printed before the end, if anybody reads it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, KeyboardInterrupt):
        forget(sys.stdout)
