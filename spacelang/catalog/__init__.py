"""What each library's operators take: shipped snapshots, and introspection to refresh them.

`load` reads a catalogue without importing the library that it describes; only `introspect` and `resolve`
do that. `rules` says what a value or range must satisfy, `policy` what a space may not set, `composed` which
parameters can also be given by their parts.
"""

from spacelang.catalog.catalogue import (
    Catalogue,
    CatalogueEntry,
    Named,
    Opaque,
    Parameter,
    Required,
    Role,
)
from spacelang.catalog.snapshot import load

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "Named",
    "Opaque",
    "Parameter",
    "Required",
    "Role",
    "load",
]
