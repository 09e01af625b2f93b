"""Identities of unfitted estimators: hashable values made of the class and of all parameters.

Two estimators with equal identities do the same with the same data. An estimator for which this is uncertain has no
identity, and is never shared.
"""

import random
from collections.abc import Hashable, Iterator
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, cast

import numpy as np

VALUE_TYPES: Final = (int, str, bytes, bool, type(None), type(...))
"""Types whose values are interchangeable if they are equal and of the same type."""

REFERENCE_TYPES: Final = (type, FunctionType, BuiltinFunctionType, np.ufunc)
"""Types whose objects are equal only to themselves."""

RANDOM_TYPES: Final = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, random.Random)
"""Types of random generators, whose state changes with every use."""

SIMPLE_KINDS: Final = "biufcSUmM"
"""The kinds of NumPy data types whose values are determined by their bytes."""

MAX_ARRAY_BYTES: Final = 2**20
"""The largest array, in bytes, that is compared by its contents."""


class NoIdentityError(Exception):
    """An object contains something that cannot be compared reliably."""


def identity_of(value: Any) -> Hashable:
    """Return a hashable value that is equal only for indistinguishable objects.

    Raise NoIdentityError if there is none.
    """
    kind = type(value)
    if kind in VALUE_TYPES:
        return (kind, value)
    if kind is float:
        return (kind, value.hex())
    if kind in REFERENCE_TYPES or isinstance(value, type):
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *map(identity_of, value))
    if kind is dict:
        return (kind, *((identity_of(key), identity_of(held)) for key, held in value.items()))
    if has_only_dict(cast(Hashable, kind)):
        return (kind, identity_of(vars(value)))
    return (kind, _special_identity(value))


@cache
def has_only_dict(kind: Any) -> bool:
    """Return True if instances of a class store all of their state in `__dict__`."""
    return (
        kind.__basicsize__ <= _DictOnly.__basicsize__
        and kind.__itemsize__ == 0
        and kind.__dictoffset__ != 0
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and not issubclass(kind, (Iterator, *RANDOM_TYPES))
    )


class _DictOnly:
    """A class whose instances have nothing but a `__dict__`; its size is compared with that of other classes."""


def _special_identity(value: Any) -> Hashable:
    if isinstance(value, (Iterator, *RANDOM_TYPES)):
        raise NoIdentityError
    match value:
        case slice() | range():
            return identity_of((value.start, value.stop, value.step))
        case set() | frozenset():
            return frozenset(map(identity_of, value))
        case complex():
            return (value.real.hex(), value.imag.hex())
        case np.dtype() if value.names is None:
            return value.str
        case np.generic() if value.dtype.kind in SIMPLE_KINDS:
            return (value.dtype.str, value.tobytes())
        case np.ndarray() if (
            type(value) is np.ndarray and value.dtype.kind in SIMPLE_KINDS and value.nbytes <= MAX_ARRAY_BYTES
        ):
            return (value.dtype.str, value.shape, value.strides, value.tobytes())
        case _:
            return _pickled_identity(value)


def _pickled_identity(value: Any) -> Hashable:
    """Return the identity of what pickling would store: equal parts reconstruct equal objects.

    Raise NoIdentityError if the value cannot be pickled, or is pickled by name and has its own hash.
    """
    try:
        made = value.__reduce_ex__(2)
    except Exception as error:
        raise NoIdentityError from error
    if not isinstance(made, tuple):
        by_itself: Any = object.__hash__
        if type(value).__hash__ is not by_itself:
            raise NoIdentityError
        return cast(Hashable, value)  # pickled by its name, such as a library function: there is only one
    return tuple(identity_of([*part] if isinstance(part, Iterator) else part) for part in made)
