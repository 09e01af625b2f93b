"""Catalogues of the operators and parameters of libraries; only `introspect` and `packages` import the libraries."""

from spacelang.catalog.catalogue import (
    Catalogue,
    CatalogueEntry,
    NamedObjectDefault,
    NoDefault,
    OpaqueDefault,
    OperatorRole,
    Parameter,
)
from spacelang.catalog.snapshot import load_catalogue

__all__ = [
    "Catalogue",
    "CatalogueEntry",
    "NamedObjectDefault",
    "NoDefault",
    "OpaqueDefault",
    "OperatorRole",
    "Parameter",
    "load_catalogue",
]  # fmt: skip
