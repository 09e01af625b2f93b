"""Assign names in the `.space` file, and keys in configurations, to everything in a foreign space."""

from dataclasses import dataclass

from spacelang.catalog.catalogue import Catalogue
from spacelang.importers._foreign_space import (
    ForeignParameter,
    ForeignValues,
    UniqueNames,
    candidate_names,
    convert_words,
    path_parts,
)
from spacelang.importers._tree_builder import ROOT, Path, SpaceTree
from spacelang.ir.value import Value

_PREDICTORS = frozenset({"classifier", "regressor", "estimator", "predictor", "learner", "model", "algorithm"})


@dataclass(frozen=True, slots=True)
class NameAssignment:
    """The names of all parts of an imported space; the name of a stage is the name of its decision at the root."""

    steps: tuple[Path, ...]
    """The stages (a stage is its decision with the index -1) and steps in pipeline order."""

    members: dict[tuple[str, Path], str]
    """The names of hyperparameters and decisions in bodies; stages are at the root."""

    operators: dict[Path, str]
    """The operators by the path of their body; an empty string for the alternative `none`."""

    alternatives: dict[tuple[str, int], str]
    """The names of alternatives, by decision and index of the value."""

    catalogue_paths: frozenset[Path]
    """The paths of operators of the catalogue; all other operators are abstract."""

    file_names: UniqueNames
    """The names at the top level of the file."""

    def address(self, path: Path) -> str:
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

    def key(self, name: str, path: Path) -> str:
        """Return the configuration key of a hyperparameter or decision in a body."""
        if path and not path[0][0]:
            return f"{self.operators[path]}.{self.members[name, path]}"
        words = [self.members[decision, path[:place]] for place, (decision, _) in enumerate(path)]
        return ".".join([*words, self.members[name, path]])


def assign_names(shape: SpaceTree, space_name: str, catalogue: Catalogue, *, use_catalogue: bool) -> NameAssignment:
    """Return names for a tree of parameters.

    With `use_catalogue`, an alternative becomes an operator of the catalogue if it has the name of one and only has
    parameters of that operator. All other operators are abstract and get names that the catalogue does not have.
    """
    file = UniqueNames(frozenset(catalogue))
    members: dict[tuple[str, Path], str] = {}
    stages = [name for name, paths in shape.paths.items() if name in shape.decisions and paths == (ROOT,)]
    for stage in stages:
        # A stage from a parameter such as `component:strategy` is named after the component.
        members[stage, ROOT] = file.reserve(
            *candidate_names(stage.rpartition(":")[0] if stage in shape.variants else stage)
        )
    steps = _in_pipeline_order(shape, stages)
    bodies = _bodies(shape)
    _name_members(shape, members)
    operators: dict[Path, str] = {}
    alternatives: dict[tuple[str, int], str] = {}
    for step in steps:
        if not step[0][0]:
            prefix = str(step[0][1])
            operators[step] = file.reserve(*(candidate_names(prefix) if prefix else (space_name, "hyperparameters")))
    last = steps[-1][0][0] if steps else ""
    known: set[Path] = set()
    for name, parameter in shape.space.parameters.items():
        if name in shape.decisions:
            path = shape.paths[name][0]
            named = _name_alternatives(parameter, path, bodies, members, is_last=name == last)
            for place, word in enumerate(named):
                alternatives[name, place] = word
                below = (*path, (name, place))
                inside = [member for (_, body), member in members.items() if body == below] if word in catalogue else []
                if use_catalogue and path == ROOT and word in catalogue and _has_parameters(catalogue, word, inside):
                    known.add(below)
                    operators[below] = word
                else:
                    operators[below] = file.reserve(word, f"{members[name, path]}_{word}") if word != "none" else ""
    return NameAssignment(steps, members, operators, alternatives, frozenset(known), file)


def _has_parameters(catalogue: Catalogue, name: str, members: list[str]) -> bool:
    operator = catalogue.get(name)
    return operator is not None and all(member in operator.parameters for member in members)


def _bodies(shape: SpaceTree) -> frozenset[Path]:
    """Return the bodies that contain a hyperparameter."""
    return frozenset(path for paths in shape.paths.values() for path in paths)


def _in_pipeline_order(shape: SpaceTree, stages: list[str]) -> tuple[Path, ...]:
    """Return stages and steps in the order of the file, but with predictors last."""
    places = {name: place for place, name in enumerate(shape.space.file_order)}
    first: dict[Path, int] = {((stage, -1),): places[stage] for stage in stages}
    for name, paths in shape.paths.items():
        for path in paths:
            if path and not path[0][0]:
                first[path] = min(first.get(path, places[name]), places[name])

    def predicts(path: Path) -> bool:
        words = path_parts(path[0][0] or str(path[0][1]))
        return not _PREDICTORS.isdisjoint((words[0], words[-1]))

    return tuple(sorted(first, key=lambda path: (predicts(path), first[path])))


def _name_members(shape: SpaceTree, members: dict[tuple[str, Path], str]) -> None:
    scopes: dict[Path, UniqueNames] = {}
    for name in shape.space.file_order:
        for path in shape.paths[name]:
            if path != ROOT:
                below = _usual_prefix(shape, path)
                members[name, path] = scopes.setdefault(path, UniqueNames(parameters=True)).reserve(
                    *candidate_names(name, below)
                )


def _usual_prefix(shape: SpaceTree, path: Path) -> tuple[str, ...]:
    """Return the usual prefix of the names in a body."""
    decision, place = path[-1]
    if not decision:
        return path_parts(str(place))
    domain = shape.space.parameters[decision].domain
    assert isinstance(domain, ForeignValues)
    return (*path_parts(decision), str(domain.values[int(place)]))


def _name_alternatives(
    parameter: ForeignParameter,
    path: Path,
    bodies: frozenset[Path],
    members: dict[tuple[str, Path], str],
    *,
    is_last: bool,
) -> list[str]:
    domain = parameter.domain
    assert isinstance(domain, ForeignValues)
    scope = UniqueNames()
    decision = members[parameter.name, path]
    named: list[str] = []
    for place, value in enumerate(domain.values):
        is_bare = (*path, (parameter.name, place)) not in bodies
        if is_bare and not is_last and _is_nothing(value) and "none" not in named:
            named.append("none")
        else:
            word = f"no_{decision}" if _is_nothing(value) else str(value)
            named.append(scope.reserve(word, f"{decision}_{word}"))
    return named


def _is_nothing(value: Value) -> bool:
    return value is None or (isinstance(value, str) and convert_words((value,)) == (None,))
