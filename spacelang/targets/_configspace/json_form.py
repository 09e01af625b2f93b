"""A plan in the JSON format of `ConfigurationSpace.to_json`, and as Python source that builds the space."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spacelang.targets._configspace.normal_form import (
    FlatValue,
    MembershipTest,
    NormalForm,
    PairRelation,
    Test,
    ThresholdTest,
)
from spacelang.targets._configspace.pieces import FlatHyperparameter
from spacelang.targets._configspace.plan import Plan
from spacelang.targets._configspace.range_support import round_decimals

FORMAT: Final = 0.4
"""The version of the format that ConfigSpace 1.2 writes."""

Document = dict[str, Any]

TYPE_SUFFIXES: Final = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "==": "EQ"}
"""The suffixes of the type names of conditions, clauses and relations."""

_CLASS_WORDS: Final = {
    "LT": "LessThan",
    "LE": "LessThanEquals",
    "GT": "GreaterThan",
    "GE": "GreaterThanEquals",
    "EQ": "Equals",
    "EQUALS": "Equals",
    "IN": "In",
}
"""The part of the ConfigSpace class name for each suffix of a type name."""


def to_document(plan: Plan, name: str, defaults: Mapping[str, FlatValue]) -> Document:
    """Return the JSON document of a plan; `defaults` are the values of its default configuration by name."""
    conditions = {child: _ordered_conjunctions(plan, ways) for child, ways in plan.conditions.items()}
    conjunctions = {frozenset(ways[0]) for ways in conditions.values() if len(ways) == 1 and len(ways[0]) > 1}
    return {
        "name": name,
        "hyperparameters": [
            _hyperparameter(own, defaults.get(own.name, own.default)) for own in plan.parameters.values()
        ],
        "conditions": [_condition(plan, child, ways, conjunctions) for child, ways in conditions.items()],
        "forbiddens": [_clause(plan, _ordered_tests(plan, way)) for way in plan.clauses],
        "format_version": FORMAT,
    }


def _hyperparameter(parameter: FlatHyperparameter, default: FlatValue) -> Document:
    found: Document = {"type": parameter.kind, "name": parameter.name}
    match parameter.kind:
        case "constant":
            found["value"] = parameter.choices[0]
        case "categorical":
            found["choices"] = list(parameter.choices)
            found["weights"] = None if parameter.weights is None else list(parameter.weights)
            found["default_value"] = default
        case "ordinal":
            found["sequence"] = list(parameter.choices)
            found["default_value"] = default
        case _:
            is_float = parameter.kind.endswith("float")
            if parameter.normal is not None:
                found["mu"], found["sigma"] = (round_decimals(each) if is_float else each for each in parameter.normal)
            found |= {"lower": parameter.lower, "upper": parameter.upper}
            found["default_value"] = round_decimals(float(default)) if is_float else default
            found["log"] = parameter.log
    return {**found, "meta": None}


def _condition(plan: Plan, child: str, ways: Sequence[Sequence[Test]], conjunctions: set[frozenset[Test]]) -> Document:
    terms = [_conjunction(plan, child, way) for way in ways]
    if len(terms) == 1:
        return terms[0]
    # ConfigSpace 1.2 considers "all of" and "any of" two equal tests to be the same; a redundant term tells them apart.
    flat = [way[0] for way in ways if len(way) == 1]
    if len(flat) == len(ways) and frozenset(flat) in conjunctions:
        terms.append(_conjunction(plan, child, flat))
    return {"type": "OR", "child": child, "conditions": terms}


def _conjunction(plan: Plan, child: str, way: Sequence[Test]) -> Document:
    terms = [_test(plan, child, test) for test in way]
    return terms[0] if len(terms) == 1 else {"type": "AND", "child": child, "conditions": terms}


def _test(plan: Plan, child: str, test: Test) -> Document:
    assert not isinstance(test, PairRelation)
    given = {"child": child, "parent": test.name}
    if isinstance(test, ThresholdTest):
        return {"type": TYPE_SUFFIXES[test.sign], **given, "value": test.number}
    return _membership_document(plan, test, "EQ", given)


def _clause(plan: Plan, way: Sequence[Test]) -> Document:
    clauses = [_forbidden(plan, test) for test in way]
    return clauses[0] if len(clauses) == 1 else {"type": "AND", "clauses": clauses}


def _forbidden(plan: Plan, test: Test) -> Document:
    match test:
        case PairRelation():
            return {"type": f"RELATION_{TYPE_SUFFIXES[test.sign]}", "left": test.left, "right": test.right}
        case ThresholdTest():
            kind = "EQUALS" if test.sign == "==" else f"CLAUSE_{TYPE_SUFFIXES[test.sign]}"
            return {"type": kind, "name": test.name, "value": test.number}
        case MembershipTest():
            return _membership_document(plan, test, "EQUALS", {"name": test.name})


def _membership_document(plan: Plan, test: MembershipTest, equal: str, given: Document) -> Document:
    """Return a membership test; `equal` is its type if there is a single value."""
    values = _values(plan, test)
    return (
        {"type": "IN", **given, "values": values} if len(values) > 1 else {"type": equal, **given, "value": values[0]}
    )


def _values(plan: Plan, test: MembershipTest) -> list[FlatValue]:
    """Return the tested values in the order of their hyperparameter."""
    return [choice for choice in plan.parameters[test.name].choices if choice in test.values]


def _ordered_conjunctions(plan: Plan, ways: NormalForm) -> list[list[Test]]:
    """Return the conjunctions and their tests in the order of the hyperparameters.

    This makes the result independent of the order of sets.
    """
    found = [_ordered_tests(plan, way) for way in ways]
    return sorted(found, key=lambda way: [_sort_key(plan, test) for test in way])


def _ordered_tests(plan: Plan, way: Iterable[Test]) -> list[Test]:
    return sorted(way, key=lambda test: _sort_key(plan, test))


def _sort_key(plan: Plan, test: Test) -> tuple[Any, ...]:
    names = plan.indices
    match test:
        case MembershipTest():
            choices = plan.parameters[test.name].choices
            return names[test.name], 0, [choices.index(value) for value in _values(plan, test)]
        case ThresholdTest():
            return names[test.name], 1, [">==<".index(test.sign), test.number]
        case PairRelation():
            return names[test.left], 2, [names[test.right], test.sign]


# ---- Python source


def space_source(written: Document) -> str:
    """Return a module that builds the space with ConfigSpace alone, as `space`."""
    return "\n".join(
        (
            f'"""The space `{written["name"]}` for ConfigSpace 1.2 or later."""',
            "",
            "import ConfigSpace as cs",
            "",
            "hyperparameters = [",
            *(f"    {_hyperparameter_call(own)}," for own in written["hyperparameters"]),
            "]",
            "p = {hyperparameter.name: hyperparameter for hyperparameter in hyperparameters}",
            "",
            "conditions = [",
            *(f"    {_condition_call(own)}," for own in written["conditions"]),
            "]",
            "",
            "forbidden = [",
            *(f"    {_clause_call(own)}," for own in written["forbiddens"]),
            "]",
            "",
            f"space = cs.ConfigurationSpace(name={written['name']!r})",
            "space.add(*hyperparameters, *conditions, *forbidden)",
        )
    )


def _condition_call(item: Document) -> str:
    kind = item["type"]
    if kind in ("AND", "OR"):
        return f"cs.{kind.title()}Conjunction({', '.join(map(_condition_call, item['conditions']))})"
    child, parent = (f"p[{item[role]!r}]" for role in ("child", "parent"))
    return f"cs.{_CLASS_WORDS[kind]}Condition({child}, {parent}, {compared_values(item)!r})"


def _clause_call(item: Document) -> str:
    kind = item["type"]
    if kind == "AND":
        return f"cs.ForbiddenAndConjunction({', '.join(map(_clause_call, item['clauses']))})"
    word = _CLASS_WORDS[kind.rpartition("_")[2]]
    if kind.startswith("RELATION"):
        return f"cs.Forbidden{word}Relation(p[{item['left']!r}], p[{item['right']!r}])"
    return f"cs.Forbidden{word}Clause(p[{item['name']!r}], {compared_values(item)!r})"


def compared_values(item: Mapping[str, Any]) -> Any:
    """Return the value, or the list of values, with which a condition or clause compares."""
    return item["values"] if item["type"] == "IN" else item["value"]


def _hyperparameter_call(item: Document) -> str:
    words = {
        "categorical": "Categorical",
        "ordinal": "Ordinal",
        "uniform_float": "UniformFloat",
        "uniform_int": "UniformInteger",
        "normal_float": "NormalFloat",
        "normal_int": "NormalInteger",
    }
    left_out = ("type", "meta", "name")
    given = ", ".join(f"{key}={value!r}" for key, value in item.items() if key not in left_out and value is not None)
    name = "Constant" if item["type"] == "constant" else f"{words[item['type']]}Hyperparameter"
    return f"cs.{name}({item['name']!r}, {given})"
