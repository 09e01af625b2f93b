"""Find the tree structure of a flat space: the decisions, and the alternatives to which the other parameters belong.

A hyperparameter whose condition refers to a value of a decision is placed in the body of that alternative. So is
everything that depends on such a hyperparameter. The remaining hyperparameters belong to steps of every pipeline,
grouped by the prefixes of their names.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from spacelang.grouping import group_by_key
from spacelang.importers._consistency import ConsistentSpace
from spacelang.importers._foreign_space import (
    ALWAYS,
    CHOICE_SUFFIX,
    AllOf,
    AnyOf,
    Condition,
    ForeignParameter,
    ForeignValues,
    ValueTest,
    common_prefix_length,
    conjunction,
    path_parts,
    value_tests,
)

Path: TypeAlias = tuple[tuple[str, int | str], ...]
"""Decisions with the indices of their values, outermost first; `(("", prefix),)` is a step of every pipeline."""

ROOT: Final[Path] = ()
MAX_BODIES: Final = 64
"""The maximal number of bodies of a hyperparameter; beyond it, a separate step holds it, with its whole condition."""

MAX_DEPTH: Final = 8
"""The maximal nesting depth of decisions; deeper decisions are written as hyperparameters with a condition."""

MAX_COPIES: Final = 5_000
"""The maximal number of copies of hyperparameters in further bodies; beyond it, see `MAX_BODIES`."""


@dataclass(frozen=True, slots=True)
class SpaceTree:
    """A foreign space as a tree."""

    space: ConsistentSpace
    decisions: frozenset[str]
    variants: frozenset[str]
    """Decisions that are the only parameter with their prefix; the prefix names the component."""

    paths: dict[str, tuple[Path, ...]]
    """The bodies that contain each hyperparameter; stages are at the root."""

    conditions: dict[str, Condition]
    """The conditions that bodies do not imply; without an entry, a hyperparameter is active whenever its body is."""

    fixed: frozenset[str]
    """The constants that are active whenever their body is reached, and to which no condition refers."""


def are_compatible(left: Path, right: Path) -> bool:
    """Return True if two bodies can be reached together."""
    taken = dict(left)
    return all(not decision or taken.get(decision, place) == place for decision, place in right)


def build_tree(space: ConsistentSpace) -> SpaceTree:
    """Return the tree of a space."""
    return _TreeBuilder(space).build()


class _TreeBuilder:
    """A builder of the tree of one space."""

    def __init__(self, space: ConsistentSpace) -> None:
        self.space = space
        self.decisions: set[str] = set()
        self.paths: dict[str, tuple[Path, ...]] = {}
        self.conditions: dict[str, Condition] = {}
        self._copies = 0
        self._component_choices = _find_component_choices(space)
        self._single_variants = (
            _find_single_variants(space) - self._component_choices if self._component_choices else frozenset()
        )

    def build(self) -> SpaceTree:
        """Return the tree, after placing all parameters in topological order."""
        for name, parameter in self.space.parameters.items():
            self._place(parameter, self.space.conditions.get(name, ALWAYS))
        asked = {test.parameter for condition in self.conditions.values() for test in value_tests(condition)}
        fixed = {
            name
            for name, parameter in self.space.parameters.items()
            if parameter.is_constant and not {name} & (asked | self.decisions | set(self.conditions))
        }
        variants = self._single_variants & self.decisions
        return SpaceTree(self.space, frozenset(self.decisions), variants, self.paths, self.conditions, frozenset(fixed))

    def _place(self, parameter: ForeignParameter, condition: Condition) -> None:
        """Place a parameter in bodies; keep the part of its condition that these bodies do not imply."""
        name = parameter.name
        conjuncts = condition.terms if isinstance(condition, AllOf) else (condition,)
        paths = self._bodies(name, conjuncts)
        rest = conjunction([term for term in conjuncts if not self._is_implied(term, paths)])
        is_decision = name in self._component_choices or name in self._single_variants
        if is_decision and rest == ALWAYS and len(paths) == 1 and len(paths[0]) < MAX_DEPTH:
            self.decisions.add(name)
            self.paths[name] = paths
            return
        if paths == (ROOT,):
            paths = ((("", name.rpartition(":")[0]),),)
        self.paths[name] = paths
        if rest != ALWAYS:
            self.conditions[name] = rest

    def _bodies(self, name: str, conjuncts: tuple[Condition, ...]) -> tuple[Path, ...]:
        """Return the bodies for a hyperparameter: the deepest ones that a term of its condition requires.

        Among equally deep ones, the bodies of a decision with a similar name are preferred, then fewer bodies.
        """
        candidates = [found for term in conjuncts if (found := self._required_bodies(term))]
        if not candidates:
            return (ROOT,)
        own = path_parts(name)
        best = max(candidates, key=lambda paths: (min(map(len, paths)), _similarity(own, paths), -len(paths)))
        consistent = tuple(
            path for path in best if all(any(are_compatible(path, p) for p in other) for other in candidates)
        )
        self._copies += len(best) - 1
        if len(best) > 1 and self._copies > MAX_COPIES:
            return (ROOT,)
        return consistent or best

    def _required_bodies(self, term: Condition) -> tuple[Path, ...]:
        """Return bodies of which one is reached whenever a term holds; an empty tuple if the term requires none."""
        if isinstance(term, AnyOf):
            found = [self._required_bodies(one) for one in term.terms]
            joined = tuple(dict.fromkeys(path for paths in found for path in paths))
            if not all(found) or len(joined) > MAX_BODIES:
                return ()
            # Bodies that can be reached together would make the hyperparameter active twice.
            return () if any(are_compatible(*pair) for pair in combinations(joined, 2)) else joined
        if isinstance(term, AllOf):
            return max(
                map(self._required_bodies, term.terms), key=lambda paths: min(map(len, paths), default=0), default=()
            )
        if term.operator == "!=":
            return ()
        above = self.paths[term.parameter]
        if term.parameter in self.decisions:
            places = self._places(term)
            if len(places) == len(self._domain(term).values):
                return () if above == (ROOT,) else above
            if len(places) * len(above) > MAX_BODIES:
                return ()
            return tuple((*path, (term.parameter, place)) for path in above for place in places)
        return () if above[0][:1] and above[0][0][0] == "" else above

    def _places(self, test: ValueTest) -> tuple[int, ...]:
        return tuple(sorted(set(map(self._domain(test).index, test.values))))

    def _domain(self, test: ValueTest) -> ForeignValues:
        domain = self.space.parameters[test.parameter].domain
        assert isinstance(domain, ForeignValues)
        return domain

    def _is_implied(self, term: Condition, paths: tuple[Path, ...]) -> bool:
        """Return True if a term holds in all of the bodies, because of the alternatives on the paths to them."""
        if isinstance(term, AllOf | AnyOf):
            return isinstance(term, AnyOf) and any(self._is_implied(one, paths) for one in term.terms)
        if term.operator != "in" or term.parameter not in self.decisions:
            return False
        places = self._places(term)
        if len(places) == len(self._domain(term).values):
            return all(any(set(above) <= set(path) for above in self.paths[term.parameter]) for path in paths)
        return all(dict(path).get(term.parameter) in places for path in paths)


def _similarity(own: tuple[str, ...], paths: tuple[Path, ...]) -> int:
    """Return the number of leading parts that a name shares with the decision of the bodies."""
    return common_prefix_length(own, path_parts(paths[0][-1][0]))


def _find_component_choices(space: ConsistentSpace) -> frozenset[str]:
    """Return the sets of values that are choices between components.

    Their names end with `__choice__`, or one of their values is part of the name of a child.
    """
    found = {
        name
        for name, parameter in space.parameters.items()
        if _may_decide(parameter) and _last_part(name) == CHOICE_SUFFIX
    }
    for child, condition in space.conditions.items():
        inner = set(path_parts(child)[:-1])
        for test in value_tests(condition):
            if test.operator == "in" and _may_decide(space.parameters[test.parameter]):
                found.update([test.parameter] if inner.intersection(map(str, test.values)) else ())
    return frozenset(found)


def _find_single_variants(space: ConsistentSpace) -> frozenset[str]:
    """Return the sets of words that are the only parameter with their prefix and always active.

    Such a parameter chooses a variant of the component that the prefix names.
    """
    by_prefix = group_by_key((name.rpartition(":")[0], parameter) for name, parameter in space.parameters.items())
    return frozenset(
        several[0].name
        for prefix, several in by_prefix.items()
        if prefix and len(several) == 1 and several[0].name not in space.conditions and _is_of_words(several[0])
    )


def _may_decide(parameter: ForeignParameter) -> bool:
    return isinstance(parameter.domain, ForeignValues) and not parameter.domain.ordered


def _is_of_words(parameter: ForeignParameter) -> bool:
    domain = parameter.domain
    if not isinstance(domain, ForeignValues) or domain.ordered or len(domain.values) < 2:
        return False
    return all(
        reading is None or (isinstance(reading, str) and reading.isidentifier()) for reading in domain.space_values
    )


def _last_part(name: str) -> str:
    return name.rpartition(":")[2]
