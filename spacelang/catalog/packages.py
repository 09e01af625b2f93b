"""Packages that a file uses: their catalogues, and the classes and objects for the names in a catalogue.

These functions are only called after the caller has allowed the package, because a package is imported if no snapshot
describes its installed version. A package that is not installed may be in the folder of the file that uses it. This
does not apply to packages with a bundled snapshot: a user who allows `xgboost` does not mean a stranger's file of that
name.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

from spacelang.catalog.catalogue import Catalogue, CatalogueEntry
from spacelang.catalog.snapshot import BUNDLED, load_catalogue
from spacelang.errors import installed_version
from spacelang.ir.space import ABSTRACT_CATALOGUE, DEFAULT_CATALOGUE, Operator


class PackageNotInstalledError(Exception):
    """Exception for a missing allowed package; `extra` is our extra that installs it, None for other packages."""

    def __init__(self, name: str, extra: str | None) -> None:
        super().__init__(f"the package `{name}` is not installed")
        self.name, self.extra = name, extra

    @property
    def remedy(self) -> str:
        """An instruction for installing the package."""
        if self.extra:
            return f'`pip install "spacelang[{self.extra}]"`'
        return f"install the package `{self.name}`, or put it next to the `.space` file"


class UnreadablePackageError(Exception):
    """Exception for an allowed package without operators or with a failing import; `reason` is a short explanation."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"cannot read the operators of `{name}`: {reason}")
        self.name, self.reason = name, reason


def open_package_catalogue(name: str, folder: Path | None = None) -> Catalogue:
    """Return the catalogue of an allowed package, from a snapshot of the installed version or by importing it.

    A package that is not installed may be a package or module in `folder`, the folder of the file that uses it. Raises
    PackageNotInstalledError and UnreadablePackageError.
    """
    if name == DEFAULT_CATALOGUE:
        return load_catalogue(DEFAULT_CATALOGUE)
    distribution = BUNDLED.get(name)
    if distribution is None:
        if folder is not None:
            _allow_from_folder(name, folder)
        return _introspect(name, None)
    installed = installed_version(distribution)
    if installed is None:
        raise PackageNotInstalledError(name, distribution)
    found = load_catalogue(name)
    return found if found.version == installed else _introspect(name, distribution)


def find_entry(operator: Operator) -> CatalogueEntry | None:
    """Return the catalogue entry of an operator, or None if it is abstract or its package cannot be read."""
    if operator.catalogue == ABSTRACT_CATALOGUE:
        return None
    try:
        return open_package_catalogue(operator.catalogue).get(operator.name)
    except (PackageNotInstalledError, UnreadablePackageError):
        return None


def is_importable(name: str, folder: Path) -> bool:
    """Return True if an allowed package is installed, or is in `folder` and has no bundled snapshot.

    Raises UnreadablePackageError if a package of the folder has the name of one that is in use.
    """
    if name not in BUNDLED:
        _allow_from_folder(name, folder)
    return find_spec(name) is not None


def _allow_from_folder(name: str, folder: Path) -> None:
    if not name.isidentifier() or (folder_of_allowed_package(name) is None and find_spec(name) is not None):
        return
    try:
        allow_import(name, folder)
    except LookupError as error:
        raise UnreadablePackageError(
            name, f"another package with this name is already in use, from `{error.args[0]}`"
        ) from error


@cache
def _introspect(name: str, distribution: str | None) -> Catalogue:
    # A file can only name a top-level package.
    if not name.isidentifier() or find_spec(name) is None:
        raise PackageNotInstalledError(name, distribution)
    from spacelang.catalog.introspect import introspect_package

    try:
        found = introspect_package(name)
    except Exception as error:  # an unknown package may raise anything
        raise UnreadablePackageError(name, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    if not found:
        raise UnreadablePackageError(name, "it contains no scikit-learn estimator")
    return found


def import_operator_class(catalogue: Catalogue, name: str) -> type:
    """Import and return the class of an operator; raise LookupError if the catalogue or the library lacks it."""
    operator = catalogue.get(name)
    if operator is None:
        raise LookupError(f"`{name}` is not an operator of the catalogue {catalogue.name}")
    if operator.enabled_by is not None:
        import_module(operator.enabled_by)
    found = _member(catalogue, operator.module, name)
    if isinstance(found, type):
        return found
    raise LookupError(f"`{name}` of {operator.module} is not a class")


def import_named_object(catalogue: Catalogue, operator: str, parameter: str, name: str) -> object:
    """Import and return the object that a parameter lists by name.

    Raise LookupError if catalogue or library lacks it.
    """
    found = catalogue.get(operator)
    listed = found.parameters.get(parameter) if found is not None else None
    if listed is None or name not in listed.named or name not in catalogue.objects:
        raise LookupError(
            f"the catalogue does not list `{name}` as a value of the parameter `{parameter}` of `{operator}`"
        )
    return _member(catalogue, catalogue.objects[name], name)


def _member(catalogue: Catalogue, module: str, name: str) -> object:
    try:
        members = vars(import_module(module))
    except ModuleNotFoundError as error:
        raise LookupError(f"the module {module} of {catalogue.distribution} is not installed") from error
    if name not in members:
        described = f"{catalogue.distribution} {catalogue.version}"
        raise LookupError(f"the installed {module} has no `{name}`; the catalogue describes {described}")
    return members[name]


class _Finder:
    """An import finder for allowed top-level packages; `folders` maps each to its folder.

    Python finds the submodules.
    """

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
    """Allow the import of a package or module from a folder and return True; False if the folder does not contain it.

    A package that is a symbolic link to a place outside of the folder does not count. Raises LookupError, with the
    other folder as its argument, if a package of this name was allowed from elsewhere.
    """
    spec = PathFinder.find_spec(name, [str(folder)])
    if spec is None or spec.origin is None or not Path(spec.origin).resolve().is_relative_to(folder.resolve()):
        return False
    known = folder_of_allowed_package(name)
    if known not in (None, str(folder)):
        raise LookupError(known)
    adopt_allowed_folders({name: str(folder)})
    return True


def folder_of_allowed_package(name: str) -> str | None:
    """Return the folder from which a package was allowed; None for an installed or unknown package."""
    return _FINDER.folders.get(name)


def folders_by_allowed_package() -> Mapping[str, str]:
    """Return all allowed packages with their folders, to be passed to `adopt_allowed_folders` in another process."""
    return dict(_FINDER.folders)


def adopt_allowed_folders(folders: Mapping[str, str]) -> None:
    """Allow packages from the folders where another process found them."""
    _FINDER.folders.update(folders)
    if folders and _FINDER not in sys.meta_path:
        sys.meta_path.append(_FINDER)
