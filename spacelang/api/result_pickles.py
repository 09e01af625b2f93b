"""Pickles of results, which only the minor version of spacelang that wrote them can read."""

from pickle import UnpicklingError
from typing import Any, TypeVar

from spacelang.errors import installed_version

T = TypeVar("T")


def reduce_for_one_version(instance: object) -> tuple[Any, ...]:
    """Return how to pickle an instance whose parts may change in every minor version; for use as `__reduce__`.

    Another minor version raises UnpicklingError before it reads the parts.
    """
    return _new_instance, (type(instance), _version()), vars(instance)


def _new_instance(cls: type[T], version: str) -> T:
    own = _version()
    if version.split(".")[:2] != own.split(".")[:2]:
        raise UnpicklingError(
            f"spacelang {version} pickled this {cls.__name__}, and spacelang {own} cannot read it: read it "
            f"with {version}, or use the store of the run, which later versions read (`spacelang.resume`)"
        )
    return cls.__new__(cls)


def _version() -> str:
    return installed_version("spacelang") or "of unknown version"
