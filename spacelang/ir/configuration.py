"""Configurations: which alternative every reached decision takes, and every active hyperparameter's value."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from spacelang.ir.value import Value, canonical, from_json, to_json

WIDTH: Final = 100
"""Of a line that shows a configuration; what would be longer has a line for each key."""


class Configuration(Mapping[str, Value]):
    """An immutable mapping from keys to values; equal, and hashed alike, when its canonical JSON is.

    Decisions map to the name of the branch that is taken, active hyperparameters to their value. Inactive
    hyperparameters and fixed values do not appear.

    >>> import spacelang as sl
    >>> configuration = sl.Configuration({"scaler": "none", "estimator": "SVC", "estimator.C": 10.0})
    >>> configuration["estimator.C"]
    10.0
    >>> configuration == sl.Configuration.from_json('{"estimator.C": 10.0, "estimator": "SVC", "scaler": "none"}')
    True
    """

    __slots__ = ("_digest", "_sorted", "_values")
    # Runs keep thousands of them, and samples hold millions: what is not asked for is not there.

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)

    @classmethod
    def owning(cls, dictionaries: Iterable[dict[str, Value]]) -> "list[Configuration]":
        """The configurations of dictionaries that nobody changes afterwards: they are not copied."""
        new, found = cls.__new__, []
        for values in dictionaries:
            configuration = new(cls)
            configuration._values = values
            found.append(configuration)
        return found

    @classmethod
    def from_json(cls, text: str) -> "Configuration":
        """Read one JSON object; raises ValueError for what is not JSON and TypeError for another document."""
        document: Any = json.loads(text, object_pairs_hook=_object)
        if not isinstance(document, dict):
            raise TypeError("a configuration is one JSON object")
        return cls({key: from_json(value) for key, value in document.items()})

    def with_others(self, key: str, others: Iterable[Value]) -> "list[Configuration]":
        """The configurations with each of some other values of a key."""
        return Configuration.owning(self._with_each(key, others))

    def _with_each(self, key: str, others: Iterable[Value]) -> Iterator[dict[str, Value]]:
        for other in others:
            values = self._values.copy()
            values[key] = other
            yield values

    @property
    def view(self) -> Mapping[str, Value]:
        """The same mapping in no order, looked into faster."""
        return MappingProxyType(self._values)

    def without(self, keys: Collection[str]) -> dict[str, Value]:
        """A new dictionary of the values of all other keys."""
        return {key: value for key, value in self._values.items() if key not in keys}

    @property
    def identity(self) -> str:
        """The canonical JSON: one line, keys sorted; the stable key of stores. It is made each time."""
        return canonical(self._values)

    @property
    def digest(self) -> bytes:
        """16 bytes that stand for the identity wherever many configurations are told apart in memory."""
        try:
            return self._digest
        except AttributeError:
            # Checks import this and make no configurations: OpenSSL, which hashlib loads, is a hundredth of their time.
            from hashlib import blake2b

            self._digest: bytes = blake2b(self.identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            return self._digest

    def to_dict(self) -> dict[str, object]:
        """The configuration as the JSON module takes it."""
        return {key: to_json(self._values[key]) for key in self}

    def __getitem__(self, key: str) -> Value:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    @property
    def _keys(self) -> tuple[str, ...]:
        """Sorted when they are first asked for: most configurations are only looked into."""
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
        if len(line) <= WIDTH:
            return line
        inside = ",\n".join(f"  {canonical({key: value})[1:-1]}" for key, value in sorted(self._values.items()))
        return f"Configuration({{\n{inside}\n}})"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object whose keys are all different: the later of two values would win in silence."""
    repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"the key `{repeated[0]}` is given twice")
    return dict(pairs)
