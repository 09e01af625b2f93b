"""The context for reading and writing a document: the source line of each part, and the texts of these lines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Final, TypeAlias

from spacelang.ir.expr import Active, Expr, Is, Reference, nodes, scope
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, Space, children_of, subtree
from spacelang.serialization.json_fields import DefinitionError, expect_object, expect_string
from spacelang.suggest import suggestion
from spacelang.text import NO_SPAN, Source, Span

JsonObject: TypeAlias = dict[str, object]
FileLine: TypeAlias = tuple[str, int]
"""The name of a file and a line in it; line 0 if the source line is unknown."""
MAX_LINES: Final = 2**20
"""The maximal number of lines of all files together; the source file of a space has fewer characters."""


@dataclass(slots=True)
class DocumentPaths:
    """The paths in a document of decisions and hyperparameters (by address) and of expressions."""

    nodes: dict[str, str] = field(default_factory=dict)
    expressions: list[tuple[str, Expr]] = field(default_factory=list)
    order_count: int = 0
    """The number of orders of all permutations together."""

    def add(self, address: str, path: str) -> None:
        """Record the path of an address; raise DefinitionError if the address is already in use."""
        if address in self.nodes:
            raise DefinitionError(f"{path}.address", f"is `{address}`, which `{self.nodes[address]}` already uses")
        self.nodes[address] = path


@dataclass(frozen=True, slots=True)
class WritingContext:
    """The context for writing a part: the enclosing source line, and the texts of all lines recorded so far."""

    position: FileLine = ("", 0)
    lines: dict[str, dict[int, str]] = field(default_factory=dict)

    def enter(self, span: Span) -> tuple[JsonObject, "WritingContext"]:
        """Return the keys for the position of a part, as far as it differs from this one, and the context inside it."""
        if span.source is NO_SPAN.source:
            return {}, self
        self.record_lines(span, span.line)
        place = (span.source.name, span.line)
        if place == self.position:
            return {}, self
        file: JsonObject = {} if place[0] == self.position[0] else {"file": place[0]}
        return {**file, "line": place[1]}, WritingContext(place, self.lines)

    def record_lines(self, span: Span, last: int) -> None:
        """Record the texts of the lines from the first line of a span to `last`."""
        here = self.lines.setdefault(span.source.name, {})
        for number in range(span.line, last + 1):
            here[number] = span.source.line(number)


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """The context for reading: enclosing source line, lines with known text, and paths of what was read before."""

    position: FileLine = ("", 0)
    sources: Mapping[str, Source] = field(default_factory=dict)
    known_lines: frozenset[FileLine] = frozenset()
    paths: DocumentPaths = field(default_factory=DocumentPaths)

    def enter(self, given: JsonObject, path: str) -> "ReadingContext":
        """Return the context for the parts of an object; raise DefinitionError for a line whose text is unknown."""
        if "file" not in given and "line" not in given:
            return self
        file, number = self.position
        file = expect_string(given["file"], f"{path}.file") if "file" in given else file
        if "line" in given:
            number = expect_line_number(given["line"], f"{path}.line")
            if (file, number) not in self.known_lines:
                problem = f"is a line of `{file}` whose text is missing in `lines`"
                raise DefinitionError(
                    f"{path}.line", problem, "add the text of the line to `lines`, or leave out `line`"
                )
        return ReadingContext((file, number), self.sources, self.known_lines, self.paths)

    def span(self, said: str = "") -> Span:
        """Return the span of `said` in the current line, or of the whole line; NO_SPAN if the line is unknown."""
        if self.position not in self.known_lines:
            return NO_SPAN
        source = self.sources[self.position[0]]
        start = source.line_starts[self.position[1] - 1]
        found, whole = source.text.find(said, start), source.line(self.position[1])
        if not said or not start <= found < start + len(whole):
            found, said = start + len(whole) - len(whole.lstrip()), whole.strip()
        return Span(source, found, found + len(said))


def read_source_lines(value: object, path: str) -> tuple[dict[str, Source], frozenset[FileLine]]:
    """Return the sources (by file) and the known lines from the `lines` of a document.

    Lines that the document does not state are empty in the sources. Raises DefinitionError for an invalid line number
    or a text of more than one line.
    """
    files: dict[str, dict[int, str]] = {}
    for file, written in expect_object(value, path).items():
        here = files[file] = {}
        for number, said in expect_object(written, f"{path}.{file}").items():
            at = f"{path}.{file}.{number}"
            is_number = number.isascii() and number.isdigit() and len(number) < len(str(MAX_LINES * 10))
            told = expect_string(said, at)
            if "\n" in told:
                raise DefinitionError(at, "is more than one line")
            here[expect_line_number(int(number) if is_number else number, at)] = told
    if sum(max(here, default=0) for here in files.values()) > MAX_LINES:
        raise DefinitionError(path, f"has more than {MAX_LINES:,} lines")
    sources = {
        file: Source(file, "\n".join(here.get(line, "") for line in range(1, max(here, default=0) + 1)))
        for file, here in files.items()
    }
    return sources, frozenset((file, line) for file, here in files.items() for line in here)


def expect_line_number(value: object, path: str) -> int:
    """Return a value that must be a line number."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_LINES:
        return value
    raise DefinitionError(path, f"is not a line number, expected a whole number from 1 to {MAX_LINES}")


def validate(space: Space, paths: DocumentPaths) -> None:
    """Raise DefinitionError, with the path of the first error, if the space is invalid."""
    _collect_keys(space.root, paths)
    for path, expression in paths.expressions:
        for node in nodes(expression):
            _check_reference(node, path, space)
    _check_conditions(space, paths)


def _collect_keys(node: Node, paths: DocumentPaths) -> set[str]:
    """Return the keys of a node and all nodes below it; only the alternatives of one decision may share keys."""
    match node:
        case Hyperparameter():
            return {node.key}
        case Choice():
            inner: set[str] = set()
            for branch in node.branches:
                inner = _merge_into_larger(inner, _collect_keys(branch.node, paths))
            return _join_keys(inner, {node.key}, node, paths)
        case Operator() | Product():
            found: set[str] = set()
            for child in children_of(node):
                found = _join_keys(found, _collect_keys(child, paths), child, paths)
            return found


def _join_keys(before: set[str], more: set[str], node: Node, paths: DocumentPaths) -> set[str]:
    """Return both sets of keys as one; raise DefinitionError for a common key, at its path below `node`."""
    if not before.isdisjoint(more):
        key = min(before & more)
        named = (each for each in subtree(node) if isinstance(each, Hyperparameter | Choice) and each.key == key)
        where = next((paths.nodes[each.address] for each in named), "definition.root")
        problem = f"is `{key}`, the key of another decision or hyperparameter that can be active at the same time"
        raise DefinitionError(f"{where}.key", problem, "choose another key")
    return _merge_into_larger(before, more)


def _merge_into_larger(one: set[str], other: set[str]) -> set[str]:
    """Return the union of two sets, modifying the larger one, so that deep trees do not copy names repeatedly."""
    small, large = sorted((one, other), key=len)
    large |= small
    return large


def _check_reference(node: Expr, path: str, space: Space) -> None:
    match node:
        case Reference(address) | Active(address):
            _find_node(address, Hyperparameter, path, space)
        case Is(address, branches):
            choice = _find_node(address, Choice, path, space)
            assert isinstance(choice, Choice)
            wrong = next((branch for branch in branches if branch not in choice.branch_indices), None)
            if wrong is not None:
                remedy = suggestion(wrong, choice.branch_indices) or f"use one of the alternatives of `{address}`"
                raise DefinitionError(path, f"refers to `{wrong}`, which is not an alternative of `{address}`", remedy)
        case _:
            return


def _find_node(address: str, kind: type[Choice | Hyperparameter], path: str, space: Space) -> Choice | Hyperparameter:
    variable = space.variables.get(address)
    if variable is not None and isinstance(variable.node, kind):
        return variable.node
    what = "decision" if kind is Choice else "hyperparameter"
    known = [each.address for each in space.variables.values() if isinstance(each.node, kind)]
    problem = f"refers to the unknown {what} `{address}`"
    raise DefinitionError(path, problem, suggestion(address, known) or f"use the address of an existing {what}")


def _check_conditions(space: Space, paths: DocumentPaths) -> None:
    after = {address: set(scope(each)) & space.conditions.keys() for address, each in space.conditions.items()}
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        names = " on ".join(f"`{address}`" for address in circle)
        problem = f"creates a cycle of conditions: {names}"
        raise DefinitionError(f"{paths.nodes[circle[0]]}.condition", problem) from None
