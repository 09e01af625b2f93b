"""An index of the names in a text: every place that declares or mentions a symbol."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from spacelang.analysis import NameMention, TextNameIndex
from spacelang.analysis.declarations import all_modules
from spacelang.analysis.imported_modules import Module
from spacelang.frozen import frozen
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.repeated_stages import name_of_nth_use
from spacelang.ir.space import Choice, Variable
from spacelang.syntax import ast
from spacelang.text import Source, Span


class SymbolKind(StrEnum):
    """A kind of symbol. Those up to `ALTERNATIVE` are declared in spaces, the others in libraries or the language."""

    STAGE = "stage"
    GROUP = "group of parameters"
    ABSTRACT = "abstract operator"
    IMPORT = "import"
    VALUE = "value"
    PARAMETER = "parameter"
    ALTERNATIVE = "alternative"
    OPERATOR = "operator"
    CATALOGUE = "package"
    DATA_SIZE = "size of the data"
    FUNCTION = "function"


@frozen
class Symbol:
    """A symbol: its kind and name, its declaration, and for a parameter the operator that takes it."""

    kind: SymbolKind
    name: str
    definition: Span | None = None
    operator: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """The identity of the symbol, which is the same in texts of different files."""
        if self.definition is None:
            return (self.kind, self.name, self.operator)
        return (*file_and_offset(self.definition), self.kind in (SymbolKind.ALTERNATIVE,))


@frozen
class Occurrence:
    """A place where a symbol is mentioned or declared."""

    span: Span
    symbol: Symbol

    @property
    def is_definition(self) -> bool:
        """True if the place is the declaration of the symbol."""
        return self.span == self.symbol.definition


def syntax_nodes(tree: object) -> Iterator[object]:
    """Yield all nodes of a syntax tree, or of a tuple of trees, except words and spans."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            waiting.extend(node)
        elif not isinstance(node, Span | ast.Word) and hasattr(node, "__slots__"):
            yield node
            waiting.extend(getattr(node, name) for name in node.__slots__)


def file_and_offset(span: Span) -> tuple[str, int]:
    """Return the file of a span (the real path, if it has one) and the offset at which the span starts."""
    origin = span.source.origin
    return span.source.name if origin is None else str(origin.path), span.start


class NameIndex:
    """All occurrences of names in a text and in the files that it imports."""

    def __init__(self, occurrences: Sequence[Occurrence]) -> None:
        """Index the occurrences; repeated ones are stored once."""
        self.occurrences = tuple(dict.fromkeys(occurrences))
        self._by_key: dict[tuple[object, ...], list[Occurrence]] = {}
        for each in self.occurrences:
            self._by_key.setdefault(each.symbol.key, []).append(each)

    def occurrences_at(self, source: Source, offset: int) -> list[Occurrence]:
        """Return the occurrences of all symbols at an offset of a file, the shortest first."""
        found = [
            each
            for each in self.occurrences
            if each.span.source is source and each.span.start <= offset <= each.span.end
        ]
        return sorted(found, key=lambda each: each.span.end - each.span.start)

    def occurrences_of(self, symbol: Symbol) -> list[Occurrence]:
        """Return all occurrences of a symbol."""
        return self._by_key.get(symbol.key, [])

    def occurrences_in_file(self, source: Source) -> list[Occurrence]:
        """Return the occurrences in one file in the order of the text."""
        return sorted((each for each in self.occurrences if each.span.source is source), key=lambda each: each.span)


def build_name_index(names: TextNameIndex) -> NameIndex:
    """Return the index of the names of a text."""
    return NameIndex([*_NameCollector(names).collect()])


class _NameCollector:
    """A collector of the names in syntax trees, and of those that the check has resolved."""

    def __init__(self, names: TextNameIndex) -> None:
        self._names = names
        self._modules = all_modules(names.module)
        self._found: list[Occurrence] = []
        self._aliases: dict[str, Symbol] = {}  # Names after `as` of further uses of stages, and of chains
        self._mentioned = {mention.written.span for mention in names.mentions}

    def collect(self) -> Iterator[Occurrence]:
        """Yield all occurrences."""
        for module in self._modules:
            for item in module.file.items:
                self._visit(item, module, "")
        self._alternatives()
        for mention in self._names.mentions:
            self._mention(mention)
        yield from self._found

    def _add(self, span: Span, symbol: Symbol) -> None:
        self._found.append(Occurrence(span, symbol))

    def _declare(self, kind: SymbolKind, word: ast.Word, operator: str = "") -> None:
        self._add(word.span, Symbol(kind, word.text, word.span, operator))

    def _declare_alias(self, alias: ast.Word) -> None:
        """Collect the name of a further use of a stage, or of a chain."""
        self._aliases[alias.text] = Symbol(SymbolKind.STAGE, alias.text, alias.span)
        self._declare(SymbolKind.STAGE, alias)

    # ---- syntax trees

    def _visit(self, node: object, module: Module, operator: str) -> None:
        """Collect the names in a node; `operator` is the one in whose body the node stands."""
        match node:
            case ast.Word() | Span():
                return
            case tuple():
                for part in node:
                    self._visit(part, module, operator)
                return
            case ast.OperatorReference():
                self._step(node, module)
                self._visit((node.body, node.annotations), module, node.name.text)
                return
            case ast.OperatorValue():
                self._operator(node.name, module)
                self._visit(node.body, module, node.name.text)
                return
            case ast.Import() | ast.CatalogueUse() | ast.ParameterGroupInclusion() | ast.DottedName():
                self._reference(node, module)
                return
            case ast.FunctionCall():
                self._add(node.function.span, Symbol(SymbolKind.FUNCTION, node.function.text))
            case _:
                operator = self._declaration(node, module, operator)
        for name in getattr(node, "__slots__", ()):
            self._visit(getattr(node, name), module, operator)

    def _declaration(self, node: object, module: Module, operator: str) -> str:
        """Collect the name that a node declares, if any; return the operator in whose body its parts stand."""
        match node:
            case ast.Stage():
                self._declare(SymbolKind.STAGE, node.name)
            case ast.Parenthesised(part=ast.Repetition(), alias=ast.Word() as alias):
                self._declare_alias(alias)
            case ast.ParameterGroup():
                self._declare(SymbolKind.GROUP, node.name)
                return ""
            case ast.AbstractOperator():
                self._declare(SymbolKind.ABSTRACT, node.name)
                return node.name.text
            case ast.Let() | ast.Parameter(is_var=True):
                self._declare(SymbolKind.VALUE, node.name)
            case ast.Parameter() | ast.FixedParameter() | ast.ParameterFormula():
                self._parameter(node.name, module, operator)
            case _:
                pass
        return operator

    def _reference(
        self, node: ast.Import | ast.CatalogueUse | ast.ParameterGroupInclusion | ast.DottedName, module: Module
    ) -> None:
        """Collect the names in a node that refers to other declarations and declares nothing."""
        match node:
            case ast.Import():
                self._import(node, module)
            case ast.CatalogueUse():
                self._add(node.name.span, Symbol(SymbolKind.CATALOGUE, node.name.text))
            case ast.ParameterGroupInclusion():
                home, rest = self._prefix(node.name, module)
                if rest in home.groups:
                    self._refer(node.name.words[-1].span, SymbolKind.GROUP, home.groups[rest].name)
            case ast.DottedName():
                self._plain_name(node, module)

    def _refer(self, span: Span, kind: SymbolKind, declared: ast.Word) -> None:
        self._add(span, Symbol(kind, declared.text, declared.span))

    def _import(self, node: ast.Import, module: Module) -> None:
        word = node.alias or ast.Word(node.path.value, node.path.span)
        self._declare(SymbolKind.IMPORT, word)
        imported = next((m for m in module.imports.values() if m.source.name.endswith(node.path.value)), None)
        if imported is not None:
            start = Span(imported.source, 0, 0)
            self._add(node.path.span, Symbol(SymbolKind.IMPORT, node.path.value, start))

    def _prefix(self, name: ast.DottedName, module: Module) -> tuple[Module, str]:
        """Collect the imports that a name begins with; return the module of its rest, and the rest."""
        home = module
        for word in name.words[:-1]:
            if word.text not in home.imports:
                break
            self._import_reference(word, home)
            home = home.imports[word.text]
        return module.resolve_module_prefix(name)

    def _import_reference(self, word: ast.Word, home: Module) -> None:
        for item in home.file.items:
            if isinstance(item, ast.Import) and item.alias is not None and item.alias.text == word.text:
                self._refer(word.span, SymbolKind.IMPORT, item.alias)

    def _step(self, node: ast.OperatorReference, module: Module) -> None:
        home, rest = self._prefix(node.name, module)
        last = node.name.words[-1]
        if rest in home.stages:
            self._refer(last.span, SymbolKind.STAGE, home.stages[rest].name)
            if node.alias is not None:
                self._declare_alias(node.alias)
        elif rest in home.imports:
            self._import_reference(last, home)
        else:
            self._operator(node.name, module)

    def _operator(self, name: ast.DottedName, module: Module) -> None:
        home, rest = module.resolve_module_prefix(name)
        if rest in home.abstracts:
            self._refer(name.words[-1].span, SymbolKind.ABSTRACT, home.abstracts[rest].name)
        elif self._names.catalogues.get(name.text) is not None:
            self._add(name.span, Symbol(SymbolKind.OPERATOR, name.text))

    def _parameter(self, name: ast.Word, module: Module, operator: str) -> None:
        home, rest = module.resolve_module_prefix(ast.DottedName((ast.Word(operator, name.span),), name.span))
        declaration = home.abstracts.get(rest)
        members = declaration.body.members if declaration is not None and declaration.body is not None else ()
        for member in members:
            if isinstance(member, ast.NamedMember) and member.name.text == name.text:
                self._add(name.span, Symbol(SymbolKind.PARAMETER, name.text, member.name.span, operator))
                return
        self._declare(SymbolKind.PARAMETER, name, operator)

    def _plain_name(self, name: ast.DottedName, module: Module) -> None:
        """Collect a name in an expression that the check has not resolved; its first word decides its kind."""
        if name.span in self._mentioned:
            return
        home, rest = self._prefix(name, module)
        first = next(word for word in name.words if word.text == rest.partition(".")[0])
        declared: Mapping[str, ast.Stage | ast.Parameter | ast.Let] = {**home.stages, **home.values}
        if first.text in declared and len(name.words) > 1:
            kind = SymbolKind.STAGE if first.text in home.stages else SymbolKind.VALUE
            self._refer(first.span, kind, declared[first.text].name)
        elif name.text in DATA_SIZE_NAMES:
            self._add(name.span, Symbol(SymbolKind.DATA_SIZE, name.text))

    # ---- names that the check has resolved

    def _alternatives(self) -> None:
        for variable in self._names.variables.values():
            for branch in variable.node.branches if isinstance(variable.node, Choice) else ():
                if branch.span.text in (branch.name, f'"{branch.name}"'):
                    self._add(branch.span, Symbol(SymbolKind.ALTERNATIVE, branch.name, branch.span))

    def _mention(self, mention: NameMention) -> None:
        words = mention.written.words
        if mention.definition is not None:
            unknown = Symbol(SymbolKind.VALUE, words[-1].text, mention.definition)
            self._add(words[-1].span, self._declared.get(mention.definition, unknown))
        elif mention.branches:
            choice = self._names.variables[mention.address].choice
            for branch in (each for each in choice.branches if each.name in mention.branches):
                self._add(words[-1].span, Symbol(SymbolKind.ALTERNATIVE, branch.name, branch.span))
        elif mention.address:
            self._path(words, self._names.variables[mention.address])

    def _path(self, words: Sequence[ast.Word], variable: Variable) -> None:
        """Collect the words of a path to a variable; words for the alternatives around it may be left out."""
        symbols = [*self._symbols_along(variable)]
        last = self._alias(words[-1]) or symbols.pop()
        self._add(_span_of_name(words[-1], last), last)
        for word in words[:-1]:
            if (alias := self._alias(word)) is not None:
                self._add(_span_of_name(word, alias), alias)
                continue
            place = next((i for i, symbol in enumerate(symbols) if _is_named(word, symbol)), None)
            if place is not None:
                self._add(_span_of_name(word, symbols[place]), symbols[place])
                symbols = symbols[place + 1 :]
            else:
                module = next((each for each in self._modules if each.source is word.span.source), None)
                if module is not None:
                    self._import_reference(word, module)

    def _alias(self, word: ast.Word) -> Symbol | None:
        """Return the further use of a stage, or the chain, that a word names by a name after `as`."""
        return next((alias for alias in self._aliases.values() if _is_named(word, alias)), None)

    def _symbols_along(self, variable: Variable) -> Iterator[Symbol]:
        """Yield the decisions and alternatives around a variable, outermost first, and the variable itself."""
        for address, branch in variable.owners:
            choice = self._names.variables[address].choice
            yield self._symbol_of(self._names.variables[address])
            place = choice.branches[choice.branch_indices[branch]].span
            yield Symbol(SymbolKind.ALTERNATIVE, branch, place)
        yield self._symbol_of(variable)

    def _symbol_of(self, variable: Variable) -> Symbol:
        """Return the symbol that is declared at the place of a variable."""
        known = self._declared.get(variable.node.span)
        first_use = self._names.variables.get(name_of_nth_use(variable.address, 1))
        if known is None and first_use is not None:
            # The number of uses of a chain has the name of the stage, or a name of its own after `as`.
            stage = self._declared.get(first_use.node.span)
            known = stage if stage is not None and stage.name == variable.node.name else None
        kind = SymbolKind.ALTERNATIVE if isinstance(variable.node, Choice) else SymbolKind.PARAMETER
        return known or Symbol(kind, variable.node.name, variable.node.span)

    @cached_property
    def _declared(self) -> Mapping[Span, Symbol]:
        """The declared symbols by place, without alternatives; first used when all declarations are known."""
        declarations = (each for each in self._found if each.is_definition)
        return {each.span: each.symbol for each in declarations if each.symbol.kind is not SymbolKind.ALTERNATIVE}


def _is_named(word: ast.Word, symbol: Symbol) -> bool:
    """Return True if a word of a path names the symbol, perhaps as a use of a chain: `step[1]`."""
    return word.text == symbol.name or _is_use(word, symbol)


def _is_use(word: ast.Word, symbol: Symbol) -> bool:
    return symbol.kind is SymbolKind.STAGE and word.text.startswith(f"{symbol.name}[")


def _span_of_name(word: ast.Word, symbol: Symbol) -> Span:
    """Return the span of a word, without the index of a use of a chain."""
    span = word.span
    return Span(span.source, span.start, span.start + len(symbol.name)) if _is_use(word, symbol) else span
