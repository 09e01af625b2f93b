"""JSON codecs of nodes: steps, decisions, permutations and operators."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import factorial
from operator import attrgetter
from typing import Any, Final, assert_never

from spacelang.ir.space import (
    COLUMN_KINDS,
    MAX_PERMUTED_STEPS,
    SKIPPED_STEP,
    Branch,
    Choice,
    ColumnSelector,
    FixedValue,
    Hyperparameter,
    NamedObject,
    Node,
    Operator,
    Product,
    ProductKind,
    order_name,
)
from spacelang.serialization.codec import (
    BOOLEAN,
    NAME,
    PARAMETER_NAME,
    PLAIN_WORD,
    POSITIVE_NUMBER,
    TEXT,
    VALUE,
    ArrayCodec,
    ConversionCodec,
    JsonCodec,
    MappingCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    Parts,
    ScalarCodec,
    UnionCodec,
    from_parts,
    one_of_words,
)
from spacelang.serialization.definition_hyperparameters import (
    HYPERPARAMETER,
    key_if_not_address,
    naming_keys,
    register_address,
)
from spacelang.serialization.json_documents import (
    DefinitionError,
    JsonObject,
    ReadingContext,
    expect_parameter_name,
    first_duplicate,
)
from spacelang.suggest import suggestion
from spacelang.text import Span

DEFAULT_CATALOGUE: Final = "sklearn"  # The default library, which is left out of documents
MAX_ORDERS: Final = 100_000  # The maximal number of orders of all permutations together


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


NODE: Final[JsonCodec[Node]] = NamedCodec("node", lambda: _NODE)


def _product(kind: ProductKind, about: str, *keys: ObjectKey) -> JsonCodec[Product]:
    def make(parts: Parts, path: str, context: ReadingContext) -> Product:
        if kind is ProductKind.COLUMNS:
            _check_same_length(parts, "selectors", path)
        return Product(kind, **parts, span=context.span())

    children = ObjectKey(kind.value, ArrayCodec(NODE), part="children")
    return NamedCodec(kind.value, lambda: ObjectCodec(about, (children, *keys), make, has_span=True))


def _check_same_length(parts: Parts, of_each: str, path: str) -> None:
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


_SELECTOR: Final[JsonCodec[ColumnSelector]] = UnionCodec(
    "",
    "a selector",
    {
        "pattern": ObjectCodec(
            "The columns whose names match a regular expression (`re.search`).",
            (ObjectKey("pattern", ScalarCodec(_pattern, TEXT.json_schema)),),
            lambda parts, _, __: ColumnSelector("pattern", **parts),
        )
    },
    lambda selector: "pattern" if selector.kind == "pattern" else "",
    ConversionCodec(one_of_words(*COLUMN_KINDS), ColumnSelector, attrgetter("kind")),
)


_FIRST: Final = ObjectKey("first", BOOLEAN, "True if the search should decide this before other decisions.", False)


def _decision(form: JsonCodec[str]) -> ObjectCodec[Choice]:
    about = "The default alternative; the first one if it is left out."
    alternatives = ObjectKey("alternatives", ArrayCodec(_ALTERNATIVE, 1, noun="alternatives"), part="branches")
    keys = (
        *naming_keys("decision", form, "Its own name."),
        alternatives,
        ObjectKey("default", TEXT, about, None),
        _FIRST,
    )
    return ObjectCodec(
        "A decision: exactly one of the alternatives is taken.", keys, _choice, _choice_parts, has_span=True
    )


_DECISION: Final[JsonCodec[Choice]] = NamedCodec("decision", lambda: _decision(PLAIN_WORD))
_NESTED: Final[JsonCodec[Choice]] = NamedCodec("decision", lambda: _decision(PARAMETER_NAME))


def _choice_parts(node: Choice) -> JsonObject:
    return {"key": key_if_not_address(node), "default": node.branches[node.default].name if node.default else None}


def _choice(parts: Parts, path: str, context: ReadingContext) -> Choice:
    names = [branch.name for branch in parts["branches"]]
    again = first_duplicate(names)
    if again is not None:
        raise DefinitionError(
            f"{path}.alternatives[{again}]", f"is a second alternative with the name `{names[again]}`"
        )
    default = names[0] if parts["default"] is None else parts["default"]
    if default not in names:
        remedy = suggestion(default, names) or "use one of the alternatives"
        raise DefinitionError(f"{path}.default", f"is `{default}`, which is not an alternative", remedy)
    register_address(parts, path, context)
    return Choice(**{**parts, "default": names.index(default)}, span=context.span(parts["name"]))


def _branch(parts: Parts, path: str, context: ReadingContext) -> Branch:
    if parts["value"] is not None and parts["node"] != SKIPPED_STEP:
        raise DefinitionError(f"{path}.value", "is given together with a `node`")
    return Branch(**parts, span=context.span(parts["name"]))


_ALTERNATIVE: Final[JsonCodec[Branch]] = NamedCodec(
    "alternative",
    lambda: ObjectCodec(
        "One alternative of a decision.",
        (
            ObjectKey("alternative", NAME, "Its name.", part="name"),
            ObjectKey(
                "weight",
                POSITIVE_NUMBER,
                "How good it is expected to be relative to the others; 1 if it is left out.",
                1.0,
            ),
            ObjectKey("node", NODE, "The node that is used; the step is skipped if there is none.", SKIPPED_STEP),
            ObjectKey(
                "value",
                VALUE,
                "The plain value of a parameter whose other alternatives are operators; null if both this and the "
                "node are left out.",
                None,
            ),
        ),
        _branch,
        has_span=True,
    ),
)


@dataclass(frozen=True, slots=True)
class _OrderDecision:
    """The decision about the order of a permutation; `orders` are all orders as alternatives."""

    choice: Choice
    orders: tuple[Branch, ...]

    @property
    def span(self) -> Span:
        """The source span of the decision."""
        return self.choice.span

    @property
    def parts(self) -> JsonObject:
        """All parts of the decision; the alternatives are empty if they are exactly all orders."""
        listed = () if self.choice.branches == self.orders else self.choice.branches
        called = {name: getattr(self.choice, name) for name in ("name", "address", "first")}
        return {**called, **_choice_parts(self.choice), "branches": listed}


def _orders(labels: Sequence[str]) -> tuple[Branch, ...]:
    return tuple(Branch(order_name(order), SKIPPED_STEP) for order in permutations(labels))


def _permutation_parts(node: Product) -> JsonObject:
    order, *steps = node.children
    assert isinstance(order, Choice)
    return {"children": steps, "order": _OrderDecision(order, _orders(node.labels))}


def _permutation(parts: Parts, path: str, context: ReadingContext) -> Product:
    _check_same_length(parts, "labels", path)
    labels, order = parts["labels"], parts.pop("order")
    context.paths.order_count += factorial(len(labels))
    if context.paths.order_count > MAX_ORDERS:
        raise DefinitionError(
            path, f"exceeds the limit: the permutations have more than {MAX_ORDERS:,} orders of steps in total"
        )
    children = (order(_orders(labels)), *parts.pop("children"))
    return Product(ProductKind.PERMUTATION, children, context.span(), **parts)


def _deferred_order(parts: Parts, path: str, context: ReadingContext) -> Callable[[tuple[Branch, ...]], Choice]:
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


_ORDER: Final[JsonCodec[Any]] = NamedCodec(
    "order",
    lambda: ObjectCodec(
        "The decision about the order of a permutation. If the alternatives are left out, they are all orders of the "
        "labels, each named by its labels with commas between them.",
        (
            *naming_keys("decision", PLAIN_WORD, "Its own name."),
            ObjectKey("alternatives", ArrayCodec(_ALTERNATIVE, 1, noun="alternatives"), "", (), "branches"),
            ObjectKey("default", TEXT, "The default order; the first one if it is left out.", None),
            _FIRST,
        ),
        _deferred_order,
        lambda order: order.parts,
        has_span=True,
    ),
)
_PERMUTATION: Final[JsonCodec[Product]] = NamedCodec(
    "permutation",
    lambda: ObjectCodec(
        "Steps whose order is a decision.",
        (
            ObjectKey("permutation", ArrayCodec(NODE, most=MAX_PERMUTED_STEPS, noun="steps"), part="children"),
            ObjectKey(
                "labels",
                ArrayCodec(NAME, most=MAX_PERMUTED_STEPS, noun="labels", distinct=True),
                "The names of the steps in the orders.",
            ),
            ObjectKey("order", _ORDER),
        ),
        _permutation,
        _permutation_parts,
        has_span=True,
    ),
)


def _operator(parts: Parts, path: str, context: ReadingContext) -> Operator:
    names = [*(name for name, _ in parts["fixed"]), *(child.name for child in parts["children"])]
    again = first_duplicate(names)
    if again is not None:
        at = f"{path}.parameters[{again - len(parts['fixed'])}]"
        raise DefinitionError(at, f"is a second parameter with the name `{names[again]}`")
    return Operator(**parts, span=context.span(parts["name"]))


_OPERATOR: Final[JsonCodec[Operator]] = NamedCodec("operator", lambda: _OPERATOR_OBJECT)
_NAMED: Final[JsonCodec[NamedObject]] = NamedCodec(
    "named",
    lambda: ObjectCodec(
        "A function or object that the catalogue lists by its name.",
        (ObjectKey("named", NAME, part="name"),),
        from_parts(NamedObject),
    ),
)
_FIXED: Final[JsonCodec[FixedValue]] = UnionCodec(
    "",
    "an operator or a named object",
    {"operator": _OPERATOR, "named": _NAMED},
    lambda value: "operator" if isinstance(value, Operator) else "named" if isinstance(value, NamedObject) else "",
    VALUE,
)
_OPERATOR_OBJECT: Final[JsonCodec[Operator]] = ObjectCodec(
    "A step provided by a library.",
    (
        ObjectKey("operator", PLAIN_WORD, "The name of the operator's class.", part="name"),
        ObjectKey(
            "library",
            NAME,
            "The catalogue that contains it, or `abstract` for an operator that the space declares itself; `sklearn` "
            "if it is left out.",
            DEFAULT_CATALOGUE,
            "catalogue",
        ),
        ObjectKey("fixed", MappingCodec(_FIXED, expect_parameter_name), "Parameters with fixed values, by name.", ()),
        ObjectKey(
            "parameters",
            ArrayCodec(
                UnionCodec(
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
    has_span=True,
)
_NODE: Final[JsonCodec[Node]] = UnionCodec(
    "A part of the pipeline.",
    "a node",
    {
        "operator": _OPERATOR,
        "decision": _DECISION,
        "hyperparameter": HYPERPARAMETER,
        "sequence": _product(ProductKind.SEQUENCE, "One step after the other."),
        "parallel": _product(ProductKind.PARALLEL, "Steps side by side, with their features concatenated."),
        "columns": _product(
            ProductKind.COLUMNS,
            "Steps side by side, each for some of the columns of the data.",
            ObjectKey("selectors", ArrayCodec(_SELECTOR), "The columns that each step takes."),
        ),
        "permutation": _PERMUTATION,
    },
    _kind_of,
)
