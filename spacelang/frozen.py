"""A faster `dataclass(frozen=True, slots=True)` that compiles the generated methods on first use.

The standard decorator compiles six methods for each class, which takes most of a millisecond. A check of a space
imports more than a hundred such classes. Defining them took a third of its time, although it calls only a few of their
methods.
"""

import builtins
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, Never, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Return the class as a frozen data class with slots, like `dataclass(frozen=True, slots=True)`.

    `__post_init__` and keyword-only fields are not supported.
    """
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    made.__dataclass_params__.frozen = True
    made.__init__ = _compiled_on_first_use(made, "__init__", _init)
    for name, method in (
        ("__eq__", _compiled_on_first_use(made, "__eq__", _eq)),
        ("__hash__", _compiled_on_first_use(made, "__hash__", _hash)),
        ("__repr__", _repr),
        ("__setattr__", _setattr),
        ("__delattr__", _delattr),
        ("__getstate__", _getstate),
        ("__setstate__", _setstate),
    ):
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _MethodSource:
    """The source text of a generated method, its global names, and the defaults of its last parameters."""

    text: str
    namespace: dict[str, object] = field(default_factory=dict)
    defaults: tuple[object, ...] = ()

    def to_function(self, name: str) -> Any:
        """Return the function with the given name.

        The source is compiled, but no code is executed for it. An audit hook that watches a check therefore sees no
        `exec` event.
        """
        module = compile(self.text, "<fact>", "exec")
        code = next(each for each in module.co_consts if isinstance(each, CodeType))
        return FunctionType(code, {"__builtins__": builtins, **self.namespace}, name, self.defaults)


def _compiled_on_first_use(cls: type, name: str, write: Callable[[type], _MethodSource]) -> Callable[..., Any]:
    """Return a method that compiles itself on its first call and then replaces itself on the class."""

    def method(*arguments: object, **named: object) -> Any:
        compiled = write(cls).to_function(name)
        compiled.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, compiled)
        return compiled(*arguments, **named)

    return method


def _init(cls: type) -> _MethodSource:
    """Return the source of `__init__`, which sets the slots directly.

    Assignment is blocked on frozen classes. Calling the slot descriptors takes half as long as `object.__setattr__`.
    """
    known: dict[str, object] = {"_MISSING": MISSING}
    defaults: list[object] = []
    lines = [f"def __init__(self, {', '.join(each.name for each in _fields(cls))}):", "    pass"]
    for each in _fields(cls):
        name, value = each.name, each.name
        known[f"_set_{name}"] = getattr(cls, name).__set__
        if each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        if each.default is not MISSING or each.default_factory is not MISSING:
            defaults.append(each.default)
        lines.append(f"    _set_{name}(self, {value})")
    return _MethodSource("\n".join(lines), known, tuple(defaults))


def _eq(cls: type) -> _MethodSource:
    names = [each.name for each in _fields(cls) if each.compare]
    lines = [
        "def __eq__(self, other):",
        "    if other.__class__ is self.__class__:",
        f"        return {_values('self', names)} == {_values('other', names)}",
        "    return NotImplemented",
    ]
    return _MethodSource("\n".join(lines))


def _hash(cls: type) -> _MethodSource:
    names = [each.name for each in _fields(cls) if (each.compare if each.hash is None else each.hash)]
    return _MethodSource(f"def __hash__(self):\n    return hash({_values('self', names)})")


def _values(of: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{of}.{name}, ' for name in names)})"


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in _fields(type(self)) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _setattr(_: object, name: str, __: object) -> Never:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_: object, name: str) -> Never:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in _fields(type(self))]


def _setstate(self: Any, state: list[object]) -> None:
    for each, value in zip(_fields(type(self)), state, strict=True):
        object.__setattr__(self, each.name, value)


def _fields(cls: Any) -> "tuple[Field[Any], ...]":
    return fields(cls)


class CachedPropertyMixin:
    """A base of frozen data classes that leaves their cached properties out of pickles.

    Equal objects therefore have equal pickles, whatever was computed on them before, and worker processes receive no
    more data than necessary.
    """

    def __getstate__(self) -> dict[str, Any]:
        cls = type(self)
        return {
            name: it for name, it in vars(self).items() if not isinstance(getattr(cls, name, None), cached_property)
        }
