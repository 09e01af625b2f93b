"""Extract the messages of the package as users see them: with their remedies, and fragments inside their sentences.

A text in the source is often a part of a message: `DataError(f"`{path}` is damaged: {reason}")` gets its `reason` from
a caller. Such a text is returned with the f-string or the template around it. Texts that nobody sees are left out:
docstrings, type annotations, assertions about the program itself, generated code and the descriptions in JSON schemas.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SENTENCE = re.compile(r"[A-Za-z`{][^\n]*(?: [^\s]+){3,}", re.DOTALL)
HOLE = re.compile(r"\{[^{}]*\}")
CODE = re.compile(
    r"[\\;<>]|SELECT |INSERT |CREATE |REPLACE |DELETE |def |import |holds\(|pandas\.|=\"|\"\"\"|^\{\"|is None else|"
    r"^\w+ +[:=] |^stage |^space \{|^forbid |^spacelang predict |^spacelang export |"
    r"\| None$|^\w+\[[^\]]*\] \| |^tuple\[|[A-Za-z]\[\w+\[|NoDefault$| et al\.|[, ](19|20)\d\d$"
)
"""Texts that are SQL, Python, markup, parts of generated spaces, types or references to papers."""
NOT_SHOWN = re.compile(r"(.*\.)?(cast|compile|fullmatch|match|search|sub|named_object|\w*Codec|ObjectKey|TypeVar)")
"""Functions whose arguments are types, regular expressions or descriptions in a JSON schema."""
MAX_DEPTH = 3
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Template:
    """A text with holes: an f-string, or a constant that `str.format` fills in."""

    node: ast.expr
    module: "Module"
    holes: tuple[tuple[str, str], ...]  # What fills a hole, and the hole as the text shows it


@dataclass
class Module:
    """A module of the package: its syntax tree, with the parent of each node."""

    path: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, innermost first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def function_around(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        return next((each for each in self.around(node) if isinstance(each, FUNCTIONS)), None)

    def is_shown(self, node: ast.AST) -> bool:
        """Return True unless the text is a docstring, an annotation, an argument that nobody sees, or an assertion."""
        inner = node
        for parent in self.around(node):
            match parent:
                case ast.Expr() if isinstance(inner, ast.Constant | ast.JoinedStr):
                    return False
                case ast.Assert() | ast.Call(func=ast.Name(id="AssertionError")) if not self.path.startswith(
                    "testing/"
                ):
                    return False
                case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=annotation) if annotation is inner:
                    return False
                case ast.FunctionDef(returns=returns, name=name) if returns is inner or name == "__repr__":
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
        case ast.IfExp(body=ast.Constant(value=str(first)), orelse=ast.Constant(value=str(second))):
            return f"({first}|{second})" if first and second else first or second
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(), attr="join"), args=[ast.GeneratorExp(generators=[over])]
        ):
            return f"{{{ast.unparse(over.iter)}}}"
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[listed]):
            return f"{{{ast.unparse(listed)}}}"
        case ast.Call(func=ast.Name(id="replace_unprintable" | "str" | "literal" | "len"), args=[inner, *_]):
            return f"{{{ast.unparse(inner)}}}"
        case _:
            return f"{{{ast.unparse(value)}}}"


class Messages:
    """The messages of a package, each with the place of its text."""

    def __init__(self, package: Path) -> None:
        self._modules = [
            Module(str(path.relative_to(package)), ast.parse(path.read_text(encoding="utf-8")))
            for path in sorted(package.rglob("*.py"))
        ]

    def __iter__(self) -> Iterator[str]:
        """Yield all messages: first the kinds of diagnostics and errors with their remedies, then other texts."""
        seen: set[str] = set()
        for module in self._modules:
            used: set[ast.AST] = set()
            for node in ast.walk(module.tree):
                text = ""
                if isinstance(node, ast.ClassDef) and _is_diagnostic(node):
                    text = self._diagnostic(node, used)
                elif isinstance(node, ast.Call) and re.search(r"(Error|_error)$", _name(node.func)):
                    text = self._error(module, node, used)
                elif isinstance(node, ast.Call) and _name(node.func) in self._diagnostics:
                    text = self._filled_diagnostic(module, node, used)
                elif isinstance(node, ast.Constant | ast.JoinedStr) and self._is_message(module, node, used):
                    text = self._in_sentence(module, node, show(node))
                if text and text not in seen:
                    seen.add(text)
                    yield f"{module.path}:{getattr(node, 'lineno', 0)}: {text}"

    def _is_message(self, module: Module, node: ast.expr, used: set[ast.AST]) -> bool:
        parent = module.parents[node]
        is_text = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        if not is_text or node in used or isinstance(parent, ast.JoinedStr):
            return False
        text = show(node)
        words = re.findall(r"[A-Za-z]{2,}", HOLE.sub("", text))
        return bool(SENTENCE.match(text)) and len(words) >= 3 and not CODE.search(text) and module.is_shown(node)

    def _diagnostic(self, node: ast.ClassDef, used: set[ast.AST]) -> str:
        """Return the message of a kind of diagnostic, the label of the marked place, and the remedies."""
        used.update(node for node in ast.walk(node) if isinstance(node, ast.Constant))
        return "\n    ".join(f"{title}{text}" for title, text in _diagnostic_texts(node))

    def _error(self, module: Module, node: ast.Call, used: set[ast.AST]) -> str:
        """Return the message of an error with its remedy, if the call contains the message."""
        names = self._parameters(module, _name(node.func))
        arguments = [*zip(names, node.args, strict=False), *((each.arg or "", each.value) for each in node.keywords)]
        lines = []
        for name, value in arguments:
            texts = [each for each in _alternatives(value) if self._is_message(module, each, used)]
            if not texts:
                continue
            used.update(texts)
            title = "help: " if name in {"help", "remedy"} else ""
            shown = [show(each) if title else self._in_sentence(module, each, show(each)) for each in texts]
            lines.append(title + " / ".join(shown))
        return "\n    ".join(lines)

    def _filled_diagnostic(self, module: Module, node: ast.Call, used: set[ast.AST]) -> str:
        """Return the texts of a diagnostic with the texts that the call fills in, if there is one of several words."""
        known = {each.arg or "": [*self._values(module, each.value)] for each in node.keywords}
        words = {name: each for name, each in known.items() if any(self._is_message(module, one, used) for one in each)}
        if not words:
            return ""
        used.update(one for each in known.values() for one in each)
        lines = []
        for title, template in _diagnostic_texts(self._diagnostics[_name(node.func)]):
            holes = [hole for hole in HOLE.findall(template) if hole[1:-1] in known]
            filled = template
            for hole in holes:
                filled = filled.replace(hole, " / ".join(map(show, known[hole[1:-1]])) or hole)
            if not title or holes:
                lines.append(f"{title}{filled}")
        return "\n    ".join(lines)

    @staticmethod
    def _values(module: Module, node: ast.expr) -> Iterator[ast.expr]:
        """Yield the texts that an argument can be; for a variable, those that the function around it assigns to it."""
        function = module.function_around(node)
        if isinstance(node, ast.Name) and function is not None:
            for each in ast.walk(function):
                if isinstance(each, ast.Assign) and _name(each.targets[0]) == node.id:
                    yield from _alternatives(each.value)
        yield from _alternatives(node)

    @cached_property
    def _diagnostics(self) -> Mapping[str, ast.ClassDef]:
        return {
            node.name: node
            for module in self._modules
            for node in module.tree.body
            if isinstance(node, ast.ClassDef) and _is_diagnostic(node)
        }

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
        return text

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
        for module in self._modules:
            for node in ast.walk(module.tree):
                if isinstance(node, ast.Call):
                    for each in (*node.args, *(keyword.value for keyword in node.keywords)):
                        if isinstance(each, ast.Name):
                            found[_variable(module, node, each.id)] += self._argument_keys(module, node, each)
        return found

    @cached_property
    def _definitions(self) -> Mapping[str, list[tuple[Module, Function | ast.ClassDef]]]:
        found = defaultdict(list)
        for module in self._modules:
            for node in ast.walk(module.tree):
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
        for module in self._modules:
            for node in ast.walk(module.tree):
                holes: list[tuple[str, str]] = []
                if isinstance(node, ast.JoinedStr):
                    holes = [(key, shown) for key, shown in self._holes(module, node)]
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "{" in node.value:
                    owner = next((each for each in module.around(node) if isinstance(each, ast.ClassDef)), None)
                    if owner is not None and _is_diagnostic(owner) and module.is_shown(node):
                        place = f"{module.path}:{owner.lineno}"
                        holes = [(f"{place}:{each[1:-1]}", each) for each in HOLE.findall(node.value)]
                for key, _ in holes:
                    found[key].append(Template(node, module, tuple(holes)))  # type: ignore[arg-type]
        return found

    @staticmethod
    def _holes(module: Module, node: ast.JoinedStr) -> Iterator[tuple[str, str]]:
        for part in node.values:
            if not isinstance(part, ast.FormattedValue):
                continue
            shown = _show_hole(part.value)
            yield f"hole {id(part)}", shown
            if isinstance(part.value, ast.Name):
                yield _variable(module, node, part.value.id), shown
            elif isinstance(part.value, ast.Call):
                yield f"result of {_name(part.value.func)}", shown


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


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
