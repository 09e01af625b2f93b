"""What an unfitted estimator is, as a value that can be compared: its class and all that it holds.

Two estimators with equal identities do the same with the same data. Where that cannot be said for sure there is no
identity: then nothing is shared.
"""

import random
from collections.abc import Hashable, Iterator
from functools import cache
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, cast

import numpy as np

ITSELF: Final = (int, str, bytes, bool, type(None), type(...))
"""Types whose values are what they are equal to, among values of the same type."""

NAMED: Final = (type, FunctionType, BuiltinFunctionType, np.ufunc)
"""Types whose values are equal to nothing but themselves."""

CHANCE: Final = (np.random.RandomState, np.random.Generator, np.random.BitGenerator, random.Random)
"""Types whose values change whenever they are used."""

SIMPLE: Final = "biufcSUmM"
"""The kinds of NumPy's types whose values are told by their bytes."""

LARGEST: Final = 2**20
"""The most bytes of an array that is compared element by element."""


class NoIdentityError(Exception):
    """Something is held of which it is not known what makes it different from others."""


def identity(value: Any) -> Hashable:
    """What a value is: equal for two values only where nothing can tell them apart; raises NoIdentityError."""
    kind = type(value)
    if kind in ITSELF:
        return (kind, value)
    if kind is float:
        return (kind, value.hex())
    if kind in NAMED or isinstance(value, type):
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *map(identity, value))
    if kind is dict:
        return (kind, *((identity(key), identity(held)) for key, held in value.items()))
    if is_plain(cast(Hashable, kind)):
        return (kind, identity(vars(value)))
    return (kind, _rare(value))


@cache
def is_plain(kind: Any) -> bool:
    """Whether all that an instance of a class holds is in its `__dict__`."""
    return (
        kind.__basicsize__ <= _Plain.__basicsize__
        and kind.__itemsize__ == 0
        and kind.__dictoffset__ != 0
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and not issubclass(kind, (Iterator, *CHANCE))
    )


class _Plain:
    """How large an object is that holds nothing beside its `__dict__`."""


def _rare(value: Any) -> Hashable:
    if isinstance(value, (Iterator, *CHANCE)):
        raise NoIdentityError
    match value:
        case slice() | range():
            return identity((value.start, value.stop, value.step))
        case set() | frozenset():
            return frozenset(map(identity, value))
        case complex():
            return (value.real.hex(), value.imag.hex())
        case np.dtype() if value.names is None:
            return value.str
        case np.generic() if value.dtype.kind in SIMPLE:
            return (value.dtype.str, value.tobytes())
        case np.ndarray() if type(value) is np.ndarray and value.dtype.kind in SIMPLE and value.nbytes <= LARGEST:
            return (value.dtype.str, value.shape, value.strides, value.tobytes())
        case _:
            return _pickled(value)


def _pickled(value: Any) -> Hashable:
    """What would be pickled: what makes the same object anew makes an equal one."""
    try:
        made = value.__reduce_ex__(2)
    except Exception as error:
        raise NoIdentityError from error
    if not isinstance(made, tuple):
        by_itself: Any = object.__hash__
        if type(value).__hash__ is not by_itself:
            raise NoIdentityError
        return cast(Hashable, value)  # a function of a library, which its name stands for: there is no other
    return tuple(identity([*part] if isinstance(part, Iterator) else part) for part in made)
