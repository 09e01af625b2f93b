"""JSON codecs of domains and priors."""

from collections.abc import Callable
from typing import Any, Final, TypeVar, assert_never

from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, contains, grid
from spacelang.ir.prior import DISTRIBUTIONS, NORMAL, UNIFORM, Prior, make_prior, name_and_parameters
from spacelang.ir.value import Value, identity_key
from spacelang.serialization.codec import (
    BOOLEAN,
    FLOAT,
    POSITIVE_FLOAT,
    VALUE,
    ArrayCodec,
    JsonCodec,
    NamedCodec,
    ObjectCodec,
    ObjectKey,
    Parts,
    ScalarCodec,
    UnionCodec,
    from_parts,
    integer_from,
    one_of_words,
)
from spacelang.serialization.document_context import JsonObject, ReadingContext
from spacelang.serialization.json_fields import DefinitionError, expect_integer, expect_number

T = TypeVar("T")


def _integers(parts: Parts, path: str, _: ReadingContext) -> Grid | Real:
    lower, upper = _read_bounds(parts, f"{path}.int")
    return _check_range(Grid(lower, upper, parts["log"], parts["step"]), path)


def _floats(parts: Parts, path: str, _: ReadingContext) -> Grid | Real:
    lower, upper = _read_bounds(parts, f"{path}.float")
    is_open, log, step = ("lower" in parts["open"], "upper" in parts["open"]), parts["log"], parts["step"]
    if step is None:
        return _check_range(Real(lower, upper, *is_open, log), path)
    # Older documents may exclude the bounds of a range with steps; without excluded bounds the range is kept as it is.
    drawn_in = grid(lower, upper, step, lower_open=is_open[0], upper_open=is_open[1], log=log)
    return _check_range(drawn_in if any(is_open) else Grid(lower, upper, log, step), path)


def _read_bounds(parts: Parts, path: str) -> tuple[Any, Any]:
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
    if is_empty or (isinstance(found, Real) and not contains(found, found.middle)):
        raise DefinitionError(path, "has no members")
    return found


def _grid(domain: Grid) -> JsonObject:
    return {"ends": (domain.lower, domain.upper), "open": (), "log": domain.log, "step": domain.step}


def _range(domain: Grid | Real) -> JsonObject:
    if isinstance(domain, Grid):
        return _grid(domain)
    ends = [name for name, is_open in (("lower", domain.lower_open), ("upper", domain.upper_open)) if is_open]
    return {"ends": (domain.lower, domain.upper), "open": ends or (), "log": domain.log, "step": None}


def _finite_set(kind: Callable[[tuple[Value, ...]], T], key: str) -> Callable[[Parts, str, ReadingContext], T]:
    """Return a constructor of finite sets of values; it raises DefinitionError for duplicate values."""

    def make(parts: Parts, path: str, _: ReadingContext) -> T:
        seen: set[object] = set()
        for place, each in enumerate(parts["values"]):
            if identity_key(each) in seen:
                raise DefinitionError(f"{path}.{key}[{place}]", "is a duplicate value")
            seen.add(identity_key(each))
        return kind(parts["values"])

    return make


_LOG: Final = ObjectKey("log", BOOLEAN, "Spread evenly on the logarithmic scale.", False)
_STEP: Final = "The step between members, counted from the lower bound; "
_SIDES: Final = ArrayCodec(one_of_words("lower", "upper"), most=2)
_SET: Final = ArrayCodec(VALUE, least=1, noun="values")

_SIMPLE: Final[dict[str, JsonCodec[Any]]] = {
    "int": ObjectCodec(
        "The integers from the first to the second number, including both.",
        (
            ObjectKey("int", ArrayCodec(ScalarCodec(expect_integer, {"type": "integer"}), 2, 2, "bounds"), part="ends"),
            _LOG,
            ObjectKey("step", integer_from(1), f"{_STEP}by default 1.", 1),
        ),
        _integers,
        _grid,
    ),
    "float": ObjectCodec(
        "The numbers from the first to the second.",
        (
            ObjectKey("float", ArrayCodec(FLOAT, 2, 2, "bounds"), part="ends"),
            ObjectKey("open", _SIDES, "The bounds that are excluded.", ()),
            _LOG,
            ObjectKey(
                "step", POSITIVE_FLOAT, f"{_STEP}without a step, all numbers between the bounds are members.", None
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


_SIMPLE_DOMAIN: Final[JsonCodec[Any]] = NamedCodec(
    "simpleDomain",
    lambda: UnionCodec("A single range or set of values.", "a single range or set of values", _SIMPLE, _kind_of_domain),
)
DOMAIN: Final[JsonCodec[Domain]] = NamedCodec("domain", lambda: _DOMAIN)
_UNION: Final = ObjectCodec(
    "The union of several disjoint domains.",
    (ObjectKey("union", ArrayCodec(_SIMPLE_DOMAIN, least=2, noun="parts"), part="parts"),),
    from_parts(Union),
)
_DOMAIN: Final[JsonCodec[Domain]] = UnionCodec(
    "The values that a hyperparameter may have.", "a domain", {**_SIMPLE, "union": _UNION}, _kind_of_domain
)


# ---- annotations


def _prior(parts: Parts, path: str, _: ReadingContext) -> Prior:
    found = make_prior(parts["distribution"], parts["parameters"])
    if found is None:
        wanted = "a mean and a deviation above 0" if parts["distribution"] == NORMAL else "no parameters"
        remedy = f"`{parts['distribution']}` takes {wanted}"
        raise DefinitionError(f"{path}.parameters", "does not fit the distribution", remedy)
    return found


def _prior_parts(prior: Prior) -> JsonObject:
    distribution, parameters = name_and_parameters(prior)
    return {"distribution": distribution, "parameters": parameters}


def _distribution_schema(distribution: str, parameters: JsonObject) -> JsonObject:
    return {"properties": {"distribution": {"const": distribution}, "parameters": parameters}}


PRIOR: Final[JsonCodec[Prior]] = NamedCodec(
    "prior",
    lambda: ObjectCodec(
        "The prior distribution of good values. `normal` has a mean and a standard deviation, on the logarithmic scale "
        "if the domain is logarithmic; `uniform` has no parameters.",
        (
            ObjectKey("distribution", one_of_words(*DISTRIBUTIONS)),
            ObjectKey("parameters", ArrayCodec(ScalarCodec(expect_number, {"type": "number"}))),
        ),
        _prior,
        _prior_parts,
        extra_schema={
            "oneOf": [
                _distribution_schema(
                    NORMAL, {"prefixItems": [{}, {"exclusiveMinimum": 0}], "minItems": 2, "maxItems": 2}
                ),
                _distribution_schema(UNIFORM, {"maxItems": 0}),
            ]
        },
    ),
)
