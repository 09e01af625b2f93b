"""The whole space as JSON: the definition that every compiled document carries beside the form of its target.

`from_json` rebuilds exactly the same space of it, without the text and without a parser. `compiled.schema.json` in the
folder of the grammar documents every key. What has a usual value is left out: the library `sklearn`, the weight 1, the
first alternative as the default, a key that is the address, the orders of a permutation where they are all there. A
line says where the text has a thing; one without it stands on the line of what it is in. The texts of these lines are
there for messages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Final, TypeAlias, assert_never

from spacelang.ir.domain import Categorical, Domain, Grid, Ordinal, Real, Simple, Union
from spacelang.ir.expr import Active, And, Arithmetic, Call, Compare, Constant, Expr, In, Is, Not, Or, Reference
from spacelang.ir.prior import named
from spacelang.ir.space import (
    NOTHING,
    Branch,
    Choice,
    Constraint,
    Fixed,
    Hyperparameter,
    Kind,
    Named,
    Node,
    Operator,
    Product,
    Selector,
    Space,
    order_name,
)
from spacelang.ir.task import UNLIMITED, Bound, CrossValidation, Declared, Holdout, Task
from spacelang.ir.value import to_json as value_to_json
from spacelang.text import NOWHERE, Span

VERSION: Final = 1
"""Of compiled documents: what an older reader would misread raises it."""

OWN: Final = "sklearn"
"""The library that is not mentioned."""

Object: TypeAlias = dict[str, object]


def to_json(space: Space) -> Object:
    """The definition of a space as the JSON module takes it: `from_json(to_json(space)) == space`."""
    lines: dict[str, dict[int, str]] = {}
    around = _Place(_file(space), 0, lines)
    document: Object = {"name": space.name}
    if space.title:
        document["title"] = space.title
    if around.file:
        document["file"] = around.file
    document["root"] = _node(space.root, around)
    if space.constraints:
        document["constraints"] = [_constraint(constraint, around) for constraint in space.constraints]
    if space.task is not None:
        document["task"] = _task(space.task, around)
    if lines:
        document["lines"] = {
            file: {str(line): here[line] for line in sorted(here)} for file, here in sorted(lines.items())
        }
    return document


# ---- places


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of a file, 0 where no text says a thing; `lines` collects the texts of all lines that are mentioned."""

    file: str
    line: int
    lines: dict[str, dict[int, str]] = field(compare=False)


def _file(space: Space) -> str:
    """The file of the first step that a text says; the others mention theirs only where it is another one."""
    spans = (space.root.span, *(variable.node.span for variable in space.variables.values()))
    constraints = (constraint.span for constraint in space.constraints)
    return next((span.source.name for span in (*spans, *constraints) if _is_placed(span)), "")


def _is_placed(span: Span) -> bool:
    return span.source is not NOWHERE.source


def _placed(span: Span, around: _Place) -> tuple[Object, _Place]:
    """The keys that say where a thing stands, as far as it is not where the one around it does, and its place."""
    if not _is_placed(span):
        return {}, around
    place = _Place(span.source.name, span.line, around.lines)
    _mention(span, place.line, place)
    if place == around:
        return {}, place
    file: Object = {} if place.file == around.file else {"file": place.file}
    return {**file, "line": place.line}, place


def _mention(span: Span, last: int, place: _Place) -> None:
    """Keep the texts of the lines from that of a place to the last one."""
    here = place.lines.setdefault(place.file, {})
    for line in range(place.line, last + 1):
        here[line] = span.source.line(line)


# ---- the tree


def _node(node: Node, around: _Place) -> Object:
    match node:
        case Hyperparameter():
            return _hyperparameter(node, around)
        case Choice():
            return _choice(node, around)
        case Operator():
            return _operator(node, around)
        case Product():
            return _product(node, around)
        case _:
            assert_never(node)


def _product(node: Product, around: _Place) -> Object:
    where, place = _placed(node.span, around)
    children = node.children
    if node.kind is Kind.PERMUTATION:
        order, *children = node.children  # type: ignore[assignment]
        assert isinstance(order, Choice)
        where = {"labels": list(node.labels), "order": _choice(order, place, implied=_orders(node.labels)), **where}
    if node.kind is Kind.COLUMNS:
        where = {"selectors": list(map(_selector, node.selectors)), **where}
    return {node.kind.value: [_node(child, place) for child in children], **where}


def _orders(labels: Sequence[str]) -> tuple[Branch, ...]:
    return tuple(Branch(order_name(order), NOTHING) for order in permutations(labels))


def _selector(selector: Selector) -> object:
    return {"pattern": selector.pattern} if selector.kind == "pattern" else selector.kind


def _choice(node: Choice, around: _Place, implied: tuple[Branch, ...] | None = None) -> Object:
    """A decision; branches that are exactly the `implied` ones need not be listed."""
    where, place = _placed(node.span, around)
    document: Object = {"decision": node.name, **_called(node.address, node.key)}
    if node.branches != implied:
        document["alternatives"] = [_branch(branch, place) for branch in node.branches]
    if node.default:
        document["default"] = node.branches[node.default].name
    if node.first:
        document["first"] = True
    return {**document, **where}


def _called(address: str, key: str) -> Object:
    return {"address": address} if key == address else {"address": address, "key": key}


def _branch(branch: Branch, around: _Place) -> Object:
    where, place = _placed(branch.span, around)
    document: Object = {"alternative": branch.name}
    if branch.weight != 1.0:
        document["weight"] = branch.weight
    if branch.node != NOTHING:
        document["node"] = _node(branch.node, place)
    if branch.value is not None:
        document["value"] = value_to_json(branch.value)
    return {**document, **where}


def _operator(node: Operator, around: _Place) -> Object:
    where, place = _placed(node.span, around)
    document: Object = {"operator": node.name}
    if node.catalogue != OWN:
        document["library"] = node.catalogue
    if node.fixed:
        document["fixed"] = {name: _fixed(value, place) for name, value in node.fixed}
    if node.children:
        document["parameters"] = [_node(child, place) for child in node.children]
    return {**document, **where}


def _fixed(value: Fixed, around: _Place) -> object:
    match value:
        case Operator():
            return _operator(value, around)
        case Named():
            return {"named": value.name}
        case _:
            return value_to_json(value)


def _hyperparameter(node: Hyperparameter, around: _Place) -> Object:
    where, place = _placed(node.span, around)
    document: Object = {"hyperparameter": node.name, **_called(node.address, node.key)}
    document["domain"] = _domain(node.domain)
    document["default"] = value_to_json(node.default)
    if node.condition is not None:
        of_condition, _ = _placed(node.condition.span, place)
        document["condition"] = {"when": _expression(node.condition), **of_condition}
    if node.named:
        document["named"] = list(node.named)
    if node.prior is not None:
        distribution, parameters = named(node.prior)
        document["prior"] = {"distribution": distribution, "parameters": list(parameters)}
    if node.split is not None:
        document["split"] = node.split
    return {**document, **where}


def _constraint(constraint: Constraint, around: _Place) -> Object:
    where, place = _placed(constraint.span, around)
    document: Object = {"forbid" if constraint.forbidden else "require": _expression(constraint.expression)}
    if _is_placed(constraint.span):
        said = constraint.span.text.replace("\r\n", "\n")
        _mention(constraint.span, place.line + said.count("\n"), place)
        document["text"] = said
    return {**document, **where}


# ---- domains


def _domain(domain: Domain) -> Object:
    if isinstance(domain, Union):
        return {"union": [_simple(part) for part in domain.parts]}
    return _simple(domain)


def _simple(domain: Simple) -> Object:
    match domain:
        case Ordinal():
            return {"ordered": _values(domain.values)}
        case Categorical():
            return {"set": _values(domain.values)}
        case Grid():
            document: Object = {"int" if domain.is_integral else "float": [domain.lower, domain.upper]}
            document |= {"log": True} if domain.log else {}
            return document if domain.is_consecutive else {**document, "step": domain.step}
        case Real():
            return _real(domain)
        case _:
            assert_never(domain)


def _real(domain: Real) -> Object:
    document: Object = {"float": [domain.lower, domain.upper]}
    if domain.lower_open or domain.upper_open:
        document["open"] = [*(["lower"] if domain.lower_open else []), *(["upper"] if domain.upper_open else [])]
    if domain.log:
        document["log"] = True
    return document


def _values(values: Iterable[object]) -> list[object]:
    return [value_to_json(value) for value in values]  # type: ignore[arg-type]


# ---- expressions


def _expression(expression: Expr) -> object:  # noqa: C901, PLR0911 - one for each kind
    """An object with the sign as its key, except that a constant is its value: values are never objects."""
    match expression:
        case Constant():
            return value_to_json(expression.value)
        case Reference():
            return {"hyperparameter": expression.address}
        case Is():
            return {"decision": expression.address, "is": list(expression.branches)}
        case Active():
            return {"active": expression.address}
        case In():
            return {"item": _expression(expression.item), "in": _values(expression.values)}
        case Not():
            return {"not": _expression(expression.term)}
        case And():
            return {"and": list(map(_expression, expression.terms))}
        case Or():
            return {"or": list(map(_expression, expression.terms))}
        case Compare():
            return {expression.relation: [_expression(expression.left), _expression(expression.right)]}
        case Arithmetic():
            return {expression.operation: [_expression(expression.left), _expression(expression.right)]}
        case Call():
            return {expression.function: list(map(_expression, expression.arguments))}
        case _:
            assert_never(expression)


# ---- the task


def _task(task: Task, around: _Place) -> Object:
    where, place = _placed(task.span, around)
    document: Object = {"kind": task.kind}
    if task.goal is not None:
        goal, (at, _) = task.goal, _placed(task.goal.span, place)
        from_one: Object = {"from_one": True} if goal.from_one else {}
        document["goal"] = {goal.direction: goal.scorer, **from_one, **at}
    if task.bounds:
        document["bounds"] = [_bound(bound, place) for bound in task.bounds]
    if task.validation is not None:
        document["validation"] = _validation(task.validation)
    if task.fidelity is not None:
        fidelity, (at, _) = task.fidelity, _placed(task.fidelity.span, place)
        document["fidelity"] = {"first": fidelity.first, "factor": fidelity.factor, **at}
    if task.limits != UNLIMITED:
        limits = {name: getattr(task.limits, name) for name in ("trial_seconds", "trial_bytes", "run_seconds")}
        document["limits"] = {name: limit for name, limit in limits.items() if limit is not None}
    return {**document, **where}


def _bound(bound: Bound, around: _Place) -> Object:
    where, _ = _placed(bound.span, around)
    document: Object = {"measure": bound.measure.value, "limit": bound.limit}
    if bound.strict:
        document["strict"] = True
    if bound.scorer:
        document["scorer"] = bound.scorer
    if bound.column:
        document["column"] = bound.column
    return {**document, **where}


def _validation(validation: Declared) -> Object:
    match validation:
        case Holdout(share):
            return {"holdout": share}
        case CrossValidation(folds):
            return {"cv": folds}
        case _:
            assert_never(validation)
