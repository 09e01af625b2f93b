"""JSON codecs of hyperparameters, with their domains, priors, conditions (expressions) and keys."""

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, TypeVar, assert_never

from spacelang.ir import expr
from spacelang.ir.domain import Categorical, Domain, Grid, NotFound, Ordinal, Real, Union, contains, describe, grid
from spacelang.ir.prior import PRIORS, Prior, expected_arguments, name_and_parameters, parameter_names
from spacelang.ir.space import Choice, ComputedParameter, Hyperparameter, TupleParameter
from spacelang.ir.value import ARITHMETIC_OPERATIONS, NUMERIC_FUNCTIONS, Value, identity_key
from spacelang.serialization import codec, json_documents
from spacelang.serialization.codec import (
    ArrayCodec,
    JsonCodec,
    ObjectCodec,
    ObjectKey,
    ScalarCodec,
    SchemaDefinitionCodec,
    UnionCodec,
)
from spacelang.serialization.json_documents import DefinitionError, JsonObject, ReadingContext

EXPRESSION: Final[JsonCodec[expr.Expr]] = SchemaDefinitionCodec("expression", lambda: _EXPRESSION)
T = TypeVar("T")


def _integers(parts: codec.Parts, path: str, _: ReadingContext) -> Grid | Real:
    lower, upper = _read_bounds(parts, f"{path}.int")
    return _check_range(Grid(lower, upper, parts["log"], parts["step"]), path)


def _floats(parts: codec.Parts, path: str, _: ReadingContext) -> Grid | Real:
    lower, upper = _read_bounds(parts, f"{path}.float")
    is_open, log, step = ("lower" in parts["open"], "upper" in parts["open"]), parts["log"], parts["step"]
    if step is None:
        return _check_range(Real(lower, upper, *is_open, log), path)
    # Older documents may exclude the bounds of a range with steps; without excluded bounds the range is kept as it is.
    drawn_in = grid(lower, upper, step, lower_open=is_open[0], upper_open=is_open[1], log=log)
    return _check_range(drawn_in if any(is_open) else Grid(lower, upper, log, step), path)


def _read_bounds(parts: codec.Parts, path: str) -> tuple[Any, Any]:
    lower, upper = parts["ends"]
    if lower > upper:
        raise DefinitionError(path, "has no members: the bounds are reversed")
    return lower, upper


def _check_range(found: Grid | Real, path: str) -> Grid | Real:
    if found.log and found.lower <= 0:
        raise DefinitionError(path, "is logarithmic but includes 0 or negative numbers", "give a lower bound above 0")
    if found.log and isinstance(found, Grid) and not found.is_integral:
        raise DefinitionError(path, "is logarithmic but has even steps", "leave out `log` or `step`")
    is_empty = found.size is not None and found.size < 1
    if is_empty or (isinstance(found, Real) and not contains(found, found.representative)):
        raise DefinitionError(path, "has no members")
    return found


def _range(domain: Grid | Real) -> JsonObject:
    either = {} if isinstance(domain, Grid) else {"lower": domain.lower_open, "upper": domain.upper_open}
    is_open, step = tuple(end for end, is_open in either.items() if is_open), getattr(domain, "step", None)
    return {"ends": (domain.lower, domain.upper), "open": is_open, "log": domain.log, "step": step}


def _finite_set(kind: Callable[[tuple[Value, ...]], T], key: str) -> Callable[[codec.Parts, str, ReadingContext], T]:
    def make(parts: codec.Parts, path: str, _: ReadingContext) -> T:
        seen: set[object] = set()
        for place, each in enumerate(parts["values"]):
            if identity_key(each) in seen:
                raise DefinitionError(f"{path}.{key}[{place}]", "is a duplicate value")
            seen.add(identity_key(each))
        return kind(parts["values"])

    return make


_LOG: Final = ObjectKey("log", codec.BOOLEAN, "True if values are spread evenly on the logarithmic scale.", False)
_STEP: Final = "The step between members, counted from the lower bound; "
_SIDES: Final = ArrayCodec(codec.word_codec("lower", "upper"), most=2)
_SET: Final = ArrayCodec(codec.VALUE, least=1, noun="values")
_SIMPLE: Final[dict[str, JsonCodec[Any]]] = {
    "int": ObjectCodec(
        "The integers from the first to the second number, including both.",
        (
            ObjectKey(
                "int",
                ArrayCodec(ScalarCodec(json_documents.expect_integer, {"type": "integer"}), 2, 2, "bounds"),
                part="ends",
            ),
            _LOG,
            ObjectKey("step", codec.integer_codec(1), f"{_STEP}by default 1.", 1),
        ),
        _integers,
        _range,
    ),
    "float": ObjectCodec(
        "The numbers from the first to the second.",
        (
            ObjectKey("float", ArrayCodec(codec.FLOAT, 2, 2, "bounds"), part="ends"),
            ObjectKey("open", _SIDES, "The bounds that are excluded.", ()),
            _LOG,
            ObjectKey(
                "step",
                codec.POSITIVE_FLOAT,
                f"{_STEP}without a step, all numbers between the bounds are members.",
                None,
            ),
        ),
        _floats,
        _range,
    ),
    "set": ObjectCodec(
        "A finite set of values without an order.",
        (ObjectKey("set", _SET, part="values"),),
        _finite_set(Categorical, "set"),
    ),
    "ordered": ObjectCodec(
        "A finite set of values in their order.",
        (ObjectKey("ordered", _SET, part="values"),),
        _finite_set(Ordinal, "ordered"),
    ),
}


def _kind_of_domain(domain: Domain) -> str:
    match domain:
        case Union():
            return "union"
        case Ordinal():
            return "ordered"
        case Categorical():
            return "set"
        case Grid():
            return "int" if domain.is_integral else "float"
        case Real():
            return "float"
        case _:
            assert_never(domain)


_SIMPLE_DOMAIN: Final[JsonCodec[Any]] = SchemaDefinitionCodec(
    "simpleDomain",
    lambda: UnionCodec("A single range or set of values.", "a single range or set of values", _SIMPLE, _kind_of_domain),
)
DOMAIN: Final[JsonCodec[Domain]] = SchemaDefinitionCodec("domain", lambda: _DOMAIN)
_UNION: Final = ObjectCodec(
    "The union of several disjoint domains.",
    (ObjectKey("union", ArrayCodec(_SIMPLE_DOMAIN, least=2, noun="parts"), part="parts"),),
    codec.call_with_parts(Union),
)
_DOMAIN: Final[JsonCodec[Domain]] = UnionCodec(
    "The values that a hyperparameter may have.", "a domain", {**_SIMPLE, "union": _UNION}, _kind_of_domain
)


def _prior(parts: codec.Parts, path: str, _: ReadingContext) -> Prior:
    name, numbers = parts["distribution"], parts["parameters"]
    if (expected := expected_arguments(name, numbers)) is not None:
        raise DefinitionError(f"{path}.parameters", "does not fit the distribution", f"give {expected}")
    return PRIORS[name](*numbers)


def _prior_parts(prior: Prior) -> JsonObject:
    distribution, parameters = name_and_parameters(prior)
    return {"distribution": distribution, "parameters": parameters}


def _distribution_schema(prior: type[Prior]) -> JsonObject:
    names = parameter_names(prior)
    items = [{"exclusiveMinimum": 0} if name in prior.positive else {} for name in names]
    limits = {"prefixItems": items, "minItems": len(names)} if names else {}
    return {"properties": {"distribution": {"const": prior.name}, "parameters": {**limits, "maxItems": len(names)}}}


PRIOR: Final[JsonCodec[Prior]] = codec.object_codec_with_schema_name(
    "prior",
    "The prior distribution of good values, on the logarithmic scale if the domain is logarithmic. "
    + "; ".join(f"`{prior.name}`: {prior.meaning}" for prior in PRIORS.values()),
    (
        ObjectKey("distribution", codec.word_codec(*PRIORS)),
        ObjectKey("parameters", ArrayCodec(ScalarCodec(json_documents.expect_number, {"type": "number"}))),
    ),
    _prior,
    _prior_parts,
    extra_schema={"oneOf": [*map(_distribution_schema, PRIORS.values())]},
)


_EXPRESSION_KEYS: Final[dict[type[expr.Expr], str]] = {
    expr.Constant: "", expr.Reference: "hyperparameter", expr.BranchTest: "is", expr.ActivityTest: "active",
    expr.In: "in", expr.Not: "not", expr.And: "and", expr.Or: "or",
}  # fmt: skip


def _key_of_expression(expression: expr.Expr) -> str:
    match expression:
        case expr.Compare(relation=sign) | expr.Arithmetic(operation=sign) | expr.Call(function=sign):
            return sign
        case _:
            return _EXPRESSION_KEYS[type(expression)]


def _binary_codec(kind: Callable[..., expr.Expr], sign: str, about: str) -> ObjectCodec[expr.Expr]:
    sides = ObjectKey(sign, ArrayCodec(EXPRESSION, 2, 2, "sides"), part="sides")
    return ObjectCodec(about, (sides,), lambda parts, _, __: kind(sign, *parts["sides"]), _sides)


def _sides(expression: Any) -> JsonObject:
    return {"sides": (expression.left, expression.right)}


_COUNT: Final = ObjectKey("count", ArrayCodec(EXPRESSION, 1, noun="conditions"), part="arguments")


def _function_codec(function: Any) -> ObjectCodec[expr.Expr]:
    several = function in expr.VARIADIC_FUNCTIONS
    arguments = ArrayCodec(EXPRESSION, 2 if several else 1, None if several else 1, "arguments")
    about = "A function of several numbers." if several else "A function of a number."
    return ObjectCodec(
        about, (ObjectKey(function, arguments, part="arguments"),), lambda parts, _, __: expr.Call(function, **parts)
    )


def _object_codec(about: str, kind: Callable[..., expr.Expr], *keys: ObjectKey) -> ObjectCodec[expr.Expr]:
    return ObjectCodec(about, keys, codec.call_with_parts(kind))


_ADDRESS: Final = "Its address."
_SPLIT: Final = "The number of pieces into which `boasf` cuts the domain, with `arms=subspaces` (`@split`)."
_TERMS: Final = ArrayCodec(EXPRESSION)
_EXPRESSION: Final[JsonCodec[expr.Expr]] = UnionCodec(
    "An expression; a plain value is a constant. A comparison with an inactive hyperparameter is false.",
    "an expression",
    {
        "hyperparameter": _object_codec(
            "The value of a hyperparameter.",
            expr.Reference,
            ObjectKey("hyperparameter", codec.NAME, _ADDRESS, part="address"),
        ),
        "is": _object_codec(
            "True if a decision takes one of these alternatives; false if the decision is not reached.",
            expr.BranchTest,
            ObjectKey("decision", codec.NAME, _ADDRESS, part="address"),
            ObjectKey("is", ArrayCodec(codec.TEXT), part="branches"),
        ),
        "active": _object_codec(
            "True if a hyperparameter is active.",
            expr.ActivityTest,
            ObjectKey("active", codec.NAME, _ADDRESS, part="address"),
        ),
        "in": _object_codec(
            "True if a value is one of several.",
            expr.In,
            ObjectKey("item", EXPRESSION),
            ObjectKey("in", ArrayCodec(codec.VALUE), part="values"),
        ),
        "not": _object_codec("True if the term is false.", expr.Not, ObjectKey("not", EXPRESSION, part="term")),
        "and": _object_codec("True if all of the terms are true.", expr.And, ObjectKey("and", _TERMS, part="terms")),
        "or": _object_codec(
            "True if at least one of the terms is true.", expr.Or, ObjectKey("or", _TERMS, part="terms")
        ),
        **{
            sign: _binary_codec(expr.Compare, sign, "A comparison of two values.") for sign in expr.COMPARISON_FUNCTIONS
        },
        **{
            sign: _binary_codec(expr.Arithmetic, sign, "An arithmetic operation on two numbers.")
            for sign in ARITHMETIC_OPERATIONS
        },
        **{function: _function_codec(function) for function in NUMERIC_FUNCTIONS},
        "count": ObjectCodec(
            "The number of conditions that are true.", (_COUNT,), lambda parts, _, __: expr.Call("count", **parts)
        ),
    },
    _key_of_expression,
    untagged=codec.ConversionCodec(codec.VALUE, expr.Constant, attrgetter("value")),
)


def name_address_and_key_codecs(kind: str, form: JsonCodec[str], about: str) -> tuple[ObjectKey, ...]:
    """Return the JSON keys for the name, address and configuration key; `kind` is the JSON key of the name."""
    key = (
        "The key in configurations, by default the address. Decisions and hyperparameters that can be active together "
        "need different keys."
    )
    return (
        ObjectKey(kind, form, about, part="name"),
        ObjectKey("address", codec.NAME, "Its name in expressions; unique in the space."),
        ObjectKey("key", codec.NAME, key, None),
    )


def key_if_not_address(node: Hyperparameter | Choice) -> str | None:
    """Return the configuration key of a node; None if it equals the address."""
    return None if node.key == node.address else node.key


def register_address(parts: codec.Parts, path: str, context: ReadingContext) -> None:
    """Record the path of the part with this address, and set its configuration key to the address if it has none.

    Raise DefinitionError if another part has the address.
    """
    context.paths.record_path(parts["address"], path)
    parts["key"] = parts["key"] or parts["address"]


def _condition(parts: codec.Parts, path: str, context: ReadingContext) -> expr.Expr:
    when: expr.Expr = parts["when"]
    context.paths.expressions.append((f"{path}.when", when))
    return replace(when, span=context.span_in_current_line())


_CONDITION: Final[JsonCodec[expr.Expr]] = codec.object_codec_with_schema_name(
    "condition",
    "The condition under which a hyperparameter is active.",
    (ObjectKey("when", EXPRESSION),),
    _condition,
    lambda each: {"when": each},
    has_span=True,
)


def _computed(parts: codec.Parts, path: str, context: ReadingContext) -> ComputedParameter:
    context.paths.record_path(parts["address"], path)
    context.paths.expressions.append((f"{path}.value", parts["expression"]))
    span = context.span_in_current_line(parts["name"])
    return ComputedParameter(parts["name"], parts["address"], replace(parts["expression"], span=span), span)


COMPUTED: Final[JsonCodec[ComputedParameter]] = codec.object_codec_with_schema_name(
    "computed",
    "A parameter of an operator whose value is computed from the configuration, which does not contain it.",
    (
        ObjectKey("computed", codec.PARAMETER_NAME, "The name of the parameter.", part="name"),
        ObjectKey("address", codec.NAME, "Its address; unique in the space."),
        ObjectKey("value", EXPRESSION, part="expression"),
    ),
    _computed,
    has_span=True,
)


def _tuple(parts: codec.Parts, path: str, context: ReadingContext) -> TupleParameter:
    if parts["choice"] != parts["address"]:
        context.paths.record_path(parts["address"], path)
    return TupleParameter(**parts, span=context.span_in_current_line(parts["name"]))


TUPLE: Final[JsonCodec[TupleParameter]] = codec.object_codec_with_schema_name(
    "tuple",
    "A parameter of an operator whose value is a tuple of variable length, made of hyperparameters of the operator.",
    (
        ObjectKey("tuple", codec.PARAMETER_NAME, "The name of the parameter.", part="name"),
        ObjectKey("address", codec.NAME, "Its address; unique in the space."),
        ObjectKey("length", codec.NAME, "The address of the hyperparameter for the length."),
        ObjectKey("elements", ArrayCodec(codec.NAME), "The addresses of those for the elements, in order."),
        ObjectKey(
            "choice",
            codec.NAME,
            "The address of the hyperparameter for other values of the parameter, which has the value `tuple` where "
            "the value is a tuple; left out if there are no other values.",
            None,
        ),
    ),
    _tuple,
    has_span=True,
)


def _hyperparameter(parts: codec.Parts, path: str, context: ReadingContext) -> Hyperparameter:
    domain = parts["domain"]
    parts["default"] = domain.find(parts["default"])
    if isinstance(parts["default"], NotFound):
        raise DefinitionError(f"{path}.default", f"is outside of `{describe(domain)}`")
    for place, each in enumerate(parts["named"]):
        if isinstance(domain.find(each), NotFound):
            raise DefinitionError(f"{path}.named[{place}]", f"is `{each}`, outside of `{describe(domain)}`")
    register_address(parts, path, context)
    return Hyperparameter(**parts, span=context.span_in_current_line(parts["name"]))


HYPERPARAMETER: Final[JsonCodec[Hyperparameter]] = codec.object_codec_with_schema_name(
    "hyperparameter",
    "One parameter of an operator; active if its operator is reached and its condition holds.",
    (
        *name_address_and_key_codecs("hyperparameter", codec.HYPERPARAMETER_NAME, "The name of the parameter."),
        ObjectKey("domain", DOMAIN),
        ObjectKey("default", codec.VALUE, "The default value, a member of the domain."),
        ObjectKey("condition", _CONDITION, default=None),
        ObjectKey(
            "named", ArrayCodec(codec.NAME), "The values that are names of functions or objects of the catalogue.", ()
        ),
        ObjectKey("prior", PRIOR, default=None),
        ObjectKey("split", codec.integer_codec(1), _SPLIT, None),
        ObjectKey(
            "var", codec.BOOLEAN, "True if no operator takes it: only expressions and tuples use it.", False, "is_var"
        ),
    ),
    _hyperparameter,
    lambda node: {"key": key_if_not_address(node)},
    has_span=True,
)
