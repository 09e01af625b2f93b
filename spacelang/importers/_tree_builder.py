"""Find the tree structure of a flat space: the decisions, and the alternatives to which the other parameters belong.

A hyperparameter whose condition refers to a value of a decision is placed in the body of that alternative. So is
everything that depends on such a hyperparameter. The remaining hyperparameters belong to steps of every pipeline,
grouped by the prefixes of their names.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from spacelang.catalog.catalogue import Catalogue
from spacelang.grouping import group_by_key
from spacelang.importers import _foreign_space as foreign
from spacelang.importers._consistency import ConsistentSpace
from spacelang.ir.value import Value

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
    """A foreign space as a tree: its decisions, and the bodies in which its hyperparameters are placed."""

    space: ConsistentSpace
    decisions: frozenset[str]
    variants: frozenset[str]  # Decisions that are the only parameter with their prefix; the prefix names the component
    paths: dict[str, tuple[Path, ...]]  # The bodies that contain each hyperparameter; stages are at the root
    conditions: dict[str, foreign.Condition]
    """The conditions that bodies do not imply; without an entry, a hyperparameter is active whenever its body is."""
    fixed: frozenset[str]
    """The constants that are active whenever their body is reached, and to which no condition refers."""


def can_be_reached_together(left: Path, right: Path) -> bool:
    """Return True if one configuration can reach both bodies: their paths agree on every common decision."""
    taken = dict(left)
    return all(not decision or taken.get(decision, place) == place for decision, place in right)


def build_space_tree(space: ConsistentSpace) -> SpaceTree:
    """Return the tree of a space."""
    return _TreeBuilder(space).build()


class _TreeBuilder:
    def __init__(self, space: ConsistentSpace) -> None:
        self.space = space
        self.decisions: set[str] = set()
        self.paths: dict[str, tuple[Path, ...]] = {}
        self.conditions: dict[str, foreign.Condition] = {}
        self._copies = 0
        self._component_choices = _find_component_choices(space)
        self._single_variants = (
            _find_single_variants(space) - self._component_choices if self._component_choices else frozenset()
        )

    def build(self) -> SpaceTree:
        """Return the tree, after placing all parameters in topological order."""
        for name, parameter in self.space.parameters.items():
            self._place(parameter, self.space.conditions.get(name, foreign.ALWAYS))
        asked = {
            test.parameter
            for condition in self.conditions.values()
            for test in foreign.value_tests_in_condition(condition)
        }
        fixed = {
            name
            for name, parameter in self.space.parameters.items()
            if parameter.is_constant and not {name} & (asked | self.decisions | set(self.conditions))
        }
        variants = self._single_variants & self.decisions
        return SpaceTree(self.space, frozenset(self.decisions), variants, self.paths, self.conditions, frozenset(fixed))

    def _place(self, parameter: foreign.ForeignParameter, condition: foreign.Condition) -> None:
        name = parameter.name
        conjuncts = condition.terms if isinstance(condition, foreign.AllOf) else (condition,)
        paths = self._bodies(name, conjuncts)
        rest = foreign.conjunction([term for term in conjuncts if not self._is_implied(term, paths)])
        is_decision = name in self._component_choices or name in self._single_variants
        if is_decision and rest == foreign.ALWAYS and len(paths) == 1 and len(paths[0]) < MAX_DEPTH:
            self.decisions.add(name)
            self.paths[name] = paths
            return
        if paths == (ROOT,):
            paths = ((("", name.rpartition(":")[0]),),)
        self.paths[name] = paths
        if rest != foreign.ALWAYS:
            self.conditions[name] = rest

    def _bodies(self, name: str, conjuncts: tuple[foreign.Condition, ...]) -> tuple[Path, ...]:
        """Return the bodies in which a hyperparameter is placed, given the terms of its condition.

        The deepest bodies that a term requires are preferred, then bodies of a decision with a similar name, then few.
        """
        candidates = [found for term in conjuncts if (found := self._required_bodies(term))]
        if not candidates:
            return (ROOT,)

        def quality(paths: tuple[Path, ...]) -> tuple[int, int, int]:
            shared = foreign.common_prefix_length(
                foreign.colon_path_without_choice(name), foreign.colon_path_without_choice(paths[0][-1][0])
            )
            return min(map(len, paths)), shared, -len(paths)

        best = max(candidates, key=quality)
        consistent = tuple(
            path for path in best if all(any(can_be_reached_together(path, p) for p in other) for other in candidates)
        )
        self._copies += len(best) - 1
        return (ROOT,) if len(best) > 1 and self._copies > MAX_COPIES else consistent or best

    def _required_bodies(self, term: foreign.Condition) -> tuple[Path, ...]:
        """Return bodies of which one is reached whenever a term holds; an empty tuple if the term requires none."""
        if isinstance(term, foreign.AnyOf):
            found = [self._required_bodies(one) for one in term.terms]
            joined = tuple(dict.fromkeys(path for paths in found for path in paths))
            if not all(found) or len(joined) > MAX_BODIES:
                return ()
            # Bodies that can be reached together would make the hyperparameter active twice.
            return () if any(can_be_reached_together(*pair) for pair in combinations(joined, 2)) else joined
        if isinstance(term, foreign.AllOf):
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

    def _places(self, test: foreign.ValueTest) -> tuple[int, ...]:
        return tuple(sorted(set(map(self._domain(test).index, test.values))))

    def _domain(self, test: foreign.ValueTest) -> foreign.ForeignValues:
        domain = self.space.parameters[test.parameter].domain
        assert isinstance(domain, foreign.ForeignValues)
        return domain

    def _is_implied(self, term: foreign.Condition, paths: tuple[Path, ...]) -> bool:
        """Return True if a term holds in all of the bodies, because of the alternatives on the paths to them."""
        if isinstance(term, foreign.AllOf | foreign.AnyOf):
            return isinstance(term, foreign.AnyOf) and any(self._is_implied(one, paths) for one in term.terms)
        if term.operator != "in" or term.parameter not in self.decisions:
            return False
        places = self._places(term)
        if len(places) == len(self._domain(term).values):
            return all(any(set(above) <= set(path) for above in self.paths[term.parameter]) for path in paths)
        return all(dict(path).get(term.parameter) in places for path in paths)


def _find_component_choices(space: ConsistentSpace) -> frozenset[str]:
    """Return the parameters that choose a component: named `…__choice__`, or with a value that is in a child's name."""
    found = {
        name
        for name, parameter in space.parameters.items()
        if _may_decide(parameter) and name.rpartition(":")[2] == foreign.CHOICE_SUFFIX
    }
    for child, condition in space.conditions.items():
        inner = set(foreign.colon_path_without_choice(child)[:-1])
        found |= {
            test.parameter
            for test in foreign.value_tests_in_condition(condition)
            if test.operator == "in" and _may_decide(space.parameters[test.parameter])
            if inner.intersection(map(str, test.values))
        }
    return frozenset(found)


def _find_single_variants(space: ConsistentSpace) -> frozenset[str]:
    """Return the parameters that choose a variant of a component.

    Such a parameter is always active, its values are words, and it is the only one with its prefix: the part of its
    name before the last colon.
    """
    by_prefix = group_by_key((name.rpartition(":")[0], parameter) for name, parameter in space.parameters.items())
    return frozenset(
        several[0].name
        for prefix, several in by_prefix.items()
        if prefix and len(several) == 1 and several[0].name not in space.conditions and _is_of_words(several[0])
    )


def _may_decide(parameter: foreign.ForeignParameter) -> bool:
    return isinstance(parameter.domain, foreign.ForeignValues) and not parameter.domain.ordered


def _is_of_words(parameter: foreign.ForeignParameter) -> bool:
    domain = parameter.domain
    if not isinstance(domain, foreign.ForeignValues) or domain.ordered or len(domain.values) < 2:
        return False
    return all(each is None or (isinstance(each, str) and each.isidentifier()) for each in domain.space_values)


_PREDICTORS = frozenset({"classifier", "regressor", "estimator", "predictor", "learner", "model", "algorithm"})


@dataclass(frozen=True, slots=True)
class NameAssignment:
    """The names of all parts of an imported space; the name of a stage is the name of its decision at the root."""

    steps: tuple[Path, ...]  # The stages (a stage is its decision with the index -1) and steps in pipeline order
    members: dict[tuple[str, Path], str]  # The names of hyperparameters and decisions in bodies; stages are at the root
    operators: dict[Path, str]  # The operators by the path of their body; an empty string for the alternative `none`
    alternatives: dict[tuple[str, int], str]  # The names of alternatives, by decision and index of the value
    catalogue_paths: frozenset[Path]  # The paths of operators of the catalogue; all other operators are abstract
    file_names: foreign.UniqueNames  # The names at the top level of the file

    def body_name_in_expressions(self, path: Path) -> str:
        """Return the name of a body in expressions."""
        (first, place), *rest = path
        if not first:
            return self.operators[path]
        words = [self.members[first, ROOT], self.alternatives[first, int(place)]]
        above = path[:1]
        for decision, inner in rest:
            words += [self.members[decision, above], self.alternatives[decision, int(inner)]]
            above = (*above, (decision, inner))
        return ".".join(words)

    def configuration_key(self, name: str, path: Path) -> str:
        """Return the configuration key of a hyperparameter or decision in a body."""
        if path and not path[0][0]:
            return f"{self.operators[path]}.{self.members[name, path]}"
        words = [self.members[decision, path[:place]] for place, (decision, _) in enumerate(path)]
        return ".".join([*words, self.members[name, path]])


def assign_names(tree: SpaceTree, space_name: str, catalogue: Catalogue, *, use_catalogue: bool) -> NameAssignment:
    """Return names for a tree of parameters.

    With `use_catalogue`, an alternative becomes an operator of the catalogue if it has the name of one and only has
    parameters of that operator. All other operators are abstract and get names that the catalogue does not have.
    """
    file = foreign.UniqueNames(frozenset(catalogue))
    members: dict[tuple[str, Path], str] = {}
    stages = [name for name, paths in tree.paths.items() if name in tree.decisions and paths == (ROOT,)]
    for stage in stages:
        # A stage from a parameter such as `component:strategy` is named after the component.
        members[stage, ROOT] = file.reserve_first_free(
            *foreign.candidate_names(stage.rpartition(":")[0] if stage in tree.variants else stage)
        )
    steps = _in_pipeline_order(tree, stages)
    bodies = frozenset(path for paths in tree.paths.values() for path in paths)
    _name_members(tree, members)
    operators: dict[Path, str] = {}
    alternatives: dict[tuple[str, int], str] = {}
    for step in steps:
        if not step[0][0]:
            prefix = str(step[0][1])
            operators[step] = file.reserve_first_free(
                *(foreign.candidate_names(prefix) if prefix else (space_name, "hyperparameters"))
            )
    last = steps[-1][0][0] if steps else ""
    known: set[Path] = set()
    for name, parameter in tree.space.parameters.items():
        if name in tree.decisions:
            path = tree.paths[name][0]
            named = _name_alternatives(parameter, path, bodies, members, is_last=name == last)
            for place, word in enumerate(named):
                alternatives[name, place] = word
                below = (*path, (name, place))
                entry = catalogue.get(word) if use_catalogue and path == ROOT else None
                if entry is not None and all(
                    member in entry.parameters for (_, body), member in members.items() if body == below
                ):
                    known.add(below)
                    operators[below] = word
                else:
                    operators[below] = (
                        file.reserve_first_free(word, f"{members[name, path]}_{word}") if word != "none" else ""
                    )
    return NameAssignment(steps, members, operators, alternatives, frozenset(known), file)


def _in_pipeline_order(tree: SpaceTree, stages: list[str]) -> tuple[Path, ...]:
    """Return stages and steps in the order of the file, but with predictors last."""
    places = {name: place for place, name in enumerate(tree.space.file_order)}
    first: dict[Path, int] = {((stage, -1),): places[stage] for stage in stages}
    for name, paths in tree.paths.items():
        for path in paths:
            if path and not path[0][0]:
                first[path] = min(first.get(path, places[name]), places[name])

    def predicts(path: Path) -> bool:
        words = foreign.colon_path_without_choice(path[0][0] or str(path[0][1]))
        return not _PREDICTORS.isdisjoint((words[0], words[-1]))

    return tuple(sorted(first, key=lambda path: (predicts(path), first[path])))


def _name_members(tree: SpaceTree, members: dict[tuple[str, Path], str]) -> None:
    scopes: dict[Path, foreign.UniqueNames] = {}
    for name in tree.space.file_order:
        for path in tree.paths[name]:
            if path != ROOT:
                below = _usual_prefix(tree, path)
                members[name, path] = scopes.setdefault(path, foreign.UniqueNames(parameters=True)).reserve_first_free(
                    *foreign.candidate_names(name, below)
                )


def _usual_prefix(tree: SpaceTree, path: Path) -> tuple[str, ...]:
    decision, place = path[-1]
    if not decision:
        return foreign.colon_path_without_choice(str(place))
    domain = tree.space.parameters[decision].domain
    assert isinstance(domain, foreign.ForeignValues)
    return (*foreign.colon_path_without_choice(decision), str(domain.values[int(place)]))


def _name_alternatives(
    parameter: foreign.ForeignParameter,
    path: Path,
    bodies: frozenset[Path],
    members: dict[tuple[str, Path], str],
    *,
    is_last: bool,
) -> list[str]:
    domain = parameter.domain
    assert isinstance(domain, foreign.ForeignValues)
    scope = foreign.UniqueNames()
    decision = members[parameter.name, path]
    named: list[str] = []
    for place, value in enumerate(domain.values):
        is_bare = (*path, (parameter.name, place)) not in bodies
        if is_bare and not is_last and _is_nothing(value) and "none" not in named:
            named.append("none")
        else:
            word = f"no_{decision}" if _is_nothing(value) else str(value)
            named.append(scope.reserve_first_free(word, f"{decision}_{word}"))
    return named


def _is_nothing(value: Value) -> bool:
    return value is None or (isinstance(value, str) and foreign.convert_words_to_values((value,)) == (None,))
