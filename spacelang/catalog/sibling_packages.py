"""Import packages from the folder of a file, after the caller has allowed them by name.

The folder is not added to `sys.path`. So no other file in it can be imported in place of a missing package, and
installed packages take precedence.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final


class _Finder(MetaPathFinder):
    """An import finder for the top-level packages in `folders`; Python finds their submodules itself."""

    def __init__(self) -> None:
        self.folders: dict[str, str] = {}

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system gives it
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        folder = self.folders.get(fullname)
        return None if folder is None else PathFinder.find_spec(fullname, [folder], target)


_FINDER: Final = _Finder()


def allow_import(name: str, folder: Path) -> bool:
    """Allow the import of a package or module from a folder; return True if the folder really contains it.

    A package that is a symbolic link to a place outside of the folder does not count. Raises LookupError, with the
    other folder as its argument, if a package of this name was allowed from elsewhere.
    """
    spec = PathFinder.find_spec(name, [str(folder)])
    if spec is None or spec.origin is None or not Path(spec.origin).resolve().is_relative_to(folder.resolve()):
        return False
    known = folder_of(name)
    if known not in (None, str(folder)):
        raise LookupError(known)
    allow_imports({name: str(folder)})
    return True


def folder_of(name: str) -> str | None:
    """Return the folder from which a package was allowed; None for an installed or unknown package."""
    return _FINDER.folders.get(name)


def allowed_folders() -> Mapping[str, str]:
    """Return all allowed packages with their folders, to be passed to `allow_imports` in another process."""
    return dict(_FINDER.folders)


def allow_imports(folders: Mapping[str, str]) -> None:
    """Allow packages from the folders where another process found them."""
    _FINDER.folders.update(folders)
    if folders and _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
