"""Catalogues of the operators and parameters of libraries: bundled snapshots, and introspection to refresh them.

`load` reads a catalogue without importing the library that it describes; only `introspect` and `packages` import it.
`rules` describes the accepted values and ranges, `parameter_restrictions` what a space may not set.
"""

from spacelang.catalog.catalogue import (
    Catalogue,
    CatalogueEntry,
    NamedObjectDefault,
    NoDefault,
    OpaqueDefault,
    Parameter,
    Role,
)
from spacelang.catalog.snapshot import load

__all__ = [
    "Catalogue", "CatalogueEntry", "NamedObjectDefault", "NoDefault", "OpaqueDefault", "Parameter", "Role", "load",
]  # fmt: skip
