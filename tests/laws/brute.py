"""Brute force: what a space means, written from the language's description alone and as naively as can be.

Nothing of the package's own walking, evaluating, counting or membership is used: only the classes that hold the facts.
"""

import json
import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from spacelang.ir import domain as d
from spacelang.ir import expr as e
from spacelang.ir import space as s

ABSENT = object()
"""What is not active, or what arithmetic does not define, is worth."""

Decisions = dict[str, str]
"""Branches by the address of the decision."""


def text(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, default=list)


def configurations(space: s.Space) -> set[str]:
    """All configurations of a finite space, as canonical JSON."""
    found = set()
    for taken, hyperparameters in pipelines(space.root):
        for values in product(*(members(h.domain) for h in hyperparameters)):
            worth = {h.address: value for h, value in zip(hyperparameters, values, strict=True)}
            document = settle(space, taken, hyperparameters, worth)
            if document is not None:
                found.add(text(document))
    return found


def structures(space: s.Space) -> set[frozenset[tuple[str, str]]]:
    """The decision parts, by address, of all configurations of a finite space."""
    found = set()
    for taken, hyperparameters in pipelines(space.root):
        for values in product(*(members(h.domain) for h in hyperparameters)):
            worth = {h.address: value for h, value in zip(hyperparameters, values, strict=True)}
            if settle(space, taken, hyperparameters, worth) is not None:
                found.add(frozenset(taken.items()))
                break
    return found


def accepts(space: s.Space, document: dict[str, Any]) -> bool:
    """Whether a document is a configuration of any space, finite or not; its numbers must have the space's type."""
    for taken, hyperparameters in pipelines(space.root):
        worth = {h.address: document.get(h.key, ABSENT) for h in hyperparameters}
        if settle(space, taken, hyperparameters, worth) == document:
            return True
    return False


def settle(
    space: s.Space, taken: Decisions, hyperparameters: list[s.Hyperparameter], worth: dict[str, Any]
) -> dict[str, Any] | None:
    """The configuration that a structure and values make, inactive ones left out; None where something forbids it."""
    keys = {node.address: node.key for node in decisions(space.root)}
    nodes = {h.address: h for h in hyperparameters}

    def look(address: str) -> Any:
        if address not in nodes:
            return taken.get(address, ABSENT)
        condition = nodes[address].condition
        return worth[address] if condition is None or truth(condition, look) else ABSENT

    document: dict[str, Any] = {keys[address]: branch for address, branch in taken.items()}
    for node in hyperparameters:
        if node.condition is not None and not truth(node.condition, look):
            continue
        if not inside(node.domain, worth[node.address]):
            return None
        document[node.key] = worth[node.address]
    return document if all(keeps(constraint, look) for constraint in space.constraints) else None


def keeps(constraint: s.Constraint, look: Any) -> bool:
    if any(look(address) is ABSENT for address in named(constraint.expression)):
        return True
    return truth(constraint.expression, look) is not constraint.forbidden


def named(expression: Any) -> Iterator[str]:
    """The hyperparameters that an expression names."""
    if isinstance(expression, e.Reference):
        yield expression.address
    for part in ("left", "right", "item", "term"):
        if hasattr(expression, part):
            yield from named(getattr(expression, part))
    for part in (*getattr(expression, "terms", ()), *getattr(expression, "arguments", ())):
        yield from named(part)


def truth(expression: Any, look: Any) -> bool:
    kind = type(expression).__name__
    if kind == "And":
        return min([truth(term, look) for term in expression.terms], default=True)
    if kind == "Or":
        return max([truth(term, look) for term in expression.terms], default=False)
    if kind == "Not":
        return not truth(expression.term, look)
    if kind == "BranchTest":
        return any(look(expression.address) == branch for branch in expression.branches)
    if kind == "In":
        value = number(expression.item, look)
        return any(compared("==", value, other) for other in expression.values)
    if kind == "Compare":
        return compared(expression.relation, number(expression.left, look), number(expression.right, look))
    return number(expression, look) is True


def compared(relation: str, left: Any, right: Any) -> bool:
    if left is ABSENT or right is ABSENT:
        return False
    if relation in ("==", "!=") and not (is_number(left) and is_number(right)):
        return equal(left, right) is (relation == "==")
    if not is_number(left) or not is_number(right):
        return False
    left, right = written(left), written(right)
    if relation in ("==", "!="):
        return (left == right) is (relation == "==")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[relation]


def number(expression: Any, look: Any) -> Any:
    """The value of an arithmetic expression; ABSENT where it has none."""
    kind = type(expression).__name__
    if kind == "Constant":
        return expression.value
    if kind == "Reference":
        return look(expression.address)
    if kind not in ("Arithmetic", "Call"):
        return truth(expression, look)
    parts = expression.arguments if kind == "Call" else (expression.left, expression.right)
    values = [number(part, look) for part in parts]
    if not all(is_number(value) for value in values):
        return ABSENT
    values = [written(value) for value in values]
    name = expression.function if kind == "Call" else expression.operation
    if (name == "/" and values[1] == 0) or (name == "sqrt" and values[0] < 0) or (name == "log2" and values[0] <= 0):
        return ABSENT
    functions = {"min": min, "max": max, "ceil": math.ceil, "floor": math.floor, "sqrt": root, "log2": logarithm}
    operations = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: Fraction(a) / b,
    }
    return {**functions, **operations}[name](*values)


@lru_cache(maxsize=4096)
def root(value: Fraction) -> Fraction:
    """So many digits that what is no square is told apart from all that a law compares it with."""
    whole = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if whole[0] ** 2 == value.numerator and whole[1] ** 2 == value.denominator:
        return Fraction(*whole)
    with localcontext(prec=60):
        return Fraction((Decimal(value.numerator) / Decimal(value.denominator)).sqrt())


@lru_cache(maxsize=4096)
def logarithm(value: Fraction) -> Fraction:
    with localcontext(prec=60):
        found = (Decimal(value.numerator) / Decimal(value.denominator)).ln() / Decimal(2).ln()
    return Fraction(round(found)) if Fraction(2) ** round(found) == value else Fraction(found)


def is_number(value: Any) -> bool:
    return type(value) in (int, float, Fraction)


@lru_cache(maxsize=4096, typed=True)
def written(value: Any) -> Any:
    """A number as the decimal that it is written as."""
    return Fraction(repr(value)) if type(value) is float else value


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def members(domain: Any) -> list[Any]:
    """All values of a finite domain."""
    match domain:
        case d.Union():
            return [value for part in domain.parts for value in members(part)]
        case d.Categorical():
            return list(domain.values)
        case d.Real():
            assert domain.lower == domain.upper
            return [domain.lower]
        case d.Grid() if type(domain.step) is int:
            return list(range(domain.lower, domain.upper + 1, domain.step))
    found, place = [], Decimal(str(domain.lower))
    while place <= Decimal(str(domain.upper)):
        found.append(float(place))
        place += Decimal(str(domain.step))
    return found


def inside(domain: Any, value: Any) -> bool:
    if value is ABSENT:
        return False
    if isinstance(domain, d.Union):
        return any(inside(part, value) for part in domain.parts)
    if isinstance(domain, d.Categorical):
        return any(equal(value, other) for other in domain.values)
    if isinstance(domain, d.Real):
        if type(value) is not float:
            return False
        above = domain.lower < value if domain.lower_open else domain.lower <= value
        below = value < domain.upper if domain.upper_open else value <= domain.upper
        return above and below
    return type(value) is type(domain.lower) and value in members(domain)


def decisions(node: Any) -> Iterator[s.Choice]:
    if isinstance(node, s.Choice):
        yield node
        for branch in node.branches:
            yield from decisions(branch.node)
    for child in getattr(node, "children", ()):
        yield from decisions(child)


def pipelines(node: Any) -> list[tuple[Decisions, list[s.Hyperparameter]]]:
    """Every way through a tree: the branches taken and the hyperparameters that they lead to."""
    match node:
        case s.Hyperparameter():
            return [({}, [node])]
        case s.Choice():
            return [
                ({node.address: branch.name, **taken}, found)
                for branch in node.branches
                for taken, found in pipelines(branch.node)
            ]
    ways: list[tuple[Decisions, list[s.Hyperparameter]]] = [({}, [])]
    for child in node.children:
        ways = [({**a, **b}, [*x, *y]) for a, x in ways for b, y in pipelines(child)]
    return ways
