"""Location of the data folders: next to the package in a checkout, inside it in an installed wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def resource_folder(name: str) -> Path:
    """Return the path of the folder `grammars` or `spaces`."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
