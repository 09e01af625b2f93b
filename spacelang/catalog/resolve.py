"""Find the library's classes and functions for names in a catalogue.

This is the only way from a space to code. Names are looked up exactly, in modules that introspection recorded. No text
of a user is ever split at dots or imported.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

from spacelang.catalog.catalogue import Catalogue


def operator_class(catalogue: Catalogue, name: str) -> type:
    """Import the module of an operator and return its class.

    Raises LookupError if the catalogue does not list the operator or the installed library does not have it.
    """
    operator = catalogue.get(name)
    if operator is None:
        raise LookupError(f"`{name}` is not an operator of the catalogue {catalogue.name}")
    if operator.enabled_by is not None:
        importlib.import_module(operator.enabled_by)
    found = _member(catalogue, operator.module, name)
    if isinstance(found, type):
        return found
    raise LookupError(f"`{name}` of {operator.module} is not a class")


def named_object(catalogue: Catalogue, operator: str, parameter: str, name: str) -> object:
    """Return the function or object that the catalogue lists under a name for the parameter.

    Raises LookupError if the catalogue does not list it or the installed library does not have it.
    """
    found = catalogue.get(operator)
    listed = found.parameters.get(parameter) if found is not None else None
    if listed is None or name not in listed.named or name not in catalogue.objects:
        raise LookupError(f"`{name}` is not listed for `{parameter}` of `{operator}`")
    return _member(catalogue, catalogue.objects[name], name)


def _member(catalogue: Catalogue, module: str, name: str) -> object:
    try:
        members = vars(importlib.import_module(module))
    except ModuleNotFoundError as error:
        raise LookupError(f"the module {module} of {catalogue.distribution} is not installed") from error
    if name not in members:
        described = f"{catalogue.distribution} {catalogue.version}"
        raise LookupError(f"the installed {module} has no `{name}`; the catalogue describes {described}")
    return members[name]


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
