"""Write the `.space` text of a tree, stage by stage, each with the operators that it chooses from."""

from collections.abc import Iterable, Iterator

from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.importers._bodies import BodyWriter, alternatives_node
from spacelang.importers._clauses import ConstraintWriter
from spacelang.importers._expressions import ExpressionWriter
from spacelang.importers._name_assignment import NameAssignment
from spacelang.importers._shared_groups import extract_groups
from spacelang.importers._tree_builder import ROOT, Path, SpaceTree
from spacelang.syntax import ast
from spacelang.syntax.printer import format_file
from spacelang.syntax.synthetic_nodes import make_dotted_name
from spacelang.text import NO_SPAN


def write_text(shape: SpaceTree, naming: NameAssignment, name: str, origin: str) -> tuple[str, list[Diagnostic]]:
    """Return the text, and diagnostics for the parts of the foreign space that are left out."""
    expressions = ExpressionWriter(shape, naming)
    writer = BodyWriter(shape, naming, expressions)
    members = writer.write()
    constraints = ConstraintWriter(shape, naming, expressions)
    rules = constraints.write()
    top = rules.pop(ROOT, [])
    for path, several in rules.items():
        members.setdefault(path, []).extend(several)
    groups, shared = extract_groups(members, naming.operators, naming.file_names)
    blocks = [
        f"# Imported from {_one_line(origin)}.\n" + _text([ast.SpaceName(ast.Word(name, NO_SPAN), None, NO_SPAN)]),
        *[_text([group]) for group in groups],
        *_components(shape, naming, shared),
        *_pipeline(naming),
        *([_text(top)] if top else []),
    ]
    return "\n".join(blocks), [*writer.diagnostics, *constraints.diagnostics]


def _components(shape: SpaceTree, naming: NameAssignment, members: dict[Path, list[ast.Member]]) -> Iterator[str]:
    """Yield the text of every step of the pipeline with its operators, including those below nested decisions."""
    bodies = {path: ast.Body(tuple(several), NO_SPAN) for path, several in members.items()}
    for step in naming.steps:
        first = str(step[0][0] or step[0][1])
        comment = f"# {_one_line(first)}\n" if first else ""
        if step[0][0]:
            structure = alternatives_node(shape.space.parameters[first], ROOT, naming, bodies)
            stage = ast.Stage(ast.Word(naming.members[first, ROOT], NO_SPAN), (), structure, NO_SPAN)
            yield comment + _text([stage])
            comment = ""
        declared = [path for path, name in naming.operators.items() if _belongs_to(path, step) and name]
        items = [
            ast.AbstractOperator(ast.Word(naming.operators[path], NO_SPAN), bodies.get(path), NO_SPAN)
            for path in declared
            if path not in naming.catalogue_paths
        ]
        if items:
            yield comment + _text(items)


def _belongs_to(path: Path, step: Path) -> bool:
    return path == step or (bool(step[0][0]) and path[0][0] == step[0][0])


def _pipeline(naming: NameAssignment) -> list[str]:
    """Return the pipeline line in a list; an empty list if all steps are stages, where it is not needed."""
    if all(step[0][0] for step in naming.steps):
        return []
    called = [naming.members[step[0][0], ROOT] if step[0][0] else naming.operators[step] for step in naming.steps]
    steps = tuple(ast.Operator(make_dotted_name(name), None, None, (), NO_SPAN) for name in called)
    structure = steps[0] if len(steps) == 1 else ast.JoinedStructures("->", steps, NO_SPAN)
    return [_text([ast.Pipeline(structure, NO_SPAN)])]


def _text(items: Iterable[ast.Item]) -> str:
    return format_file(ast.File(tuple(items), NO_SPAN))


def _one_line(text: str) -> str:
    """Return a foreign text for use in a comment, with unprintable characters replaced."""
    return "".join(character if character.isprintable() else "?" for character in text)
