"""A plan as JSON of `ConfigurationSpace.to_json`, as Python source, as a text listing and as a DOT graph."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from spacelang.ir.domain import Grid
from spacelang.ir.value import identity_key
from spacelang.reductions.domain_reductions import MemberIndexReduction, MemberRenamingReduction, ScaledRangeReduction
from spacelang.reductions.space_questions import FixedPiece
from spacelang.targets._configspace import encoded_domains as cs
from spacelang.targets._configspace.disjunctive_normal_form import (
    MembershipTest,
    NormalForm,
    PairRelation,
    Test,
    ThresholdTest,
)
from spacelang.targets._configspace.space_plan import ConfigSpacePlan
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._text_and_dot import quote_dot

FORMAT: Final = 0.4  # The version of the format that ConfigSpace 1.2 writes
Document = dict[str, Any]
TYPE_SUFFIXES: Final = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "==": "EQ"}
"""The suffixes of the type names of conditions, clauses and relations."""
_CLASS_WORDS: Final = {
    "LT": "LessThan", "LE": "LessThanEquals", "GT": "GreaterThan", "GE": "GreaterThanEquals",
    "EQ": "Equals", "EQUALS": "Equals", "IN": "In",
}  # fmt: skip
"""The part of the ConfigSpace class name for each suffix of a type name."""


def to_configspace_document(plan: ConfigSpacePlan, name: str, defaults: Mapping[str, cs.FlatValue]) -> Document:
    """Return what `ConfigurationSpace.to_json` would write for a plan.

    `defaults` are the values of its default configuration by name.
    """
    conditions = {child: _ordered_conjunctions(plan, ways) for child, ways in plan.conditions.items()}
    conjunctions = {frozenset(ways[0]) for ways in conditions.values() if len(ways) == 1 and len(ways[0]) > 1}
    parameters = plan.parameters.values()
    clauses = [[_forbidden(plan, test) for test in _ordered_tests(plan, way)] for way in plan.clauses]
    return {
        "name": name,
        "hyperparameters": [_hyperparameter(own, defaults.get(own.name, own.default)) for own in parameters],
        "conditions": [_condition(plan, child, ways, conjunctions) for child, ways in conditions.items()],
        "forbiddens": [c[0] if len(c) == 1 else {"type": "AND", "clauses": c} for c in clauses],
        "format_version": FORMAT,
    }


def _hyperparameter(parameter: cs.FlatHyperparameter, default: cs.FlatValue) -> Document:
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
                found["mu"], found["sigma"] = (
                    map(cs.round_like_configspace, parameter.normal) if is_float else parameter.normal
                )
            found |= {"lower": parameter.lower, "upper": parameter.upper}
            found["default_value"] = cs.round_like_configspace(float(default)) if is_float else default
            found["log"] = parameter.log
    return {**found, "meta": None}


def _condition(
    plan: ConfigSpacePlan, child: str, ways: Sequence[Sequence[Test]], conjunctions: set[frozenset[Test]]
) -> Document:
    terms = [_conjunction(plan, child, way) for way in ways]
    if len(terms) == 1:
        return terms[0]
    # ConfigSpace 1.2 considers "all of" and "any of" two equal tests to be the same; a redundant term tells them apart.
    flat = [way[0] for way in ways if len(way) == 1]
    if len(flat) == len(ways) and frozenset(flat) in conjunctions:
        terms.append(_conjunction(plan, child, flat))
    return {"type": "OR", "child": child, "conditions": terms}


def _conjunction(plan: ConfigSpacePlan, child: str, way: Sequence[Test]) -> Document:
    terms = []
    for test in way:
        assert not isinstance(test, PairRelation)
        given = {"child": child, "parent": test.name}
        if isinstance(test, ThresholdTest):
            terms.append({"type": TYPE_SUFFIXES[test.sign], **given, "value": test.number})
        else:
            terms.append(_membership_document(plan, test, "EQ", given))
    return terms[0] if len(terms) == 1 else {"type": "AND", "child": child, "conditions": terms}


def _forbidden(plan: ConfigSpacePlan, test: Test) -> Document:
    match test:
        case PairRelation():
            return {"type": f"RELATION_{TYPE_SUFFIXES[test.sign]}", "left": test.left, "right": test.right}
        case ThresholdTest():
            kind = "EQUALS" if test.sign == "==" else f"CLAUSE_{TYPE_SUFFIXES[test.sign]}"
            return {"type": kind, "name": test.name, "value": test.number}
        case MembershipTest():
            return _membership_document(plan, test, "EQUALS", {"name": test.name})


def _membership_document(plan: ConfigSpacePlan, test: MembershipTest, equal: str, given: Document) -> Document:
    values = _values(plan, test)
    many = len(values) > 1
    return {"type": "IN", **given, "values": values} if many else {"type": equal, **given, "value": values[0]}


def _values(plan: ConfigSpacePlan, test: MembershipTest) -> list[cs.FlatValue]:
    return [choice for choice in plan.parameters[test.name].choices if choice in test.values]


def _ordered_conjunctions(plan: ConfigSpacePlan, ways: NormalForm) -> list[list[Test]]:
    return sorted((_ordered_tests(plan, w) for w in ways), key=lambda way: [_sort_key(plan, test) for test in way])


def _ordered_tests(plan: ConfigSpacePlan, way: Iterable[Test]) -> list[Test]:
    return sorted(way, key=lambda test: _sort_key(plan, test))


def _sort_key(plan: ConfigSpacePlan, test: Test) -> tuple[Any, ...]:
    names = plan.index_by_name
    match test:
        case MembershipTest():
            choices = plan.parameters[test.name].choices
            return names[test.name], 0, [choices.index(value) for value in _values(plan, test)]
        case ThresholdTest():
            return names[test.name], 1, [">==<".index(test.sign), test.number]
        case PairRelation():
            return names[test.left], 2, [names[test.right], test.sign]


def space_source(written: Document) -> str:
    """Return the source of a module that imports only ConfigSpace and makes its object as `space`."""
    calls = {"hyperparameters": _hyperparameter_call, "conditions": _condition_call, "forbiddens": _clause_call}
    lists = {key: "".join(f"    {call_of(own)},\n" for own in written[key]) for key, call_of in calls.items()}
    return f'''"""The space `{written["name"]}` for ConfigSpace 1.2 or later."""

import ConfigSpace as cs

hyperparameters = [
{lists["hyperparameters"]}]
p = {{hyperparameter.name: hyperparameter for hyperparameter in hyperparameters}}

conditions = [
{lists["conditions"]}]

forbidden = [
{lists["forbiddens"]}]

space = cs.ConfigurationSpace(name={written["name"]!r})
space.add(*hyperparameters, *conditions, *forbidden)'''


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
    """Return the value with which a condition or clause of the JSON document compares, or the list of values."""
    return item["values"] if item["type"] == "IN" else item["value"]


def _hyperparameter_call(item: Document) -> str:
    left_out = ("type", "meta", "name")
    given = ", ".join(f"{key}={value!r}" for key, value in item.items() if key not in left_out and value is not None)
    word = item["type"].replace("_int", "_integer").title().replace("_", "")  # uniform_int: UniformInteger
    name = "Constant" if item["type"] == "constant" else f"{word}Hyperparameter"
    return f"cs.{name}({item['name']!r}, {given})"


GIVEN: Final = "given"
HEAD: Final = '''\
def decode(configuration):
    """Return the configuration of the search space that a ConfigSpace configuration encodes, as a dictionary."""
    given = {name: value.item() if hasattr(value, "item") else value for name, value in dict(configuration).items()}
    found = '''


def decoder_source(plan: ConfigSpacePlan) -> str:
    """Return the source of a function `decode(configuration)` that calls the equivalents of the plan's readers."""
    same: list[str] = []
    lines: list[str] = []
    for node, coded in plan.coded:
        name = coded.name if isinstance(coded, cs.FlatHyperparameter) else coded.parameters[0].name
        if name not in plan.readers or name not in plan.parameters:
            continue
        if isinstance(coded, cs.FlatHyperparameter):
            # Pairs of a choice and its value, without the placeholder for inactivity.
            read = ((choice, plan.readers[name]({name: choice})) for choice in coded.choices)
            table = [(choice, entry[1]) for choice, entry in read if entry is not None]
            is_same = name == node.key and all(identity_key(found) == identity_key(choice) for choice, found in table)
            if is_same and len(table) == len(coded.choices):
                same.append(name)
            else:
                lines += _match_lines(name, node.key, ((choice, py.LiteralNode(value)) for choice, value in table))
        elif name == node.key and coded.selector is None and _is_unchanged(coded.pieces[0]):
            same.append(name)
        elif coded.selector is None:
            lines.append(f"    if {py.literal_source(name)} in given:")
            value = py.expression_source(_piece_code(coded.pieces[0]), 8, len(node.key) + 10)
            lines.append(f"        found[{py.literal_source(node.key)}] = {value}")
        else:
            codes = map(_piece_code, coded.pieces)
            lines += _match_lines(name, node.key, zip(coded.selector.choices, codes, strict=True))
    if same:
        listed = py.expression_source(py.ListNode(tuple(map(py.LiteralNode, same))), 4, 12)
        lines[:0] = [f"    for name in {listed}:", "        if name in given:", "            found[name] = given[name]"]
    fixed = py.expression_source(py.literal_dict(plan.fixed), 4, 12)
    return "\n".join([f"{HEAD}{fixed}", *lines, "    return found"])


def _match_lines(name: str, key: str, cases: Iterable[tuple[cs.FlatValue, py.Code]]) -> Iterator[str]:
    yield f"    match given.get({py.literal_source(name)}):"
    for choice, code in cases:
        yield f"        case {py.literal_source(choice)}:"
        yield f"            found[{py.literal_source(key)}] = {py.expression_source(code, 12, len(key) + 10)}"


def _is_unchanged(piece: cs.Piece) -> bool:
    code = _piece_code(piece)
    return (
        isinstance(code, py.SubscriptNode) and isinstance(code.container, py.NameNode) and code.container.text == GIVEN
    )


def _piece_code(piece: cs.Piece) -> py.Code:
    if isinstance(piece, FixedPiece):
        return py.LiteralNode(piece.value)
    assert isinstance(piece, cs.HyperparameterPiece)
    given = py.SubscriptNode(py.NameNode(GIVEN), py.LiteralNode(piece.parameter.name))
    match piece.reduction:
        case MemberRenamingReduction() as reduction:
            values = [(choice, reduction.decode(choice)) for choice in piece.parameter.choices]
            if all(identity_key(choice) == identity_key(value) for choice, value in values):
                return given
            table = ", ".join(f"{py.literal_source(choice)}: {py.literal_source(value)}" for choice, value in values)
            return py.SubscriptNode(py.NameNode(f"{{{table}}}"), given)
        case cs.UnchangedIntegerReduction():
            return given
        case ScaledRangeReduction(part=part, exponent=exponent):
            number: py.Code = py.call("math.ldexp", given, -exponent) if exponent else given
            inside = py.call("min", py.call("max", number, part.least), part.greatest)
            return py.infix(inside, "+", 0.0)
        case MemberIndexReduction(part=Grid() as part):
            return py.grid_member_code(part, given)
        case _:
            raise TypeError(f"cannot write code that decodes values of the reduced domain {piece.reduction}")


def text_listing(written: Document) -> str:
    """Return a text with the hyperparameters, each indented below those it depends on, and the forbidden clauses."""
    parameters, conditions, clauses = (written[key] for key in ("hyperparameters", "conditions", "forbiddens"))
    counts = f"{len(parameters)} hyperparameters, {len(conditions)} conditions, {len(clauses)} forbidden clauses"
    lines = [f"{written['name']}: {counts}"]
    on = {condition["child"]: condition for condition in conditions}
    depths: dict[str, int] = {}
    for parameter in parameters:
        name = parameter["name"]
        depths[name] = 1 + max((depths.get(parent, 0) for parent in _parents(on[name])), default=0) if name in on else 0
        when = f"  when {condition_text(on[name])}" if name in on else ""
        lines.append("  " * (depths[name] + 1) + f"{name} : {_domain(parameter)}{when}")
    lines += [f"  forbid {condition_text(clause)}" for clause in clauses]
    return "\n".join(lines)


def dot_graph(written: Document) -> str:
    """Return the hyperparameters as a DOT graph, with an edge from each to its dependents."""
    lines = ["digraph configspace {", "  rankdir=LR;", "  node [shape=box];"]
    for parameter in written["hyperparameters"]:
        label = f"{parameter['name']}\n{_domain(parameter)}"
        lines.append(f"  {quote_dot(parameter['name'])} [label={quote_dot(label)}];")
    for condition in written["conditions"]:
        label = quote_dot(condition_text(condition))
        for parent in _parents(condition):
            lines.append(f"  {quote_dot(parent)} -> {quote_dot(condition['child'])} [label={label}];")
    return "\n".join([*lines, "}"])


def condition_text(item: Mapping[str, Any]) -> str:
    """Return a condition or clause of the JSON document as text."""
    kind = item["type"]
    if kind in ("AND", "OR"):
        terms: Sequence[Mapping[str, Any]] = item.get("conditions") or item["clauses"]
        inner = [f"({condition_text(term)})" if term["type"] == "OR" else condition_text(term) for term in terms]
        return f" {kind.lower()} ".join(inner)
    signs = {"EQUALS": "==", "IN": "in", **{name: sign for sign, name in TYPE_SUFFIXES.items()}}
    sign = signs[kind.rpartition("_")[2]]
    if kind.startswith("RELATION"):
        return f"{item['left']} {sign} {item['right']}"
    name = item["parent"] if "parent" in item else item["name"]
    return f"{name} {sign} {_set_text(compared_values(item)) if kind == 'IN' else compared_values(item)}"


def _parents(condition: Mapping[str, Any]) -> dict[str, None]:
    inner = (name for term in condition.get("conditions", ()) for name in _parents(term))
    return dict.fromkeys([*([condition["parent"]] if "parent" in condition else []), *inner])


def _domain(parameter: Mapping[str, Any]) -> str:
    kind = parameter["type"]
    if kind == "constant":
        return str(parameter["value"])
    default = f" = {parameter['default_value']}"
    if kind in ("categorical", "ordinal"):
        values = parameter["choices"] if kind == "categorical" else parameter["sequence"]
        return ("ordered " if kind == "ordinal" else "") + _set_text(values) + default
    log = " log" if parameter["log"] else ""
    normal = f" normal({parameter['mu']}, {parameter['sigma']})" if "mu" in parameter else ""
    family = "float" if kind.endswith("float") else "int"
    return f"{family}[{parameter['lower']}, {parameter['upper']}]{log}{normal}{default}"


def _set_text(values: Sequence[object]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"
