"""A planned space as a text listing, and as a DOT graph of dependencies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spacelang.targets._configspace.json_form import TYPE_SUFFIXES, Document, compared_values
from spacelang.targets._text_and_dot import quote_dot


def text_listing(written: Document) -> str:
    """Return the hyperparameters, indented below those on which they depend, and then the forbidden clauses."""
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
    """Return a condition or clause as text."""
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
    return f"{name} {sign} {_values(compared_values(item)) if kind == 'IN' else compared_values(item)}"


def _parents(condition: Mapping[str, Any]) -> Iterator[str]:
    return iter(dict.fromkeys(_all_parents(condition)))


def _all_parents(condition: Mapping[str, Any]) -> Iterator[str]:
    if "parent" in condition:
        yield condition["parent"]
    for term in condition.get("conditions", ()):
        yield from _all_parents(term)


def _domain(parameter: Mapping[str, Any]) -> str:
    kind = parameter["type"]
    if kind == "constant":
        return str(parameter["value"])
    default = f" = {parameter['default_value']}"
    if kind in ("categorical", "ordinal"):
        values = parameter["choices"] if kind == "categorical" else parameter["sequence"]
        return ("ordered " if kind == "ordinal" else "") + _values(values) + default
    log = " log" if parameter["log"] else ""
    normal = f" normal({parameter['mu']}, {parameter['sigma']})" if "mu" in parameter else ""
    family = "float" if kind.endswith("float") else "int"
    return f"{family}[{parameter['lower']}, {parameter['upper']}]{log}{normal}{default}"


def _values(values: Sequence[object]) -> str:
    return "{" + ", ".join(map(str, values)) + "}"
