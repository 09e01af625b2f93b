"""The `Configuration` class: an immutable mapping from decisions and active hyperparameters to values."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from spacelang.deprecation import renamed_attributes
from spacelang.ir.value import Value, canonical_json, from_json, object_without_duplicates, to_json

MAX_LINE_LENGTH: Final = 100
"""The maximum length of a configuration shown on one line; longer ones have one line per key."""


@renamed_attributes(owning="wrap_dicts", with_others="with_each_value")
class Configuration(Mapping[str, Value]):
    """An immutable mapping from keys to values; equality and hash are those of its canonical JSON.

    A decision maps to the name of the branch that is taken, an active hyperparameter to its value. Inactive
    hyperparameters and fixed values do not appear.

    >>> import spacelang as sl
    >>> configuration = sl.Configuration({"scaler": "none", "estimator": "SVC", "estimator.C": 10.0})
    >>> configuration["estimator.C"]
    10.0
    >>> configuration == sl.Configuration.from_json('{"estimator.C": 10.0, "estimator": "SVC", "scaler": "none"}')
    True
    """

    __slots__ = ("_digest", "_sorted", "_values")
    # Runs store thousands of configurations and samples hold millions, so derived values are computed lazily.

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    @classmethod
    def wrap_dicts(cls, dictionaries: Iterable[dict[str, Value]]) -> "list[Configuration]":
        """Return configurations that wrap `dictionaries` without copying; nobody may modify these afterwards."""
        new, found = cls.__new__, []
        for values in dictionaries:
            configuration = new(cls)
            configuration._values = values
            found.append(configuration)
        return found

    @classmethod
    def from_json(cls, text: str) -> "Configuration":
        """Parse one JSON object; raise ValueError for invalid JSON and TypeError for any other document."""
        document: Any = json.loads(text, object_pairs_hook=object_without_duplicates)
        if not isinstance(document, dict):
            raise TypeError("a configuration must be one JSON object")
        return cls({key: from_json(value) for key, value in document.items()})

    def with_each_value(self, key: str, others: Iterable[Value]) -> "list[Configuration]":
        """Return copies of this configuration in which `key` has each of the values `others` in turn."""
        return Configuration.wrap_dicts(self._with_each(key, others))

    def _with_each(self, key: str, others: Iterable[Value]) -> Iterator[dict[str, Value]]:
        for other in others:
            values = self._values.copy()
            values[key] = other
            yield values

    @property
    def view(self) -> Mapping[str, Value]:
        """A read-only view of the mapping with faster lookups; its iteration order is unspecified."""
        return MappingProxyType(self._values)

    def without(self, keys: Collection[str]) -> dict[str, Value]:
        """Return a new dictionary of the items whose keys are not in `keys`."""
        return {key: value for key, value in self._values.items() if key not in keys}

    @property
    def identity(self) -> str:
        """The canonical JSON, computed on every access: one line with sorted keys, the key of stores."""
        return canonical_json(self._values)

    @property
    def digest(self) -> bytes:
        """A 16-byte hash of `identity`, computed once; it identifies a configuration in memory cheaply."""
        try:
            return self._digest
        except AttributeError:
            # Imported late: `hashlib` loads OpenSSL, which is 1 % of a check's time, and checks need no digests.
            from hashlib import blake2b

            self._digest: bytes = blake2b(self.identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            return self._digest

    def to_dict(self) -> dict[str, object]:
        """Return the configuration as a dictionary that the `json` module can serialize."""
        return {key: to_json(self._values[key]) for key in self}

    def __getitem__(self, key: str) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    @property
    def _keys(self) -> tuple[str, ...]:
        """The sorted keys, computed on first access because most configurations are only looked up by key."""
        try:
            return self._sorted
        except AttributeError:
            self._sorted: tuple[str, ...] = tuple(sorted(self._values))
            return self._sorted

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.digest == other.digest

    def __repr__(self) -> str:
        line = f"Configuration({self.identity})"
        if len(line) <= MAX_LINE_LENGTH:
            return line
        inside = ",\n".join(f"  {canonical_json({key: value})[1:-1]}" for key, value in sorted(self._values.items()))
        return f"Configuration({{\n{inside}\n}})"
