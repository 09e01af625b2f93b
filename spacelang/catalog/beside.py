"""Packages that stand beside a file: found by their names alone, once the caller has allowed these.

Their folder is not on Python's path. So nothing else in it is ever imported in place of something that is not
installed, and what is installed goes before it.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final


class _Finder(MetaPathFinder):
    """Finds the packages of `folders`; what is inside of them Python finds by itself."""

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


def admit(name: str, folder: Path) -> bool:
    """Let a package or module be imported from a folder that has it; whether it has, links followed.

    Raises LookupError, with the other folder, where a package of this name was taken from another one.
    """
    spec = PathFinder.find_spec(name, [str(folder)])
    if spec is None or spec.origin is None or not Path(spec.origin).resolve().is_relative_to(folder.resolve()):
        return False
    known = home(name)
    if known not in (None, str(folder)):
        raise LookupError(known)
    admit_all({name: str(folder)})
    return True


def home(name: str) -> str | None:
    """The folder that a package was taken from; None for one that is installed, or not known."""
    return _FINDER.folders.get(name)


def admitted() -> Mapping[str, str]:
    """All that was admitted, with the folders: what another process is told, which `admit_all` does."""
    return dict(_FINDER.folders)


def admit_all(folders: Mapping[str, str]) -> None:
    """Let packages be imported from where another process found them."""
    _FINDER.folders.update(folders)
    if folders and _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
