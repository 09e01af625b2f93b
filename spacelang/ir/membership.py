"""Exact membership tests: is a configuration in the space, and if not, which line excludes it."""

from spacelang.facts import fact
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import Missing, describe, literal
from spacelang.ir.expr import INACTIVE, holds
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Space
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, reached, structure_of
from spacelang.suggest import suggestion
from spacelang.text import Span


@fact
class Exclusion:
    """A reason why a configuration is not in the space; `key` is empty if a constraint excludes it."""

    key: str
    reason: str
    span: Span


def exclusion(space: Space, configuration: Configuration) -> Exclusion | None:
    """Return the first reason why a configuration is not in the space, or None if it is."""
    result = admit(space, configuration)
    return result if isinstance(result, Exclusion) else None


def exclusions(space: Space, configuration: Configuration) -> tuple[Exclusion, ...]:
    """Return all reasons why a configuration is not in the space, or an empty tuple if it is.

    Variables below a decision without a valid branch are not checked. Constraints are checked only if there is no other
    reason.
    """
    wrong: list[Exclusion] = []

    def branch_of(choice: Choice) -> str:
        if configuration.view.get(choice.key) in choice.places:
            return str(configuration[choice.key])
        wrong.append(_no_branch(choice, configuration))
        return ""  # no branch has this name, so nothing below is reached

    structure = {each.address: branch for each, branch in reached(space, branch_of) if branch is not None}
    is_decided = not wrong

    def value_of(node: Hyperparameter) -> Value:
        found = _value(node, configuration)
        if isinstance(found, Exclusion):
            wrong.extend([found] if is_decided or node.key in configuration else [])
            return node.default
        return found

    assignment = Assignment(space, structure, value_of)
    met = {
        variable.key
        for variable, _ in reached(space, lambda choice: structure[choice.address])
        if assignment(variable.address) is not INACTIVE
    }
    known = {variable.key for variable in space.variables.values()}
    extra = (key for key in configuration if key not in met and (is_decided or key not in known))
    wrong.extend(_not_active(space, structure, key) for key in extra)
    return tuple(wrong) or tuple(_broken(each) for each in space.constraints if violates(each, assignment))


def admit(space: Space, configuration: Configuration) -> Configuration | Exclusion:
    """Return the configuration as a member of the space, or the reason why it is not one.

    Values are converted to the type that the space uses, e.g. 1.0 to 1.
    """
    wrong = _wrong_decision(space, configuration)
    if wrong is not None:
        return wrong
    structure = structure_of(space, configuration)
    outside: list[Exclusion] = []

    def value_of(node: Hyperparameter) -> Value:
        found = _value(node, configuration)
        if isinstance(found, Exclusion):
            outside.append(found)
            return node.default
        return found

    assignment = Assignment(space, structure, value_of)
    values: dict[str, Value] = {}
    for variable, branch in reached(space, lambda choice: structure[choice.address]):
        worth = branch if branch is not None else assignment(variable.address)
        if outside:
            return outside[0]
        if worth is not INACTIVE:
            values[variable.key] = worth  # type: ignore[assignment]
    extra = next((key for key in configuration if key not in values), None)
    if extra is not None:
        return _not_active(space, structure, extra)
    broken = next((c for c in space.constraints if violates(c, assignment)), None)
    return Configuration(values) if broken is None else _broken(broken)


def violates(constraint: Constraint, assignment: Assignment) -> bool:
    """Return True if an assignment violates a constraint.

    A constraint applies only if all hyperparameters that it names are active.
    """
    if any(assignment(address) is INACTIVE for address in constraint.scope):
        return False
    return holds(constraint.expression, assignment) == constraint.forbidden


def _wrong_decision(space: Space, configuration: Configuration) -> Exclusion | None:
    """Return the reason why a decision has no valid branch, or None.

    Wrong values that are given are reported before missing decisions.
    """
    undecided: list[Choice] = []
    wrong: list[Exclusion] = []
    waiting: list[Context] = [()]
    while waiting:
        for variable in space.by_context.get(waiting.pop(), ()):
            if isinstance(variable.node, Hyperparameter):
                value = _value(variable.node, configuration) if variable.key in configuration else None
                wrong.extend([value] if isinstance(value, Exclusion) else [])
            elif variable.key not in configuration:
                undecided.append(variable.node)
            elif (branch := configuration[variable.key]) in variable.node.places:
                waiting.append((*variable.owners, (variable.address, str(branch))))
            else:
                return _no_branch(variable.node, configuration)
    if not undecided:
        return None
    keys = {variable.key for variable in space.variables.values()}
    unknown = next((_unknown(space, key) for key in configuration if key not in keys), None)
    return next(iter(wrong), None) or unknown or _no_branch(undecided[0], configuration)


def _no_branch(choice: Choice, configuration: Configuration) -> Exclusion:
    offered = ", ".join(f"`{branch.name}`" for branch in choice.branches)
    if choice.key not in configuration:
        return Exclusion(choice.key, f"`{choice.key}` is missing; choose one of {offered}", choice.span)
    given = literal(configuration[choice.key])
    reason = f"`{given}` is not an alternative of `{choice.key}`; choose one of {offered}"
    return Exclusion(choice.key, reason, choice.span)


def _value(node: Hyperparameter, configuration: Configuration) -> Value | Exclusion:
    if node.key not in configuration:
        return Exclusion(node.key, f"`{node.key}` is active but has no value", node.span)
    value = configuration[node.key]
    found = node.domain.find(value)
    if isinstance(found, Missing):
        reason = f"`{literal(value)}` is not a value of `{node.key}`: {describe(node.domain)}"
        return Exclusion(node.key, reason, node.span)
    return found


def _not_active(space: Space, structure: dict[str, str], key: str) -> Exclusion:
    for variable in space.variables.values():
        if variable.key != key:
            continue
        if all(structure.get(owner) == branch for owner, branch in variable.owners):
            reason = f"`{key}` has a value but is not active here: its condition does not hold"
            return Exclusion(key, reason, variable.node.span)
    owned = [variable for variable in space.variables.values() if variable.key == key]
    if owned:
        owners = " or ".join(f"`{literal(v.owners[-1][1])}`" for v in owned if v.owners)
        reason = f"`{key}` has a value but is not active here: it belongs to {owners}"
        return Exclusion(key, reason, owned[0].node.span)
    return _unknown(space, key)


def _unknown(space: Space, key: str) -> Exclusion:
    meant = suggestion(key, {variable.key for variable in space.variables.values()})
    hint = f"; {meant}" if meant else ""
    return Exclusion(key, f"the space has no `{key}`{hint}", space.root.span)


def _broken(constraint: Constraint) -> Exclusion:
    word = "is forbidden" if constraint.forbidden else "breaks a requirement"
    return Exclusion("", f"this combination {word}: {constraint.span.text}".rstrip(": "), constraint.span)
