"""Packages: the catalogues that a file may use beside scikit-learn's.

Nothing here is asked before the caller has allowed the package: where no snapshot describes the installed version, it
is imported.
"""

import importlib.util
from functools import cache
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
        return f'`pip install "spacelang[{self.extra}]"`' if self.extra else f"install the package `{self.name}`"


class UnreadablePackageError(Exception):
    """An allowed package has no operators, or cannot be imported; `reason` says so in a few words."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"cannot read the operators of `{name}`: {reason}")
        self.name = name
        self.reason = reason


def open_package(name: str) -> Catalogue:
    """The catalogue of an allowed package: a snapshot of the installed version, else by importing it.

    Raises NotInstalledError and UnreadablePackageError.
    """
    if name == OWN:
        return load(OWN)
    distribution = SHIPPED.get(name)
    if distribution is None:
        return _imported(name, None)
    installed = installed_version(distribution)
    if installed is None:
        raise NotInstalledError(name, distribution)
    found = load(name)
    return found if found.version == installed else _imported(name, distribution)


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
