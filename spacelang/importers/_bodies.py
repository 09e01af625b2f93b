"""Write the members of operator bodies: hyperparameters, fixed values and nested decisions."""

from typing import Literal, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.foreign_files import ActiveWithoutParent, GuidanceDropped, IneffectiveDeclaration
from spacelang.importers._expressions import ExpressionWriter, is_boolean, number_node, value_node
from spacelang.importers._foreign_space import ForeignParameter, ForeignRange, ForeignValues
from spacelang.importers._name_assignment import NameAssignment
from spacelang.importers._tree_builder import ROOT, Path, SpaceTree
from spacelang.syntax import ast
from spacelang.syntax.synthetic_nodes import make_dotted_name, make_fixed_parameter, make_value, make_word
from spacelang.text import NO_SPAN


class BodyWriter:
    """A writer of the members of all bodies; it leaves out and reports hyperparameters that are never active."""

    def __init__(self, shape: SpaceTree, naming: NameAssignment, expressions: ExpressionWriter) -> None:
        self._shape = shape
        self._naming = naming
        self._expressions = expressions
        self.diagnostics: list[Diagnostic] = []

    def write(self) -> dict[Path, list[ast.Member]]:
        """Return the members by body, in the order of the foreign file."""
        # Parents come first: a child of a hyperparameter that is never active is then recognised as never active, too.
        members = {name: self._members(name) for name in self._shape.space.parameters}
        found: dict[Path, list[ast.Member]] = {}
        for name in self._shape.space.file_order:
            for path, member in members[name]:
                found.setdefault(path, []).append(member)
            if not members[name] and self._shape.paths[name] != (ROOT,):
                span = self._shape.space.parameters[name].span
                self.diagnostics.append(IneffectiveDeclaration(primary=span, what=f"`{name}` is never active"))
        self._report_lost_weights()
        return found

    def _members(self, name: str) -> list[tuple[Path, ast.Member]]:
        members = [(path, self._member(name, path)) for path in self._shape.paths[name] if path != ROOT]
        return [(path, member) for path, member in members if member is not None]

    def _report_loose_tests(self, name: str) -> None:
        """Report the hyperparameters that need not be active for `name` to be active."""
        for test in {test.parameter: test for test in self._expressions.loose_tests}.values():
            told = ActiveWithoutParent(primary=test.span, child=name, parent=test.parameter)
            self.diagnostics += [] if told in self.diagnostics else [told]
        self._expressions.loose_tests.clear()

    def _report_lost_weights(self) -> None:
        """Report the weights of values that cannot be imported as weights of alternatives."""
        for name, parameter in self._shape.space.parameters.items():
            weights = parameter.domain.weights if isinstance(parameter.domain, ForeignValues) else None
            is_kept = name in self._shape.decisions and weights is not None and min(weights) > 0
            if weights is not None and len(set(weights)) > 1 and not is_kept:
                lost = GuidanceDropped(primary=parameter.span, what="the weights of the values", name=name, verb="are")
                self.diagnostics.append(lost)

    def _member(self, name: str, path: Path) -> ast.Member | None:
        """Return the syntax node of a hyperparameter in a body; None if it is never active there."""
        parameter = self._shape.space.parameters[name]
        called = self._naming.members[name, path]
        if name in self._shape.fixed:
            return make_fixed_parameter(called, value_node(parameter, parameter.default))
        word = make_word(called)
        if name in self._shape.decisions:
            return ast.Parameter(word, self._choice(parameter, path), None, None, (), NO_SPAN)
        condition = self._shape.conditions.get(name)
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
            case ast.Operator() | ast.NoneStep():
                return structure
            case _:
                raise AssertionError


def alternatives_node(
    parameter: ForeignParameter, path: Path, naming: NameAssignment, bodies: dict[Path, ast.Body]
) -> ast.Structure:
    """Return the alternatives of a decision, with the default and any weights.

    Operators of a catalogue get their `bodies` here; the bodies of abstract operators are at their declarations.
    """
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
        parts.append(ast.Operator(make_dotted_name(called), alias, body, tuple(marks), NO_SPAN))
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
                return ast.Booleans(NO_SPAN)
            return ast.Values(tuple(map(make_value, readings)), ordered, NO_SPAN)
        case _:
            assert_never(parameter.domain)


def _prior(parameter: ForeignParameter) -> tuple[ast.Annotation, ...]:
    if parameter.prior is None:
        return ()
    return (_annotation("prior", make_dotted_name("normal"), *map(number_node, parameter.prior)),)


def _annotation(name: Literal["default", "weight", "prior"], *arguments: ast.Value) -> ast.Annotation:
    return ast.Annotation(ast.Word(name, NO_SPAN), arguments, NO_SPAN)
