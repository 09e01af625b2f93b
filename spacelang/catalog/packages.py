"""Catalogues of packages other than scikit-learn that a file uses.

These functions are only called after the caller has allowed the package, because a package is imported if no snapshot
describes its installed version. A package that is not installed may be in the folder of the file that uses it. This
does not apply to packages with a bundled snapshot: a user who allows `xgboost` does not mean a stranger's file of that
name.
"""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Final

from spacelang.catalog.catalogue import Catalogue, installed_version
from spacelang.catalog.snapshot import BUNDLED, load

DEFAULT_CATALOGUE: Final = "sklearn"
"""The catalogue that every file uses."""


class NotInstalledError(Exception):
    """Exception for an allowed package that is not installed.

    `extra` is the extra of spacelang that installs it; None for other packages.
    """

    def __init__(self, name: str, extra: str | None) -> None:
        super().__init__(f"the package `{name}` is not installed")
        self.name = name
        self.extra = extra

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
        self.name = name
        self.reason = reason


def open_package(name: str, folder: Path | None = None) -> Catalogue:
    """Return the catalogue of an allowed package, from a snapshot of the installed version or by importing it.

    A package that is not installed may be a package or module in `folder`, the folder of the file that uses it. Raises
    NotInstalledError and UnreadablePackageError.
    """
    if name == DEFAULT_CATALOGUE:
        return load(DEFAULT_CATALOGUE)
    distribution = BUNDLED.get(name)
    if distribution is None:
        if folder is not None:
            _allow_from_folder(name, folder)
        return _introspect(name, None)
    installed = installed_version(distribution)
    if installed is None:
        raise NotInstalledError(name, distribution)
    found = load(name)
    return found if found.version == installed else _introspect(name, distribution)


def _allow_from_folder(name: str, folder: Path) -> None:
    """Allow the import of a package from the folder of the file, if the package is not installed."""
    from spacelang.catalog.resolve import allow_import, folder_of

    if not name.isidentifier() or (folder_of(name) is None and importlib.util.find_spec(name) is not None):
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
    if not name.isidentifier() or importlib.util.find_spec(name) is None:
        raise NotInstalledError(name, distribution)
    from spacelang.catalog.introspect import introspect_package

    try:
        found = introspect_package(name)
    except Exception as error:  # an unknown package may raise anything
        raise UnreadablePackageError(name, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    if not found:
        raise UnreadablePackageError(name, "it contains no scikit-learn estimator")
    return found
