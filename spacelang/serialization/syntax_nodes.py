"""Convert values, domains, addresses and expressions of a space to nodes of the syntax tree."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, assert_never

from spacelang.ir import expr
from spacelang.ir.data_binding import DATA_SIZE_NAMES
from spacelang.ir.domain import (
    BOOLEANS,
    Categorical,
    Domain,
    Grid,
    Ordinal,
    Real,
    Union,
    is_bare_word,
    literal,
    parts,
    quoted,
)
from spacelang.ir.repeated_stages import with_use_count_comparisons
from spacelang.ir.space import Choice, ComputedParameter, Hyperparameter, Space, TupleParameter
from spacelang.ir.tuple_parameters import length_name
from spacelang.ir.value import Value, are_same_value
from spacelang.ir.walk import rebuild_tree
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import spell_expression, spell_reference
from spacelang.text import NO_SPAN

PlainValues: TypeAlias = Mapping[str, Mapping[str, Value]]
"""The values of the alternatives that are plain values, by the address of their decision and their name."""
EMPTY: Final[Mapping[str, Any]] = {}
Path: TypeAlias = tuple[ast.Word, ...]


def domain_node(found: Domain) -> ast.Range | ast.BooleanDomain | ast.ValueSet | ast.UnionDomain:
    """Return the syntax node of a domain."""
    match found:
        case Union():
            return ast.UnionDomain(tuple(map(domain_node, found.parts)), NO_SPAN)
        case Categorical() if are_same_value(found.values, BOOLEANS.values):
            return ast.BooleanDomain(NO_SPAN)
        case Categorical() | Ordinal():
            return ast.ValueSet(tuple(map(make_value_node, found.values)), isinstance(found, Ordinal), NO_SPAN)
        case Grid():
            step = None if found.is_consecutive else ast.Number(found.step, NO_SPAN)
            return _range_node("int" if found.is_integral else "float", found, step, (False, False))
        case Real():
            return _range_node("float", found, None, (found.lower_open, found.upper_open))
        case _:
            assert_never(found)


def _range_node(
    kind: Literal["float", "int"], found: Grid | Real, step: ast.Number | None, is_open: tuple[bool, bool]
) -> ast.Range:
    lower, upper = ast.Number(found.lower, NO_SPAN), ast.Number(found.upper, NO_SPAN)
    return ast.Range(kind, lower, upper, *is_open, make_word("log") if found.log else None, step, NO_SPAN)


class ExpressionNames:
    """A table of the names by which expressions in a text refer to the decisions and hyperparameters of a space."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._paths: dict[str, Path] = {}
        self._places: dict[str, tuple[str, tuple[str, ...]]] = {}
        for variable in space.variables.values():
            address, before = variable.address, ""
            path: Path = ()
            for owner, branch in reversed(variable.owners):
                if address.startswith(f"{owner}.{branch}."):
                    before, path = f"{owner}.{branch}", self._paths[owner]
                    # The only alternative may be left out, which makes the long name of a list unnecessary.
                    if is_bare_word(branch) or len(space.variables[owner].choice.branches) > 1:
                        path = (*path, ast.Word(branch, NO_SPAN))
                    break
            own = _own_words(address[len(before) + bool(before) :], variable.node)
            words = [*map(make_word, own)]
            if (parameter := space.tuples.get(address)) is not None:
                # In backticks, an index or the word `length` would be a part of the name.
                words[-1] = ast.Word(own[-1], NO_SPAN, ticked=not is_bare_word(parameter.name))
            if variable.owners and variable.owners[-1][0] in space.chains and before == ".".join(variable.owners[-1]):
                # A use of a chain is named without the number of uses: `step[1]`.
                path, words = (), [ast.Word(own[0], NO_SPAN)]
            self._paths[address], self._places[address] = (*path, *words), (before, own)

    def split_address(self, address: str) -> tuple[str, tuple[str, ...]]:
        """Return the address of the alternative around a part (empty for none), and the rest of the part's address."""
        return self._places[address]

    def dotted_name_of(self, address: str) -> ast.DottedName:
        """Return the syntax node of the name by which expressions refer to a decision."""
        return _dotted(self._paths[address])

    def names_inside_use(self, use: str, stage: str) -> "ExpressionNames":
        """Return the names for the bodies of a stage, given the address of a use of it in a chain."""
        found = copy(self)
        start = len(self._paths[use])
        found._paths = {
            address: (make_word(stage), *path[start:]) if f"{address}.".startswith(f"{use}.") else path
            for address, path in self._paths.items()
        }
        return found

    def spelling_of(self, address: str) -> str:
        """Return the text that refers to a decision or hyperparameter in expressions."""
        return spell_expression(_reference_node(self._paths[address]))

    def spelling_of_tuple(self, parameter: TupleParameter) -> str:
        """Return the text that refers to a tuple parameter in messages."""
        return spell_reference(_tuple_name(self._paths[parameter.length]))

    def find_shadowed_address(self, expression: expr.Expr, siblings: Collection[str]) -> str | None:
        """Return the first address in an expression that is also the name of a sibling parameter, or None.

        A reader of the text would take it for the parameter of the same operator.
        """
        return next((address for address in expr.mentioned_addresses(expression) if address in siblings), None)

    def expression_node(
        self, expression: expr.Expr, around: str = "", siblings: Collection[str] = ()
    ) -> ast.Expression:
        """Return the syntax node of an expression as a condition of the operator at the address `around`.

        Parameters of the same operator (`siblings`) are written by their own names where these are unambiguous. Without
        `around`, the expression is written as for the top level of a file.
        """
        expression = with_use_count_comparisons(expression, self._space.chains)
        names = {address: self._paths[address] for address in expr.mentioned_addresses(expression)}
        if around:
            words = {*DATA_SIZE_NAMES, *self._string_values(names)}
            for address in names:
                own = names[address][-1]
                if address == f"{around}.{own.text}" and own.text in siblings and own.text not in words:
                    names[address] = (own,)
        return _logical_node(expression, names, self._paths, self._plain_values(expression))

    def _plain_values(self, expression: expr.Expr) -> PlainValues:
        """Return the values of the plain alternatives of the decisions that an expression mentions."""
        nodes = {each: self._space.variables[each].node for each in expr.mentioned_addresses(expression)}
        return {
            address: {branch.name: branch.value for branch in node.branches if branch.value is not None}
            for address, node in nodes.items()
            if isinstance(node, Choice)
        }

    def _string_values(self, addresses: Iterable[str]) -> Iterable[str]:
        """Yield the string values of the hyperparameters at some addresses; words next to these mean such values."""
        for address in addresses:
            node = self._space.variables[address].node
            if isinstance(node, Hyperparameter):
                for part in parts(node.domain):
                    if isinstance(part, Categorical):
                        yield from (each for each in part.values if isinstance(each, str))


def _logical_node(
    expression: expr.Expr, names: Mapping[str, Path], paths: Mapping[str, Path], plain_values: PlainValues
) -> ast.Expression:
    """Return the syntax node of an expression, with `names` for addresses.

    A comparison has full `paths` instead, unless its left side is a hyperparameter and its right side is not.
    """
    match expression:
        case expr.And(terms) | expr.Or(terms):
            is_all = isinstance(expression, expr.And)
            if not terms:
                return ast.NamedConstant(is_all, NO_SPAN)
            written = tuple(_logical_node(term, names, paths, plain_values) for term in terms)
            return ast.LogicalOperation("and" if is_all else "or", written, NO_SPAN)
        case expr.Not(term):
            return ast.UnaryOperation("not", _logical_node(term, names, paths, plain_values), NO_SPAN)
        case expr.Compare(relation, left, right):
            names = names if isinstance(left, expr.Reference) and not isinstance(right, expr.Reference) else paths
            is_constant = isinstance(left, expr.Constant) and isinstance(right, expr.Constant)
            side = _lone_operand if is_constant else _arithmetic_node
            return ast.BinaryOperation(
                relation, side(left, names, plain_values), side(right, names, plain_values), NO_SPAN
            )
        case expr.In(item, values):
            one = _lone_operand(item, names, plain_values)
            # An empty set of values is written as `x != x`, which is never true.
            nothing = ast.BinaryOperation("!=", one, one, NO_SPAN)
            return ast.Membership(one, tuple(map(make_value_node, values)), NO_SPAN) if values else nothing
        case expr.BranchTest(address, branches):
            return make_choice_test(_dotted(names[address]), branches, plain_values.get(address, EMPTY))
        case expr.ActivityTest(address):
            return ast.BinaryOperation("==", _reference_node(names[address]), _reference_node(names[address]), NO_SPAN)
        case expr.Constant() | expr.Reference() | expr.Arithmetic() | expr.Call():
            return _arithmetic_node(expression, names, plain_values)
        case _:
            assert_never(expression)


def _lone_operand(expression: expr.Expr, names: Mapping[str, Path], plain_values: PlainValues) -> ast.Expression:
    """Return the node of an operand without a hyperparameter next to it, so that strings need quotes."""
    if isinstance(expression, expr.Constant) and isinstance(expression.value, str):
        return ast.QuotedString(expression.value, NO_SPAN)
    return _arithmetic_node(expression, names, plain_values)


def _dotted(path: Path) -> ast.DottedName:
    return ast.DottedName(path, NO_SPAN)


def _own_words(name: str, node: Hyperparameter | Choice) -> tuple[str, ...]:
    """Return the words of a node's dotted name; a hyperparameter's name is one word, even `x.length` of a tuple."""
    if not isinstance(node, Hyperparameter) or not name.endswith(node.name):
        return tuple(name.split("."))
    before = name.removesuffix(node.name).removesuffix(".")
    return (*before.split("."), node.name) if before else (node.name,)


def _reference_node(path: Path) -> ast.Expression:
    """Return the node that refers to a hyperparameter: `length(…)` for the length of a tuple, else its name."""
    if not path[-1].text.endswith(length_name("")):
        return _dotted(path)
    return ast.FunctionCall(make_word("length"), (_tuple_name(path),), NO_SPAN)


def _tuple_name(path: Path) -> ast.DottedName:
    """Return the name of a tuple, given the path of its length."""
    *before, last = path
    return _dotted((*before, replace(last, text=last.text.removesuffix(length_name("")))))


def _arithmetic_node(expression: expr.Expr, names: Mapping[str, Path], plain_values: PlainValues) -> ast.Expression:
    match expression:
        case expr.Constant():
            return make_value_node(expression.value)
        case expr.Reference(address):
            return _reference_node(names[address])
        case expr.Arithmetic(operation, left, right):
            first, second = (_arithmetic_node(each, names, plain_values) for each in (left, right))
            return ast.BinaryOperation(operation, first, second, NO_SPAN)
        case expr.Call(function, arguments):
            several = tuple(_arithmetic_node(each, names, plain_values) for each in arguments)
            return ast.FunctionCall(make_word(function), several, NO_SPAN)
        case _:
            return _logical_node(expression, names, names, plain_values)


def spelled_names_by_address(space: Space) -> dict[str, str]:
    """Return the names of all decisions, hyperparameters and tuple parameters as texts write them, by address."""
    wording = ExpressionNames(space)
    tuples = {each.address: each for each in space.tuples.values() if each.length in space.variables}
    found = {address: wording.spelling_of_tuple(each) for address, each in tuples.items()}
    return found | {address: wording.spelling_of(address) for address in space.variables}


def expression_speller(space: Space) -> Callable[[expr.Expr], expr.Expr]:
    """Return a function that changes expressions for display: names as a text writes them replace addresses."""
    names = spelled_names_by_address(space)

    def spell(expression: expr.Expr) -> expr.Expr:
        if isinstance(expression, expr.BranchTest) and expression.address in space.chains:
            return expr.rename_addresses(with_use_count_comparisons(expression, space.chains), names)
        match expression:
            case expr.And() | expr.Or() | expr.Not():
                return expr.map_children(expression, spell)
            case expr.BranchTest(address, branches):
                return expr.BranchTest(names[address], tuple(map(format_alternative_name, branches)))
            case _:
                return expr.rename_addresses(expression, names)

    return spell


def with_spelled_names(space: Space) -> Space:
    """Return the space, for display only, with names as texts write them in its conditions and constraints."""
    spell = expression_speller(space)

    def spell_condition(node: Hyperparameter) -> Hyperparameter:
        return node if node.condition is None else replace(node, condition=spell(node.condition))

    def spell_computed(computed: ComputedParameter) -> ComputedParameter:
        return replace(computed, expression=spell(computed.expression))

    rules = tuple(replace(rule, expression=spell(rule.expression)) for rule in space.constraints)
    root = rebuild_tree(space.root, spell_condition, compute=spell_computed)
    return replace(space, root=root, constraints=rules)


def format_alternative_name(branch: str) -> str:
    """Return the name of an alternative as texts write it, in quotes if necessary."""
    return branch if is_bare_word(branch) or branch == "none" else quoted(branch)


_OR, _AND, _NOT, _TEST, _SUM, _PRODUCT, _POWER = range(1, 8)
_PRECEDENCES: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


def format_expression(expression: expr.Expr) -> str:
    """Return an expression as text, with addresses as names and only the necessary parentheses."""
    return _parenthesized(expression, 0)


def _parenthesized(expression: expr.Expr, around: int) -> str:
    text, strength = _text_and_precedence(expression)
    return f"({text})" if strength is not None and strength < around else text


def _text_and_precedence(expression: expr.Expr) -> tuple[str, int | None]:
    """Return the text of an expression and its precedence; None for an expression that never needs parentheses."""
    match expression:
        case expr.Or() | expr.And() | expr.Not():
            return _logical(expression)
        case expr.BranchTest():
            is_one = len(expression.branches) == 1
            tested = f"is {expression.branches[0]}" if is_one else f"in {_set(expression.branches)}"
            return f"{expression.address} {tested}", _TEST
        case expr.In():
            values = _set(tuple(map(literal, expression.values)))
            return f"{_parenthesized(expression.item, _SUM)} in {values}", _TEST
        case expr.Compare():
            sides = (_parenthesized(side, _SUM) for side in (expression.left, expression.right))
            return f" {expression.relation} ".join(sides), _TEST
        case expr.Arithmetic():
            strength = _PRECEDENCES[expression.operation]
            is_power = strength == _POWER
            before, behind = (strength + 1, strength) if is_power else (strength, strength + 1)
            left, right = _parenthesized(expression.left, before), _parenthesized(expression.right, behind)
            if is_power and left.startswith("-"):
                left = f"({left})"
            return f"{left} {expression.operation} {right}", strength
        case expr.Call():
            return f"{expression.function}({', '.join(map(format_expression, expression.arguments))})", None
        case expr.ActivityTest():
            return f"active({expression.address})", None
        case expr.Reference() | expr.Constant():
            return expression.address if isinstance(expression, expr.Reference) else literal(expression.value), None
        case _:
            assert_never(expression)


def _logical(expression: expr.Or | expr.And | expr.Not) -> tuple[str, int]:
    if isinstance(expression, expr.Not):
        return f"not {_parenthesized(expression.term, _NOT)}", _NOT
    word, strength = (" and ", _AND) if isinstance(expression, expr.And) else (" or ", _OR)
    return word.join(_parenthesized(term, strength + 1) for term in expression.terms), strength


def _set(items: tuple[str, ...]) -> str:
    return "{" + ", ".join(items) + "}"


def make_word(text: str) -> ast.Word:
    """Return a single name. If it is not a plain word, it is marked as written in backticks."""
    return ast.Word(text, NO_SPAN, ticked=not is_bare_word(text))


def make_dotted_name(text: str) -> ast.DottedName:
    """Return a dotted name from its text."""
    return ast.DottedName(tuple(map(make_word, text.split("."))), NO_SPAN)


def make_value_node(
    given: Value,
) -> ast.Number | ast.QuotedString | ast.NamedConstant | ast.TupleLiteral | ast.DottedName:
    """Return a value as a tree node. A string that is a plain word is written without quotes."""
    match given:
        case None | bool():
            return ast.NamedConstant(given, NO_SPAN)
        case int() | float():
            return ast.Number(given, NO_SPAN)
        case str():
            return make_dotted_name(given) if is_bare_word(given) else ast.QuotedString(given, NO_SPAN)
        case tuple():
            return ast.TupleLiteral(tuple(map(make_value_node, given)), NO_SPAN)
        case _:
            assert_never(given)


def make_fixed_parameter(name: str, written: ast.Value) -> ast.FixedParameter:
    """Return a parameter that is fixed to a value; a word such as `n_features` is put in quotes."""
    if isinstance(written, ast.DottedName) and written.text in DATA_SIZE_NAMES:
        written = ast.QuotedString(written.text, NO_SPAN)
    return ast.FixedParameter(make_word(name), written, NO_SPAN)


def make_choice_test(
    decision: ast.DottedName, alternatives: Sequence[str], values: Mapping[str, Value] = EMPTY
) -> ast.Expression:
    """Return the expression that a decision chooses one of the alternatives. It is `false` if there are none.

    `values` has those of alternatives that are plain values, by name: `3` is written as a number, not as a name.
    """
    if not alternatives:
        return ast.NamedConstant(value=False, span=NO_SPAN)
    if len(alternatives) == 1 and (alternatives[0] not in values or is_bare_word(alternatives[0])):
        (only,) = alternatives
        return ast.IsTest(decision, None if only == "none" else ast.DottedName((make_word(only),), NO_SPAN), NO_SPAN)
    written = (values.get(name, None if name == "none" else name) for name in alternatives)
    return ast.Membership(decision, tuple(map(make_value_node, written)), NO_SPAN)
