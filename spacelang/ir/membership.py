"""Exact membership tests: is a configuration in the space, and if not, which line excludes it."""

from spacelang.frozen import frozen
from spacelang.ir.configuration import Configuration
from spacelang.ir.domain import NotFound, literal, quoted
from spacelang.ir.expr import INACTIVE, Constant, ExpressionValue, is_true
from spacelang.ir.partial_evaluation import UNKNOWN, Unknown, partially_evaluate
from spacelang.ir.range_bounds import bounded_address
from spacelang.ir.space import Choice, Constraint, Context, Hyperparameter, Space, Variable
from spacelang.ir.tuple_parameters import domain_text, length_name
from spacelang.ir.value import Value
from spacelang.ir.walk import Assignment, activity_depths, computed_parameters, structure_of, walk_reached_variables
from spacelang.spelling_suggestions import format_suggestion
from spacelang.text import Span


@frozen
class ExclusionReason:
    """A reason why a configuration is not in the space; `key` is empty if a constraint excludes it."""

    key: str
    reason: str
    span: Span


def first_exclusion(space: Space, configuration: Configuration) -> ExclusionReason | None:
    """Return the first reason why a configuration is not in the space, or None if it is."""
    result = member_or_exclusion(space, configuration)
    return result if isinstance(result, ExclusionReason) else None


def all_exclusions(space: Space, configuration: Configuration) -> tuple[ExclusionReason, ...]:
    """Return all reasons why a configuration is not in the space: wrong keys first, then constraints.

    A constraint is a reason only if it fails whatever the missing and the invalid values are replaced with.
    """
    known = _ValidPart(space, configuration)
    wrong: dict[str, ExclusionReason] = {}

    def branch_of(choice: Choice) -> str:
        branch = known.values.get(choice.address)
        if branch is None:
            wrong[choice.key] = _branch_exclusion(choice, configuration)
        return str(branch)  # no branch is named `None`, so nothing below a wrong decision is reached

    reached = [*walk_reached_variables(space, branch_of)]
    structure = {each.address: branch for each, branch in reached if branch is not None}
    is_decided = not wrong
    met = {each.key for each, _ in reached if known.is_active[each.address] is not False}
    for variable, branch in reached:
        is_active = known.is_active[variable.address]
        if branch is not None or is_active is False or variable.address in known.values:
            continue
        if variable.key in configuration or (is_active and is_decided):
            found = _value_or_exclusion(space, variable.hyperparameter, configuration)
            if isinstance(found, ExclusionReason):  # not if only the condition depends on something invalid
                wrong[variable.key] = found
    own = {variable.key for variable in space.variables.values()}
    extra = (key for key in configuration if key not in met and (is_decided or key not in own))
    wrong |= {key: _inactive_exclusion(space, structure, key) for key in extra}
    return (*wrong.values(), *(_constraint_exclusion(space, c) for c in space.constraints if known.must_violate(c)))


class _ValidPart:
    """The decisions and hyperparameters of a configuration that have valid values, and which others are active."""

    def __init__(self, space: Space, configuration: Configuration) -> None:
        self.is_active: dict[str, bool | None] = {}
        """For each address, whether it is reached and its condition holds; None if that depends on invalid values."""
        self.values: dict[str, Value] = {}
        """The valid values, and the branches of decisions, by address; only of what is active."""
        depths = activity_depths(space.variables)
        inside_out = sorted(space.variables.values(), key=lambda each: depths[each.address])
        for variable in (*(v for v in inside_out if isinstance(v.node, Choice)), *inside_out):
            self._add(variable, configuration)

    def _add(self, variable: Variable, configuration: Configuration) -> None:
        address, node = variable.address, variable.node
        self.is_active[address] = self._is_reached(variable)
        if self.is_active[address] and variable.condition is not None:
            left = partially_evaluate(variable.condition, self._lookup)
            self.is_active[address] = bool(left.value) if isinstance(left, Constant) else None
        if not self.is_active[address] or node.key not in configuration:
            return
        if isinstance(node, Hyperparameter):
            found = node.domain.find(configuration[node.key])
            if not isinstance(found, NotFound):
                self.values[address] = found
        elif configuration[node.key] in node.branch_indices:
            self.values[address] = configuration[node.key]

    def _is_reached(self, variable: Variable) -> bool | None:
        for owner, branch in variable.owners:
            if not self.is_active[owner] or owner not in self.values:
                return False if self.is_active[owner] is False else None
            if self.values[owner] != branch:
                return False
        return True

    def _lookup(self, address: str) -> ExpressionValue | Unknown:
        if self.is_active[address] is False:
            return INACTIVE
        return self.values.get(address, UNKNOWN) if self.is_active[address] else UNKNOWN

    def must_violate(self, constraint: Constraint) -> bool:
        """Return True if a constraint fails for all values of the variables without a valid value."""
        if not all(self.is_active[address] for address in constraint.scope):
            return False
        left = partially_evaluate(constraint.expression, self._lookup)
        return isinstance(left, Constant) and left.value is constraint.forbidden


def member_or_exclusion(space: Space, configuration: Configuration) -> Configuration | ExclusionReason:
    """Return the configuration with values in the types of the space (1.0 to 1), or why it is no member."""
    wrong = _decision_exclusion(space, configuration)
    if wrong is not None:
        return wrong
    structure = structure_of(space, configuration)
    outside: list[ExclusionReason] = []

    def value_of(node: Hyperparameter) -> Value:
        found = _value_or_exclusion(space, node, configuration)
        if isinstance(found, ExclusionReason):
            outside.append(found)
            return node.default
        return found

    assignment = Assignment(space, structure, value_of)
    values: dict[str, Value] = {}
    for variable, branch in walk_reached_variables(space, lambda choice: structure[choice.address]):
        worth = branch if branch is not None else assignment(variable.address)
        if outside:
            return outside[0]
        if worth is not INACTIVE:
            values[variable.key] = worth  # type: ignore[assignment]
    extra = next((key for key in configuration if key not in values), None)
    if extra is not None:
        return _inactive_exclusion(space, structure, extra)
    broken = next((c for c in space.constraints if is_violated(c, assignment)), None)
    return Configuration(values) if broken is None else _constraint_exclusion(space, broken)


def is_violated(constraint: Constraint, assignment: Assignment) -> bool:
    """Return True if a constraint fails; it applies only if all hyperparameters that it names are active."""
    if any(assignment(address) is INACTIVE for address in constraint.scope):
        return False
    return is_true(constraint.expression, assignment) == constraint.forbidden


def _decision_exclusion(space: Space, configuration: Configuration) -> ExclusionReason | None:
    """Return why a decision that is reached has no valid branch, or None if all of them have one.

    A wrong branch is reported first; then, if decisions are missing, a wrong value, an unknown key or the missing
    decision.
    """
    undecided: list[Choice] = []
    wrong: list[ExclusionReason] = []
    waiting: list[Context] = [()]
    while waiting:
        for variable in space.by_context.get(waiting.pop(), ()):
            if isinstance(variable.node, Hyperparameter):
                value = (
                    _value_or_exclusion(space, variable.node, configuration) if variable.key in configuration else None
                )
                wrong.extend([value] if isinstance(value, ExclusionReason) else [])
            elif variable.key not in configuration:
                undecided.append(variable.node)
            elif (branch := configuration[variable.key]) in variable.node.branch_indices:
                waiting.append((*variable.owners, (variable.address, str(branch))))
            else:
                return _branch_exclusion(variable.node, configuration)
    if not undecided:
        return None
    keys = {variable.key for variable in space.variables.values()}
    unknown = next((_unknown_key_exclusion(space, key) for key in configuration if key not in keys), None)
    return next(iter(wrong), None) or unknown or _branch_exclusion(undecided[0], configuration)


def _branch_exclusion(choice: Choice, configuration: Configuration) -> ExclusionReason:
    offered = ", ".join(f"`{branch.name}`" for branch in choice.branches)
    if choice.key not in configuration:
        return ExclusionReason(choice.key, f"`{choice.key}` is missing; choose one of {offered}", choice.span)
    given = literal(configuration[choice.key])
    if given in choice.branch_indices:
        reason = f"the alternatives of `{choice.key}` are strings: write `{quoted(given)}`, not `{given}`"
        return ExclusionReason(choice.key, reason, choice.span)
    reason = f"`{given}` is not an alternative of `{choice.key}`; choose one of {offered}"
    return ExclusionReason(choice.key, reason, choice.span)


def _value_or_exclusion(space: Space, node: Hyperparameter, configuration: Configuration) -> Value | ExclusionReason:
    if node.key not in configuration:
        return ExclusionReason(node.key, f"`{node.key}` is active but has no value", node.span)
    value = configuration[node.key]
    found = node.domain.find(value)
    if isinstance(found, NotFound):
        reason = f"`{literal(value)}` is not a value of `{node.key}`: {domain_text(node, space)}"
        return ExclusionReason(node.key, reason, node.span)
    return found


def _inactive_exclusion(space: Space, structure: dict[str, str], key: str) -> ExclusionReason:
    for variable in space.variables.values():
        if variable.key != key:
            continue
        if all(structure.get(owner) == branch for owner, branch in variable.owners):
            parameter = space.tuples.get(variable.address)
            is_too_far = parameter is not None and variable.address in parameter.elements
            cause = "the tuple has fewer elements" if is_too_far else "its condition does not hold"
            reason = f"`{key}` has a value but is not active here: {cause}"
            return ExclusionReason(key, reason, variable.node.span)
    lengths = {each.length for each in space.tuples.values() if each.choice is None}
    tuples = [variable for address, variable in space.variables.items() if address in lengths]
    owned = [variable for variable in space.variables.values() if variable.key == key]
    owned += [
        variable
        for variable in tuples
        if variable.key == length_name(key)
        and not all(structure.get(owner) == branch for owner, branch in variable.owners)
    ]
    if owned:
        owners = " or ".join(dict.fromkeys(f"`{literal(v.owners[-1][1])}`" for v in owned if v.owners))
        reason = f"`{key}` has a value but is not active here: it belongs to the alternative {owners}"
        return ExclusionReason(key, reason, owned[0].node.span)
    return _unknown_key_exclusion(space, key)


def _unknown_key_exclusion(space: Space, key: str) -> ExclusionReason:
    for computed, owners in computed_parameters(space.root):
        around = f"{space.variables[owners[-1][0]].key}." if owners else ""
        if key in (f"{around}{computed.name}", computed.address):
            return ExclusionReason(
                key, f"`{key}` is computed from other values, so it has no value of its own", computed.span
            )
    for each in {id(each): each for each in space.tuples.values() if each.choice is None}.values():
        length = space.variables[each.length].key
        if key in (length.removesuffix(length_name("")), each.address):
            first = space.variables[each.elements[0]].key
            reason = f"`{key}` is a tuple: give a list, or the length as `{length}` and elements as `{first}`, …"
            return ExclusionReason(key, reason, each.span)
    meant = format_suggestion(key, {variable.key for variable in space.variables.values()})
    hint = f"; {meant}" if meant else ""
    return ExclusionReason(key, f"the space has no `{key}`{hint}", space.root.span)


def _constraint_exclusion(space: Space, constraint: Constraint) -> ExclusionReason:
    bounded = bounded_address(constraint)
    if bounded in space.variables and constraint.span.text:
        reason = f"this combination breaks the bound `{constraint.span.text}` of `{space.variables[bounded].key}`"
        return ExclusionReason("", reason, constraint.span)
    word = "is forbidden" if constraint.forbidden else "breaks a requirement"
    return ExclusionReason("", f"this combination {word}: {constraint.span.text}".rstrip(": "), constraint.span)
