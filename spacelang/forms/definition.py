"""The whole space as JSON: the definition that every compiled document carries beside the form of its target.

`from_json` rebuilds exactly the same space of it, without the text and without a parser. The forms here describe it;
`python -m spacelang.api.schemas` writes `compiled.schema.json` of them, in the folder of the grammar, which documents
every key. What has a usual value is left out: the library `sklearn`, the weight 1, the first alternative as the
default, a key that is the address, the orders of a permutation where they are all there. A line says where the text has
a thing; one without it stands on the line of what it is in. The texts of these lines are there for messages.

A document is a stranger's: what would fail later is refused here, with its path.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations
from math import factorial
from operator import attrgetter
from typing import Any, Final, assert_never

from spacelang.forms.codec import (
    ABOVE_ZERO,
    FLAG,
    NAME,
    PARAMETER,
    TERM,
    TEXT,
    VALUE,
    Defined,
    Form,
    Items,
    Key,
    Members,
    OneOf,
    Parts,
    Record,
    Scalar,
    Via,
    at_least,
    made,
    words,
)
from spacelang.forms.definition_parts import DOMAIN, EXPRESSION, PRIOR, TASK
from spacelang.forms.json_fields import DefinitionError, parameter, twice
from spacelang.forms.soundness import check
from spacelang.forms.standing import Object, Reading, Writing, told_lines
from spacelang.ir.domain import Missing, describe
from spacelang.ir.expr import Expr
from spacelang.ir.space import (
    MOST_STEPS,
    NOTHING,
    SELECTORS,
    Branch,
    Choice,
    Constraint,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    Selector,
    Space,
    order_name,
)
from spacelang.suggest import suggestion
from spacelang.text import NOWHERE, Span

VERSION: Final = 1
"""Of compiled documents: what an older reader would misread raises it."""

OWN: Final = "sklearn"
"""The library that is not mentioned."""

MOST_NESTED: Final = 400
"""Objects and lists inside each other: some five for each bracket of a text, of which 64 may nest."""

MOST_ORDERS: Final = 100_000
"""Of all permutations together."""


def to_json(space: Space) -> Object:
    """The definition of a space as the JSON module takes it: `from_json(to_json(space)) == space`."""
    around = Writing((_file(space), 0))
    for constraint in space.constraints:
        if constraint.span.source is not NOWHERE.source:
            # Its text, which is there as well, is that of all its lines.
            around.mention(constraint.span, constraint.span.line + _said(constraint).count("\n"))
    document = _DEFINITION.write(space, around)
    told = {file: {str(line): here[line] for line in sorted(here)} for file, here in sorted(around.lines.items())}
    return {**document, "lines": told} if told else document


def _file(space: Space) -> str:
    """The file of the first step that a text says; the others mention theirs only where it is another one."""
    things = chain((space.root,), (variable.node for variable in space.variables.values()), space.constraints)
    return next((each.span.source.name for each in things if each.span.source is not NOWHERE.source), "")


def from_json(definition: object, path: str = "definition") -> Space:
    """The space that a definition is of; raises DefinitionError, whose paths begin with `path`, for what is none.

    Operators are not looked up and constraints not counted: that is left to who knows catalogues.
    """
    if _nesting(definition) > MOST_NESTED:
        raise DefinitionError(path, f"is nested more than {MOST_NESTED} deep")
    try:
        given = definition if isinstance(definition, dict) else {}
        lines = told_lines(given.get("lines", {}), f"{path}.lines")
        around = Reading((TEXT.convert(given.get("file", ""), f"{path}.file"), 0), *lines)
        space = _DEFINITION.read(definition, path, around)
        check(space, around.paths)
    except RecursionError:
        raise DefinitionError(path, "is nested too deeply") from None
    return space


def _nesting(document: object) -> int:
    deepest, waiting = 0, [(document, 1)]
    while waiting and deepest <= MOST_NESTED:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner: Iterator[object] = iter(())
        if isinstance(value, dict | list):
            inner = iter(value.values() if isinstance(value, dict) else value)
        waiting.extend((item, depth + 1) for item in inner)
    return deepest


# ---- steps


def _kind_of(node: Node) -> str:
    match node:
        case Hyperparameter():
            return "hyperparameter"
        case Choice():
            return "decision"
        case Operator():
            return "operator"
        case Product():
            return node.kind.value
        case _:
            assert_never(node)


NODE: Final[Form[Node]] = Defined("node", lambda: _NODE)


def _product(kind: Kind, about: str, *keys: Key) -> Form[Product]:
    """Steps that all belong to a pipeline."""

    def make(parts: Parts, path: str, around: Reading) -> Product:
        if kind is Kind.COLUMNS:
            _check_number(parts, "selectors", path)
        return Product(kind, **parts, span=around.span())

    children = Key(kind.value, Items(NODE), of="children")
    return Defined(kind.value, lambda: Record(about, (children, *keys), make, placed=True))


def _check_number(parts: Parts, of_each: str, path: str) -> None:
    found, wanted = len(parts[of_each]), len(parts["children"])
    if found != wanted:
        raise DefinitionError(f"{path}.{of_each}", f"has {found} members beside {wanted} steps")


def _pattern(value: object, path: str) -> str:
    pattern = TEXT.convert(value, path)
    try:
        re.compile(pattern)
    except re.error as error:
        raise DefinitionError(path, f"is no regular expression: {error}") from None
    return pattern


_SELECTOR: Final[Form[Selector]] = OneOf(
    "",
    "a selector",
    {
        "pattern": Record(
            "The columns in whose names a regular expression is found.",
            (Key("pattern", Scalar(_pattern, TEXT.described)),),
            lambda parts, _, __: Selector("pattern", **parts),
        )
    },
    lambda selector: "pattern" if selector.kind == "pattern" else "",
    Via(words(*SELECTORS), Selector, attrgetter("kind")),
)


# ---- decisions


def _called(kind: str, form: Form[str], about: str) -> tuple[Key, ...]:
    """The keys of what a decision or hyperparameter is called."""
    key = (
        "What configurations call it, where that is not the address; shared only with what is never active together "
        "with it."
    )
    return (
        Key(kind, form, about, of="name"),
        Key("address", NAME, "What expressions call it; unique in the space."),
        Key("key", NAME, key, None),
    )


def _other_key(node: Hyperparameter | Choice) -> str | None:
    return None if node.key == node.address else node.key


def _note(parts: Parts, path: str, around: Reading) -> None:
    """Note the address; the key is the same one where no other is given."""
    around.paths.add(parts["address"], path)
    parts["key"] = parts["key"] or parts["address"]


_FIRST: Final = Key("first", FLAG, "Whether it should be decided before the others.", False)


def _decision(form: Form[str]) -> Record[Choice]:
    about = "The alternative that is taken first; the first one where it is left out."
    alternatives = Key("alternatives", Items(_ALTERNATIVE, 1, called="alternatives"), of="branches")
    keys = (*_called("decision", form, "Its own name."), alternatives, Key("default", TEXT, about, None), _FIRST)
    return Record("A decision: exactly one of the alternatives is taken.", keys, _choice, _choice_parts, placed=True)


_DECISION: Final[Form[Choice]] = Defined("decision", lambda: _decision(TERM))
_NESTED: Final[Form[Choice]] = Defined("decision", lambda: _decision(PARAMETER))


def _choice_parts(node: Choice) -> Object:
    return {"key": _other_key(node), "default": node.branches[node.default].name if node.default else None}


def _choice(parts: Parts, path: str, around: Reading) -> Choice:
    names = [branch.name for branch in parts["branches"]]
    again = twice(names)
    if again is not None:
        raise DefinitionError(f"{path}.alternatives[{again}]", f"is one more alternative `{names[again]}`")
    default = names[0] if parts["default"] is None else parts["default"]
    if default not in names:
        remedy = suggestion(default, names) or "name one of the alternatives"
        raise DefinitionError(f"{path}.default", f"is `{default}`, which is no alternative", remedy)
    _note(parts, path, around)
    return Choice(**{**parts, "default": names.index(default)}, span=around.span(parts["name"]))


def _branch(parts: Parts, path: str, around: Reading) -> Branch:
    if parts["value"] is not None and parts["node"] != NOTHING:
        raise DefinitionError(f"{path}.value", "is a value beside what is taken")
    return Branch(**parts, span=around.span(parts["name"]))


_ALTERNATIVE: Final[Form[Branch]] = Defined(
    "alternative",
    lambda: Record(
        "One alternative of a decision.",
        (
            Key("alternative", NAME, "Its name.", of="name"),
            Key("weight", ABOVE_ZERO, "How good it is expected to be, beside the others; 1 where it is left out.", 1.0),
            Key("node", NODE, "What is taken; the step is left out where there is none.", NOTHING),
            Key(
                "value",
                VALUE,
                "The plain value that it is of a parameter, among operators; null where it and the node are left out.",
                None,
            ),
        ),
        _branch,
        placed=True,
    ),
)


# ---- orders of steps


@dataclass(frozen=True, slots=True)
class _Order:
    """The decision of an order of steps; its alternatives are listed where they are not all `orders`."""

    choice: Choice
    orders: tuple[Branch, ...]

    @property
    def span(self) -> Span:
        return self.choice.span

    @property
    def parts(self) -> Object:
        """All parts of the decision."""
        listed = () if self.choice.branches == self.orders else self.choice.branches
        called = {name: getattr(self.choice, name) for name in ("name", "address", "first")}
        return {**called, **_choice_parts(self.choice), "branches": listed}


def _orders(labels: Sequence[str]) -> tuple[Branch, ...]:
    return tuple(Branch(order_name(order), NOTHING) for order in permutations(labels))


def _permuted(node: Product) -> Object:
    order, *steps = node.children
    assert isinstance(order, Choice)
    return {"children": steps, "order": _Order(order, _orders(node.labels))}


def _permutation(parts: Parts, path: str, around: Reading) -> Product:
    _check_number(parts, "labels", path)
    labels, order = parts["labels"], parts.pop("order")
    around.paths.orders += factorial(len(labels))
    if around.paths.orders > MOST_ORDERS:
        raise DefinitionError(path, f"is one of permutations of more than {MOST_ORDERS:,} orders of steps")
    children = (order(_orders(labels)), *parts.pop("children"))
    return Product(Kind.PERMUTATION, children, around.span(), **parts)


def _waiting(parts: Parts, path: str, around: Reading) -> Callable[[tuple[Branch, ...]], Choice]:
    """The decision of an order as soon as all orders are known."""

    def order(orders: tuple[Branch, ...]) -> Choice:
        listed = parts["branches"]
        wrong = next((place for place, branch in enumerate(listed) if branch not in orders), None)
        if wrong is not None:
            raise DefinitionError(f"{path}.alternatives[{wrong}]", "is no order of the labels")
        return _choice(
            {**parts, "branches": listed or tuple(replace(each, span=around.span()) for each in orders)}, path, around
        )

    return order


_ORDER: Final[Form[Any]] = Defined(
    "order",
    lambda: Record(
        "The decision of the order of a permutation. Alternatives that are left out are all orders of the labels, each "
        "called by its labels with commas between.",
        (
            *_called("decision", TERM, "Its own name."),
            Key("alternatives", Items(_ALTERNATIVE, 1, called="alternatives"), "", (), "branches"),
            Key("default", TEXT, "The order that is taken first; the first one where it is left out.", None),
            _FIRST,
        ),
        _waiting,
        lambda order: order.parts,
        placed=True,
    ),
)

_PERMUTATION: Final[Form[Product]] = Defined(
    "permutation",
    lambda: Record(
        "Steps in an order that is decided.",
        (
            Key("permutation", Items(NODE, most=MOST_STEPS, called="steps"), of="children"),
            Key(
                "labels",
                Items(NAME, most=MOST_STEPS, called="labels", distinct=True),
                "What the orders call the steps.",
            ),
            Key("order", _ORDER),
        ),
        _permutation,
        _permuted,
        placed=True,
    ),
)


# ---- operators and hyperparameters


def _operator(parts: Parts, path: str, around: Reading) -> Operator:
    names = [*(name for name, _ in parts["fixed"]), *(child.name for child in parts["children"])]
    again = twice(names)
    if again is not None:
        at = f"{path}.parameters[{again - len(parts['fixed'])}]"
        raise DefinitionError(at, f"is one more parameter `{names[again]}`")
    return Operator(**parts, span=around.span(parts["name"]))


_OPERATOR: Final[Form[Operator]] = Defined("operator", lambda: _OPERATOR_ITSELF)
_NAMED: Final[Form[Named]] = Defined(
    "named",
    lambda: Record(
        "A function or object that the catalogue lists by name.", (Key("named", NAME, of="name"),), made(Named)
    ),
)
_FIXED: Final[Form[Fixed]] = OneOf(
    "",
    "an operator or a named object",
    {"operator": _OPERATOR, "named": _NAMED},
    lambda value: "operator" if isinstance(value, Operator) else "named" if isinstance(value, Named) else "",
    VALUE,
)


def _condition(parts: Parts, path: str, around: Reading) -> Expr:
    when: Expr = parts["when"]
    around.paths.expressions.append((f"{path}.when", when))
    return replace(when, span=around.span())


_CONDITION: Final[Form[Expr]] = Defined(
    "condition",
    lambda: Record(
        "When a hyperparameter is active.",
        (Key("when", EXPRESSION),),
        _condition,
        lambda each: {"when": each},
        placed=True,
    ),
)


def _hyperparameter(parts: Parts, path: str, around: Reading) -> Hyperparameter:
    domain = parts["domain"]
    parts["default"] = domain.find(parts["default"])
    if isinstance(parts["default"], Missing):
        raise DefinitionError(f"{path}.default", f"lies outside of `{describe(domain)}`")
    for place, each in enumerate(parts["named"]):
        if isinstance(domain.find(each), Missing):
            raise DefinitionError(f"{path}.named[{place}]", f"is `{each}`, outside of `{describe(domain)}`")
    _note(parts, path, around)
    return Hyperparameter(**parts, span=around.span(parts["name"]))


_HYPERPARAMETER: Final[Form[Hyperparameter]] = Defined(
    "hyperparameter",
    lambda: Record(
        "One parameter of an operator, active where its operator is reached and its condition holds.",
        (
            *_called("hyperparameter", PARAMETER, "The name of the parameter."),
            Key("domain", DOMAIN),
            Key("default", VALUE, "A member of the domain."),
            Key("condition", _CONDITION, usual=None),
            Key("named", Items(NAME), "The values that stand for functions or objects of the catalogue.", ()),
            Key("prior", PRIOR, usual=None),
            Key("split", at_least(1), "Into how many parts its domain may be split.", None),
        ),
        _hyperparameter,
        lambda node: {"key": _other_key(node)},
        placed=True,
    ),
)
_OPERATOR_ITSELF: Final[Form[Operator]] = Record(
    "One step that a library provides.",
    (
        Key("operator", TERM, "The name of the class.", of="name"),
        Key(
            "library",
            NAME,
            "The catalogue that it is in, `abstract` for an operator that the space declares itself; `sklearn` where "
            "it is left out.",
            OWN,
            "catalogue",
        ),
        Key("fixed", Members(_FIXED, parameter), "Parameters that do not vary, by name.", ()),
        Key(
            "parameters",
            Items(
                OneOf(
                    "",
                    "a hyperparameter or a decision",
                    {"hyperparameter": _HYPERPARAMETER, "decision": _NESTED},
                    _kind_of,
                )
            ),
            "Parameters that vary; a decision is one among operators.",
            (),
            "children",
        ),
    ),
    _operator,
    placed=True,
)
_NODE: Final[Form[Node]] = OneOf(
    "A part of the pipeline.",
    "a node",
    {
        "operator": _OPERATOR,
        "decision": _DECISION,
        "hyperparameter": _HYPERPARAMETER,
        "sequence": _product(Kind.SEQUENCE, "One step after the other."),
        "parallel": _product(Kind.PARALLEL, "Steps side by side, their features joined."),
        "columns": _product(
            Kind.COLUMNS,
            "Steps side by side, each for some of the columns.",
            Key("selectors", Items(_SELECTOR), "Which columns each of them takes."),
        ),
        "permutation": _PERMUTATION,
    },
    _kind_of,
)


# ---- the whole


def _said(constraint: Constraint) -> str:
    """The text of a constraint."""
    return "" if constraint.span.source is NOWHERE.source else constraint.span.text.replace("\r\n", "\n")


def _constraint(kind: str, about: str) -> Record[Constraint]:
    def make(parts: Parts, path: str, around: Reading) -> Constraint:
        around.paths.expressions.append((f"{path}.{kind}", parts["expression"]))
        span = around.span(parts["said"])
        return Constraint(replace(parts["expression"], span=span), kind == "forbid", span)

    keys = (Key(kind, EXPRESSION, of="expression"), Key("text", TEXT, "The constraint as it is written.", "", "said"))
    return Record(about, keys, make, lambda constraint: {"said": _said(constraint)}, placed=True)


_CONSTRAINT: Final[Form[Constraint]] = Defined(
    "constraint",
    lambda: OneOf(
        "What no configuration may be, or what every one must; it applies where all hyperparameters that it names are "
        "active.",
        "a constraint",
        {
            "forbid": _constraint("forbid", "What no configuration may be."),
            "require": _constraint("require", "What every configuration must be."),
        },
        lambda constraint: "forbid" if constraint.forbidden else "require",
    ),
)
_LINES: Final[Object] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "propertyNames": {"pattern": "^[0-9]+$"},
        "additionalProperties": {"type": "string"},
    },
}


def _space(parts: Parts, _: str, __: Reading) -> Space:
    """The space; what its file and its lines say has been read before."""
    return Space(parts["name"], parts["root"], parts["constraints"], parts["title"], parts["task"])


_DEFINITION: Final = Record(
    "The whole space: what was checked, with every name resolved and every bound a number. It can be loaded without "
    "its text.",
    (
        Key("name", NAME, "The name of the space."),
        Key("title", TEXT, "The title of the space.", ""),
        Key("file", TEXT, "The file that the space was written in, as its user named it.", ""),
        Key("root", NODE, "The pipeline."),
        Key("constraints", Items(_CONSTRAINT), usual=()),
        Key("task", TASK, usual=None),
        Key(
            "lines",
            Scalar(lambda value, _: value, _LINES),
            "The texts of all lines that are mentioned, by file and number: messages show them.",
            None,
        ),
    ),
    _space,
    lambda space: {"file": _file(space), "lines": None},
)

DEFINITION: Final[Form[Space]] = Defined("definition", lambda: _DEFINITION)
