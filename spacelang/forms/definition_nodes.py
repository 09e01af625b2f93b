"""JSON codecs of nodes: steps, decisions, permutations and operators."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
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
    DocumentForm,
    Items,
    Key,
    KeyedObject,
    Members,
    Parts,
    Scalar,
    TaggedUnion,
    Via,
    made,
    words,
)
from spacelang.forms.definition_hyperparameters import HYPERPARAMETER, called, note, other_key
from spacelang.forms.json_fields import DefinitionError, parameter, twice
from spacelang.forms.standing import Object, ReadingContext
from spacelang.ir.space import (
    MOST_STEPS,
    NOTHING,
    SELECTORS,
    Branch,
    Choice,
    ColumnSelector,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    order_name,
)
from spacelang.suggest import suggestion
from spacelang.text import Span

OWN: Final = "sklearn"
"""The default library, which is left out of documents."""

MOST_ORDERS: Final = 100_000
"""The maximal number of orders of all permutations together."""


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


NODE: Final[DocumentForm[Node]] = Defined("node", lambda: _NODE)


def _product(kind: Kind, about: str, *keys: Key) -> DocumentForm[Product]:
    """Return the codec of a node whose steps are all part of the pipeline."""

    def make(parts: Parts, path: str, context: ReadingContext) -> Product:
        if kind is Kind.COLUMNS:
            _check_number(parts, "selectors", path)
        return Product(kind, **parts, span=context.span())

    children = Key(kind.value, Items(NODE), of="children")
    return Defined(kind.value, lambda: KeyedObject(about, (children, *keys), make, placed=True))


def _check_number(parts: Parts, of_each: str, path: str) -> None:
    found, wanted = len(parts[of_each]), len(parts["children"])
    if found != wanted:
        raise DefinitionError(f"{path}.{of_each}", f"has {found} members for {wanted} steps")


def _pattern(value: object, path: str) -> str:
    pattern = TEXT.convert(value, path)
    try:
        re.compile(pattern)
    except re.error as error:
        raise DefinitionError(path, f"is not a valid regular expression: {error}") from None
    return pattern


_SELECTOR: Final[DocumentForm[ColumnSelector]] = TaggedUnion(
    "",
    "a selector",
    {
        "pattern": KeyedObject(
            "The columns whose names match a regular expression (`re.search`).",
            (Key("pattern", Scalar(_pattern, TEXT.described)),),
            lambda parts, _, __: ColumnSelector("pattern", **parts),
        )
    },
    lambda selector: "pattern" if selector.kind == "pattern" else "",
    Via(words(*SELECTORS), ColumnSelector, attrgetter("kind")),
)


# ---- decisions


_FIRST: Final = Key("first", FLAG, "True if the search should decide this before other decisions.", False)


def _decision(form: DocumentForm[str]) -> KeyedObject[Choice]:
    about = "The default alternative; the first one if it is left out."
    alternatives = Key("alternatives", Items(_ALTERNATIVE, 1, called="alternatives"), of="branches")
    keys = (*called("decision", form, "Its own name."), alternatives, Key("default", TEXT, about, None), _FIRST)
    return KeyedObject(
        "A decision: exactly one of the alternatives is taken.", keys, _choice, _choice_parts, placed=True
    )


_DECISION: Final[DocumentForm[Choice]] = Defined("decision", lambda: _decision(TERM))
_NESTED: Final[DocumentForm[Choice]] = Defined("decision", lambda: _decision(PARAMETER))


def _choice_parts(node: Choice) -> Object:
    return {"key": other_key(node), "default": node.branches[node.default].name if node.default else None}


def _choice(parts: Parts, path: str, context: ReadingContext) -> Choice:
    names = [branch.name for branch in parts["branches"]]
    again = twice(names)
    if again is not None:
        raise DefinitionError(
            f"{path}.alternatives[{again}]", f"is a second alternative with the name `{names[again]}`"
        )
    default = names[0] if parts["default"] is None else parts["default"]
    if default not in names:
        remedy = suggestion(default, names) or "use one of the alternatives"
        raise DefinitionError(f"{path}.default", f"is `{default}`, which is not an alternative", remedy)
    note(parts, path, context)
    return Choice(**{**parts, "default": names.index(default)}, span=context.span(parts["name"]))


def _branch(parts: Parts, path: str, context: ReadingContext) -> Branch:
    if parts["value"] is not None and parts["node"] != NOTHING:
        raise DefinitionError(f"{path}.value", "is given together with a `node`")
    return Branch(**parts, span=context.span(parts["name"]))


_ALTERNATIVE: Final[DocumentForm[Branch]] = Defined(
    "alternative",
    lambda: KeyedObject(
        "One alternative of a decision.",
        (
            Key("alternative", NAME, "Its name.", of="name"),
            Key(
                "weight", ABOVE_ZERO, "How good it is expected to be relative to the others; 1 if it is left out.", 1.0
            ),
            Key("node", NODE, "The node that is used; the step is skipped if there is none.", NOTHING),
            Key(
                "value",
                VALUE,
                "The plain value of a parameter whose other alternatives are operators; null if both this and the "
                "node are left out.",
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
    """The decision about the order of a permutation; `orders` are all orders as alternatives."""

    choice: Choice
    orders: tuple[Branch, ...]

    @property
    def span(self) -> Span:
        """The source span of the decision."""
        return self.choice.span

    @property
    def parts(self) -> Object:
        """All parts of the decision; the alternatives are empty if they are exactly all orders."""
        listed = () if self.choice.branches == self.orders else self.choice.branches
        called = {name: getattr(self.choice, name) for name in ("name", "address", "first")}
        return {**called, **_choice_parts(self.choice), "branches": listed}


def _orders(labels: Sequence[str]) -> tuple[Branch, ...]:
    return tuple(Branch(order_name(order), NOTHING) for order in permutations(labels))


def _permuted(node: Product) -> Object:
    order, *steps = node.children
    assert isinstance(order, Choice)
    return {"children": steps, "order": _Order(order, _orders(node.labels))}


def _permutation(parts: Parts, path: str, context: ReadingContext) -> Product:
    _check_number(parts, "labels", path)
    labels, order = parts["labels"], parts.pop("order")
    context.paths.orders += factorial(len(labels))
    if context.paths.orders > MOST_ORDERS:
        raise DefinitionError(
            path, f"exceeds the limit: the permutations have more than {MOST_ORDERS:,} orders of steps in total"
        )
    children = (order(_orders(labels)), *parts.pop("children"))
    return Product(Kind.PERMUTATION, children, context.span(), **parts)


def _waiting(parts: Parts, path: str, context: ReadingContext) -> Callable[[tuple[Branch, ...]], Choice]:
    """Return a function that creates the decision about an order from all possible orders."""

    def order(orders: tuple[Branch, ...]) -> Choice:
        listed = parts["branches"]
        wrong = next((place for place, branch in enumerate(listed) if branch not in orders), None)
        if wrong is not None:
            raise DefinitionError(f"{path}.alternatives[{wrong}]", "is not an order of the labels")
        return _choice(
            {**parts, "branches": listed or tuple(replace(each, span=context.span()) for each in orders)}, path, context
        )

    return order


_ORDER: Final[DocumentForm[Any]] = Defined(
    "order",
    lambda: KeyedObject(
        "The decision about the order of a permutation. If the alternatives are left out, they are all orders of the "
        "labels, each named by its labels with commas between them.",
        (
            *called("decision", TERM, "Its own name."),
            Key("alternatives", Items(_ALTERNATIVE, 1, called="alternatives"), "", (), "branches"),
            Key("default", TEXT, "The default order; the first one if it is left out.", None),
            _FIRST,
        ),
        _waiting,
        lambda order: order.parts,
        placed=True,
    ),
)

_PERMUTATION: Final[DocumentForm[Product]] = Defined(
    "permutation",
    lambda: KeyedObject(
        "Steps whose order is a decision.",
        (
            Key("permutation", Items(NODE, most=MOST_STEPS, called="steps"), of="children"),
            Key(
                "labels",
                Items(NAME, most=MOST_STEPS, called="labels", distinct=True),
                "The names of the steps in the orders.",
            ),
            Key("order", _ORDER),
        ),
        _permutation,
        _permuted,
        placed=True,
    ),
)


# ---- operators and hyperparameters


def _operator(parts: Parts, path: str, context: ReadingContext) -> Operator:
    names = [*(name for name, _ in parts["fixed"]), *(child.name for child in parts["children"])]
    again = twice(names)
    if again is not None:
        at = f"{path}.parameters[{again - len(parts['fixed'])}]"
        raise DefinitionError(at, f"is a second parameter with the name `{names[again]}`")
    return Operator(**parts, span=context.span(parts["name"]))


_OPERATOR: Final[DocumentForm[Operator]] = Defined("operator", lambda: _OPERATOR_ITSELF)
_NAMED: Final[DocumentForm[Named]] = Defined(
    "named",
    lambda: KeyedObject(
        "A function or object that the catalogue lists by its name.", (Key("named", NAME, of="name"),), made(Named)
    ),
)
_FIXED: Final[DocumentForm[Fixed]] = TaggedUnion(
    "",
    "an operator or a named object",
    {"operator": _OPERATOR, "named": _NAMED},
    lambda value: "operator" if isinstance(value, Operator) else "named" if isinstance(value, Named) else "",
    VALUE,
)


_OPERATOR_ITSELF: Final[DocumentForm[Operator]] = KeyedObject(
    "A step provided by a library.",
    (
        Key("operator", TERM, "The name of the class.", of="name"),
        Key(
            "library",
            NAME,
            "The catalogue that contains it, or `abstract` for an operator that the space declares itself; `sklearn` "
            "if it is left out.",
            OWN,
            "catalogue",
        ),
        Key("fixed", Members(_FIXED, parameter), "Parameters with fixed values, by name.", ()),
        Key(
            "parameters",
            Items(
                TaggedUnion(
                    "",
                    "a hyperparameter or a decision",
                    {"hyperparameter": HYPERPARAMETER, "decision": _NESTED},
                    _kind_of,
                )
            ),
            "Parameters that the search varies; a decision chooses between operators.",
            (),
            "children",
        ),
    ),
    _operator,
    placed=True,
)
_NODE: Final[DocumentForm[Node]] = TaggedUnion(
    "A part of the pipeline.",
    "a node",
    {
        "operator": _OPERATOR,
        "decision": _DECISION,
        "hyperparameter": HYPERPARAMETER,
        "sequence": _product(Kind.SEQUENCE, "One step after the other."),
        "parallel": _product(Kind.PARALLEL, "Steps side by side, with their features concatenated."),
        "columns": _product(
            Kind.COLUMNS,
            "Steps side by side, each for some of the columns of the data.",
            Key("selectors", Items(_SELECTOR), "The columns that each step takes."),
        ),
        "permutation": _PERMUTATION,
    },
    _kind_of,
)
