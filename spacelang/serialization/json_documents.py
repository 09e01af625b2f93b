"""JSON documents: checks of untrusted fields (errors state the path), source lines of parts, and whole spaces."""

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from spacelang.grouping import find_cycles
from spacelang.ir.expr import ActivityTest, BranchTest, Expr, Reference, mentioned_addresses, nodes
from spacelang.ir.space import Choice, Hyperparameter, Node, Operator, Product, Space, children_of, subtree
from spacelang.ir.tuple_parameters import length_name
from spacelang.ir.value import DuplicateKeyError, Value, is_number, object_without_duplicates
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import NO_SPAN, Source, Span, first_forbidden_character, parameter_name_problem

T = TypeVar("T")
NUMBER_LIMIT: Final = 2**1024  # The absolute value of a number must be below this limit, as for a float
WORD_PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USE_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[[1-9][0-9]*\]")
"""The name of a use of a chain, such as `step[1]`."""
MAX_LISTED: Final = 12  # The maximal number of keys that a remedy lists


class DefinitionError(ValueError):
    """Exception for an invalid document: `path` of the mistake, its problem, a remedy, and `others`, further errors."""

    def __init__(self, path: str, problem: str, remedy: str = "") -> None:
        super().__init__(f"`{path}` {problem}")
        self.path, self.problem, self.remedy = path, problem, remedy
        self.others: tuple[DefinitionError, ...] = ()


def combine_errors(wrong: Sequence[DefinitionError]) -> DefinitionError:
    """Return the first of several errors, with the others attached to it."""
    first, *rest = wrong
    first.others += tuple(each for error in rest for each in (error, *error.others))
    return first


def expect_type(value: object, path: str, kind: type[T], what: str) -> T:
    """Return the value if its type is `kind`, else raise DefinitionError; `what` describes the expected value."""
    if not isinstance(value, kind):
        raise DefinitionError(path, f"is {describe_json_value(value)}, expected {what}")
    return value


def expect_object(value: object, path: str) -> dict[str, object]:
    """Return a value that must be a JSON object; raise DefinitionError for any other."""
    return expect_type(value, path, dict, "an object")


def check_keys(given: Collection[str], path: str, known: Collection[str]) -> Iterator[DefinitionError]:
    """Yield an error for every unknown key of an object, with a suggestion or the list of known keys."""
    for key in given:
        if key not in known:
            listed = ", ".join(f"`{name}`" for name in [*known][:MAX_LISTED])
            remedy = format_suggestion(key, known) or f"known keys: {listed}"
            yield DefinitionError(path, f"has an unknown key `{key}`", remedy)


def find_kind_key(value: object, path: str, kinds: Collection[str], what: str) -> str:
    """Return the key that states the kind of an object; raise DefinitionError unless it has exactly one of `kinds`."""
    given = expect_type(value, path, dict, what)
    found = [kind for kind in kinds if kind in given]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"`{kind}`" for kind in kinds)
    if found:
        raise DefinitionError(path, f"has both `{found[0]}` and `{found[1]}`", "give only one of them")
    meant = next(filter(None, (format_suggestion(key, kinds) for key in given)), "")
    raise DefinitionError(path, f"is not {what}", meant or f"give one of the keys {listed}")


def first_duplicate_index(names: Sequence[object]) -> int | None:
    """Return the index of the first item that repeats an earlier one; None if all items are distinct."""
    if len({*names}) == len(names):
        return None
    return next(place for place, name in enumerate(names) if name in names[:place])


def expect_string(value: object, path: str) -> str:
    """Return a value that must be a string; raise DefinitionError for any other."""
    return expect_type(value, path, str, "a string")


def expect_name(value: object, path: str) -> str:
    """Return a value that must be a nonempty string of visible characters; raise DefinitionError for any other."""
    found = expect_string(value, path)
    if not found:
        raise DefinitionError(path, "is empty, expected a name")
    if (character := first_forbidden_character(found)) is not None:
        raise DefinitionError(path, f"contains the character {character}, which is not allowed in names")
    return found


def expect_plain_word(value: object, path: str) -> str:
    """Return a value that must be a plain word: a name of a decision, hyperparameter or operator."""
    found = expect_name(value, path)
    if not WORD_PATTERN.fullmatch(found):
        raise DefinitionError(path, f"is `{found}`, expected a word", "use letters from A to Z, digits and `_`")
    return found


def expect_decision_name(value: object, path: str) -> str:
    """Return a value that must be the name of a decision: a plain word, or the use of a chain such as `step[2]`."""
    if isinstance(value, str) and (use := _USE_NAME.fullmatch(value)) is not None:
        expect_plain_word(use[1], path)
        return value
    return expect_plain_word(value, path)


def expect_parameter_name(value: object, path: str) -> str:
    """Return a value that must be a name of a parameter, as the language allows it in backticks."""
    found = expect_string(value, path)
    if (reason := parameter_name_problem(found)) is not None:
        raise DefinitionError(path, f"is `{found}`, which {reason}" if found else f"{reason}, expected a name")
    return found


def expect_hyperparameter_name(value: object, path: str) -> str:
    """Return a value that must be a name of a parameter, or that of the length of a tuple parameter."""
    found = expect_string(value, path)
    expect_parameter_name(found.removesuffix(length_name("")) or found, path)
    return found


def expect_boolean(value: object, path: str) -> bool:
    """Return a value that must be `true` or `false`; raise DefinitionError for any other."""
    return expect_type(value, path, bool, "`true` or `false`")


def expect_number(value: object, path: str) -> int | float:
    """Return a value that must be a finite number and no boolean; raise DefinitionError for any other."""
    if not is_number(value):
        raise DefinitionError(path, f"is {describe_json_value(value)}, expected a number")
    if not math.isfinite(value) if isinstance(value, float) else abs(value) >= NUMBER_LIMIT:
        raise DefinitionError(path, "is not a finite number")
    return value


def expect_float(value: object, path: str) -> float:
    """Return a value that must be a finite number, as a float; raise DefinitionError for any other value."""
    found = expect_number(value, path)
    try:
        return float(found)
    except OverflowError:
        raise DefinitionError(path, "is too large for a float") from None


def expect_positive_number(value: object, path: str) -> int | float:
    """Return a value that must be a finite number above 0; raise DefinitionError for any other."""
    found = expect_number(value, path)
    if found <= 0:
        raise DefinitionError(path, f"is {found!r}, expected a number above 0")
    return found


def expect_positive_float(value: object, path: str) -> float:
    """Return a value that must be a finite number above 0, as a float; raise DefinitionError for any other."""
    return expect_float(expect_positive_number(value, path), path)


def expect_integer(value: object, path: str, least: int | None = None) -> int:
    """Return a number without a fraction, at least `least`, as an integer; else raise DefinitionError.

    3.0 is accepted, because JSON does not distinguish it from 3.
    """
    found = expect_number(value, path)
    if found != int(found):
        raise DefinitionError(path, f"is {found!r}, expected a whole number")
    if least is not None and found < least:
        raise DefinitionError(path, f"is {int(found)}, expected a whole number of at least {least}")
    return int(found)


def expect_value(value: object, path: str) -> Value:
    """Return the value of a hyperparameter: a scalar, or a tuple for a JSON array."""
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return expect_number(value, path)
        case list():
            return tuple([expect_value(item, f"{path}[{place}]") for place, item in enumerate(value)])
        case _:
            raise DefinitionError(path, f"is {describe_json_value(value)}, expected a value")


def expect_one_of(value: object, path: str, known: Sequence[str]) -> str:
    """Return a value that must be one of the strings `known`; raise DefinitionError for any other."""
    found = expect_string(value, path)
    if found in known:
        return found
    listed = ", ".join(f"`{each}`" for each in known)
    raise DefinitionError(path, f"is `{found}`", format_suggestion(found, known) or f"expected one of {listed}")


def describe_json_value(value: object) -> str:
    """Return a description of a JSON value for messages, such as "a number"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    names = {type(None): "null", int: "a number", float: "a number", str: "a string"}
    return names.get(type(value), "an object")


REQUIRED_KEYS: Final = ("target", "definition")  # The keys that identify the document of a compiled space


def parse_compiled_document(text: str, name: str) -> dict[str, Any] | None:
    """Return the parsed JSON document of a compiled space; None for any other text.

    Raises DefinitionError if damaged.
    """
    if not text.lstrip().startswith("{") or not all(f'"{mark}"' in text for mark in REQUIRED_KEYS):
        return None
    try:
        document = json.loads(text, object_pairs_hook=object_without_duplicates, parse_constant=_reject_constant)
    except DuplicateKeyError as error:
        raise DefinitionError(name, f"gives the key `{error.key}` twice in one object") from None
    except RecursionError:
        raise DefinitionError(name, "is nested too deeply") from None
    except ValueError as error:
        message = str(error)
        raise DefinitionError(name, f"is not JSON: {message[:1].lower()}{message[1:]}") from None
    return document if isinstance(document, dict) and all(mark in document for mark in REQUIRED_KEYS) else None


def is_compiled_space(text: str) -> bool:
    """Return True if a text is the document of a compiled space, valid or broken."""
    try:
        return parse_compiled_document(text, "") is not None
    except DefinitionError:
        return True


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not a JSON number")


def decision_keys_in_definition(definition: str) -> tuple[str, ...]:
    """Return the configuration keys of all decisions, in order, in a JSON text of a definition; empty if not JSON."""
    try:
        document = json.loads(definition)
    except (ValueError, RecursionError):
        return ()
    keys: dict[str, None] = {}
    waiting: list[Any] = [document.get("root")] if isinstance(document, dict) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            # A decision that is mentioned in a condition has no `address` key.
            if "decision" in each and "address" in each:
                keys[str(each.get("key", each["address"]))] = None
            waiting += reversed(each.values())
        elif isinstance(each, list):
            waiting += reversed(each)
    return tuple(keys)


JsonObject: TypeAlias = dict[str, object]
FileLine: TypeAlias = tuple[str, int]  # The name of a file and a line in it; line 0 if the source line is unknown
MAX_LINES: Final = 2**20
"""The maximal number of lines of all files together; the source file of a space has fewer characters."""


@dataclass(slots=True)
class DocumentPaths:
    """The paths in a document of decisions and hyperparameters (by address) and of expressions."""

    nodes: dict[str, str] = field(default_factory=dict)
    expressions: list[tuple[str, Expr]] = field(default_factory=list)
    order_count: int = 0  # The number of orders of all permutations together

    def record_path(self, address: str, path: str) -> None:
        """Record the path of an address; raise DefinitionError if the address is already in use."""
        if address in self.nodes:
            raise DefinitionError(
                f"{path}.address", f"is `{address}`, which is already the address of `{self.nodes[address]}`"
            )
        self.nodes[address] = path


@dataclass(frozen=True, slots=True)
class WritingContext:
    """The context for writing a part: its enclosing source line, and the texts of the source lines recorded so far."""

    position: FileLine = ("", 0)
    lines: dict[str, dict[int, str]] = field(default_factory=dict)

    def location_keys_and_part_context(self, span: Span) -> tuple[JsonObject, "WritingContext"]:
        """Return the JSON keys `file` and `line` of a part, unless equal to this context's, and the part's context."""
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
            here[number] = span.source.line_text(number)


@dataclass(frozen=True, slots=True)
class ReadingContext:
    """The context for reading: enclosing source line, lines with known text, and the paths of the parts read so far."""

    position: FileLine = ("", 0)
    sources: Mapping[str, Source] = field(default_factory=dict)
    known_lines: frozenset[FileLine] = frozenset()
    paths: DocumentPaths = field(default_factory=DocumentPaths)

    def part_context(self, given: JsonObject, path: str) -> "ReadingContext":
        """Return the context for the parts of an object; raise DefinitionError for a line whose text is unknown."""
        if "file" not in given and "line" not in given:
            return self
        file, number = self.position
        file = expect_string(given["file"], f"{path}.file") if "file" in given else file
        if "line" in given:
            number = expect_line_number(given["line"], f"{path}.line")
            if (file, number) not in self.known_lines:
                problem = f"is a line of `{file}` whose text is missing in `lines`"
                remedy = "add the text of the line to `lines`, or leave out `line`"
                raise DefinitionError(f"{path}.line", problem, remedy)
        return ReadingContext((file, number), self.sources, self.known_lines, self.paths)

    def span_in_current_line(self, text: str = "") -> Span:
        """Return the span of `text` in the current line, or of the whole line; NO_SPAN if the line is unknown."""
        if self.position not in self.known_lines:
            return NO_SPAN
        source = self.sources[self.position[0]]
        start = source.line_starts[self.position[1] - 1]
        found, whole = source.text.find(text, start), source.line_text(self.position[1])
        if not text or not start <= found < start + len(whole):
            found, text = start + len(whole) - len(whole.lstrip()), whole.strip()
        return Span(source, found, found + len(text))


def read_source_lines(value: object, path: str) -> tuple[dict[str, Source], frozenset[FileLine]]:
    """Return the sources by file (unknown lines are empty) and the known lines; raise DefinitionError if invalid."""
    files: dict[str, dict[int, str]] = {}
    for file, written in expect_object(value, path).items():
        here = files[file] = {}
        for number, line in expect_object(written, f"{path}.{file}").items():
            at = f"{path}.{file}.{number}"
            is_number = number.isascii() and number.isdigit() and len(number) < len(str(MAX_LINES * 10))
            text = expect_string(line, at)
            if "\n" in text:
                raise DefinitionError(at, "is more than one line")
            here[expect_line_number(int(number) if is_number else number, at)] = text
    if sum(max(here, default=0) for here in files.values()) > MAX_LINES:
        raise DefinitionError(path, f"has more than {MAX_LINES:,} lines")
    sources = {
        file: Source(file, "\n".join(here.get(line, "") for line in range(1, max(here, default=0) + 1)))
        for file, here in files.items()
    }
    return sources, frozenset((file, line) for file, here in files.items() for line in here)


def expect_line_number(value: object, path: str) -> int:
    """Return a value that must be a line number from 1 to `MAX_LINES`; raise DefinitionError for any other."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_LINES:
        return value
    raise DefinitionError(path, f"is not a line number, expected a whole number from 1 to {MAX_LINES}")


def validate_space(space: Space, paths: DocumentPaths) -> None:
    """Raise DefinitionError, with the path of the first error, if the parts of a space do not fit together.

    Parts that can be active together must have different keys, expressions must refer to existing decisions,
    alternatives and hyperparameters, and conditions must not depend on each other in a cycle.
    """
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
    """Return the union of two sets of keys.

    Raise DefinitionError, with its path below `node`, for a key in both sets.
    """
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
        case Reference(address) | ActivityTest(address):
            _find_node(address, Hyperparameter, path, space)
        case BranchTest(address, branches):
            choice = _find_node(address, Choice, path, space)
            assert isinstance(choice, Choice)
            wrong = next((branch for branch in branches if branch not in choice.branch_indices), None)
            if wrong is not None:
                remedy = (
                    format_suggestion(wrong, choice.branch_indices) or f"use one of the alternatives of `{address}`"
                )
                raise DefinitionError(path, f"refers to `{wrong}`, which is not an alternative of `{address}`", remedy)
        case _:
            return


def _find_node(address: str, kind: type[Choice | Hyperparameter], path: str, space: Space) -> Choice | Hyperparameter:
    variable = space.variables.get(address)
    if variable is not None and isinstance(variable.node, kind):
        return variable.node
    noun = "decision" if kind is Choice else "hyperparameter"
    known = [each.address for each in space.variables.values() if isinstance(each.node, kind)]
    problem = f"refers to the unknown {noun} `{address}`"
    raise DefinitionError(path, problem, format_suggestion(address, known) or f"use the address of an existing {noun}")


def _check_conditions(space: Space, paths: DocumentPaths) -> None:
    for cycle in find_cycles({address: mentioned_addresses(each) for address, each in space.conditions.items()}):
        around = ", which depends on ".join(f"`{address}`" for address in (*cycle, cycle[0]))
        raise DefinitionError(f"{paths.nodes[cycle[0]]}.condition", f"creates a cycle of conditions: {around}")
