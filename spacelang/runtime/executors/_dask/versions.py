"""Versions: what all machines of a cluster must have in common, so that a trial has one result wherever it runs."""

import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Final, TypeAlias

PACKAGES: Final = ("spacelang", "scikit-learn", "numpy", "scipy")
"""The packages that decide what a configuration scores."""

Versions: TypeAlias = Mapping[str, str | None]
"""Versions by package, and that of `python`; None where it is not installed."""


def versions() -> Versions:
    """Those of this process."""
    return {"python": ".".join(map(str, sys.version_info)), **{name: _version(name) for name in PACKAGES}}


def difference(here: Versions, there: Versions, place: str) -> str:
    """In words, the first difference that matters; empty where there is none."""
    for name in ("python", *PACKAGES):
        ours, theirs = (_relevant(name, each.get(name)) for each in (here, there))
        if theirs is None and ours is not None:
            return f"`{name}` is not installed at {place}"
        if ours != theirs:
            return f"`{name}` is {ours} here and {theirs} at {place}"
    return ""


def _relevant(name: str, found: str | None) -> str | None:
    # Code is sent from Python to Python, which works between releases that differ in the third number only.
    return ".".join(found.split(".")[:2]) if found is not None and name == "python" else found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
