"""What an import gives: the text, and the way between the other tool's configurations and ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from spacelang.importers._foreign import ForeignParameter, ForeignRange, ForeignValues
from spacelang.importers._naming import Naming
from spacelang.importers._shape import Path, Shape
from spacelang.ir.configuration import Configuration
from spacelang.ir.value import Value, from_json, identity, plain

_Identity: TypeAlias = tuple[object, ...]
_Steps: TypeAlias = set[tuple[str, _Identity]]
"""Foreign decisions with the values that they have."""


@dataclass(frozen=True, slots=True)
class _Way:
    """The way of one hyperparameter: its keys by the foreign decisions that lead there, and its values."""

    parameter: ForeignParameter
    is_fixed: bool
    is_decision: bool
    keys: tuple[tuple[frozenset[tuple[str, _Identity]], str], ...]
    foreign: dict[_Identity, Value]
    """The foreign values by ours; empty for ranges, where they are the same."""

    ours: dict[_Identity, Value]

    def reached(self, taken: _Steps) -> Iterator[str]:
        """The keys that decisions lead to."""
        return (key for leading, key in self.keys if leading <= taken)

    def step(self, value: Value) -> _Steps:
        """What is known of the decisions with this value."""
        return {(self.parameter.name, identity(value))} if self.is_decision else set()

    def translate(self, value: Value, table: dict[_Identity, Value]) -> Value:
        """A value on one side as it is on the other; raises ValueError for what is no value."""
        domain = self.parameter.domain
        if isinstance(domain, ForeignRange) and value in domain:
            assert isinstance(value, int | float)
            return int(value) if domain.kind == "int" else float(value)
        if (known := identity(value)) not in table:
            raise ValueError(f"{value!r} is not a value of `{self.parameter.name}`")
        return table[known]


@dataclass(frozen=True)
class Imported:
    """A foreign space as the text of a `.space` file.

    `decode` gives our configuration of a foreign one, `encode` the foreign one of ours; each is the other's inverse.
    Foreign configurations are mappings from names to values and hold exactly what is active there, constants included.
    """

    text: str
    shape: Shape = field(repr=False)
    naming: Naming = field(repr=False)

    def encode(self, configuration: Mapping[str, Value]) -> dict[str, Value]:
        """The foreign configuration of a member; raises ValueError for values that the space does not have."""
        found: dict[str, Value] = {}
        taken: _Steps = set()
        for way in self._ways:
            for key in way.reached(taken):
                if way.is_fixed:
                    found[way.parameter.name] = way.parameter.default
                elif key in configuration:
                    value = way.translate(configuration[key], way.foreign)
                    found[way.parameter.name] = value
                    taken |= way.step(value)
        return found

    def decode(self, values: Mapping[str, Any]) -> Configuration:
        """Our configuration of a foreign one; raises ValueError for what the file does not say to be possible."""
        given = {name: from_json(plain(value)) for name, value in values.items()}
        unknown = next((name for name in given if name not in self.shape.space.parameters), None)
        if unknown is not None:
            raise ValueError(f"there is no hyperparameter `{unknown}`")
        found: dict[str, Value] = {}
        taken: _Steps = set()
        for way in self._ways:
            if way.parameter.name in given:
                value = given[way.parameter.name]
                translated = way.translate(value, way.ours)
                found.update({} if way.is_fixed else dict.fromkeys(way.reached(taken), translated))
                taken |= way.step(value)
        active = self.encode(found)
        wrong = sorted(active.keys() ^ given.keys())
        if wrong:
            raise ValueError(f"`{wrong[0]}` is {'missing' if wrong[0] in active else 'not active here'}")
        return Configuration(found)

    @cached_property
    def _ways(self) -> tuple[_Way, ...]:
        """The ways of all hyperparameters, decisions before what they lead to."""
        return tuple(map(self._way, self.shape.space.parameters.values()))

    def _way(self, parameter: ForeignParameter) -> _Way:
        name, domain = parameter.name, parameter.domain
        is_fixed, is_decision = name in self.shape.fixed, name in self.shape.decisions
        keys = tuple((self._leading(path), self.naming.key(name, path)) for path in self.shape.paths[name])
        if isinstance(domain, ForeignRange):
            return _Way(parameter, is_fixed, is_decision, keys, {}, {})
        ours = domain.readings
        if is_decision:
            ours = tuple(self.naming.alternatives[name, place] for place in range(len(domain.values)))
        pairs = [*zip(ours, domain.values, strict=True)]
        foreign = {identity(own): value for own, value in pairs}
        back = {identity(value): own for own, value in pairs}
        return _Way(parameter, is_fixed, is_decision, keys, foreign, back)

    def _leading(self, path: Path) -> frozenset[tuple[str, _Identity]]:
        return frozenset((decision, self._value(decision, place)) for decision, place in path if decision)

    def _value(self, decision: str, place: int | str) -> _Identity:
        domain = self.shape.space.parameters[decision].domain
        assert isinstance(domain, ForeignValues)
        return identity(domain.values[int(place)])
