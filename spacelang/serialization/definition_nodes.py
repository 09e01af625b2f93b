"""JSON codecs of nodes: steps, decisions, permutations and operators."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import factorial
from operator import attrgetter
from typing import Any, Final, assert_never

from spacelang.ir import space as ir
from spacelang.ir.domain import Grid, Union, contains, describe
from spacelang.ir.repeated_stages import name_of_nth_use
from spacelang.ir.tuple_parameters import element_name, length_name
from spacelang.serialization import codec, json_documents
from spacelang.serialization.codec import (
    ArrayCodec,
    JsonCodec,
    ObjectCodec,
    ObjectKey,
    SchemaDefinitionCodec,
    UnionCodec,
)
from spacelang.serialization.definition_hyperparameters import (
    COMPUTED,
    HYPERPARAMETER,
    TUPLE,
    key_if_not_address,
    name_address_and_key_codecs,
    register_address,
)
from spacelang.serialization.json_documents import DefinitionError, JsonObject, ReadingContext
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import Span

MAX_ORDERS: Final = 100_000  # The maximal number of orders of all permutations together


def _kind_of(node: ir.Node) -> str:
    match node:
        case ir.Hyperparameter():
            return "hyperparameter"
        case ir.Choice():
            return "decision"
        case ir.Operator():
            return "operator"
        case ir.Product():
            return node.kind.value
        case _:
            assert_never(node)


NODE: Final[JsonCodec[ir.Node]] = SchemaDefinitionCodec("node", lambda: _NODE)


def _product(kind: ir.ProductKind, about: str, *keys: ObjectKey) -> JsonCodec[ir.Product]:
    def make(parts: codec.Parts, path: str, context: ReadingContext) -> ir.Product:
        if kind is ir.ProductKind.COLUMNS:
            _check_same_length(parts, "selectors", path)
        _check_undotted(parts["children"], (), f"{path}.{kind.value}")
        return ir.Product(kind, **parts, span=context.span_in_current_line())

    children = ObjectKey(kind.value, ArrayCodec(NODE), part="children")
    return SchemaDefinitionCodec(kind.value, lambda: ObjectCodec(about, (children, *keys), make, has_span=True))


def _check_same_length(parts: codec.Parts, of_each: str, path: str) -> None:
    found, wanted = len(parts[of_each]), len(parts["children"])
    if found != wanted:
        raise DefinitionError(f"{path}.{of_each}", f"has {found} entries, expected {wanted}: one for each step")


def _pattern(value: object, path: str) -> str:
    pattern = codec.TEXT.convert(value, path)
    try:
        re.compile(pattern)
    except re.error as error:
        raise DefinitionError(path, f"is not a valid regular expression: {error}") from None
    return pattern


_PATTERN_SELECTOR: Final[JsonCodec[ir.ColumnSelector]] = ObjectCodec(
    "The columns whose names match a regular expression (`re.search`).",
    (ObjectKey("pattern", codec.ScalarCodec(_pattern, codec.TEXT.json_schema)),),
    lambda parts, _, __: ir.ColumnSelector("pattern", **parts),
)
_SELECTOR: Final[JsonCodec[ir.ColumnSelector]] = UnionCodec(
    "",
    "a selector",
    {"pattern": _PATTERN_SELECTOR},
    lambda selector: "pattern" if selector.kind == "pattern" else "",
    codec.ConversionCodec(codec.word_codec(*ir.COLUMN_KINDS), ir.ColumnSelector, attrgetter("kind")),
)


_REPEATS_ABOUT: Final = (
    "The stage that a chain uses. The alternatives are numbers, each with a sequence of so many uses of the stage, "
    "which are decisions: the name of the first one is that of the chain with `[1]`."
)
_FIRST_ABOUT: Final = "True if the search should decide this before other decisions."
_FIRST: Final = ObjectKey("first", codec.BOOLEAN, _FIRST_ABOUT, False)


def _decision(form: JsonCodec[str]) -> ObjectCodec[ir.Choice]:
    keys = (
        *name_address_and_key_codecs("decision", form, "Its own name."),
        ObjectKey("alternatives", ArrayCodec(_ALTERNATIVE, 1, noun="alternatives"), part="branches"),
        ObjectKey("default", codec.TEXT, "The default alternative; the first one if it is left out.", None),
        _FIRST,
        ObjectKey("repeats", codec.TEXT, _REPEATS_ABOUT, ""),
    )
    about = "A decision: exactly one of the alternatives is taken."
    return ObjectCodec(about, keys, _choice, _choice_parts, has_span=True)


_DECISION: Final[JsonCodec[ir.Choice]] = SchemaDefinitionCodec("decision", lambda: _decision(codec.DECISION_NAME))
_NESTED: Final[JsonCodec[ir.Choice]] = SchemaDefinitionCodec("decision", lambda: _decision(codec.PARAMETER_NAME))


def _choice_parts(node: ir.Choice) -> JsonObject:
    return {"key": key_if_not_address(node), "default": node.branches[node.default].name if node.default else None}


def _choice(parts: codec.Parts, path: str, context: ReadingContext) -> ir.Choice:
    names = [branch.name for branch in parts["branches"]]
    again = json_documents.first_duplicate_index(names)
    if again is not None:
        problem = f"is a second alternative with the name `{names[again]}`"
        raise DefinitionError(f"{path}.alternatives[{again}]", problem)
    default = names[0] if parts["default"] is None else parts["default"]
    if default not in names:
        remedy = format_suggestion(default, names) or "use one of the alternatives"
        raise DefinitionError(f"{path}.default", f"is `{default}`, which is not an alternative", remedy)
    register_address(parts, path, context)
    if parts.get("repeats"):
        _check_chain(parts, path)
    return ir.Choice(**{**parts, "default": names.index(default)}, span=context.span_in_current_line(parts["name"]))


def _check_chain(parts: codec.Parts, path: str) -> None:
    """Raise DefinitionError unless the names of a chain's alternatives increase and each has that number of uses."""
    for place, branch in enumerate(parts["branches"]):
        at = f"{path}.alternatives[{place}]"
        if not branch.name.isdecimal() or (place and int(branch.name) <= int(parts["branches"][place - 1].name)):
            raise DefinitionError(at, f"is `{branch.name}`, expected a larger number of uses than the one before")
        names = [use.name if isinstance(use, ir.Choice) else "" for use in ir.children_of(branch.node)]
        if names != [name_of_nth_use(parts["name"], use) for use in range(1, int(branch.name) + 1)]:
            problem = f"must contain the decisions of {branch.name} uses of the chain, in order"
            raise DefinitionError(at, problem, f"the first use is the decision `{name_of_nth_use(parts['name'], 1)}`")


def _branch(parts: codec.Parts, path: str, context: ReadingContext) -> ir.Branch:
    if parts["value"] is not None and parts["node"] != ir.SKIPPED_STEP:
        raise DefinitionError(f"{path}.value", "cannot be given together with a `node`")
    return ir.Branch(**parts, span=context.span_in_current_line(parts["name"]))


_WEIGHT_ABOUT: Final = "How good it is expected to be relative to the others; 1 if it is left out."
_ALTERNATIVE: Final[JsonCodec[ir.Branch]] = codec.object_codec_with_schema_name(
    "alternative",
    "One alternative of a decision.",
    (
        ObjectKey("alternative", codec.NAME, "Its name.", part="name"),
        ObjectKey("weight", codec.POSITIVE_NUMBER, _WEIGHT_ABOUT, 1.0),
        ObjectKey("node", NODE, "The node that is used; the step is skipped if there is none.", ir.SKIPPED_STEP),
        ObjectKey(
            "value",
            codec.VALUE,
            "The plain value of a parameter whose other alternatives are operators; null if both this and the "
            "node are left out.",
            None,
        ),
    ),
    _branch,
    has_span=True,
)


@dataclass(frozen=True, slots=True)
class _OrderDecision:
    """The decision about the order of a permutation; `orders` are all orders as alternatives."""

    choice: ir.Choice
    orders: tuple[ir.Branch, ...]

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


def _orders(labels: Sequence[str]) -> tuple[ir.Branch, ...]:
    return tuple(ir.Branch(ir.name_of_step_order(order), ir.SKIPPED_STEP) for order in permutations(labels))


def _permutation_parts(node: ir.Product) -> JsonObject:
    order, *steps = node.children
    assert isinstance(order, ir.Choice)
    return {"children": steps, "order": _OrderDecision(order, _orders(node.labels))}


def _permutation(parts: codec.Parts, path: str, context: ReadingContext) -> ir.Product:
    _check_same_length(parts, "labels", path)
    labels, order = parts["labels"], parts.pop("order")
    context.paths.order_count += factorial(len(labels))
    if context.paths.order_count > MAX_ORDERS:
        problem = f"exceeds the limit: the permutations have more than {MAX_ORDERS:,} orders of steps in total"
        raise DefinitionError(path, problem)
    children = (order(_orders(labels)), *parts.pop("children"))
    return ir.Product(ir.ProductKind.PERMUTATION, children, context.span_in_current_line(), **parts)


def _deferred_order(
    parts: codec.Parts, path: str, context: ReadingContext
) -> Callable[[tuple[ir.Branch, ...]], ir.Choice]:
    """Return a function that takes all possible orders and creates the decision about the order of a permutation.

    The orders depend on the labels of the permutation, which are no part of the JSON object of the decision.
    """

    def order(orders: tuple[ir.Branch, ...]) -> ir.Choice:
        for place, branch in enumerate(parts["branches"]):
            if branch not in orders:
                raise DefinitionError(
                    f"{path}.alternatives[{place}]", "does not name each label once, with commas between them"
                )
        listed = parts["branches"] or tuple(replace(each, span=context.span_in_current_line()) for each in orders)
        return _choice({**parts, "branches": listed}, path, context)

    return order


_ORDER: Final[JsonCodec[Any]] = codec.object_codec_with_schema_name(
    "order",
    "The decision about the order of a permutation. If the alternatives are left out, they are all orders of the "
    "labels, each named by its labels with commas between them.",
    (
        *name_address_and_key_codecs("decision", codec.PLAIN_WORD, "Its own name."),
        ObjectKey("alternatives", ArrayCodec(_ALTERNATIVE, 1, noun="alternatives"), "", (), "branches"),
        ObjectKey("default", codec.TEXT, "The default order; the first one if it is left out.", None),
        _FIRST,
    ),
    _deferred_order,
    lambda order: order.parts,
    has_span=True,
)
_PERMUTATION: Final[JsonCodec[ir.Product]] = codec.object_codec_with_schema_name(
    "permutation",
    "Steps whose order is a decision.",
    (
        ObjectKey("permutation", ArrayCodec(NODE, most=ir.MAX_PERMUTED_STEPS, noun="steps"), part="children"),
        ObjectKey(
            "labels",
            ArrayCodec(codec.NAME, most=ir.MAX_PERMUTED_STEPS, noun="labels", distinct=True),
            "The names by which orders refer to the steps.",
        ),
        ObjectKey("order", _ORDER),
    ),
    _permutation,
    _permutation_parts,
    has_span=True,
)


def _operator(parts: codec.Parts, path: str, context: ReadingContext) -> ir.Operator:
    fixed, children = parts["fixed"], parts["children"]
    names = [*(name for name, _ in fixed), *(child.name for child in (*children, *parts["computed"]))]
    for place, each in enumerate(parts["tuples"]):
        _check_tuple(each, children, f"{path}.tuples[{place}]")
    _check_undotted(children, {each.length for each in parts["tuples"]}, f"{path}.parameters")
    again = json_documents.first_duplicate_index(names)
    if again is not None:
        place = again - len(fixed)
        at = f"{path}.parameters[{place}]" if place < len(children) else f"{path}.computed[{place - len(children)}]"
        raise DefinitionError(at, f"is a second parameter with the name `{names[again]}`")
    return ir.Operator(**parts, span=context.span_in_current_line(parts["name"]))


def _check_tuple(parameter: ir.TupleParameter, children: Sequence[ir.Node], path: str) -> None:
    """Raise DefinitionError unless the members of a tuple are hyperparameters of the operator that have its names."""
    known = {child.address: child for child in children if isinstance(child, ir.Hyperparameter) and child.is_var}
    numbers = range(1, len(parameter.elements) + 1)
    names = (length_name(parameter.name), *(element_name(parameter.name, number) for number in numbers))
    names = names if parameter.choice is None else (parameter.name, *names)
    # A restricted space that excludes all tuples has only the hyperparameter for the other values.
    is_excluded = parameter.choice is not None and not parameter.elements and parameter.length not in known
    for name, address in [*zip(names, parameter.members, strict=True)][: 1 if is_excluded else None]:
        if address not in known or known[address].name != name:
            raise DefinitionError(path, f"names `{address}`, which is not the hyperparameter `{name}` of this operator")
        if known[address].key.removesuffix(name) != known[parameter.members[0]].key.removesuffix(names[0]):
            key, first_key = known[address].key, known[parameter.members[0]].key
            raise DefinitionError(path, f"has the keys `{first_key}` and `{key}`, which do not begin alike")
    if is_excluded:
        return
    lengths = known[parameter.length].domain
    if not isinstance(lengths, Grid) or not lengths.is_consecutive or lengths.lower < 0:
        raise DefinitionError(path, f"has the lengths `{describe(lengths)}`", "give a range of integers from 0")
    if any(isinstance(known[address].domain, Union) for address in parameter.elements):
        raise DefinitionError(path, "cannot have elements whose domain is a union")
    if parameter.choice is not None and not contains(known[parameter.choice].domain, ir.TUPLE_NAME):
        raise DefinitionError(path, f"names the choice `{parameter.choice}`, which has no value `{ir.TUPLE_NAME}`")


def _check_undotted(nodes: Sequence[ir.Node], lengths: Collection[str], path: str) -> None:
    """Raise DefinitionError for a hyperparameter with a dotted name (`x.length`) that is not the length of a tuple."""
    for place, each in enumerate(nodes):
        if isinstance(each, ir.Hyperparameter) and "." in each.name and each.address not in lengths:
            raise DefinitionError(f"{path}[{place}]", f"is `{each.name}`, which is not the length of a tuple")


_OPERATOR: Final[JsonCodec[ir.Operator]] = SchemaDefinitionCodec("operator", lambda: _OPERATOR_OBJECT)
_NAMED: Final[JsonCodec[ir.CatalogueObject]] = codec.object_codec_with_schema_name(
    "named",
    "A function or object that the catalogue lists by its name.",
    (ObjectKey("named", codec.NAME, part="name"),),
    codec.call_with_parts(ir.CatalogueObject),
)
_FIXED: Final[JsonCodec[ir.FixedValue]] = UnionCodec(
    "",
    "an operator or a named object",
    {"operator": _OPERATOR, "named": _NAMED},
    lambda value: {ir.Operator: "operator", ir.CatalogueObject: "named"}.get(type(value), ""),
    codec.VALUE,
)
_PARAMETER: Final[JsonCodec[ir.Hyperparameter | ir.Choice]] = UnionCodec(
    "", "a hyperparameter or a decision", {"hyperparameter": HYPERPARAMETER, "decision": _NESTED}, _kind_of
)
_FIXED_PARAMETERS: Final = codec.MappingCodec(_FIXED, json_documents.expect_parameter_name)
_OPERATOR_OBJECT: Final[JsonCodec[ir.Operator]] = ObjectCodec(
    "A step provided by a library.",
    (
        ObjectKey("operator", codec.PLAIN_WORD, "The name of the operator's class.", part="name"),
        ObjectKey(
            "library",
            codec.NAME,
            "The catalogue that contains it, or `abstract` for an operator that the space declares itself; `sklearn` "
            "if it is left out.",
            ir.DEFAULT_CATALOGUE,
            "catalogue",
        ),
        ObjectKey("fixed", _FIXED_PARAMETERS, "Parameters with fixed values, by name.", ()),
        ObjectKey(
            "parameters",
            ArrayCodec(_PARAMETER),
            "Parameters that the search varies; a decision chooses between operators.",
            (),
            "children",
        ),
        ObjectKey("computed", ArrayCodec(COMPUTED), "Parameters whose values are computed.", ()),
        ObjectKey("tuples", ArrayCodec(TUPLE), "Parameters whose values are tuples of variable length.", ()),
    ),
    _operator,
    has_span=True,
)
_NODE: Final[JsonCodec[ir.Node]] = UnionCodec(
    "A part of the pipeline.",
    "a node",
    {
        "operator": _OPERATOR,
        "decision": _DECISION,
        "hyperparameter": HYPERPARAMETER,
        "sequence": _product(ir.ProductKind.SEQUENCE, "Steps in a sequence, one after the other."),
        "parallel": _product(ir.ProductKind.PARALLEL, "Steps side by side, with their features concatenated."),
        "columns": _product(
            ir.ProductKind.COLUMNS,
            "Steps side by side, each for some of the columns of the data.",
            ObjectKey("selectors", ArrayCodec(_SELECTOR), "The columns that each step takes."),
        ),
        "permutation": _PERMUTATION,
    },
    _kind_of,
)
