"""JSON codecs of domains and priors."""

from collections.abc import Callable
from typing import Any, Final, TypeVar, assert_never

from spacelang.forms.codec import (
    FLAG,
    POSITIVE,
    REAL,
    VALUE,
    Defined,
    DocumentForm,
    Items,
    Key,
    KeyedObject,
    Parts,
    Scalar,
    TaggedUnion,
    at_least,
    made,
    words,
)
from spacelang.forms.json_fields import DefinitionError, number, whole
from spacelang.forms.standing import Object, ReadingContext
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, contains, grid
from spacelang.ir.prior import DISTRIBUTIONS, NORMAL, UNIFORM, Prior, named, prior_of
from spacelang.ir.value import Value, identity

T = TypeVar("T")


def _integers(parts: Parts, path: str, _: ReadingContext) -> Grid | Real:
    lower, upper = _ends(parts, f"{path}.int")
    return _sound(Grid(lower, upper, parts["log"], parts["step"]), path)


def _floats(parts: Parts, path: str, _: ReadingContext) -> Grid | Real:
    lower, upper = _ends(parts, f"{path}.float")
    is_open, log, step = ("lower" in parts["open"], "upper" in parts["open"]), parts["log"], parts["step"]
    if step is None:
        return _sound(Real(lower, upper, *is_open, log), path)
    # Older documents may exclude the bounds of a range with steps; without excluded bounds the range is kept as it is.
    drawn_in = grid(lower, upper, step, lower_open=is_open[0], upper_open=is_open[1], log=log)
    return _sound(drawn_in if any(is_open) else Grid(lower, upper, log, step), path)


def _ends(parts: Parts, path: str) -> tuple[Any, Any]:
    lower, upper = parts["ends"]
    if lower > upper:
        raise DefinitionError(path, "has no members: the bounds are reversed")
    return lower, upper


def _sound(found: Grid | Real, path: str) -> Grid | Real:
    if found.log and found.lower <= 0:
        raise DefinitionError(path, "is logarithmic but includes 0 or negative numbers", "give a lower bound above 0")
    if found.log and isinstance(found, Grid) and not found.is_integral:
        raise DefinitionError(path, "is logarithmic but has even steps", "leave out `log` or `step`")
    is_empty = found.size is not None and found.size < 1
    if is_empty or (isinstance(found, Real) and not contains(found, found.middle)):
        raise DefinitionError(path, "has no members")
    return found


def _grid(domain: Grid) -> Object:
    return {"ends": (domain.lower, domain.upper), "open": (), "log": domain.log, "step": domain.step}


def _range(domain: Grid | Real) -> Object:
    if isinstance(domain, Grid):
        return _grid(domain)
    ends = [name for name, is_open in (("lower", domain.lower_open), ("upper", domain.upper_open)) if is_open]
    return {"ends": (domain.lower, domain.upper), "open": ends or (), "log": domain.log, "step": None}


def _of_values(kind: Callable[[tuple[Value, ...]], T], key: str) -> Callable[[Parts, str, ReadingContext], T]:
    """Return a constructor of finite sets of values; it raises DefinitionError for duplicate values."""

    def make(parts: Parts, path: str, _: ReadingContext) -> T:
        seen: set[object] = set()
        for place, each in enumerate(parts["values"]):
            if identity(each) in seen:
                raise DefinitionError(f"{path}.{key}[{place}]", "is a duplicate value")
            seen.add(identity(each))
        return kind(parts["values"])

    return make


_LOG: Final = Key("log", FLAG, "Spread evenly on the logarithmic scale.", False)
_STEP: Final = "The step between members, counted from the lower bound; "
_SIDES: Final = Items(words("lower", "upper"), most=2)
_SET: Final = Items(VALUE, least=1, called="values")

_SIMPLE: Final[dict[str, DocumentForm[Any]]] = {
    "int": KeyedObject(
        "The integers from the first to the second number, including both.",
        (
            Key("int", Items(Scalar(whole, {"type": "integer"}), 2, 2, "bounds"), of="ends"),
            _LOG,
            Key("step", at_least(1), f"{_STEP}by default 1.", 1),
        ),
        _integers,
        _grid,
    ),
    "float": KeyedObject(
        "The numbers from the first to the second.",
        (
            Key("float", Items(REAL, 2, 2, "bounds"), of="ends"),
            Key("open", _SIDES, "The bounds that are excluded.", ()),
            _LOG,
            Key("step", POSITIVE, f"{_STEP}without a step, all numbers between the bounds are members.", None),
        ),
        _floats,
        _range,
    ),
    "set": KeyedObject(
        "A finite set of values without an order.", (Key("set", _SET, of="values"),), _of_values(Categorical, "set")
    ),
    "ordered": KeyedObject(
        "A finite set of values in their order.", (Key("ordered", _SET, of="values"),), _of_values(Ordinal, "ordered")
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


_SIMPLE_DOMAIN: Final[DocumentForm[Any]] = Defined(
    "simpleDomain", lambda: TaggedUnion("A domain without parts.", "a domain without parts", _SIMPLE, _kind_of_domain)
)
DOMAIN: Final[DocumentForm[Domain]] = Defined("domain", lambda: _DOMAIN)
_UNION: Final = KeyedObject(
    "The union of several disjoint domains.",
    (Key("union", Items(_SIMPLE_DOMAIN, least=2, called="parts"), of="parts"),),
    made(Union),
)
_DOMAIN: Final[DocumentForm[Domain]] = TaggedUnion(
    "The values that a hyperparameter may have.", "a domain", {**_SIMPLE, "union": _UNION}, _kind_of_domain
)


# ---- annotations


def _prior(parts: Parts, path: str, _: ReadingContext) -> Prior:
    found = prior_of(parts["distribution"], parts["parameters"])
    if found is None:
        wanted = "a mean and a deviation above 0" if parts["distribution"] == NORMAL else "no parameters"
        remedy = f"`{parts['distribution']}` takes {wanted}"
        raise DefinitionError(f"{path}.parameters", "does not fit the distribution", remedy)
    return found


def _prior_parts(prior: Prior) -> Object:
    distribution, parameters = named(prior)
    return {"distribution": distribution, "parameters": parameters}


def _has(distribution: str, parameters: Object) -> Object:
    return {"properties": {"distribution": {"const": distribution}, "parameters": parameters}}


PRIOR: Final[DocumentForm[Prior]] = Defined(
    "prior",
    lambda: KeyedObject(
        "The prior distribution of good values. `normal` has a mean and a standard deviation, on the logarithmic scale "
        "if the domain is logarithmic; `uniform` has no parameters.",
        (
            Key("distribution", words(*DISTRIBUTIONS)),
            Key("parameters", Items(Scalar(number, {"type": "number"}))),
        ),
        _prior,
        _prior_parts,
        beyond={
            "oneOf": [
                _has(NORMAL, {"prefixItems": [{}, {"exclusiveMinimum": 0}], "minItems": 2, "maxItems": 2}),
                _has(UNIFORM, {"maxItems": 0}),
            ]
        },
    ),
)
