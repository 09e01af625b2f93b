"""The versions that all machines of a cluster must share, so that a trial has the same result on each."""

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final, TypeAlias

PACKAGES: Final = ("spacelang", "scikit-learn", "numpy", "scipy")
"""The packages whose versions affect the score of a configuration."""

Versions: TypeAlias = Mapping[str, str | None]
"""Versions by package, with `python`; None for a package that is not installed."""


def installed_versions() -> Versions:
    """Return the versions of this process."""
    return {"python": ".".join(map(str, sys.version_info)), **{name: _installed_version(name) for name in PACKAGES}}


def difference(here: Versions, there: Versions, place: str) -> str:
    """Describe the first difference that matters; return an empty string if there is none."""
    for name in ("python", *PACKAGES):
        ours, theirs = (_comparable(name, each.get(name)) for each in (here, there))
        if theirs is None and ours is not None:
            return f"`{name}` is not installed on {place}"
        if ours != theirs:
            return f"`{name}` is {ours} here and {theirs} on {place}"
    return ""


def _comparable(name: str, found: str | None) -> str | None:
    # Pickled code works between Python releases that differ only in the third number.
    return ".".join(found.split(".")[:2]) if found is not None and name == "python" else found


def _installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
