"""Extract the messages of the package as users see them: with their remedies, and fragments inside their sentences.

A text in the source is often a part of a message: `DataError(f"`{path}` is damaged: {reason}")` gets its `reason` from
a caller. Such a text is returned with the f-string or the template around it. Texts that nobody sees are left out:
docstrings, type annotations, assertions about the program itself, generated code and the descriptions in JSON schemas.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SENTENCE = re.compile(r"[A-Za-z`{][^\n]*(?: [^\s]+){3,}", re.DOTALL)
HOLE = re.compile(r"\{[^{}]*\}")
# SQL, Python, markup, parts of generated spaces, types and references to papers
CODE = re.compile(
    r"[\\;<>]|SELECT |INSERT |CREATE |REPLACE |DELETE |def |import |holds\(|pandas\.|=\"|\"\"\"|^\{\"|is None else|"
    r"lambda: |^\(not |^\w+ +[:=] |^stage |^space \{|^forbid |^spacelang predict |^spacelang export |"
    r"\| None$|\| tuple\[|^\w+\[[^\]]*\] \| |^tuple\[|[A-Za-z]\[\w+\[|NoDefault$| et al\.|[, ](19|20)\d\d$"
)
# Functions whose arguments are types, regular expressions or descriptions in a JSON schema
NOT_SHOWN = re.compile(r"(.*\.)?(cast|compile|fullmatch|match|search|sub|named_object|\w*Codec|ObjectKey|TypeVar)")
MAX_DEPTH = 3
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Template:
    """A text with holes: an f-string, or a constant that `str.format` fills in."""

    node: ast.expr
    module: "Module"
    holes: tuple[tuple[str, str], ...]  # What fills a hole, and the hole as the text shows it


class Module:
    """A module of the package: its syntax tree, with the parent of each node."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.tree = path, ast.parse(text)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function_around(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        return next((each for each in self.around(node) if isinstance(each, FUNCTIONS)), None)

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class around a node."""
        return next((each for each in self.around(node) if isinstance(each, ast.ClassDef)), None)

    def is_shown(self, node: ast.AST) -> bool:
        """Return True unless the text is a docstring, an annotation, an argument that nobody sees, or an assertion."""
        inner, is_for_plugins = node, self.path.startswith("testing/")
        if self.path.startswith("serialization/") and _is_text(node) and re.fullmatch(r"[A-Z].*\.", show(node)):
            return False
        for parent in self.around(node):
            match parent:
                case ast.Expr() if isinstance(inner, ast.Constant | ast.JoinedStr):
                    return False
                case ast.Assert() | ast.Call(func=ast.Name(id="AssertionError")) if not is_for_plugins:
                    return False
                case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation) if annotation is inner:
                    return False
                case ast.FunctionDef(returns=returns, name=name) if returns is inner or name == "__repr__":
                    return False
                case ast.ClassDef(name=name, bases=[ast.Name(id="Enum")]) if name.startswith("_"):
                    return False
                case ast.Call(func=function) if NOT_SHOWN.fullmatch(ast.unparse(function)):
                    return False
            inner = parent
        return True


def show(node: ast.expr) -> str:
    """Return a text as a reader should see it: with short holes, and with both forms of a plural."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    return "".join(
        _show_hole(part.value) if isinstance(part, ast.FormattedValue) else str(getattr(part, "value", ""))
        for part in node.values
    )


def _show_hole(value: ast.expr) -> str:
    match value:
        case ast.IfExp(body=first, orelse=second):
            shown = [show(each) if _is_text(each) else f"{{{ast.unparse(each)}}}" for each in (first, second)]
            return f"({shown[0]}|{shown[1]})" if all(shown) else "".join(shown)
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[listed]):
            return f"{{{ast.unparse(listed.generators[0].iter if isinstance(listed, ast.GeneratorExp) else listed)}}}"
        case ast.Call(func=ast.Name(id="replace_unprintable" | "str" | "literal"), args=[inner, *_]):
            return f"{{{ast.unparse(inner)}}}"
        case _:
            return f"{{{ast.unparse(value)}}}"


class Messages:
    """The messages of a package, each with the place of its text."""

    def __init__(self, package: Path) -> None:
        paths = sorted(package.rglob("*.py"))
        self._modules = [Module(str(path.relative_to(package)), path.read_text(encoding="utf-8")) for path in paths]
        self._nodes = [(module, node) for module in self._modules for node in ast.walk(module.tree)]

    def __iter__(self) -> Iterator[str]:
        """Yield all messages: first the kinds of diagnostics and errors with their remedies, then other texts."""
        seen: set[str] = set()
        for module in self._modules:
            used: set[ast.AST] = set()
            for node in sorted(ast.walk(module.tree), key=_is_text):  # texts last, so that calls take theirs before
                if (text := self._text(module, node, used)) and text not in seen and not CODE.search(text):
                    seen.add(text)
                    yield f"{module.path}:{getattr(node, 'lineno', 0)}: {text}"

    def _text(self, module: Module, node: ast.AST, used: set[ast.AST]) -> str:
        match node:
            case ast.ClassDef() if _is_diagnostic(node):
                used.update(ast.walk(node))
                return "\n    ".join(f"{title}{text}" for title, text in _diagnostic_texts(node))
            case ast.Call(func=function) if re.search(r"(Error|_error|^fail|^print_note)$", _name(function)):
                return self._error(module, node, used)
            case ast.Call(func=function) if _name(function) in self._diagnostics:
                return self._filled_diagnostic(module, node, used)
            case ast.Constant() | ast.JoinedStr() if self._is_message(module, node, used):
                return self._in_sentence(module, node, show(node))
            case _:
                return ""

    def _is_message(self, module: Module, node: ast.expr, used: set[ast.AST]) -> bool:
        parent = module.parents[node]
        if not _is_text(node) or node in used or isinstance(parent, ast.JoinedStr):
            return False
        text = show(node)
        words = re.findall(r"[A-Za-z]{2,}", HOLE.sub("", text))
        return bool(SENTENCE.match(text)) and len(words) >= 3 and not CODE.search(text) and module.is_shown(node)

    def _error(self, module: Module, node: ast.Call, used: set[ast.AST]) -> str:
        """Return the message of an error with its remedy, if the call contains one of several words."""
        names = self._parameters(module, _name(node.func))
        arguments = [*zip(names, node.args, strict=False), *((each.arg or "", each.value) for each in node.keywords)]
        known = {name: [*self._values(module, value)] for name, value in arguments}
        if not self._take(module, known, used):
            return ""
        lines: list[str] = []
        for name, texts in reversed(known.items()):
            shown = [each for each in map(show, texts) if each]
            if shown and any(f"{{{name}}}" in line for line in lines):
                lines = [line.replace(f"{{{name}}}", shown[0]) for line in lines]
            elif shown and name in {"help", "remedy"}:
                lines.insert(0, f"help: {' / '.join(shown)}")
            elif shown:
                lines.insert(0, " / ".join(self._in_sentence(module, each, show(each)) for each in texts))
        return "\n    ".join(lines)

    def _filled_diagnostic(self, module: Module, node: ast.Call, used: set[ast.AST]) -> str:
        """Return the texts of a diagnostic with the texts that the call fills in, if there is one of several words."""
        known = {each.arg or "": [*self._values(module, each.value)] for each in node.keywords}
        if not self._take(module, known, used):
            return ""
        lines = []
        for title, template in _diagnostic_texts(self._diagnostics[_name(node.func)]):
            holes = [hole for hole in HOLE.findall(template) if hole[1:-1] in known]
            filled = template
            for hole in holes:
                filled = filled.replace(hole, " / ".join(filter(None, map(show, known[hole[1:-1]]))) or hole)
            if not title or holes:
                lines.append(f"{title}{filled}")
        return "\n    ".join(lines)

    def _take(self, module: Module, known: Mapping[str, list[ast.expr]], used: set[ast.AST]) -> bool:
        """Mark the texts of arguments as used; return True if one of them is a message that was not used before."""
        texts = [each for several in known.values() for each in several]
        is_new = any(self._is_message(module, each, used) for each in texts)
        used.update(texts)
        return is_new

    @staticmethod
    def _values(module: Module, node: ast.expr) -> Iterator[ast.expr]:
        """Yield the texts that an argument can be; for a variable, those of the last assignment before the argument."""
        function = module.function_around(node)
        if not isinstance(node, ast.Name) or function is None:
            yield from _alternatives(node)
            return
        assigned = {
            each.lineno: each.value
            for each in ast.walk(function)
            if isinstance(each, ast.Assign) and _name(each.targets[0]) == node.id and each.lineno < node.lineno
        }
        if assigned:
            yield from _alternatives(assigned[max(assigned)])

    @cached_property
    def _diagnostics(self) -> Mapping[str, ast.ClassDef]:
        return {node.name: node for _, node in self._nodes if isinstance(node, ast.ClassDef) and _is_diagnostic(node)}

    def _in_sentence(self, module: Module, node: ast.expr, text: str, depth: int = MAX_DEPTH) -> str:
        """Return a text inside the sentence whose hole it fills."""
        for key in (
            other for each in self._filled_by(module, node) for other in (each, *self._passed_on.get(each, ()))
        ):
            for template in self._templates.get(key, ()):
                hole = next(shown for filler, shown in template.holes if filler == key)
                if depth and template.node is not node and f"`{hole}`" not in show(template.node):
                    filled = show(template.node).replace(hole, text)
                    return self._in_sentence(template.module, template.node, filled, depth - 1)
        return f"{_heading(module, node)}{text}"

    def _filled_by(self, module: Module, node: ast.expr) -> Iterator[str]:
        """Yield the keys of holes that an expression fills: the one around it, a variable, a parameter, a result."""
        inner: ast.AST = node
        for parent in module.around(node):
            match parent:
                case ast.FormattedValue():
                    yield f"hole {id(parent)}"
                    return
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield _variable(module, parent, name)
                    return
                case ast.Return() if (function := module.function_around(parent)) is not None:
                    yield f"result of {function.name}"
                    return
                case ast.Call(func=called) if inner is not called:
                    yield from self._argument_keys(module, parent, inner)
                    return
                case ast.IfExp() | ast.BoolOp() | ast.keyword():
                    inner = parent
                case _:
                    return

    def _argument_keys(self, module: Module, call: ast.Call, argument: ast.AST) -> Iterator[str]:
        names = self._parameters(module, _name(call.func))
        chosen = [each.arg for each in call.keywords if argument in (each, each.value)]
        chosen += [name for name, each in zip(names, call.args, strict=False) if each is argument]
        for place in self._defined(module, _name(call.func)):
            yield from (f"{place}:{name}" for name in chosen)

    @cached_property
    def _passed_on(self) -> Mapping[str, list[str]]:
        """The keys of the parameters that variables are passed to, by the keys of the variables."""
        found = defaultdict(list)
        for module, node in self._nodes:
            if isinstance(node, ast.Call):
                for each in (*node.args, *(keyword.value for keyword in node.keywords)):
                    if isinstance(each, ast.Name):
                        found[_variable(module, node, each.id)] += self._argument_keys(module, node, each)
        return found

    @cached_property
    def _definitions(self) -> Mapping[str, list[tuple[Module, Function | ast.ClassDef]]]:
        found = defaultdict(list)
        for module, node in self._nodes:
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                found[node.name].append((module, node))
        return found

    def _defined(self, module: Module, name: str) -> list[str]:
        """Return the definition of a name: in the same module, or else the only one of the package."""
        found = self._definitions.get(name, [])
        near = [each for each in found if each[0] is module] or (found if len(found) == 1 else [])
        return [f"{where.path}:{_initializer(node).lineno}" for where, node in near]

    def _parameters(self, module: Module, name: str) -> list[str]:
        found = self._definitions.get(name, [])
        for _, node in [each for each in found if each[0] is module] or found:
            function = _initializer(node)
            if isinstance(function, FUNCTIONS):
                names = [each.arg for each in function.args.args]
                return names[1:] if names[:1] in (["self"], ["cls"]) else names
            for base in function.bases:
                if names := self._parameters(module, _name(base)):
                    return names
            return [_name(each.target) for each in function.body if isinstance(each, ast.AnnAssign)]
        return ["message"]

    @cached_property
    def _templates(self) -> Mapping[str, list[Template]]:
        """The templates with a hole, by the key of what fills it."""
        found = defaultdict(list)
        for module, node in self._nodes:
            if isinstance(node, ast.JoinedStr | ast.Constant):
                holes = tuple(self._holes(module, node))
                for key, _ in holes:
                    found[key].append(Template(node, module, holes))
        return found

    @staticmethod
    def _holes(module: Module, node: ast.JoinedStr | ast.Constant) -> Iterator[tuple[str, str]]:
        owner = module.class_around(node)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and owner is not None and _is_diagnostic(owner) and module.is_shown(node):
                yield from ((f"{module.path}:{owner.lineno}:{each[1:-1]}", each) for each in HOLE.findall(node.value))
            return
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                continue
            shown = _show_hole(part.value)
            yield f"hole {id(part)}", shown
            if isinstance(part.value, ast.Name):
                yield _variable(module, node, part.value.id), shown
            elif isinstance(part.value, ast.Call):
                yield f"result of {_name(part.value.func)}", shown
            elif isinstance(part.value, ast.Attribute) and _name(part.value.value) == "self" and owner is not None:
                initializer = _initializer(owner)
                yield f"{module.path}:{initializer.lineno}:{_parameter_of(initializer, part.value.attr)}", shown


def _heading(module: Module, node: ast.expr) -> str:
    """Return what a list shows before a text: an option with its default, or a construct and how a target keeps it."""
    heading = "`{argument}` " if show(node).startswith("takes ") else ""
    for each in module.around(node):
        match each:
            case ast.Call(func=function, args=[*_, default, _]) if _name(function) in {"option", "nested_plugin"}:
                place = module.parents[each]
                if isinstance(place, ast.AnnAssign):
                    values = ast.unparse(place.annotation).removeprefix("Literal")
                    return f"{_name(place.target)} = {ast.unparse(default)} ({values}): "
            case ast.Call(func=function) if _name(function) in {"exact", "rewritten", "approximated", "refused"}:
                heading = f"{_name(function)}: "
            case ast.Dict() if heading:
                return f"{_construct(module, lambda part: part is node)}{heading}"
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]) if heading:
                return f"{_construct(module, lambda part: _name(part) == name)}{heading}"
    return heading


def _construct(module: Module, is_part: Callable[[ast.AST], bool]) -> str:
    """Return the construct whose verdicts in a table of a target contain a part; empty if there is none."""
    for table in (each for each in ast.walk(module.tree) if isinstance(each, ast.Dict)):
        for key, value in zip(table.keys, table.values, strict=True):
            if isinstance(key, ast.Attribute) and any(map(is_part, ast.walk(value))):
                return f"{key.attr.lower().replace('_', ' ')}: "
    return ""


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _is_diagnostic(node: ast.ClassDef) -> bool:
    return any(isinstance(each, ast.Assign) and _name(each.targets[0]) == "MESSAGE" for each in node.body)


def _diagnostic_texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for name, title in (("MESSAGE", ""), ("LABEL", "label: "), ("HELPS", "help: ")):
        for each in node.body:
            if isinstance(each, ast.Assign) and _name(each.targets[0]) == name:
                texts = [part.value for part in ast.walk(each.value) if isinstance(part, ast.Constant)]
                yield from ((title, text) for text in texts if isinstance(text, str) and text)


def _initializer(node: Function | ast.ClassDef) -> Function | ast.ClassDef:
    if isinstance(node, ast.ClassDef):
        return next((each for each in node.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), node)
    return node


def _parameter_of(initializer: ast.AST, attribute: str) -> str:
    """Return the parameter that an initializer stores in an attribute; for a data class they have the same name."""
    for each in ast.walk(initializer):
        match each:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = [*zip(targets, values, strict=True)]
            case ast.Assign(targets=[target], value=value):
                pairs = [(target, value)]
            case _:
                continue
        for target, value in pairs:
            if isinstance(target, ast.Attribute) and target.attr == attribute and isinstance(value, ast.Name):
                return value.id
    return attribute


def _variable(module: Module, node: ast.AST, name: str) -> str:
    function = module.function_around(node)
    return f"{module.path}:{function.lineno if function else 0}:{name}"


def _alternatives(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the texts that an argument can be."""
    match node:
        case ast.IfExp(body=first, orelse=second):
            yield from _alternatives(first)
            yield from _alternatives(second)
        case ast.Constant(value=str()) | ast.JoinedStr():
            yield node
