"""Write the `.space` text of a tree, stage by stage, each with the operators that it chooses from."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final, Literal, TypeAlias, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.other_tools import (
    ActiveWithoutParent,
    IneffectiveImportedDeclaration,
    SearchHintsNotImported,
)
from spacelang.grouping import group_by_key
from spacelang.importers._expressions import ConstraintWriter, ExpressionWriter, is_boolean, number_node, value_node
from spacelang.importers._foreign_space import ForeignParameter, ForeignRange, ForeignValues, UniqueNames
from spacelang.importers._tree_builder import ROOT, NameAssignment, Path, SpaceTree
from spacelang.serialization.syntax_nodes import make_dotted_name, make_fixed_parameter, make_value_node, make_word
from spacelang.syntax import ast
from spacelang.syntax.printer import format_file
from spacelang.text import NO_SPAN


def write_space_text(tree: SpaceTree, naming: NameAssignment, name: str, origin: str) -> tuple[str, list[Diagnostic]]:
    """Return the text, and diagnostics for the parts of the foreign space that are left out."""
    expressions = ExpressionWriter(tree, naming)
    writer = BodyWriter(tree, naming, expressions)
    members = writer.build_members_by_body()
    constraints = ConstraintWriter(tree, naming, expressions)
    rules = constraints.constraints_by_body()
    top = rules.pop(ROOT, [])
    for path, several in rules.items():
        members.setdefault(path, []).extend(several)
    groups, shared = extract_repeated_members(members, naming.operators, naming.file_names)
    blocks = [
        f"# Imported from {_one_line(origin)}.\n" + _text([ast.SpaceName(ast.Word(name, NO_SPAN), None, NO_SPAN)]),
        *[_text([group]) for group in groups],
        *_components(tree, naming, shared),
        *_pipeline(naming),
        *([_text(top)] if top else []),
    ]
    return "\n".join(blocks), [*writer.diagnostics, *constraints.diagnostics]


def _components(tree: SpaceTree, naming: NameAssignment, members: dict[Path, list[ast.Member]]) -> Iterator[str]:
    """Yield the text of every step of the pipeline with its operators, including those below nested decisions."""
    bodies = {path: ast.Body(tuple(several), NO_SPAN) for path, several in members.items()}
    for step in naming.steps:
        first = str(step[0][0] or step[0][1])
        comment = f"# {_one_line(first)}\n" if first else ""
        if step[0][0]:
            structure = alternatives_node(tree.space.parameters[first], ROOT, naming, bodies)
            stage = ast.Stage(ast.Word(naming.members[first, ROOT], NO_SPAN), (), structure, NO_SPAN)
            yield comment + _text([stage])
            comment = ""
        items = [
            ast.AbstractOperator(ast.Word(called, NO_SPAN), bodies.get(path), NO_SPAN)
            for path, called in naming.operators.items()
            if called and path not in naming.catalogue_paths
            if path == step or (step[0][0] and path[0][0] == step[0][0])
        ]
        if items:
            yield comment + _text(items)


def _pipeline(naming: NameAssignment) -> list[str]:
    """Return the pipeline line in a list; an empty list if all steps are stages, where it is not needed."""
    if all(step[0][0] for step in naming.steps):
        return []
    called = [naming.members[step[0][0], ROOT] if step[0][0] else naming.operators[step] for step in naming.steps]
    steps = tuple(ast.OperatorReference(make_dotted_name(name), None, None, (), NO_SPAN) for name in called)
    structure = steps[0] if len(steps) == 1 else ast.JoinedStructures("->", steps, NO_SPAN)
    return [_text([ast.Pipeline(structure, NO_SPAN)])]


def _text(items: Iterable[ast.Item]) -> str:
    return format_file(ast.File(tuple(items), NO_SPAN))


def _one_line(text: str) -> str:
    """Return a foreign text for use in a comment, with unprintable characters replaced."""
    return "".join(character if character.isprintable() else "?" for character in text)


class BodyWriter:
    """A writer of the members of all bodies; it leaves out and reports hyperparameters that are never active."""

    def __init__(self, tree: SpaceTree, naming: NameAssignment, expressions: ExpressionWriter) -> None:
        self._tree, self._naming, self._expressions = tree, naming, expressions
        self.diagnostics: list[Diagnostic] = []

    def build_members_by_body(self) -> dict[Path, list[ast.Member]]:
        """Return the members by body, in the order of the foreign file."""
        # Parents come first: a child of a hyperparameter that is never active is then recognised as never active, too.
        members = {name: self._members(name) for name in self._tree.space.parameters}
        found: dict[Path, list[ast.Member]] = {}
        for name in self._tree.space.file_order:
            for path, member in members[name]:
                found.setdefault(path, []).append(member)
            if not members[name] and self._tree.paths[name] != (ROOT,):
                span = self._tree.space.parameters[name].span
                self.diagnostics.append(IneffectiveImportedDeclaration(span, declaration=f"`{name}` is never active"))
        self._report_lost_weights()
        return found

    def _members(self, name: str) -> list[tuple[Path, ast.Member]]:
        members = [(path, self._member(name, path)) for path in self._tree.paths[name] if path != ROOT]
        return [(path, member) for path, member in members if member is not None]

    def _report_loose_tests(self, name: str) -> None:
        for test in {test.parameter: test for test in self._expressions.loose_tests}.values():
            problem = ActiveWithoutParent(test.span, child=name, parent=test.parameter)
            self.diagnostics += [] if problem in self.diagnostics else [problem]
        self._expressions.loose_tests.clear()

    def _report_lost_weights(self) -> None:
        for name, parameter in self._tree.space.parameters.items():
            weights = parameter.domain.weights if isinstance(parameter.domain, ForeignValues) else None
            is_kept = name in self._tree.decisions and weights is not None and min(weights) > 0
            if weights is not None and len(set(weights)) > 1 and not is_kept:
                lost = SearchHintsNotImported(parameter.span, hint="the weights of the values", name=name, verb="are")
                self.diagnostics.append(lost)

    def _member(self, name: str, path: Path) -> ast.Member | None:
        """Return the syntax node of a hyperparameter in a body; None if it is never active there."""
        parameter = self._tree.space.parameters[name]
        called = self._naming.members[name, path]
        if name in self._tree.fixed:
            return make_fixed_parameter(called, value_node(parameter, parameter.default))
        word = make_word(called)
        if name in self._tree.decisions:
            return ast.Parameter(word, self._choice(parameter, path), None, None, (), NO_SPAN)
        condition = self._tree.conditions.get(name)
        when = True if condition is None else self._expressions.convert_condition(condition, path)
        self._report_loose_tests(name)
        if when is False:
            self._expressions.inactive.add((name, path))
            return None
        default = value_node(parameter, parameter.default)
        written = domain_node(parameter)
        return ast.Parameter(word, written, default, None if when is True else when, _prior(parameter), NO_SPAN)

    def _choice(self, parameter: ForeignParameter, path: Path) -> ast.Domain:
        # No bodies are needed: only alternatives of stages can be operators of a catalogue.
        structure = alternatives_node(parameter, path, self._naming, {})
        match structure:
            case ast.JoinedStructures(parts=parts):
                return ast.UnionDomain(parts, NO_SPAN)  # type: ignore[arg-type]
            case ast.OperatorReference() | ast.NoneStep():
                return structure
            case _:
                raise AssertionError


def alternatives_node(
    parameter: ForeignParameter, path: Path, naming: NameAssignment, bodies: dict[Path, ast.Body]
) -> ast.Structure:
    """Return the alternatives of a decision, with default, weights, and the bodies of operators of a catalogue."""
    values = parameter.domain
    assert isinstance(values, ForeignValues)
    default = values.index(parameter.default)
    weights = values.weights if values.weights is not None and min(values.weights) > 0 else None
    parts: list[ast.Structure] = []
    for place in range(len(values.values)):
        word = naming.alternatives[parameter.name, place]
        marks = [_annotation("default")] if place == default and place > 0 else []
        if weights is not None and len(set(weights)) > 1:
            marks.append(_annotation("weight", number_node(weights[place])))
        if word == "none":
            parts.append(ast.NoneStep(tuple(marks), NO_SPAN))
            continue
        below = (*path, (parameter.name, place))
        called = naming.operators[below]
        alias = None if called == word else ast.Word(word, NO_SPAN)
        body = bodies.get(below) if below in naming.catalogue_paths else None
        parts.append(ast.OperatorReference(make_dotted_name(called), alias, body, tuple(marks), NO_SPAN))
    return parts[0] if len(parts) == 1 else ast.JoinedStructures("|", tuple(parts), NO_SPAN)


def domain_node(parameter: ForeignParameter) -> ast.Domain:
    """Return the syntax node of the domain of a hyperparameter."""
    match parameter.domain:
        case ForeignRange(kind=kind, lower=lower, upper=upper, log=log, step=step):
            word = ast.Word("log", NO_SPAN) if log else None
            spaced = None if step is None else number_node(step)
            return ast.Range(kind, number_node(lower), number_node(upper), False, False, word, spaced, NO_SPAN)
        case ForeignValues(space_values=readings, ordered=ordered):
            if len(readings) == 2 and not ordered and is_boolean(parameter.domain):
                return ast.BooleanDomain(NO_SPAN)
            return ast.ValueSet(tuple(map(make_value_node, readings)), ordered, NO_SPAN)
        case _:
            assert_never(parameter.domain)


def _prior(parameter: ForeignParameter) -> tuple[ast.Annotation, ...]:
    if parameter.prior is None:
        return ()
    return (_annotation("prior", make_dotted_name("normal"), *map(number_node, parameter.prior)),)


def _annotation(name: Literal["default", "weight", "prior"], *arguments: ast.Value) -> ast.Annotation:
    return ast.Annotation(ast.Word(name, NO_SPAN), arguments, NO_SPAN)


MIN_MEMBERS: Final = 2  # The minimal number of members of a group: a single member is shorter than an `include`
_LONGEST_NAME: Final = 40
MembersByBody: TypeAlias = dict[Path, list[ast.Member]]


def extract_repeated_members(
    bodies: MembersByBody, operators: dict[Path, str], names: UniqueNames
) -> tuple[list[ast.ParameterGroup], MembersByBody]:
    """Return groups of the members that several bodies share, and the bodies with an `include` in their place."""
    groups: list[ast.ParameterGroup] = []
    shared = {path: list(members) for path, members in bodies.items()}
    for users, members in _repeated_groups(bodies):
        word = ast.Word(_group_name([operators[path] for path in users], members, names), NO_SPAN)
        groups.append(ast.ParameterGroup(word, ast.Body(tuple(members), NO_SPAN), NO_SPAN))
        for path in users:
            body = shared[path]
            place = body.index(members[0])
            rest = [member for member in body if member not in members]
            include = ast.ParameterGroupInclusion(ast.DottedName((word,), NO_SPAN), NO_SPAN)
            # The `include` takes the place of the first member of the group.
            before = sum(member not in members for member in body[:place])
            shared[path] = [*rest[:before], include, *rest[before:]]
    return groups, shared


def _repeated_groups(bodies: MembersByBody) -> Iterator[tuple[tuple[Path, ...], list[ast.Member]]]:
    # The alternatives of a nested decision belong to one body only.
    users = group_by_key(
        (member, path)
        for path, members in bodies.items()
        for member in members
        if isinstance(member, ast.FixedParameter)
        or (
            isinstance(member, ast.Parameter)
            and isinstance(member.domain, ast.Range | ast.BooleanDomain | ast.ValueSet)
        )
    )
    groups = group_by_key((tuple(paths), member) for member, paths in users.items() if len(paths) > 1)
    for together, members in groups.items():
        closed = _self_contained(members)
        saved = len(closed) * (len(together) - 1) - len(together) - 2
        if len(closed) >= MIN_MEMBERS and saved > 0:
            yield together, closed


def _self_contained(members: Sequence[ast.Member]) -> list[ast.Member]:
    """Return the largest group of the members in which every condition refers only to members of the group."""
    while True:
        names = {member.name.text for member in members if isinstance(member, ast.Parameter | ast.FixedParameter)}
        kept = [
            member
            for member in members
            if not isinstance(member, ast.Parameter) or names.issuperset(_references(member.condition))
        ]
        if len(kept) == len(members):
            return kept
        members = kept


def _references(expression: ast.Expression | None) -> Iterator[str]:
    match expression:
        case ast.DottedName():
            yield expression.text
        case ast.BinaryOperation(left=left):
            yield from _references(left)
        case ast.LogicalOperation(terms=terms):
            for term in terms:
                yield from _references(term)
        case ast.UnaryOperation(term=inner) | ast.Membership(item=inner) | ast.IsTest(decision=inner):
            yield from _references(inner)
        case _:
            return


def _group_name(users: list[str], members: list[ast.Member], names: UniqueNames) -> str:
    """Reserve a name for a group, and return it: the common prefix of the operators, or the names of its members."""
    columns = zip(*(user.split("_") for user in users), strict=False)
    common = "_".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))
    if common:
        return names.reserve_first_free(f"{common}_shared")
    called = [member.name.text for member in members if isinstance(member, ast.Parameter | ast.FixedParameter)]
    listed = "_and_".join(called)
    return names.reserve_first_free(
        listed if len(listed) <= _LONGEST_NAME else f"{called[0]}_and_{len(called) - 1}_more"
    )
