"""Find the library's classes and functions for names in a catalogue.

This is the only way from a space to code. Names are looked up exactly, in modules that introspection recorded. No text
of a user is ever split at dots or imported.
"""

import importlib

from spacelang.catalog.catalogue import Catalogue


def operator_class(catalogue: Catalogue, name: str) -> type:
    """Import the module of an operator and return its class.

    Raises LookupError if the catalogue does not list the operator or the installed library does not have it.
    """
    operator = catalogue.get(name)
    if operator is None:
        raise LookupError(f"`{name}` is not an operator of the catalogue {catalogue.name}")
    if operator.enabled_by is not None:
        importlib.import_module(operator.enabled_by)
    found = _member(catalogue, operator.module, name)
    if isinstance(found, type):
        return found
    raise LookupError(f"`{name}` of {operator.module} is not a class")


def named_object(catalogue: Catalogue, operator: str, parameter: str, name: str) -> object:
    """Return the function or object that the catalogue lists under a name for the parameter.

    Raises LookupError if the catalogue does not list it or the installed library does not have it.
    """
    found = catalogue.get(operator)
    listed = found.parameters.get(parameter) if found is not None else None
    if listed is None or name not in listed.named or name not in catalogue.objects:
        raise LookupError(f"`{name}` is not listed for `{parameter}` of `{operator}`")
    return _member(catalogue, catalogue.objects[name], name)


def _member(catalogue: Catalogue, module: str, name: str) -> object:
    try:
        members = vars(importlib.import_module(module))
    except ModuleNotFoundError as error:
        raise LookupError(f"the module {module} of {catalogue.distribution} is not installed") from error
    if name not in members:
        described = f"{catalogue.distribution} {catalogue.version}"
        raise LookupError(f"the installed {module} has no `{name}`; the catalogue describes {described}")
    return members[name]
