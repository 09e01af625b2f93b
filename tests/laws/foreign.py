"""Random small spaces in ConfigSpace's own formats, and all configurations that ConfigSpace takes for their members."""

import io
import json
import warnings
from collections.abc import Iterable
from itertools import product
from typing import Any

from ConfigSpace import Configuration, ConfigurationSpace
from ConfigSpace.exceptions import (
    ActiveHyperparameterNotSetError,
    ForbiddenValueError,
    IllegalValueError,
    IllegalVectorizedValueError,
    InactiveHyperparameterSetError,
)
from hypothesis import strategies as st

with warnings.catch_warnings():
    # Its readers of PCS are what files of this format mean, deprecated or not.
    warnings.simplefilter("ignore", DeprecationWarning)
    from ConfigSpace.read_and_write import pcs, pcs_new

REFUSALS = (
    ActiveHyperparameterNotSetError,
    ForbiddenValueError,
    IllegalValueError,
    IllegalVectorizedValueError,
    InactiveHyperparameterSetError,
)
NAMES = (
    "first:__choice__", "first:a:size", "first:a:kind", "first:b:size", "first:b:inner:__choice__", "first:b:inner:a:n",
    "second:strategy", "second", "third:__choice__", "third:x", "plain", "in-put", "min", "weights:w", "PCA", "none",
)  # fmt: skip
WORDS = ("a", "b", "none", "None", "True", "False", "1.0", "x y", "StandardScaler")
ABSENT = object()

Document = dict[str, Any]


@st.composite
def documents(draw: st.DrawFn, *, words_only: bool = False) -> Document:
    """A space of up to five hyperparameters with few values, as ConfigSpace writes it to JSON."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    parameters = [draw(_parameters(name, words_only=words_only)) for name in names]
    conditions: list[Document] = []
    for place, child in enumerate(parameters):
        if place and draw(st.booleans()):
            # ConfigSpace 1.2 takes an AND and an OR of the same terms, for two children, for one and the same.
            is_first = all(known["type"] not in ("AND", "OR") for known in conditions)
            conditions.append(draw(_conditions(child["name"], parameters[:place], 3 if is_first else 1)))
    clauses = st.lists(_clauses(parameters), max_size=2)
    return {"name": "drawn", "hyperparameters": parameters, "conditions": conditions, "forbiddens": draw(clauses)}


def space_of(document: Document) -> ConfigurationSpace | None:
    """What ConfigSpace reads; None where it refuses the document, as it does with forbidden defaults."""
    try:
        return ConfigurationSpace.from_json(io.StringIO(json.dumps(document)))
    except Exception:  # noqa: BLE001 - whatever it raises: the document is none for it
        return None


def written(space: ConfigurationSpace, style: str) -> str | None:
    """The space as PCS of the old style or the new; None where the style cannot say it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return str((pcs if style == "old" else pcs_new).write(space))
        except Exception:  # noqa: BLE001 - what a style cannot say ends in errors of any kind
            return None


def read_pcs(text: str, style: str) -> ConfigurationSpace | None:
    """What ConfigSpace reads in a PCS file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return (pcs if style == "old" else pcs_new).read(text.splitlines())
        except Exception:  # noqa: BLE001 - as above
            return None


def members(space: ConfigurationSpace) -> list[Document]:
    """All configurations that ConfigSpace takes, by trying all."""
    conditional = set(space.conditional_hyperparameters)
    choices = [[*_values(space[name]), *([ABSENT] if name in conditional else [])] for name in space]
    found: list[Document] = []
    for values in product(*choices):
        given = {name: value for name, value in zip(space, values, strict=True) if value is not ABSENT}
        if accepts(space, given):
            found.append(given)
    return found


def accepts(space: ConfigurationSpace, values: Document) -> bool:
    """Whether ConfigSpace takes these values for a configuration."""
    try:
        Configuration(space, values=values)
    except REFUSALS:
        return False
    return True


def frozen(documents_: Iterable[Document]) -> set[str]:
    """Configurations that can be compared, by the types of their values too."""
    return {json.dumps(document, sort_keys=True) for document in documents_}


def _values(parameter: Any) -> list[Any]:
    if hasattr(parameter, "choices"):
        return list(parameter.choices)
    if hasattr(parameter, "sequence"):
        return list(parameter.sequence)
    return [parameter.value] if hasattr(parameter, "value") else list(range(parameter.lower, parameter.upper + 1))


@st.composite
def _parameters(draw: st.DrawFn, name: str, *, words_only: bool) -> Document:
    values = st.sampled_from(WORDS) if words_only else st.sampled_from((*WORDS, 1, 2, 0.5))
    if words_only:
        values = values.filter(lambda word: " " not in word)
    kind = draw(st.sampled_from(("categorical", "categorical", "categorical", "ordinal", "uniform_int", "constant")))
    if kind == "uniform_int":
        lower = draw(st.integers(-2, 3))
        upper = lower + draw(st.integers(1, 2))
        return {"type": kind, "name": name, "lower": lower, "upper": upper, "log": False, "default_value": lower}
    if kind == "constant":
        return {"type": kind, "name": name, "value": draw(values)}
    several = draw(st.lists(values, min_size=1 if kind == "categorical" else 2, max_size=3, unique=True))
    field = "choices" if kind == "categorical" else "sequence"
    return {"type": kind, "name": name, field: several, "default_value": draw(st.sampled_from(several))}


def _values_of(parameter: Document) -> list[Any]:
    if parameter["type"] == "uniform_int":
        return list(range(parameter["lower"], parameter["upper"] + 1))
    return list(parameter.get("choices") or parameter.get("sequence") or [parameter["value"]])


@st.composite
def _conditions(draw: st.DrawFn, child: str, parents: list[Document], depth: int) -> Document:
    if depth > 1 and len(parents) > 1 and draw(st.booleans()):
        kind = draw(st.sampled_from(("AND", "OR")))
        terms = draw(st.lists(_conditions(child, parents, depth - 1), min_size=2, max_size=3, unique_by=repr))
        return {"type": kind, "child": child, "conditions": terms}
    parent = draw(st.sampled_from(parents))
    values = _values_of(parent)
    kinds = ["EQ", "EQ", "IN", "NEQ"] + (["LT", "GT"] if parent["type"] in ("ordinal", "uniform_int") else [])
    kind = draw(st.sampled_from(kinds))
    given = {"type": kind, "child": child, "parent": parent["name"]}
    if kind == "IN":
        return {**given, "values": draw(st.lists(st.sampled_from(values), min_size=1, unique=True))}
    return {**given, "value": draw(st.sampled_from(values))}


@st.composite
def _clauses(draw: st.DrawFn, parameters: list[Document]) -> Document:
    named = draw(st.lists(st.sampled_from(parameters), min_size=1, max_size=3, unique_by=lambda p: p["name"]))
    literals = [draw(_literals(parameter)) for parameter in named]
    numbers = [parameter["name"] for parameter in parameters if parameter["type"] == "uniform_int"]
    if len(numbers) > 1 and draw(st.booleans()):
        sign = draw(st.sampled_from(("LT", "LE", "EQ", "GT", "GE")))
        return {"type": f"RELATION_{sign}", "left": numbers[0], "right": numbers[1]}
    if len(literals) == 1:
        return literals[0]
    return {"type": draw(st.sampled_from(("AND", "AND", "OR"))), "clauses": literals}


@st.composite
def _literals(draw: st.DrawFn, parameter: Document) -> Document:
    values = _values_of(parameter)
    if parameter["type"] == "uniform_int" and draw(st.booleans()):
        kind = draw(st.sampled_from(("CLAUSE_LT", "CLAUSE_LE", "CLAUSE_GT", "CLAUSE_GE")))
        return {"type": kind, "name": parameter["name"], "value": draw(st.sampled_from(values))}
    if draw(st.booleans()):
        return {
            "type": "IN",
            "name": parameter["name"],
            "values": draw(st.lists(st.sampled_from(values), min_size=1, unique=True)),
        }
    return {"type": "EQUALS", "name": parameter["name"], "value": draw(st.sampled_from(values))}
