"""Completions at the cursor, from the grammar, the catalogues and the names of the space."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain
from typing import Final

from lsprotocol import types

from spacelang.analysis import TextNameIndex
from spacelang.analysis.imported_modules import Module
from spacelang.analysis.literal_values import MARKED_CONSTRUCTS
from spacelang.analysis.tasks import KINDS, LIMITED_OBJECTS, MEASURES
from spacelang.catalog.catalogue import CatalogueEntry, Parameter
from spacelang.catalog.snapshot import BUNDLED
from spacelang.catalog.value_rules import Interval
from spacelang.ir import task as ir_task
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import literal, parts, spell_parameter_name
from spacelang.ir.space import Choice, Variable
from spacelang.ir.validation import KINDS as VALIDATIONS
from spacelang.language_server.cursor import CursorContext, OpenBrace, find_cursor_context
from spacelang.language_server.documents import Document, PositionEncoding
from spacelang.language_server.hovers import describe_parameter
from spacelang.syntax import ast
from spacelang.syntax.parser_tables import load
from spacelang.syntax.sources import bundled_names, importable_paths

_IMPORTED_PATH: Final = re.compile(r'\bimport\s*"([^"\n]*)\Z')
_STARTED_ANNOTATION: Final = re.compile(r"@\w*\Z")
_WORDS_AFTER: Final = {
    "USE": ("package", tuple(sorted(BUNDLED))),
    "TASK": ("kind of task", KINDS),
    "VALIDATE": ("way to validate", tuple(VALIDATIONS)),
    "LIMIT": ("what is limited", LIMITED_OBJECTS),
}
"""The words after a keyword, with their description."""


def complete(document: Document, position: types.Position, encoding: PositionEncoding) -> list[types.CompletionItem]:
    """Return the words that are valid at a position; the editor filters them by the word that is being typed."""
    source = document.source
    offset = encoding.to_offset(source, position)
    line = source.text[source.text.rfind("\n", 0, offset) + 1 : offset]
    imported = _IMPORTED_PATH.search(line)
    if imported:
        paths = () if source.origin is None else importable_paths(f"{imported[1]}_", source.origin)
        described = [*((path, "space of this folder") for path in sorted(paths))]
        described += ((name, "bundled space") for name in bundled_names())
        return [_item(name, types.CompletionItemKind.File, kind) for name, kind in described]
    if "#" in re.sub(r'"[^"]*"', "", line) or line.count('"') % 2:
        return []
    annotation = _STARTED_ANNOTATION.search(line)
    if annotation is not None:
        cursor = find_cursor_context(source, offset - len(annotation[0]))
        return [*_annotations()] if "AT" in cursor.expected else []
    cursor = find_cursor_context(source, offset)
    names = document.last_checked_version.names
    found = chain(_Completer(cursor, names).items() if names is not None else (), _keywords(cursor))
    unique: dict[str, types.CompletionItem] = {}
    for item in found:
        unique.setdefault(item.label, item)
    return [*unique.values()]


def _item(label: str, kind: types.CompletionItemKind, detail: str = "", *, order: int = 5) -> types.CompletionItem:
    return types.CompletionItem(label, kind=kind, detail=detail or None, sort_text=f"{order}{label}")


def _keywords(cursor: CursorContext) -> Iterator[types.CompletionItem]:
    for word, terminal in _keyword_terminals().items():
        if terminal in cursor.expected and cursor.previous_terminal != "DOT":
            yield _item("subject to" if word == "subject" else word, types.CompletionItemKind.Keyword, order=7)


@cache
def _keyword_terminals() -> dict[str, str]:
    return dict(load().keywords)


def _annotations() -> Iterator[types.CompletionItem]:
    for name, marked in MARKED_CONSTRUCTS.items():
        yield _item(f"@{name}", types.CompletionItemKind.Keyword, f"marks {marked}")


class _Completer:
    """A generator of completions at one cursor position, from the names of the space and the catalogues."""

    def __init__(self, cursor: CursorContext, names: TextNameIndex) -> None:
        self._cursor = cursor
        self._expected = cursor.expected
        self._catalogues = names.catalogues
        self._module = names.module
        self._variables = names.variables

    def items(self) -> Iterator[types.CompletionItem]:
        """Yield all completions that are names or values; `complete` adds the keywords."""
        cursor = self._cursor
        match cursor.previous_terminal:
            case "USE" | "TASK" | "VALIDATE" | "LIMIT" as keyword:
                detail, words = _WORDS_AFTER[keyword]
                yield from (_item(word, types.CompletionItemKind.Keyword, detail) for word in words)
            case "INCLUDE":
                yield from self._groups(self._module, "")
            case "IS":
                yield from self._alternatives(cursor.compared_path)
            case "MINIMIZE" | "MAXIMIZE" | "SUBJECT":
                yield from self._scores()
            case "SIMPLEX":
                yield from self._parameters()
            case "LPAR" if cursor.terminal_before_bracket == "REPEAT":
                yield from self._stages()
            case "DOT":
                yield from self._path()
            case _:
                yield from self._by_grammar()

    def _by_grammar(self) -> Iterator[types.CompletionItem]:
        """Yield completions for the accepted terminals, which show whether a member, step, domain, … is expected."""
        expected, cursor = self._expected, self._cursor
        if "INCLUDE" in expected:
            yield from self._parameters()
        if "COLUMNS" in expected:
            yield from self._legal_operators()
            yield from self._steps()
        if "FLOAT" in expected:
            yield from self._domains()
        if "TRUE" in expected and cursor.compared_path:
            yield from self._values_of(cursor.compared_path)
        elif "TRUE" in expected and cursor.member_name and not {"NOT", "COMPARE"} & expected:
            yield from self._values()
        if "NOT" in expected or ("QUANTITY" in expected and not cursor.member_name):
            yield from self._expression_names()
        elif "QUANTITY" in expected or cursor.previous_terminal in ("LSQB", "LPAR"):
            if cursor.terminal_before_bracket in ("FLOAT", "INT"):
                yield from self._siblings()
            yield from self._sizes()

    # ---- steps, members, domains and values

    def _stages(self) -> Iterator[types.CompletionItem]:
        for stage in self._module.stages:
            yield _item(stage, types.CompletionItemKind.Class, "stage", order=1)

    def _steps(self) -> Iterator[types.CompletionItem]:
        yield from self._stages()
        for operator in self._module.abstracts:
            yield _item(operator, types.CompletionItemKind.Class, "abstract operator", order=1)
        for name in self._module.imports:
            yield _item(name, types.CompletionItemKind.Module, "import", order=2)
        yield from self._operators(lambda _: True)

    def _legal_operators(self) -> Iterator[types.CompletionItem]:
        """Yield the operators that can be the value, or a member of the list, of the parameter around the cursor."""
        owner, parameter = self._catalogues.get(self._cursor.body_owner), self._parameter
        if owner is not None and parameter is not None and (parameter.takes_operators or parameter.takes_operator_list):
            yield from self._operators(lambda entry: owner.check_operator(parameter, entry) is None, order=3)

    def _operators(self, fits: Callable[[CatalogueEntry], bool], order: int = 4) -> Iterator[types.CompletionItem]:
        for name in self._catalogues:
            entry = self._catalogues.get(name)
            if entry is not None and entry.deprecated is None and fits(entry):
                yield _item(name, types.CompletionItemKind.Class, ", ".join(sorted(entry.roles)), order=order)

    def _groups(self, module: Module, before: str) -> Iterator[types.CompletionItem]:
        for name in module.groups:
            yield _item(f"{before}{name}", types.CompletionItemKind.Struct, "group of parameters")
        for called, other in module.imports.items() if not before else ():
            yield from self._groups(other, f"{called}.")

    def _parameters(self) -> Iterator[types.CompletionItem]:
        owner = self._cursor.body_owner
        given = self._body.members if self._body is not None else ()
        entry = self._catalogues.get(owner)
        for parameter in entry.parameters.values() if entry is not None else ():
            if parameter.name not in given and parameter.refused is None:
                detail = describe_parameter(parameter, owner)
                order = 8 if parameter.deprecated is not None else 3
                yield _item(parameter.name, types.CompletionItemKind.Property, detail, order=order)
        home, rest = self._home_of(owner)
        if rest in home.abstracts:
            for name in _member_names(home.abstracts[rest].body, home):
                if name not in given:
                    text = spell_parameter_name(name)
                    yield _item(text, types.CompletionItemKind.Property, f"parameter of `{owner}`", order=3)

    def _home_of(self, name: str) -> tuple[Module, str]:
        span = self._module.file.span
        words = tuple(ast.Word(word, span) for word in name.split("."))
        return self._module.resolve_module_prefix(ast.DottedName(words, span))

    @property
    def _parameter(self) -> Parameter | None:
        entry = self._catalogues.get(self._cursor.body_owner)
        return None if entry is None else entry.parameters.get(self._cursor.member_name)

    def _domains(self) -> Iterator[types.CompletionItem]:
        parameter = self._parameter
        if parameter is None:
            return
        for text in _typical_domains(parameter):
            yield _item(text, types.CompletionItemKind.Value, parameter.accepted_values_description, order=0)
        yield from self._legal_operators()

    def _values(self) -> Iterator[types.CompletionItem]:
        parameter = self._parameter
        known = () if parameter is None else parameter.accepted_values
        default = None if parameter is None else parameter.default_text
        if default is not None:
            yield _item(default, types.CompletionItemKind.Value, "default", order=0)
        for value in known:
            yield _item(literal(value), types.CompletionItemKind.Value, "legal value", order=1)
        yield from self._legal_operators()
        yield from self._values_of((self._cursor.body_owner, self._cursor.member_name))

    def _values_of(self, path: Sequence[str]) -> Iterator[types.CompletionItem]:
        """Yield the values of the hyperparameter, or the alternatives of the decision, that a path names."""
        yield from self._alternatives(path)
        for variable in self._find(path):
            if not isinstance(variable.node, Choice):
                values = (value for part in parts(variable.node.domain) for value in getattr(part, "values", ()))
                for value in values:
                    yield _item(literal(value), types.CompletionItemKind.EnumMember, f"value of `{path[-1]}`", order=0)

    def _alternatives(self, path: Sequence[str]) -> Iterator[types.CompletionItem]:
        for variable in self._find(path):
            for branch in variable.node.branches if isinstance(variable.node, Choice) else ():
                text = _spell_alternative(branch.name)
                yield _item(text, types.CompletionItemKind.EnumMember, f"alternative of `{path[-1]}`", order=0)

    # ---- names in expressions

    def _find(self, path: Sequence[str]) -> list[Variable]:
        """Return the variables that a path may name; for a single word in a body, variables of this body come first."""
        own = ".".join((self._cursor.body_owner.rpartition(".")[2], *path)) if self._cursor.body_owner else ""
        for wanted in (own, ".".join(path)):
            found = [v for a, v in self._variables.items() if wanted and (a == wanted or a.endswith(f".{wanted}"))]
            if found:
                return found
        return []

    @property
    def _body(self) -> OpenBrace | None:
        return next((brace for brace in reversed(self._cursor.braces) if not brace.is_set), None)

    def _siblings(self) -> Iterator[types.CompletionItem]:
        """Yield the names in the body around the cursor, except that of the member that contains the cursor."""
        given = self._body.members if self._body is not None else ()
        owner = self._cursor.body_owner.rpartition(".")[2]
        known = [address.split(".") for address in self._variables]
        own = [words[-1] for words in known if owner and words[-2:-1] == [owner]]
        for name in (*given, *own):
            if name != self._cursor.enclosing_member_name:
                yield _item(_spell_name(name), types.CompletionItemKind.Property, "in this body", order=0)

    def _expression_names(self) -> Iterator[types.CompletionItem]:
        yield from self._siblings()
        for variable, words in zip(self._variables.values(), self._words_of_addresses, strict=True):
            detail = "decision" if isinstance(variable.node, Choice) else "hyperparameter"
            if len(words) == 1:
                yield _item(words[0], types.CompletionItemKind.Variable, detail, order=1)
            elif self._body is None:
                yield _item(_spell_path(words), types.CompletionItemKind.Property, detail, order=2)
        for value in self._module.values:
            yield _item(value, types.CompletionItemKind.Variable, "value", order=1)
        yield from self._sizes()

    def _sizes(self) -> Iterator[types.CompletionItem]:
        for name in DATA_SIZE_NAMES:
            yield _item(name, types.CompletionItemKind.Constant, "size of the data", order=6)

    def _path(self) -> Iterator[types.CompletionItem]:
        """Yield the words that can follow a dot: names of an import, operators of a package, parts of an address."""
        path = self._cursor.path_before_word
        home = self._module
        for word in path:
            if word not in home.imports:
                break
            home = home.imports[word]
        else:
            is_group = self._cursor.terminal_before_path == "INCLUDE"
            declared = home.groups if is_group else (*home.stages, *home.abstracts)
            for name in (*declared, *home.imports):
                yield _item(name, types.CompletionItemKind.Class, f"in `{path[-1]}`")
        for operator in self._catalogues.used.get(path[0], ()) if len(path) == 1 else ():
            yield _item(operator, types.CompletionItemKind.Class, f"operator of `{path[0]}`")
        joined = ".".join(path)
        for words in self._words_of_addresses:
            for rest in self._words_after(path, words):
                yield _item(_spell_alternative(rest[0]), types.CompletionItemKind.Property, f"in `{joined}`", order=0)
        for item in self._alternatives(path):
            if not item.label.startswith('"'):
                yield item

    def _words_after(self, path: tuple[str, ...], words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        """Yield the words of an address that follow the words of `path` in it.

        The path must be the beginning of the address. If the cursor is in a body, it may be anywhere in the address.
        """
        for start in range(len(words) - len(path)):
            if words[start : start + len(path)] == path and (start == 0 or self._body is not None):
                yield words[start + len(path) :]

    @cached_property
    def _words_of_addresses(self) -> Sequence[tuple[str, ...]]:
        """The words of each address as an expression names it, without needless names of alternatives.

        Needless are names that are no plain words, and words that repeat the one before: `estimators.SVC.C`, not
        `estimators."SVC? & PCA?".SVC.SVC.C`.
        """
        found: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for address in self._variables:
            words = tuple(address.split("."))
            needed = [w for w, before in zip(words[:-1], ("", *words), strict=False) if w != before and _is_bare(w)]
            found.append((words, (*needed, words[-1])))
        numbers = Counter(short for _, short in found)
        return [short if numbers[short] == 1 else words for words, short in found]

    def _scores(self) -> Iterator[types.CompletionItem]:
        for name in self._catalogues.scorers:
            shown = name.removeprefix(ir_task.NEGATED_PREFIX)
            yield _item(shown, types.CompletionItemKind.Constant, "metric")
        yield from (_item(name, types.CompletionItemKind.Constant, "measure of a fitted pipeline") for name in MEASURES)


def _member_names(body: ast.Body | None, home: Module) -> Iterator[str]:
    """Yield the names of the members of a body, groups included."""
    for member in body.members if body is not None else ():
        if isinstance(member, ast.ParameterGroupInclusion):
            other, rest = home.resolve_module_prefix(member.name)
            group = other.groups.get(rest)
            yield from _member_names(group.body, other) if group is not None and group.body is not body else ()
        elif isinstance(member, ast.Simplex):
            yield from (name.text for name in member.names)
        elif isinstance(member, ast.NamedMember):
            yield member.name.text


def _typical_domains(parameter: Parameter) -> Iterator[str]:
    """Yield texts of plausible domains for a parameter: its listed values, `bool`, and ranges with finite ends."""
    values = parameter.accepted_values
    default = parameter.default_text
    behind = "" if default is None else f" = {default}"
    if {value for value in values if isinstance(value, bool)} == {True, False}:
        yield "bool" + (behind if isinstance(parameter.default, bool) else "")
    words = [literal(value) for value in values if isinstance(value, str)]
    if len(words) > 1:
        yield f"{{{', '.join(words)}}}" + (behind if default in words else "")
    for rule in parameter.accepts or ():
        if isinstance(rule, Interval) and abs(rule.lower) < _HUGE and abs(rule.upper) < _HUGE:
            kind, ends = "int" if rule.is_integer else "float", (rule.lower, rule.upper)
            first, last = (literal(int(end) if float(end).is_integer() else end) for end in ends)
            opening, closing = "(" if rule.lower_open else "[", ")" if rule.upper_open else "]"
            yield f"{kind}{opening}{first}, {last}{closing}"


_HUGE: Final = 1e15


def _is_bare(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*(?:\[\d+\])?", name) is not None


def _spell_alternative(name: str) -> str:
    return name if _is_bare(name) else f'"{name}"'


def _spell_name(name: str) -> str:
    """Return the name of a parameter, or of an element such as `sizes[1]`, as an expression refers to it."""
    word, bracket, index = name.partition("[")
    return f"{spell_parameter_name(word)}{bracket}{index}"


def _spell_path(words: Sequence[str]) -> str:
    return ".".join([*map(_spell_alternative, words[:-1]), _spell_name(words[-1])])
