"""Write a space as text of the `.space` language, for spaces that programs create (such as a restricted space).

Every decision of the pipeline itself becomes a stage. Bounds that depended on the data are written as their numbers. An
alternative whose name equals its own printed text is written without it; any other name is added in quotes.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, permutations
from typing import Final, Literal, TypeAlias

from spacelang.ir import space as ir
from spacelang.ir.domain import is_bare_word
from spacelang.ir.expr import BranchTest, Expr
from spacelang.ir.prior import Prior
from spacelang.ir.prior import name_and_parameters as named_prior
from spacelang.ir.range_bounds import RangeBound
from spacelang.ir.repeated_stages import are_uses_alike, merge_bounds_across_uses, merge_constraints_across_uses
from spacelang.ir.task import Task, describe_bound, describe_limits
from spacelang.ir.tuple_parameters import (
    TupleDescription,
    children_with_grouped_tuples,
    make_domain_test,
    member_conditions,
)
from spacelang.ir.validation import WordOption, kind_and_number, non_default_options
from spacelang.ir.walk import (
    PIPELINE_GROUP,
    group_name_per_step,
    is_sequence,
    join_address,
    operator_address,
    unique_value_name,
)
from spacelang.serialization.syntax_nodes import (
    ExpressionNames,
    domain_node,
    make_choice_test,
    make_dotted_name,
    make_fixed_parameter,
    make_value_node,
    make_word,
)
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import name_of_single_step, structure_title
from spacelang.text import NO_SPAN, format_number, unique_name

FIRST_CHOICE_NAME: Final = "choice_1"  # The automatic name of the first unnamed choice at a place
Alternative: TypeAlias = ast.NoneStep | ast.OperatorReference | ast.Parenthesised
Marks: TypeAlias = tuple[ast.Annotation, ...]
_NONE: Final = ast.NoneStep((), NO_SPAN)


class UnwritableSpaceError(ValueError):
    """Exception for a space that the language cannot express; the message names the part of the space."""


def space_to_text(space: ir.Space) -> str:
    """Return the space as text that reads back to the same configurations, defaults and annotations.

    Decisions, constraints and the orders of permutations may come in a different order. An order that a permutation of
    the space does not have is written as forbidden.

    Raises UnwritableSpaceError for a space that cannot come from a text or from restricting one: a hyperparameter
    outside of any operator, a step whose address does not match its place, or an annotated order. It is also raised for
    a condition on a stage that has the same name as another parameter of the operator.
    """
    # The printer imports the parser, which is slow. It is imported only when text is written.
    from spacelang.syntax.printer import format_file

    return format_file(_SpaceWriter(space).file())


class _SpaceWriter:
    """A writer for one space, in reading order, so that automatically numbered names get the same numbers again."""

    def __init__(self, space: ir.Space) -> None:
        self._space = space
        self._wording = ExpressionNames(space)
        self._stages: dict[str, list[ast.Item]] = {}
        """The items of each stage by its name; an empty list while the alternatives of the stage are being written."""
        self._forbidden: list[ast.Item] = []
        self._bounds = merge_bounds_across_uses(space)
        self._written_bounds: list[RangeBound] = []  # Those that were written as ends of ranges
        self._narrowing: list[Expr] = []  # What the elements of tuples must satisfy
        self._used_names: dict[str, set[str]] = {}  # The names already taken, by the address of the place
        self._required_names: dict[str, set[str]] = {}  # The names that addresses require, by the address of the place
        for variable in space.variables.values():
            before, words = self._wording.split_address(variable.address)
            for each in words:
                self._required_names.setdefault(before, set()).add(each)
                before = join_address(before, each)
        self._stage_of = self._stage_names()

    def file(self) -> ast.File:
        """Return the syntax tree of the whole file."""
        space = self._space
        called = None if not space.title else ast.QuotedString(space.title, NO_SPAN)
        head: list[ast.Item] = []
        if is_bare_word(space.name):
            head.append(ast.SpaceName(make_word(space.name), called, NO_SPAN))
        used = {(operator.catalogue, operator.name) for operator in ir.operators(space.root)}
        packages = sorted({name for name, _ in used} - {ir.DEFAULT_CATALOGUE, ir.ABSTRACT_CATALOGUE})
        abstract = sorted(name for catalogue, name in used if catalogue == ir.ABSTRACT_CATALOGUE)
        head += [ast.CatalogueUse(make_dotted_name(each), NO_SPAN) for each in packages]
        head += [ast.AbstractOperator(make_word(name), None, NO_SPAN) for name in abstract]
        pipeline = ast.Pipeline(self._step(space.root, ""), NO_SPAN)
        stages = [item for stage in self._stages.values() for item in stage]
        own = (child for child in ir.children_of(space.root) if isinstance(child, ir.Hyperparameter))
        values = [self._member(child, set(), set()) for child in own]
        rules = [
            ast.ConstraintStatement(rule.forbidden, self._wording.expression_node(rule.expression), NO_SPAN)
            for rule in merge_constraints_across_uses(space, without=self._written_bounds)
        ]
        rules += [
            ast.ConstraintStatement(False, self._wording.expression_node(each), NO_SPAN) for each in self._narrowing
        ]
        task = [] if space.task is None else [_task_block(space.task)]
        return ast.File((*head, *values, *stages, pipeline, *self._forbidden, *rules, *task), NO_SPAN)

    def _structure(self, node: ir.Node, prefix: str) -> ast.Structure:
        match node:
            case ir.Operator():
                return self._operator(node, prefix)
            case ir.Choice():
                return self._choice(node, prefix)
            case ir.Product(kind=ir.ProductKind.SEQUENCE):
                if any(not child.is_var for child in node.children if isinstance(child, ir.Hyperparameter)):
                    raise UnwritableSpaceError(
                        "a `.space` file cannot express a hyperparameter outside of any operator"
                    )
                return self._sequence(node.steps, prefix)
            case ir.Product(kind=ir.ProductKind.PARALLEL):
                return _joined("&", [self._step(child, prefix) for child in node.children])
            case ir.Product(kind=ir.ProductKind.COLUMNS):
                parts = (self._step(child, prefix) for child in node.children)
                return ast.ColumnSplit(tuple(zip(map(_selector, node.selectors), parts, strict=True)), (), NO_SPAN)
            case ir.Product(kind=ir.ProductKind.PERMUTATION):
                return self._permutation(node, prefix)
            case _:
                raise UnwritableSpaceError("a `.space` file cannot express a hyperparameter outside of any operator")

    def _sequence(self, children: Sequence[ir.Node], prefix: str) -> ast.Structure:
        """Return steps joined by `->`; neighbouring steps whose addresses share a group name form a named group."""
        parts: list[ast.Structure] = []
        runs = groupby(zip(group_name_per_step(children, prefix), children, strict=True), lambda run: run[0])
        for name, steps in ((name, [step for _, step in run]) for name, run in runs):
            if not name:
                parts.extend(self._structure(step, prefix) for step in steps)
                continue
            if name == PIPELINE_GROUP:
                parts.append(_group(self._sequence(steps, ""), name))
                continue
            self._used_names.setdefault(prefix, set()).add(name)
            inner = self._sequence(steps, join_address(prefix, name))
            # A group around a single operator or decision would rename it: `none` is added as a second step.
            parts.append(_group(inner if _joining_sign(inner) in ("->", "&") else _joined("->", [inner, _NONE]), name))
        return _joined("->", parts) if parts else _NONE

    def _step(self, node: ir.Node, prefix: str) -> ast.Structure:
        """Return the structure for a step, as a group if the addresses inside the step share a group name."""
        return self._structure(node, prefix) if is_sequence(node) else self._sequence((node,), prefix)

    def _permutation(self, node: ir.Product, prefix: str) -> ast.Structure:
        """Return a `permute(...)` written in the default order; forbid the orders that the space does not have."""
        order, *steps = node.children
        assert isinstance(order, ir.Choice)
        if order.first or any(branch.weight != 1.0 for branch in order.branches):
            raise UnwritableSpaceError(f"a `.space` file cannot express an annotation of the orders of `{order.key}`")
        natural = self._reserve_name("order", order.name, order.address, prefix)
        labels = next(
            e for e in permutations(node.labels) if ir.name_of_step_order(e) == order.branches[order.default].name
        )
        parts = tuple(self._step(steps[node.labels.index(label)], prefix) for label in labels)
        given = (
            None if unique_name(structure_title(part), labels[:place]) == label else make_word(label)
            for place, (part, label) in enumerate(zip(parts, labels, strict=True))
        )
        names = dict.fromkeys(map(ir.name_of_step_order, permutations(labels)))
        if missing := [each for each in names if each not in order.branch_indices]:
            forbidden = make_choice_test(self._wording.dotted_name_of(order.address), missing)
            self._forbidden.append(ast.ConstraintStatement(True, forbidden, NO_SPAN))
        written = ast.Permutation(parts, (), NO_SPAN, tuple(given))
        return written if natural else _group(written, order.name)

    def _list(self, members: Sequence[ir.Node], prefix: str) -> ast.Structure:
        """Return the members of a list of operators joined by `&`; optional ones may be present by default (`A?`)."""
        return _joined(
            "&",
            [
                self._choice(node, prefix, in_list=True)
                if isinstance(node, ir.Choice) and node.address == join_address(prefix, node.name)
                else self._step(node, prefix)
                for node in members
            ],
        )

    def _choice(self, choice: ir.Choice, prefix: str, *, in_list: bool = False) -> ast.Structure:
        if choice.repeats:
            return self._chain(choice)
        if choice.address in self._stage_of:
            return self._stage(choice)
        none = choice.branches[0]
        is_optional = none.node == ir.SKIPPED_STEP and none.weight == 1.0 and len(choice.branches) > 1
        is_optional = is_optional and not choice.first and (choice.default > 0 or not in_list)
        is_present = is_optional and in_list and choice.default == 1
        written = self._alternatives(replace(choice, default=0) if is_present else choice)
        optional: ast.Structure | None = None
        if is_optional:
            rest = _joined("|", written[1:])
            optional = ast.OptionalStructure(_group(rest) if _joining_sign(rest) else rest, NO_SPAN)
        usual = name_of_single_step(ast.JoinedStructures("|", written, NO_SPAN)) if in_list else None
        natural = self._reserve_name(usual or FIRST_CHOICE_NAME, choice.name, choice.address, prefix)
        if optional is not None and (natural or in_list):
            return optional if natural else _group(optional, choice.name)
        if not natural or choice.first or len(written) == 1:
            return _group(ast.JoinedStructures("|", written, NO_SPAN), choice.name, _annotations(first=choice.first))
        return _joined("|", written)

    def _stage(self, choice: ir.Choice) -> ast.Structure:
        """Return a reference to the stage of a decision; declare the stage at the first reference."""
        called = choice.address
        if not is_bare_word(called):
            raise UnwritableSpaceError(f"a `.space` file cannot express a decision named `{choice.key}`")
        self._used_names.setdefault("", set()).add(called)
        name = self._stage_of[called]
        if name not in self._stages:
            self._stages[name] = []
            alternatives = _joined("|", self._alternatives(choice))
            marks = _annotations(first=choice.first)
            self._stages[name].append(ast.Stage(make_word(name), marks, alternatives, NO_SPAN))
        alias = None if name == called else make_word(called)
        return ast.OperatorReference(make_dotted_name(name), alias, None, (), NO_SPAN)

    def _chain(self, choice: ir.Choice) -> ast.Structure:
        """Return a `repeat(...)`; declare its stage, and forbid the numbers of uses that the space does not have."""
        name = self._stage_of[choice.address]
        numbers = [int(branch.name) for branch in choice.branches]
        if not are_uses_alike(choice) or any(branch.weight != 1.0 for branch in choice.branches) or choice.default:
            raise UnwritableSpaceError(f"a `.space` file cannot express the uses of the chain `{choice.key}`")
        self._used_names.setdefault("", set()).add(choice.address)
        if name not in self._stages:
            self._stages[name] = []
            first = next(use for branch in choice.branches for use in ir.children_of(branch.node))
            assert isinstance(first, ir.Choice)
            around, self._wording = self._wording, self._wording.names_inside_use(first.address, name)
            alternatives = _joined("|", self._alternatives(first))
            self._wording = around
            marks = _annotations(first=choice.first)
            self._stages[name].append(ast.Stage(make_word(name), marks, alternatives, NO_SPAN))
        missing = {*range(numbers[0], numbers[-1])}.difference(numbers)
        if missing:
            tested = self._wording.expression_node(BranchTest(choice.address, tuple(map(str, sorted(missing)))))
            self._forbidden.append(ast.ConstraintStatement(True, tested, NO_SPAN))
        stage = ast.OperatorReference(make_dotted_name(name), None, None, (), NO_SPAN)
        counts = (ast.Number(numbers[0], NO_SPAN), ast.Number(numbers[-1], NO_SPAN))
        written = ast.Repetition(stage, counts, (), NO_SPAN)
        return written if name == choice.address else _group(written, choice.address)

    def _alternatives(self, choice: ir.Choice) -> tuple[Alternative, ...]:
        return tuple(self._alternative(branch, choice) for branch in choice.branches)

    def _alternative(self, branch: ir.Branch, choice: ir.Choice, *, is_list: bool = False) -> Alternative:
        is_default = branch is choice.branches[choice.default] and choice.default > 0
        marks = _annotations(weight=branch.weight, default=is_default)
        prefix, node = f"{choice.address}.{branch.name}", branch.node
        if branch.value is not None:
            raise UnwritableSpaceError(
                f"a `.space` file cannot express the plain value `{branch.name}` as an alternative of `{choice.key}`"
            )
        if isinstance(node, ir.Product) and not node.children and branch.name == "none":
            return ast.NoneStep(marks, NO_SPAN)
        if isinstance(node, ir.Operator) and operator_address(node) in ("", prefix):
            # The name of an alternative leaves out the package of its operator.
            alias = None if node.name == branch.name else make_word(branch.name)
            return ast.OperatorReference(_operator_name(node), alias, self._body(node, prefix), marks, NO_SPAN)
        is_parallel = isinstance(node, ir.Product) and node.kind is ir.ProductKind.PARALLEL
        own = self._list(ir.children_of(node), prefix) if is_list and is_parallel else self._structure(node, prefix)
        if structure_title(own) != branch.name or isinstance(node, ir.Operator) or _joining_sign(own) in ("|", "?"):
            # With a single pair of brackets the name would apply to the operator or decision itself.
            return _group(own if _joining_sign(own) in ("->", "&") else _group(own), branch.name, marks)
        # Annotations after the name of a stage apply to the stage; after a name in brackets, to the alternative.
        if isinstance(own, ast.OperatorReference) and own.alias is None and own.body is None and not marks:
            return own
        return _group(own, None, marks)

    def _nested_alternative(self, branch: ir.Branch, choice: ir.Choice, *, is_list: bool) -> ast.Domain:
        if branch.value is not None:
            return self._value(branch, choice)
        if isinstance(branch.node, ir.Hyperparameter):
            return self._range(branch, branch.node, choice)
        return self._alternative(branch, choice, is_list=is_list)

    def _value(self, branch: ir.Branch, choice: ir.Choice) -> ast.Domain:
        """Return a value as a set with one member; raise UnwritableSpaceError for a weight or another name."""
        if branch.weight != 1.0 or branch.name != unique_value_name(branch.value) or not _has_structures(choice):
            raise UnwritableSpaceError(
                f"a `.space` file cannot express the value `{branch.name}` of `{choice.key}` with its name and weight"
            )
        return ast.ValueSet((make_value_node(branch.value),), False, NO_SPAN)

    def _range(self, branch: ir.Branch, node: ir.Hyperparameter, choice: ir.Choice) -> ast.Domain:
        """Return the range that is an alternative of a decision; raise UnwritableSpaceError for annotations.

        If it is not the default alternative, its default must be the middle, because the text cannot state another.
        """
        is_plain = (node.condition, node.prior, node.split, branch.weight) == (None, None, None, 1.0)
        is_usual = choice.branches[choice.default] is branch or node.default == node.domain.representative
        is_own = node.address == f"{choice.address}.{ir.RANGE_NAME}.value" and _has_structures(choice)
        if not (is_own and is_plain and is_usual):
            raise UnwritableSpaceError(
                f"a `.space` file cannot express the range of `{choice.key}` with its default and annotations"
            )
        return domain_node(node.domain)

    def _stage_names(self) -> dict[str, str]:
        """Return the decisions that become stages, by address, with stage names that no operator has."""
        operators_ = {
            name for operator in ir.operators(self._space.root) for name in (operator.name, operator.catalogue)
        }
        found: dict[str, str] = {}
        for choice in self._space.decisions:
            is_inline = choice.name.startswith("choice_") and not self._space.variables[choice.address].owners
            if "." in choice.address or is_inline or choice.address in self._space.permutations:
                continue
            name = choice.address
            while name in operators_ or (name != choice.address and name in self._required_names[""]):
                name = f"{name}_stage"
            found[choice.address] = name
        return found

    def _reserve_name(self, usual: str, called: str, address: str, prefix: str) -> bool:
        """Reserve the name of a step; return True if a reader of the text gives it this name without an `as`.

        Raises UnwritableSpaceError if `address` is not the name `called` below `prefix`.
        """
        if address != join_address(prefix, called) or not is_bare_word(called):
            raise UnwritableSpaceError(
                f"a `.space` file cannot express `{address}` as the name of a step in `{prefix or 'the pipeline'}`"
            )
        taken = self._used_names.setdefault(prefix, set())
        name, number, stages = usual, 1, {*self._stage_of.values()}
        while name in taken or (name in stages and (number > 1 or usual == FIRST_CHOICE_NAME)):
            number += 1
            name = f"{usual.removesuffix('_1')}_{number}"
        taken.add(called)
        return name == called

    def _operator(self, operator: ir.Operator, prefix: str) -> ast.OperatorReference:
        base = operator_address(operator)
        called = base.removeprefix(f"{prefix}.") if base else self._free_name(operator, prefix)
        natural = self._reserve_name(operator.name, called, base or join_address(prefix, called), prefix)
        alias = None if natural else make_word(called)
        return ast.OperatorReference(_operator_name(operator), alias, self._body(operator, base), (), NO_SPAN)

    def _free_name(self, operator: ir.Operator, prefix: str) -> str:
        needed = {*self._required_names.get(prefix, ()), *self._used_names.get(prefix, ()), *self._stage_of.values()}
        return unique_name(operator.name, needed)

    def _body(self, operator: ir.Operator, base: str) -> ast.Body | None:
        siblings = {child.name for child in operator.children if isinstance(child, ir.Hyperparameter)}
        shadowing = siblings | {child.name for child in (*operator.children, *operator.computed)}
        shadowing |= {name for name, _ in operator.fixed}
        members: list[ast.Member] = [
            self._tuple(child, siblings, shadowing)
            if isinstance(child, TupleDescription)
            else self._member(child, siblings, shadowing, is_abstract=operator.catalogue == ir.ABSTRACT_CATALOGUE)
            for child in children_with_grouped_tuples(operator)
        ]
        for name, fixed in operator.fixed:
            members.append(make_fixed_parameter(name, self._fixed(fixed, join_address(base, name))))
        for computed in operator.computed:
            around = computed.address.removesuffix(f".{computed.name}")
            written = self._expression_in(
                computed.expression, f"the value of `{computed.name}`", around, siblings, shadowing
            )
            members.append(ast.ParameterFormula(make_word(computed.name), written, NO_SPAN))
        return ast.Body(tuple(members), NO_SPAN) if members else None

    def _member(
        self, child: ir.Hyperparameter | ir.Choice, siblings: set[str], shadowing: set[str], *, is_abstract: bool = True
    ) -> ast.Parameter:
        name = make_word(child.name)
        if isinstance(child, ir.Choice):
            is_list = child.name == ir.LIST_PARAMETER and not is_abstract
            parts = tuple(self._nested_alternative(branch, child, is_list=is_list) for branch in child.branches)
            usual = child.branches[child.default]
            plain = usual.node.default if isinstance(usual.node, ir.Hyperparameter) else usual.value
            default = None if plain is None else make_value_node(plain)
            several = parts[0] if len(parts) == 1 else ast.UnionDomain(parts, NO_SPAN)
            return ast.Parameter(name, several, default, None, (), NO_SPAN)
        condition = None
        if child.condition is not None:
            around = child.address.removesuffix(f".{child.name}")
            condition = self._expression_in(
                child.condition, f"a condition of `{child.key}`", around, siblings, shadowing
            )
        marks = _annotations(prior=child.prior, split=child.split)
        domain, default = self._bounded_domain(child, siblings, shadowing), make_value_node(child.default)
        return ast.Parameter(name, domain, default, condition, marks, NO_SPAN, child.is_var)

    def _bounded_domain(self, child: ir.Hyperparameter, siblings: set[str], shadowing: set[str]) -> ast.Domain:
        """Return the domain of a hyperparameter with its bounds as they were written."""
        found = domain_node(child.domain)
        several = list(found.parts) if isinstance(found, ast.UnionDomain) else [found]
        around = child.address.removesuffix(child.name).removesuffix(".")
        # Priors and splits refer to the whole range, which bounds that name hyperparameters do not state.
        is_plain = child.prior is None and child.split is None
        for bound in self._bounds.get(child.address, ()) if is_plain else ():
            part = several[bound.part]
            if not isinstance(part, ast.Range) or (part.step is not None and bound.is_lower):
                continue  # steps count from the least number that the bound may be, which a restriction changes
            if self._wording.find_shadowed_address(bound.limit, shadowing) is None:
                limit = self._wording.expression_node(bound.limit, around, siblings)
                several[bound.part] = (
                    replace(part, lower=limit, lower_open=bound.is_open)
                    if bound.is_lower
                    else replace(part, upper=limit, upper_open=bound.is_open)
                )
                self._written_bounds.append(bound)
        return replace(found, parts=tuple(several)) if isinstance(found, ast.UnionDomain) else several[0]

    def _tuple(self, written: TupleDescription, siblings: set[str], shadowing: set[str]) -> ast.Parameter:
        """Return a tuple parameter as a syntax node; elements with smaller domains than the others get constraints."""
        parameter = written.parameter
        parts: list[ast.Domain] = [domain_node(part) for part in written.others]
        if written.lengths is not None:
            element, nodes = written.element, [self._space.variables[each] for each in parameter.elements]
            expected = dict(member_conditions(parameter, written.lengths[0], written.condition))
            is_usual = all(node.condition in (None, expected.get(node.address)) for node in nodes)
            advice = {(node.hyperparameter.prior, node.hyperparameter.split) for node in nodes}
            if element is None or not is_usual or len(advice) > 1:
                raise UnwritableSpaceError(f"a `.space` file cannot express the tuple `{parameter.address}`")
            least, greatest = (ast.Number(end, NO_SPAN) for end in written.lengths)
            parts.append(ast.TupleDomain(least, greatest, domain_node(element), NO_SPAN))
            narrower = (make_domain_test(node.address, node.hyperparameter.domain, element) for node in nodes)
            self._narrowing += [each for each in narrower if each is not None]
        domain = parts[0] if len(parts) == 1 else ast.UnionDomain(tuple(parts), NO_SPAN)
        condition = None
        if written.condition is not None:
            around = parameter.address.removesuffix(f".{parameter.name}")
            what = f"a condition of `{parameter.address}`"
            condition = self._expression_in(written.condition, what, around, siblings, shadowing)
        marks = _annotations(prior=written.prior, split=written.split)
        default = make_value_node(written.default)
        return ast.Parameter(make_word(parameter.name), domain, default, condition, marks, NO_SPAN)

    def _expression_in(
        self, expression: Expr, construct: str, around: str, siblings: set[str], shadowing: set[str]
    ) -> ast.Expression:
        """Return an expression for the body of the operator at the address `around`.

        Raises UnwritableSpaceError, with the text `construct`, if a parameter hides the name of a stage in it.
        """
        shadowed = self._wording.find_shadowed_address(expression, shadowing)
        if shadowed is not None:
            raise UnwritableSpaceError(
                f"a `.space` file cannot express {construct} on the stage `{shadowed}`: "
                "a parameter of the operator has the same name"
            )
        return self._wording.expression_node(expression, around, siblings)

    def _fixed(self, fixed: ir.FixedValue, base: str) -> ast.Value:
        match fixed:
            case ir.Operator():
                body = self._body(fixed, base) or ast.Body((), NO_SPAN)
                return ast.OperatorValue(_operator_name(fixed), body, NO_SPAN)
            case ir.CatalogueObject():
                return make_value_node(fixed.name)
            case _:
                return make_value_node(fixed)


def _has_structures(choice: ir.Choice) -> bool:
    """Return True if some alternative is an operator or a pipeline; otherwise the text would be a set of values."""
    return any(
        each.node != ir.SKIPPED_STEP and not isinstance(each.node, ir.Hyperparameter) for each in choice.branches
    )


def _joining_sign(structure: ast.Structure) -> str:
    match structure:
        case ast.JoinedStructures(sign=sign):
            return sign
        case ast.OptionalStructure():
            return "?"
        case _:
            return ""


def _joined(sign: Literal["|", "->", "&"], parts: Sequence[ast.Structure]) -> ast.Structure:
    """Return structures joined by a sign (a single one unchanged); joined structures among them get parentheses."""
    if len(parts) == 1:
        return parts[0]
    joined = (_group(part) if _joining_sign(part) not in ("", "?") else part for part in parts)
    return ast.JoinedStructures(sign, tuple(joined), NO_SPAN)


def _group(part: ast.Structure, name: str | None = None, marks: Marks = ()) -> ast.Parenthesised:
    return ast.Parenthesised(part, None if name is None else make_word(name), marks, NO_SPAN)


def _annotations(
    *,
    first: bool = False,
    weight: float = 1.0,
    default: bool = False,
    prior: Prior | None = None,
    split: int | None = None,
) -> Marks:
    found: list[tuple[str, tuple[ast.Value, ...]]] = [("first", ())] if first else []
    found += [("weight", (make_value_node(weight),))] if weight != 1.0 else []
    found += [("default", ())] if default else []
    if prior is not None:
        distribution, numbers = named_prior(prior)
        found.append(("prior", (make_value_node(distribution), *map(make_value_node, numbers))))
    found += [("split", (make_value_node(split),))] if split is not None else []
    return tuple(ast.Annotation(make_word(name), arguments, NO_SPAN) for name, arguments in found)


def _operator_name(operator: ir.Operator) -> ast.DottedName:
    is_plain = operator.catalogue in (ir.DEFAULT_CATALOGUE, ir.ABSTRACT_CATALOGUE)
    return make_dotted_name(operator.name if is_plain else f"{operator.catalogue}.{operator.name}")


def _selector(selector: ir.ColumnSelector) -> ast.Word | ast.QuotedString:
    return ast.QuotedString(selector.pattern, NO_SPAN) if selector.kind == "pattern" else make_word(selector.kind)


def _task_block(task: Task) -> ast.Task:
    """Return the task block; the functions of `ir.task` format quantities with their units."""
    found: list[tuple[str, tuple[str | ast.SplitOption, ...]]] = []
    if task.goal is not None:
        found.append((task.goal.direction, tuple(goal.formula for goal in task.goals)))
    found += [("subject to", (describe_bound(bound),)) for bound in task.bounds]
    if task.validation is not None:
        kind, number = kind_and_number(task.validation)
        found.append(
            ("validate", (kind, format_number(number), *map(_split_option, non_default_options(task.validation))))
        )
    if task.fidelity is not None:
        found.append(("fidelity", ("samples", str(task.fidelity.first), format_number(task.fidelity.factor))))
    for limit in describe_limits(task.limits):
        limited, kind, quantities = limit.split(" ", 2)
        found.append((f"{limited} {kind}", (quantities,)))
    settings = tuple(ast.TaskSetting(keyword, tuple(map(_argument, each)), NO_SPAN) for keyword, each in found)
    return ast.Task(make_word(task.kind), settings, NO_SPAN)


def _argument(text: str | ast.SplitOption) -> ast.Word | ast.SplitOption:
    return make_word(text) if isinstance(text, str) else text


def _split_option(option: WordOption) -> ast.SplitOption:
    name, column = option
    return ast.SplitOption(make_word(name), None if column is None else make_word(column), NO_SPAN)
