"""The forms of domains, priors, expressions and tasks in the JSON of a space."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, TypeVar, assert_never

from spacelang.forms.codec import (
    FLAG,
    NAME,
    POSITIVE,
    REAL,
    TEXT,
    VALUE,
    Defined,
    Form,
    Items,
    Key,
    OneOf,
    Parts,
    Record,
    Scalar,
    Via,
    at_least,
    made,
    made_there,
    words,
)
from spacelang.forms.json_fields import DefinitionError, number, positive, real, whole
from spacelang.forms.standing import Object, Reading
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Union, contains, grid
from spacelang.ir.expr import (
    RELATIONS,
    VARIADIC,
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expr,
    In,
    Is,
    Not,
    Or,
    Reference,
)
from spacelang.ir.prior import DISTRIBUTIONS, NORMAL, UNIFORM, Prior, named, prior_of
from spacelang.ir.rationals import FUNCTIONS, OPERATIONS
from spacelang.ir.task import (
    UNLIMITED,
    Bound,
    CrossValidation,
    Declared,
    Fidelity,
    Goal,
    Holdout,
    Limits,
    Measure,
    Task,
)
from spacelang.ir.value import Value, identity

T = TypeVar("T")

# ---- domains


def _integers(parts: Parts, path: str, _: Reading) -> Grid | Real:
    lower, upper = _ends(parts, f"{path}.int")
    return _sound(Grid(lower, upper, parts["log"], parts["step"]), path)


def _floats(parts: Parts, path: str, _: Reading) -> Grid | Real:
    lower, upper = _ends(parts, f"{path}.float")
    is_open, log, step = ("lower" in parts["open"], "upper" in parts["open"]), parts["log"], parts["step"]
    if step is None:
        return _sound(Real(lower, upper, *is_open, log), path)
    # Older documents have excluded ends here; what has none comes back as it was.
    drawn_in = grid(lower, upper, step, lower_open=is_open[0], upper_open=is_open[1], log=log)
    return _sound(drawn_in if any(is_open) else Grid(lower, upper, log, step), path)


def _ends(parts: Parts, path: str) -> tuple[Any, Any]:
    lower, upper = parts["ends"]
    if lower > upper:
        raise DefinitionError(path, "has no members: the bounds are reversed")
    return lower, upper


def _sound(found: Grid | Real, path: str) -> Grid | Real:
    if found.log and found.lower <= 0:
        raise DefinitionError(path, "is logarithmic and reaches to 0 or below", "give a lower bound above 0")
    if found.log and isinstance(found, Grid) and not found.is_integral:
        raise DefinitionError(path, "is logarithmic and has even steps", "leave out `log` or `step`")
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


def _of_values(kind: Callable[[tuple[Value, ...]], T], key: str) -> Callable[[Parts, str, Reading], T]:
    """Makes finite sets; what is named twice is refused."""

    def make(parts: Parts, path: str, _: Reading) -> T:
        seen: set[object] = set()
        for place, each in enumerate(parts["values"]):
            if identity(each) in seen:
                raise DefinitionError(f"{path}.{key}[{place}]", "is a value that is named twice")
            seen.add(identity(each))
        return kind(parts["values"])

    return make


_LOG: Final = Key("log", FLAG, "Spread evenly on the logarithmic scale.", False)
_STEP: Final = "From the lower bound on; "
_SIDES: Final = Items(words("lower", "upper"), most=2)
_SET: Final = Items(VALUE, least=1, called="values")

_SIMPLE: Final[dict[str, Form[Any]]] = {
    "int": Record(
        "The integers from the first to the second number, both included.",
        (
            Key("int", Items(Scalar(whole, {"type": "integer"}), 2, 2, "bounds"), of="ends"),
            _LOG,
            Key("step", at_least(1), f"{_STEP}1 where it is left out.", 1),
        ),
        _integers,
        _grid,
    ),
    "float": Record(
        "The numbers from the first to the second.",
        (
            Key("float", Items(REAL, 2, 2, "bounds"), of="ends"),
            Key("open", _SIDES, "The bounds that are excluded.", ()),
            _LOG,
            Key("step", POSITIVE, f"{_STEP}without one all numbers between are members.", None),
        ),
        _floats,
        _range,
    ),
    "set": Record(
        "A finite set of values without an order.", (Key("set", _SET, of="values"),), _of_values(Categorical, "set")
    ),
    "ordered": Record(
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


_SIMPLE_DOMAIN: Final[Form[Any]] = Defined(
    "simpleDomain", lambda: OneOf("A domain without parts.", "a domain without parts", _SIMPLE, _kind_of_domain)
)
DOMAIN: Final[Form[Domain]] = Defined("domain", lambda: _DOMAIN)
_UNION: Final = Record(
    "Several domains side by side, without a value in common.",
    (Key("union", Items(_SIMPLE_DOMAIN, least=2, called="parts"), of="parts"),),
    made(Union),
)
_DOMAIN: Final[Form[Domain]] = OneOf(
    "The values that a hyperparameter may take.", "a domain", {**_SIMPLE, "union": _UNION}, _kind_of_domain
)


# ---- annotations


def _prior(parts: Parts, path: str, _: Reading) -> Prior:
    found = prior_of(parts["distribution"], parts["parameters"])
    if found is None:
        wanted = "a mean and a deviation above 0" if parts["distribution"] == NORMAL else "no parameters"
        remedy = f"`{parts['distribution']}` has {wanted}"
        raise DefinitionError(f"{path}.parameters", "does not fit the distribution", remedy)
    return found


def _prior_parts(prior: Prior) -> Object:
    distribution, parameters = named(prior)
    return {"distribution": distribution, "parameters": parameters}


def _has(distribution: str, parameters: Object) -> Object:
    return {"properties": {"distribution": {"const": distribution}, "parameters": parameters}}


PRIOR: Final[Form[Prior]] = Defined(
    "prior",
    lambda: Record(
        "Where good values are expected: `normal` has a mean and a deviation, on the logarithmic scale where the "
        "domain is logarithmic; with `uniform` all values are alike.",
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


# ---- expressions

EXPRESSION: Final[Form[Expr]] = Defined("expression", lambda: _EXPRESSION)


def _key_of_expression(expression: Expr) -> str:  # noqa: PLR0911 - one for each kind
    match expression:
        case Constant():
            return ""
        case Reference():
            return "hyperparameter"
        case Is():
            return "is"
        case Active():
            return "active"
        case In():
            return "in"
        case Not():
            return "not"
        case And():
            return "and"
        case Or():
            return "or"
        case Compare(relation=sign) | Arithmetic(operation=sign) | Call(function=sign):
            return sign
        case _:
            assert_never(expression)


def _signed(kind: Callable[..., Expr], sign: str, about: str) -> Record[Expr]:
    """Two expressions with a sign between them."""
    sides = Key(sign, Items(EXPRESSION, 2, 2, "sides"), of="sides")
    return Record(about, (sides,), lambda parts, _, __: kind(sign, *parts["sides"]), _sides)


def _sides(expression: Any) -> Object:
    return {"sides": (expression.left, expression.right)}


def _called(function: Any) -> Record[Expr]:
    several = function in VARIADIC
    arguments = Items(EXPRESSION, 2 if several else 1, None if several else 1, "arguments")
    about = "A function of numbers." if several else "A function of a number."
    return Record(about, (Key(function, arguments, of="arguments"),), lambda parts, _, __: Call(function, **parts))


def _one(about: str, kind: Callable[..., Expr], *keys: Key) -> Record[Expr]:
    return Record(about, keys, made(kind))


_ADDRESS: Final = "Its address."
_TERMS: Final = Items(EXPRESSION)

_EXPRESSION: Final[Form[Expr]] = OneOf(
    "An expression, a value being a constant; an atom over an inactive hyperparameter is false.",
    "an expression",
    {
        "hyperparameter": _one(
            "The value of a hyperparameter.", Reference, Key("hyperparameter", NAME, _ADDRESS, of="address")
        ),
        "is": _one(
            "Whether a decision takes one of some alternatives; false where it is not reached.",
            Is,
            Key("decision", NAME, _ADDRESS, of="address"),
            Key("is", Items(TEXT), of="branches"),
        ),
        "active": _one("Whether a hyperparameter is active.", Active, Key("active", NAME, _ADDRESS, of="address")),
        "in": _one(
            "Whether a value is one of several.", In, Key("item", EXPRESSION), Key("in", Items(VALUE), of="values")
        ),
        "not": _one("Negation.", Not, Key("not", EXPRESSION, of="term")),
        "and": _one("All of the terms.", And, Key("and", _TERMS, of="terms")),
        "or": _one("At least one of the terms.", Or, Key("or", _TERMS, of="terms")),
        **{sign: _signed(Compare, sign, "An order or equality of two values.") for sign in RELATIONS},
        **{sign: _signed(Arithmetic, sign, "Two numbers combined.") for sign in OPERATIONS},
        **{function: _called(function) for function in FUNCTIONS},
    },
    _key_of_expression,
    plain=Via(VALUE, Constant, attrgetter("value")),
)


# ---- the task


def _bound(parts: Parts, path: str, around: Reading) -> Bound:
    parts["measure"] = measure = Measure(parts["measure"])
    for key in ("scorer", "column"):
        if measure is Measure.DISPARITY and not parts[key]:
            raise DefinitionError(path, f"has no `{key}`")
        if measure is not Measure.DISPARITY and parts[key]:
            raise DefinitionError(path, f"has a scorer or a column, which only `{Measure.DISPARITY}` has")
    if parts["limit"] < 0 or (parts["limit"] == 0 and (measure is not Measure.DISPARITY or parts["strict"])):
        raise DefinitionError(f"{path}.limit", "is a bound that allows nothing")
    return Bound(**parts, span=around.span())


_BOUND: Final[Form[Bound]] = Defined(
    "bound",
    lambda: Record(
        "A bound that trials should keep to.",
        (
            Key("measure", words(*(measure.value for measure in Measure))),
            Key(
                "limit",
                Scalar(real, {"type": "number", "minimum": 0}),
                "In seconds for a row, bytes, or the unit of the score.",
            ),
            Key("strict", FLAG, "Whether the limit itself is excluded.", False),
            Key("scorer", NAME, "Of a disparity.", ""),
            Key("column", TEXT, "Of a disparity: whose values form the groups.", ""),
        ),
        _bound,
        placed=True,
    ),
)


def _goal(direction: Any, about: str) -> Record[Goal]:
    from_one = Key("from_one", FLAG, f"Whether it is 1 minus the scorer that is {direction}d.", False)
    return Record(
        about,
        (Key(direction, NAME, of="scorer"), from_one),
        lambda parts, _, around: Goal(direction, **parts, span=around.span()),
        placed=True,
    )


_GOAL: Final[Form[Goal]] = OneOf(
    "A scorer that is minimised or maximised.",
    "a goal",
    {"minimize": _goal("minimize", "To minimise."), "maximize": _goal("maximize", "To maximise.")},
    lambda goal: goal.direction,
)


def _share(value: object, path: str) -> float:
    share = positive(value, path)
    if share >= 1:
        raise DefinitionError(path, "is no share between 0 and 1")
    return share


def _factor(value: object, path: str) -> float:
    factor = real(value, path)
    if factor <= 1:
        raise DefinitionError(path, "is no factor above 1")
    return factor


_SHARE: Final = Scalar(_share, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})

_VALIDATION: Final[Form[Declared]] = OneOf(
    "How trials are validated.",
    "a validation",
    {
        "holdout": Record(
            "One split.",
            (Key("holdout", _SHARE, "The share of the rows that is held out.", of="share"),),
            made(Holdout),
        ),
        "cv": Record(
            "Cross-validation.", (Key("cv", at_least(2), "The number of folds.", of="folds"),), made(CrossValidation)
        ),
    },
    lambda validation: "holdout" if isinstance(validation, Holdout) else "cv",
)
_FIDELITY: Final = Record(
    "Training rows as a resource.",
    (
        Key("first", at_least(1), "The rows of a first training."),
        Key(
            "factor",
            Scalar(_factor, {"type": "number", "exclusiveMinimum": 1}),
            "By which they grow from one training to the next.",
        ),
    ),
    made_there(Fidelity),
    placed=True,
)
_LIMITS: Final = Record(
    "What a single trial and a whole run may take.",
    tuple(Key(name, POSITIVE, usual=None) for name in ("trial_seconds", "trial_bytes", "run_seconds")),
    made(Limits),
)

TASK: Final[Form[Task]] = Defined(
    "task",
    lambda: Record(
        "What a search is to reach, how it judges trials, and what it may spend.",
        (
            Key("kind", words("classification", "regression")),
            Key("goal", _GOAL, usual=None),
            Key("bounds", Items(_BOUND), usual=()),
            Key("validation", _VALIDATION, usual=None),
            Key("fidelity", _FIDELITY, usual=None),
            Key("limits", _LIMITS, usual=UNLIMITED),
        ),
        made_there(Task),
        placed=True,
    ),
)
