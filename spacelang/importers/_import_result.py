"""The result of an import: the text of the space, and the mapping of configurations in both directions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from spacelang.importers._foreign_space import ForeignParameter, ForeignRange, ForeignValues
from spacelang.importers._name_assignment import NameAssignment
from spacelang.importers._tree_builder import Path, SpaceTree
from spacelang.ir.configuration import Configuration
from spacelang.ir.value import Value, from_json, identity_key, to_python_scalar

_Identity: TypeAlias = tuple[object, ...]
_Steps: TypeAlias = set[tuple[str, _Identity]]
"""Foreign decisions, each with the value that it has."""


@dataclass(frozen=True, slots=True)
class _ParameterMapping:
    """The mapping of one hyperparameter between both sides.

    `keys` are its keys in our configurations, each with the foreign decisions (and their values) that lead to it.
    """

    parameter: ForeignParameter
    is_fixed: bool
    is_decision: bool
    keys: tuple[tuple[frozenset[tuple[str, _Identity]], str], ...]
    foreign_values: dict[_Identity, Value]
    """The foreign values by our values; empty for ranges, whose values are the same on both sides."""

    our_values: dict[_Identity, Value]

    def reached_keys(self, taken: _Steps) -> Iterator[str]:
        """Yield the keys that are reached with some decisions."""
        return (key for leading, key in self.keys if leading <= taken)

    def decision_value(self, value: Value) -> _Steps:
        """Return this decision with its value as a set; an empty set if the hyperparameter is not a decision."""
        return {(self.parameter.name, identity_key(value))} if self.is_decision else set()

    def translate(self, value: Value, table: dict[_Identity, Value]) -> Value:
        """Return a value of one side as the other side represents it; raise ValueError if it is not in the domain."""
        domain = self.parameter.domain
        if isinstance(domain, ForeignRange) and value in domain:
            assert isinstance(value, int | float)
            return int(value) if domain.kind == "int" else float(value)
        if (known := identity_key(value)) not in table:
            raise ValueError(f"{value!r} is not a value of `{self.parameter.name}`")
        return table[known]


@dataclass(frozen=True)
class ImportResult:
    """A foreign space as the text of a `.space` file, with a mapping of configurations.

    `decode` converts a foreign configuration to ours, and `encode` is its inverse. A foreign configuration is a mapping
    from names to values. It contains exactly the active hyperparameters, including constants.
    """

    text: str
    shape: SpaceTree = field(repr=False)
    naming: NameAssignment = field(repr=False)

    def encode(self, configuration: Mapping[str, Value]) -> dict[str, Value]:
        """Return the foreign configuration for a configuration of the space.

        Raises ValueError for a value that the space does not have.
        """
        found: dict[str, Value] = {}
        taken: _Steps = set()
        for way in self._mappings:
            for key in way.reached_keys(taken):
                if way.is_fixed:
                    found[way.parameter.name] = way.parameter.default
                elif key in configuration:
                    value = way.translate(configuration[key], way.foreign_values)
                    found[way.parameter.name] = value
                    taken |= way.decision_value(value)
        return found

    def decode(self, values: Mapping[str, Any]) -> Configuration:
        """Return our configuration for a foreign one.

        Raises ValueError for an unknown hyperparameter or value, and if the active hyperparameters are not exactly
        those given.
        """
        given = {name: from_json(to_python_scalar(value)) for name, value in values.items()}
        unknown = next((name for name in given if name not in self.shape.space.parameters), None)
        if unknown is not None:
            raise ValueError(f"unknown hyperparameter `{unknown}`")
        found: dict[str, Value] = {}
        taken: _Steps = set()
        for way in self._mappings:
            if way.parameter.name in given:
                value = given[way.parameter.name]
                translated = way.translate(value, way.our_values)
                found.update({} if way.is_fixed else dict.fromkeys(way.reached_keys(taken), translated))
                taken |= way.decision_value(value)
        active = self.encode(found)
        wrong = sorted(active.keys() ^ given.keys())
        if wrong:
            raise ValueError(f"`{wrong[0]}` is {'missing' if wrong[0] in active else 'not active here'}")
        return Configuration(found)

    @cached_property
    def _mappings(self) -> tuple[_ParameterMapping, ...]:
        """The mappings of all hyperparameters; decisions come before the hyperparameters below them."""
        return tuple(map(self._mapping, self.shape.space.parameters.values()))

    def _mapping(self, parameter: ForeignParameter) -> _ParameterMapping:
        name, domain = parameter.name, parameter.domain
        is_fixed, is_decision = name in self.shape.fixed, name in self.shape.decisions
        keys = tuple((self._required_decisions(path), self.naming.key(name, path)) for path in self.shape.paths[name])
        if isinstance(domain, ForeignRange):
            return _ParameterMapping(parameter, is_fixed, is_decision, keys, {}, {})
        ours = domain.space_values
        if is_decision:
            ours = tuple(self.naming.alternatives[name, place] for place in range(len(domain.values)))
        pairs = [*zip(ours, domain.values, strict=True)]
        foreign = {identity_key(own): value for own, value in pairs}
        back = {identity_key(value): own for own, value in pairs}
        return _ParameterMapping(parameter, is_fixed, is_decision, keys, foreign, back)

    def _required_decisions(self, path: Path) -> frozenset[tuple[str, _Identity]]:
        return frozenset((decision, self._value(decision, place)) for decision, place in path if decision)

    def _value(self, decision: str, place: int | str) -> _Identity:
        domain = self.shape.space.parameters[decision].domain
        assert isinstance(domain, ForeignValues)
        return identity_key(domain.values[int(place)])
