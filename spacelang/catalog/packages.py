"""Packages: the catalogues that a file may use beside scikit-learn's.

Nothing here is asked before the caller has allowed the package: where no snapshot describes the installed version, it
is imported. One that is not installed may stand beside the file that uses it, but for those that have a snapshot: who
allows one of these does not mean a stranger's file that is called like it.
"""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Final

from spacelang.catalog.catalogue import Catalogue, installed_version
from spacelang.catalog.snapshot import SHIPPED, load

OWN: Final = "sklearn"
"""The catalogue that every file has."""


class NotInstalledError(Exception):
    """An allowed package is not installed; `extra` is the extra of ours that brings it, None for another package."""

    def __init__(self, name: str, extra: str | None) -> None:
        super().__init__(f"the package `{name}` is not installed")
        self.name = name
        self.extra = extra

    @property
    def remedy(self) -> str:
        """How to install it."""
        if self.extra:
            return f'`pip install "spacelang[{self.extra}]"`'
        return f"install the package `{self.name}`, or put it beside the file"


class UnreadablePackageError(Exception):
    """An allowed package has no operators, or cannot be imported; `reason` says so in a few words."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"cannot read the operators of `{name}`: {reason}")
        self.name = name
        self.reason = reason


def open_package(name: str, folder: Path | None = None) -> Catalogue:
    """The catalogue of an allowed package: a snapshot of the installed version, else by importing it.

    What is not installed may be a package or a module in the `folder` of the file that uses it. Raises
    NotInstalledError and UnreadablePackageError.
    """
    if name == OWN:
        return load(OWN)
    distribution = SHIPPED.get(name)
    if distribution is None:
        if folder is not None:
            _look_beside(name, folder)
        return _imported(name, None)
    installed = installed_version(distribution)
    if installed is None:
        raise NotInstalledError(name, distribution)
    found = load(name)
    return found if found.version == installed else _imported(name, distribution)


def _look_beside(name: str, folder: Path) -> None:
    """Let an allowed package that is not installed be found beside the file."""
    from spacelang.catalog.beside import admit, home

    if not name.isidentifier() or (home(name) is None and importlib.util.find_spec(name) is not None):
        return
    try:
        admit(name, folder)
    except LookupError as error:
        raise UnreadablePackageError(name, f"another package of this name is in use, of `{error.args[0]}`") from error


@cache
def _imported(name: str, distribution: str | None) -> Catalogue:
    # Only the outermost package is ever named by a file.
    if not name.isidentifier() or importlib.util.find_spec(name) is None:
        raise NotInstalledError(name, distribution)
    from spacelang.catalog.introspect import introspect_package

    try:
        found = introspect_package(name)
    except Exception as error:  # a stranger's package may raise anything
        raise UnreadablePackageError(name, f"{type(error).__name__}: {error}".splitlines()[0]) from error
    if not found:
        raise UnreadablePackageError(name, "it has no class that is an estimator of scikit-learn")
    return found
