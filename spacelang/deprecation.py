"""Deprecated names: old names of public modules, classes, functions and attributes, kept for one version."""

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that `old` is deprecated in favour of `new`."""
    warnings.warn(f"`{old}` was renamed to `{new}`", DeprecationWarning, stacklevel=stacklevel)


def make_module_getattr(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a function for use as the `__getattr__` of a module, so that old names still work, with a warning.

    `names` maps each old name to the new name in the same module.
    """

    def get(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module `{module}` has no attribute `{name}`")
        warn_renamed(f"{module}.{name}", names[name])
        return getattr(sys.modules[module], names[name])

    return get


def rename_module(old: str, new: str) -> None:
    """Let `import old` succeed after a module was renamed to `new`.

    `new` is imported when an attribute is first read; each reading warns.
    """

    class RenamedModule(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            warn_renamed(old, new)
            return getattr(import_module(new), name)

    sys.modules[old] = RenamedModule(old)


class _RenamedAttribute:
    """A descriptor that reads another attribute of the same object or class, with a warning."""

    def __init__(self, owner: str, old: str, new: str) -> None:
        self._owner, self._old, self._new = owner, old, new

    def __get__(self, instance: Any, owner: type) -> Any:
        warn_renamed(f"{self._owner}.{self._old}", self._new)
        return getattr(owner if instance is None else instance, self._new)


def renamed_attributes(**names: str) -> Callable[[C], C]:
    """Return a class decorator that accepts old names of attributes, also as keyword arguments of the constructor.

    `names` maps each old name to the new one:

        @renamed_attributes(begin="requests")
        @dataclass(frozen=True)
        class Ask: ...
    """

    def decorate(cls: C) -> C:
        for old, new in names.items():
            setattr(cls, old, _RenamedAttribute(cls.__name__, old, new))
        if renamed := {old: new for old, new in names.items() if new in getattr(cls, "__dataclass_fields__", {})}:
            _accept_old_arguments(cls, renamed)
        return cls

    return decorate


def _accept_old_arguments(cls: type, names: Mapping[str, str]) -> None:
    construct: Callable[..., None] = vars(cls)["__init__"]

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            for old in names.keys() & kwargs.keys():
                warn_renamed(f"{cls.__name__}({old}=...)", names[old])
                kwargs[names[old]] = kwargs.pop(old)
        construct(self, *args, **kwargs)

    init.__wrapped__ = construct  # type: ignore[attr-defined]
    cls.__init__ = init  # type: ignore[misc]


def plugin_attribute(plugin: Any, name: str, old: str) -> Any:
    """Return an attribute that a plug-in defines, also if the plug-in still defines it under its old name.

    The class of the plug-in may define the old name, and inherit the new one from a class of this package.
    """
    classes = (plugin if isinstance(plugin, type) else type(plugin)).__mro__
    is_overridden = next((found for each in classes if (found := {name, old} & _own_names(each))), {name}) == {old}
    if (is_overridden or not hasattr(plugin, name)) and hasattr(plugin, old):
        warn_renamed(f"{getattr(plugin, '__name__', type(plugin).__name__)}.{old}", name)
        return getattr(plugin, old)
    return getattr(plugin, name)


def _own_names(cls: type) -> set[str]:
    return {name for name, value in vars(cls).items() if not isinstance(value, _RenamedAttribute)}
