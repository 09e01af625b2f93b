"""Catalogues of the operators and parameters of libraries; only `introspect` and `packages` import the libraries."""

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
