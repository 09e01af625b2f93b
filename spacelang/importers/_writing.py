"""Write the `.space` text of a tree, stage by stage, each with the operators that it chooses from."""

from collections.abc import Iterable, Iterator

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.importers._bodies import Bodies, alternatives
from spacelang.importers._clauses import Constraints
from spacelang.importers._expressions import Expressions
from spacelang.importers._naming import Naming
from spacelang.importers._shape import ROOT, Path, Shape
from spacelang.importers._sharing import share
from spacelang.syntax import ast
from spacelang.syntax.making import dotted
from spacelang.syntax.printer import format_file
from spacelang.text import NOWHERE


def write(shape: Shape, naming: Naming, name: str, origin: str) -> tuple[str, list[Diagnostic]]:
    """Return the text, and diagnostics for the parts of the foreign space that are left out."""
    expressions = Expressions(shape, naming)
    writer = Bodies(shape, naming, expressions)
    members = writer.write()
    constraints = Constraints(shape, naming, expressions)
    rules = constraints.write()
    top = rules.pop(ROOT, [])
    for path, several in rules.items():
        members.setdefault(path, []).extend(several)
    groups, shared = share(members, naming.operators, naming.file)
    blocks = [
        f"# Imported from {_one_line(origin)}.\n" + _text([ast.SpaceName(ast.Word(name, NOWHERE), None, NOWHERE)]),
        *[_text([group]) for group in groups],
        *_components(shape, naming, shared),
        *_pipeline(naming),
        *([_text(top)] if top else []),
    ]
    return "\n".join(blocks), [*writer.diagnostics, *constraints.diagnostics]


def _components(shape: Shape, naming: Naming, members: dict[Path, list[ast.Member]]) -> Iterator[str]:
    """Yield the text of every step of the pipeline with its operators, including those below nested decisions."""
    bodies = {path: ast.Body(tuple(several), NOWHERE) for path, several in members.items()}
    for step in naming.steps:
        first = str(step[0][0] or step[0][1])
        comment = f"# {_one_line(first)}\n" if first else ""
        if step[0][0]:
            structure = alternatives(shape.space.parameters[first], ROOT, naming, bodies)
            stage = ast.Stage(ast.Word(naming.members[first, ROOT], NOWHERE), (), structure, NOWHERE)
            yield comment + _text([stage])
            comment = ""
        declared = [path for path, name in naming.operators.items() if _belongs(path, step) and name]
        items = [
            ast.Abstract(ast.Word(naming.operators[path], NOWHERE), bodies.get(path), NOWHERE)
            for path in declared
            if path not in naming.known
        ]
        if items:
            yield comment + _text(items)


def _belongs(path: Path, step: Path) -> bool:
    return path == step or (bool(step[0][0]) and path[0][0] == step[0][0])


def _pipeline(naming: Naming) -> list[str]:
    """Return the pipeline line in a list; an empty list if all steps are stages, where it is not needed."""
    if all(step[0][0] for step in naming.steps):
        return []
    called = [naming.members[step[0][0], ROOT] if step[0][0] else naming.operators[step] for step in naming.steps]
    steps = tuple(ast.Operator(dotted(name), None, None, (), NOWHERE) for name in called)
    structure = steps[0] if len(steps) == 1 else ast.Joined("->", steps, NOWHERE)
    return [_text([ast.Pipeline(structure, NOWHERE)])]


def _text(items: Iterable[ast.Item]) -> str:
    return format_file(ast.File(tuple(items), NOWHERE))


def _one_line(text: str) -> str:
    """Return a foreign text for use in a comment, with unprintable characters replaced."""
    return "".join(character if character.isprintable() else "?" for character in text)
