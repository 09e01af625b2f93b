"""Load the space that a command is given."""

import sys
from typing import TYPE_CHECKING

from spacelang.cli._options import SpaceOptions
from spacelang.cli._output import print_diagnostics

if TYPE_CHECKING:
    from spacelang.api import Space


def load(reference: str, options: SpaceOptions) -> "Space":
    """Return the space, with its warnings printed to standard error.

    Raises SpaceError if the space has errors.
    """
    from spacelang.api import load as load_space

    space = load_space(reference, allow=options.allowed, bind=options.bindings)
    print_diagnostics(space.warnings)
    _note_unbound(space)
    return space


def _note_unbound(space: "Space") -> None:
    """Print a note that names the symbols of the space, such as `n_features`, that have no number."""
    unbound = [name for name, number in space.symbols.items() if number is None]
    if unbound:
        names = ", ".join(f"`{name}`" for name in unbound)
        print(f"note: {names} may be arbitrarily large; give a number with `--bind {unbound[0]}=…`", file=sys.stderr)
