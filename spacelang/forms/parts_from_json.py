"""Domains, expressions and tasks of the JSON that `as_json` writes; raises DefinitionError for all else."""

from collections.abc import Callable
from typing import Final, TypeVar, cast

from spacelang.forms.json_fields import (
    DefinitionError,
    Fields,
    at_least,
    flag,
    items,
    name,
    number,
    one_of,
    plain,
    positive,
    real,
    text,
    whole,
    word,
)
from spacelang.forms.lines import PLACE, Lines, Place
from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Simple, Union, contains, grid
from spacelang.ir.expr import (
    RELATIONS,
    VARIADIC,
    Active,
    And,
    Arithmetic,
    Call,
    Compare,
    Comparison,
    Constant,
    Expr,
    Function,
    In,
    Is,
    Not,
    Operation,
    Or,
    Reference,
)
from spacelang.ir.prior import DISTRIBUTIONS, NORMAL, Prior, prior_of
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

N = TypeVar("N", int, float)

# ---- domains

DOMAINS: Final = {
    "int": ("int", "log", "step"),
    "float": ("float", "open", "log", "step"),
    "set": ("set",),
    "ordered": ("ordered",),
    "union": ("union",),
}
"""The kinds of domains, each with the keys that it may have."""


def domain(value: object, path: str) -> Domain:
    """A domain."""
    kind = one_of(value, path, DOMAINS, "a domain")
    if kind != "union":
        return _simple(value, path)
    parts = Fields(value, path, DOMAINS[kind]).need(kind, items(_simple))
    if len(parts) < 2:
        raise DefinitionError(f"{path}.union", "is no union of several domains")
    return Union(parts)


def _simple(value: object, path: str) -> Simple:
    kind = one_of(value, path, [each for each in DOMAINS if each != "union"], "a domain without parts")
    fields = Fields(value, path, DOMAINS[kind])
    match kind:
        case "int":
            return _integers(fields)
        case "float":
            return _reals(fields)
        case "ordered":
            return Ordinal(fields.need(kind, _distinct))
        case _:
            return Categorical(fields.need(kind, _distinct))


def _distinct(value: object, path: str) -> tuple[Value, ...]:
    values = items(plain)(value, path)
    if not values:
        raise DefinitionError(path, "is an empty set of values")
    seen: set[object] = set()
    for place, each in enumerate(values):
        if identity(each) in seen:
            raise DefinitionError(f"{path}[{place}]", "is a value that is named twice")
        seen.add(identity(each))
    return values


def _integers(fields: Fields) -> Grid | Real:
    bounds = fields.need("int", items(whole))
    lower, upper = _ends(bounds, fields.path, "int")
    return _sound(Grid(lower, upper, fields.get("log", flag, False), fields.get("step", at_least(1), 1)), fields.path)


def _reals(fields: Fields) -> Grid | Real:
    bounds = fields.need("float", items(real))
    lower, upper = _ends(bounds, fields.path, "float")
    ends = fields.get("open", items(word("lower", "upper")), ())
    step = fields.get("step", positive, None)
    is_open, log = ("lower" in ends, "upper" in ends), fields.get("log", flag, False)
    if step is None:
        return _sound(Real(lower, upper, *is_open, log), fields.path)
    # Older documents have excluded ends here; what has none comes back as it was.
    drawn_in = grid(lower, upper, step, lower_open=is_open[0], upper_open=is_open[1], log=log)
    return _sound(drawn_in if any(is_open) else Grid(lower, upper, log, step), fields.path)


def _ends(bounds: tuple[N, ...], path: str, key: str) -> tuple[N, N]:
    if len(bounds) != 2:
        raise DefinitionError(f"{path}.{key}", f"has {len(bounds)} bounds", "a range has a lower and an upper bound")
    lower, upper = bounds
    if lower > upper:
        raise DefinitionError(f"{path}.{key}", "has no members: the bounds are reversed")
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


# ---- annotations


def prior(value: object, path: str) -> Prior:
    """A prior."""
    fields = Fields(value, path, ("distribution", "parameters"))
    distribution = fields.need("distribution", word(*DISTRIBUTIONS))
    parameters = fields.need("parameters", items(number))
    found = prior_of(distribution, parameters)
    if found is None:
        wanted = "a mean and a deviation above 0" if distribution == NORMAL else "no parameters"
        raise DefinitionError(f"{path}.parameters", "does not fit the distribution", f"`{distribution}` has {wanted}")
    return found


# ---- expressions

EXPRESSIONS: Final = {
    "hyperparameter": (),
    "is": ("decision",),
    "active": (),
    "in": ("item",),
    "not": (),
    "and": (),
    "or": (),
    **dict.fromkeys((*RELATIONS, *OPERATIONS, *FUNCTIONS), ()),
}
"""What the key of an expression may be, each with the keys beside it."""


def expression(value: object, path: str) -> Expr:
    """An expression; what is no object is a constant."""
    if not isinstance(value, dict):
        return Constant(plain(value, path))
    kind = one_of(value, path, EXPRESSIONS, "an expression")
    fields = Fields(value, path, (kind, *EXPRESSIONS[kind]))
    match kind:
        case "hyperparameter":
            return Reference(fields.need(kind, name))
        case "active":
            return Active(fields.need(kind, name))
        case "is":
            return Is(fields.need("decision", name), fields.need(kind, items(text)))
        case "in":
            return In(fields.need("item", expression), fields.need(kind, items(plain)))
        case "not":
            return Not(fields.need(kind, expression))
        case _:
            return _joined(kind, fields.need(kind, items(expression)), f"{path}.{kind}")


def _joined(kind: str, terms: tuple[Expr, ...], path: str) -> Expr:
    """An expression of several terms."""
    if kind == "and":
        return And(terms)
    if kind == "or":
        return Or(terms)
    if kind in FUNCTIONS:
        if (len(terms) < 2) if kind in VARIADIC else (len(terms) != 1):
            wanted = "two or more" if kind in VARIADIC else "one"
            raise DefinitionError(path, f"has {len(terms)} arguments where {wanted} should be")
        return Call(cast(Function, kind), terms)
    if len(terms) != 2:
        raise DefinitionError(path, f"has {len(terms)} sides where two should be")
    if kind in RELATIONS:
        return Compare(cast(Comparison, kind), *terms)
    return Arithmetic(cast(Operation, kind), *terms)


# ---- the task


def task(lines: Lines, around: Place) -> Callable[[object, str], Task]:
    """The reader of a task block."""

    def read(value: object, path: str) -> Task:
        fields = Fields(value, path, ("kind", "goal", "bounds", "validation", "fidelity", "limits", *PLACE))
        place = lines.place(fields, around)
        kind = fields.need("kind", word("classification", "regression"))
        return Task(
            kind,  # type: ignore[arg-type]
            fields.get("goal", lambda v, p: _goal(v, p, lines, place), None),
            fields.get("bounds", items(lambda v, p: _bound(v, p, lines, place)), ()),
            fields.get("validation", _validation, None),
            fields.get("fidelity", lambda v, p: _fidelity(v, p, lines, place), None),
            fields.get("limits", _limits, UNLIMITED),
            lines.span(place),
        )

    return read


def _goal(value: object, path: str, lines: Lines, around: Place) -> Goal:
    direction = one_of(value, path, ("minimize", "maximize"), "a goal")
    fields = Fields(value, path, (direction, "from_one", *PLACE))
    span = lines.span(lines.place(fields, around))
    return Goal(direction, fields.need(direction, name), fields.get("from_one", flag, False), span)  # type: ignore[arg-type]


def _bound(value: object, path: str, lines: Lines, around: Place) -> Bound:
    fields = Fields(value, path, ("measure", "limit", "strict", "scorer", "column", *PLACE))
    measure = Measure(fields.need("measure", word(*Measure)))
    limit = fields.need("limit", real)
    strict = fields.get("strict", flag, False)
    if measure is Measure.DISPARITY:
        scorer, column = fields.need("scorer", name), fields.need("column", text)
    elif "scorer" in fields or "column" in fields:
        raise DefinitionError(path, f"has a scorer or a column, which only `{Measure.DISPARITY}` has")
    else:
        scorer = column = ""
    if limit < 0 or (limit == 0 and (measure is not Measure.DISPARITY or strict)):
        raise DefinitionError(f"{path}.limit", "is a bound that allows nothing")
    return Bound(measure, limit, strict, scorer, column, lines.span(lines.place(fields, around)))


def _validation(value: object, path: str) -> Declared:
    kind = one_of(value, path, ("holdout", "cv"), "a validation")
    fields = Fields(value, path, (kind,))
    if kind == "cv":
        return CrossValidation(fields.need(kind, at_least(2)))
    share = fields.need(kind, positive)
    if share >= 1:
        raise DefinitionError(f"{path}.holdout", "is no share between 0 and 1")
    return Holdout(share)


def _fidelity(value: object, path: str, lines: Lines, around: Place) -> Fidelity:
    fields = Fields(value, path, ("first", "factor", *PLACE))
    factor = fields.need("factor", real)
    if factor <= 1:
        raise DefinitionError(f"{path}.factor", "is no factor above 1")
    return Fidelity(fields.need("first", at_least(1)), factor, lines.span(lines.place(fields, around)))


def _limits(value: object, path: str) -> Limits:
    fields = Fields(value, path, ("trial_seconds", "trial_bytes", "run_seconds"))
    return Limits(
        fields.get("trial_seconds", positive, None),
        fields.get("trial_bytes", positive, None),
        fields.get("run_seconds", positive, None),
    )
