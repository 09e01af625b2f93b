"""Write the members of operator bodies: hyperparameters, fixed values and nested decisions."""

from typing import Literal, assert_never

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.foreign import ActiveWithoutParent, AdviceLost, NothingToImport
from spacelang.importers._expressions import Expressions, is_boolean, number, written_value
from spacelang.importers._foreign import ForeignParameter, ForeignRange, ForeignValues
from spacelang.importers._naming import Naming
from spacelang.importers._shape import ROOT, Path, Shape
from spacelang.syntax import ast
from spacelang.syntax.making import dotted, fixed, named, value
from spacelang.text import NOWHERE


class Bodies:
    """A writer of the members of all bodies; it leaves out and reports hyperparameters that are never active."""

    def __init__(self, shape: Shape, naming: Naming, expressions: Expressions) -> None:
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
                self.diagnostics.append(NothingToImport(primary=span, what=f"`{name}` is never active"))
        self._tell_weights()
        return found

    def _members(self, name: str) -> list[tuple[Path, ast.Member]]:
        members = [(path, self._member(name, path)) for path in self._shape.paths[name] if path != ROOT]
        return [(path, member) for path, member in members if member is not None]

    def _tell_loose(self, name: str) -> None:
        """Report the hyperparameters that need not be active for `name` to be active."""
        for test in {test.parameter: test for test in self._expressions.loose}.values():
            told = ActiveWithoutParent(primary=test.span, child=name, parent=test.parameter)
            self.diagnostics += [] if told in self.diagnostics else [told]
        self._expressions.loose.clear()

    def _tell_weights(self) -> None:
        """Report the weights of values that cannot be imported as weights of alternatives."""
        for name, parameter in self._shape.space.parameters.items():
            weights = parameter.domain.weights if isinstance(parameter.domain, ForeignValues) else None
            is_kept = name in self._shape.decisions and weights is not None and min(weights) > 0
            if weights is not None and len(set(weights)) > 1 and not is_kept:
                lost = AdviceLost(primary=parameter.span, what="the weights of the values", name=name, verb="are")
                self.diagnostics.append(lost)

    def _member(self, name: str, path: Path) -> ast.Member | None:
        """Return the syntax node of a hyperparameter in a body; None if it is never active there."""
        parameter = self._shape.space.parameters[name]
        called = self._naming.members[name, path]
        if name in self._shape.fixed:
            return fixed(called, written_value(parameter, parameter.default))
        word = named(called)
        if name in self._shape.decisions:
            return ast.Parameter(word, self._choice(parameter, path), None, None, (), NOWHERE)
        condition = self._shape.conditions.get(name)
        when = True if condition is None else self._expressions.condition(condition, path)
        self._tell_loose(name)
        if when is False:
            self._expressions.dead.add((name, path))
            return None
        default = written_value(parameter, parameter.default)
        written = domain(parameter)
        return ast.Parameter(word, written, default, None if when is True else when, _prior(parameter), NOWHERE)

    def _choice(self, parameter: ForeignParameter, path: Path) -> ast.Domain:
        # No bodies are needed: only alternatives of stages can be operators of a catalogue.
        structure = alternatives(parameter, path, self._naming, {})
        match structure:
            case ast.Joined(parts=parts):
                return ast.UnionDomain(parts, NOWHERE)  # type: ignore[arg-type]
            case ast.Operator() | ast.Nothing():
                return structure
            case _:
                raise AssertionError


def alternatives(
    parameter: ForeignParameter, path: Path, naming: Naming, bodies: dict[Path, ast.Body]
) -> ast.Structure:
    """Return the alternatives of a decision, with the default and any weights.

    Operators of a catalogue get their `bodies` here; the bodies of abstract operators are at their declarations.
    """
    values = parameter.domain
    assert isinstance(values, ForeignValues)
    default = values.place(parameter.default)
    weights = values.weights if values.weights is not None and min(values.weights) > 0 else None
    parts: list[ast.Structure] = []
    for place in range(len(values.values)):
        word = naming.alternatives[parameter.name, place]
        marks = [_mark("default")] if place == default and place > 0 else []
        if weights is not None and len(set(weights)) > 1:
            marks.append(_mark("weight", number(weights[place])))
        if word == "none":
            parts.append(ast.Nothing(tuple(marks), NOWHERE))
            continue
        below = (*path, (parameter.name, place))
        called = naming.operators[below]
        alias = None if called == word else ast.Word(word, NOWHERE)
        body = bodies.get(below) if below in naming.known else None
        parts.append(ast.Operator(dotted(called), alias, body, tuple(marks), NOWHERE))
    return parts[0] if len(parts) == 1 else ast.Joined("|", tuple(parts), NOWHERE)


def domain(parameter: ForeignParameter) -> ast.Domain:
    """Return the syntax node of the domain of a hyperparameter."""
    match parameter.domain:
        case ForeignRange(kind=kind, lower=lower, upper=upper, log=log, step=step):
            word = ast.Word("log", NOWHERE) if log else None
            spaced = None if step is None else number(step)
            return ast.Range(kind, number(lower), number(upper), False, False, word, spaced, NOWHERE)
        case ForeignValues(readings=readings, ordered=ordered):
            if len(readings) == 2 and not ordered and is_boolean(parameter.domain):
                return ast.Booleans(NOWHERE)
            return ast.Values(tuple(map(value, readings)), ordered, NOWHERE)
        case _:
            assert_never(parameter.domain)


def _prior(parameter: ForeignParameter) -> tuple[ast.Annotation, ...]:
    if parameter.prior is None:
        return ()
    return (_mark("prior", dotted("normal"), *map(number, parameter.prior)),)


def _mark(name: Literal["default", "weight", "prior"], *arguments: ast.Value) -> ast.Annotation:
    return ast.Annotation(ast.Word(name, NOWHERE), arguments, NOWHERE)
