"""Chains: check them, and expand expressions that name their uses to one expression for each number of uses.

An author writes `step[1]` for the first use, whatever the number of uses is. In the space, each alternative of the
chain (1 use, 2 uses, …) has a separate copy of the first use. A constraint therefore becomes one constraint for each
number of uses (for each combination of numbers, if it names several chains), and a condition becomes
`step == 1 and … or step == 2 and …`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias, TypeVar

from spacelang.analysis import space_drafts
from spacelang.analysis.alternatives import alternatives_of_structure
from spacelang.diagnostics.diagnostic import RelatedPlace
from spacelang.diagnostics.structure import InvalidRepeatChain
from spacelang.frozen import frozen
from spacelang.ir import expr
from spacelang.ir.partial_evaluation import UNKNOWN, Unknown, fold_constants, partially_evaluate
from spacelang.ir.repeated_stages import MAX_USES_IN_CHAIN, address_of_nth_use, fill_chain_alternatives
from spacelang.ir.space import Choice, Node
from spacelang.ir.walk import rebuild_tree
from spacelang.syntax import ast
from spacelang.syntax.inline_printer import structure_title

Numbers: TypeAlias = Mapping[str, int]  # The number of uses of chains, by the address of the chain
T = TypeVar("T")


def chain_diagnostics(written: ast.Repetition, stage: ast.Stage, around: Sequence[str]) -> Iterator[InvalidRepeatChain]:
    """Yield a diagnostic for each mistake of a chain; `around` are the forms (`permute`, …) that contain the chain."""
    name, counts = stage.name.text, [each.value for each in written.counts]
    if around:
        problem, remedy = f"a chain cannot be inside `{around[-1]}`", "move it before or after, joined by `->`"
        yield InvalidRepeatChain(written.span, problem=problem, remedy=remedy)
    for alternative in alternatives_of_structure(stage.structure):
        if isinstance(alternative.structure, ast.NoneStep):
            problem = f"the stage `{name}` of a chain has the alternative `none`"
            reason = "leaving out one use has the same effect"
            remedy = f"remove `none` from `{name}`; the smallest number of `repeat(…)` may be 0"
            related = (RelatedPlace(written.span, "the chain"),)
            yield InvalidRepeatChain(alternative.span, problem=problem, reason=reason, remedy=remedy, related=related)
    if len(counts) != 2:
        last = max((each for each in counts if isinstance(each, int)), default=3)
        yield InvalidRepeatChain(
            written.span,
            problem="`repeat(…)` takes a stage and two numbers: how often it is used at least and at most",
            reason="one number is given" if len(counts) == 1 else f"{len(counts) or 'no'} numbers are given",
            remedy=f"write `repeat({name}, 0, {last})`" if len(counts) < 2 else None,
        )
        return
    least, most = counts
    span = written.counts[0].span.extended_to(written.counts[1].span)
    fractions = [each for each in written.counts if isinstance(each.value, float)]
    if fractions:
        problem = "the least and the greatest number of uses of a chain must be integers"
        yield InvalidRepeatChain(fractions[0].span, problem=problem, reason="not an integer")
    elif least > most:
        problem = f"the least number of uses, {least:,}, is above the greatest, {most:,}"
        yield InvalidRepeatChain(
            span, problem=problem, reason="write the smaller number first", remedy=f"write `{most}, {least}`"
        )
    elif most == 0:
        problem, reason = "the chain has no uses", f"`{name}` is never used"
        yield InvalidRepeatChain(written.span, problem=problem, reason=reason, remedy="remove the chain")
    elif most > MAX_USES_IN_CHAIN:
        problem = f"a chain of {most:,} uses is too long"
        remedy = f"give at most {MAX_USES_IN_CHAIN} uses"
        yield InvalidRepeatChain(written.counts[1].span, problem=problem, remedy=remedy)


def chain_without_stage_diagnostic(part: ast.Structure) -> InvalidRepeatChain:
    """Return the diagnostic that a chain does not consist of a stage."""
    text = structure_title(part)
    return InvalidRepeatChain(
        part.span,
        problem="`repeat(…)` takes the name of a stage",
        reason="not the name of a stage",
        remedy=f"declare `stage step = {text}`, and write `repeat(step, 0, 3)`",
    )


def imported_pipeline_in_chain_diagnostic(written: ast.OperatorReference) -> InvalidRepeatChain:
    """Return the diagnostic that a stage of a chain contains the pipeline of another file."""
    return InvalidRepeatChain(
        written.span,
        problem=f"a chain cannot contain the whole space `{written.name.text}`",
        remedy=f"name the stages that it needs: `{written.name.text}.…`",
    )


def expand_chains_in_tree(root: Node, chains: Mapping[str, space_drafts.UnexpandedChain]) -> Node:
    """Return a tree in which the decision of each chain has its alternatives, one for each number of uses."""

    def expand(choice: Choice) -> Choice:
        chain = chains.get(choice.address)
        return choice if chain is None else fill_chain_alternatives(choice, chain.uses)

    return rebuild_tree(root, lambda node: node, expand) if chains else root


@frozen
class ExpandedConstraint:
    """A constraint for certain numbers of uses: its expression, and the branches that limit where it applies."""

    expression: expr.Expr
    branches: tuple[space_drafts.BranchKey, ...]


class ChainExpressionExpander:
    """A converter of expressions that name uses of chains to expressions over the addresses of the space."""

    def __init__(self, chains: Mapping[str, space_drafts.UnexpandedChain]) -> None:
        """Take all chains of a draft, by address."""
        self._chains = chains
        self._places = {
            use.address: (name, place) for name, chain in chains.items() for place, use in enumerate(chain.uses, 1)
        }

    def expand_addresses(self, found: Mapping[str, T], change: Callable[[T, str, Numbers], T]) -> dict[str, T]:
        """Return a mapping by addresses of the draft as one by addresses of the expanded space.

        An address inside a use becomes one address for each number of uses. `change` returns the new value, given the
        old value, the new address, and the numbers of uses (by chain) for which that address exists.
        """
        return {
            new_address: change(each, new_address, numbers)
            for address, each in found.items()
            for new_address, numbers in self._space_addresses(address)
        }

    def expand_condition(self, expression: expr.Expr, numbers: Numbers) -> expr.Expr:
        """Return the expanded condition of a node that exists only for the numbers of uses in `numbers`.

        It is the alternative (`or`) of one case for each combination of the numbers of uses of other chains that it
        names.
        """
        others = self.chains_mentioned_in(expression) - numbers.keys()
        cases: list[expr.Expr] = []
        for more in self._assignments(others):
            known = {**numbers, **more}
            # Tests of the chain around a use are not replaced, so that its copies for all numbers of uses stay equal.
            left = partially_evaluate(expression, self._lookup(known, kept=numbers))
            left = self.rename_uses(left, known)
            tests = (expr.BranchTest(name, (str(number),)) for name, number in more.items())
            cases.append(expr.And((*tests, left)))
        return replace(fold_constants(expr.Or(tuple(cases))), span=expression.span)

    def expand_constraint(
        self, expression: expr.Expr, branch: space_drafts.BranchKey | None, *, forbidden: bool
    ) -> Iterator[ExpandedConstraint]:
        """Yield the expanded constraints for one constraint: itself, or one for each combination of numbers of uses.

        There is none for a combination in which a named use does not exist or the constraint excludes nothing.

        `branch` is the branch whose body contains the constraint, or None for the top level of a file.
        """
        own = () if branch is None else self._space_addresses(branch[0])
        at_own = {tuple(numbers.items()): address for address, numbers in own if numbers}
        named = self.chains_mentioned_in(expression) | {name for numbers in at_own for name, _ in numbers}
        if not named:
            yield ExpandedConstraint(expression, () if branch is None else (branch,))
            return
        for numbers in self._assignments(named):
            around = () if branch is None else (branch,)
            if at_own:
                place = next((a for key, a in at_own.items() if all(numbers[name] == n for name, n in key)), None)
                if place is None or branch is None:
                    continue
                around = ((place, branch[1]),)
            if all(self._exists(address, numbers) for address in expr.references(expression)):
                left = fold_constants(self._with_numbers(expression, numbers), naming=True)
                if fold_constants(left) != expr.Constant(not forbidden):
                    tests = tuple((name, str(n)) for name, n in numbers.items())
                    yield ExpandedConstraint(replace(left, span=expression.span), (*around, *tests))

    def chains_mentioned_in(self, expression: expr.Expr) -> set[str]:
        """Return the addresses of the chains whose uses an expression names."""
        stages = {space_drafts.stage_of(address) for address in expr.mentioned_addresses(expression)}
        return {self._places[stage][0] for stage in stages if stage in self._places}

    def mentions_only_own_use(self, expression: expr.Expr, address: str) -> bool:
        """Return True if an expression names no other use of a chain than the one that contains the address."""
        own = space_drafts.stage_of(address)
        named = {space_drafts.stage_of(each) for each in expr.mentioned_addresses(expression)}
        return not any(stage in self._places and stage != own for stage in named)

    def _space_addresses(self, address: str) -> Iterator[tuple[str, Numbers]]:
        """Yield the addresses in the space that an address of the draft stands for, each with its number of uses."""
        stage = space_drafts.stage_of(address)
        if stage not in self._places:
            yield address, {}
            return
        name, place = self._places[stage]
        for number in self._chains[name].possible_use_counts:
            if place <= number:
                yield f"{address_of_nth_use(name, number, place)}{address[len(stage) :]}", {name: number}

    def _assignments(self, names: set[str]) -> Iterator[dict[str, int]]:
        ordered = [name for name in self._chains if name in names]
        for numbers in product(*(self._chains[name].possible_use_counts for name in ordered)):
            yield dict(zip(ordered, numbers, strict=True))

    def _exists(self, address: str, numbers: Numbers) -> bool:
        name, place = self._places.get(space_drafts.stage_of(address), ("", 0))
        return place <= numbers.get(name, place)

    def _lookup(self, numbers: Numbers, kept: Collection[str] = ()) -> Callable[[str], expr.ExpressionValue | Unknown]:
        def known(address: str) -> expr.ExpressionValue | Unknown:
            if address in numbers and address not in kept:
                return str(numbers[address])
            return UNKNOWN if self._exists(address, numbers) else expr.INACTIVE

        return known

    def _with_numbers(self, expression: expr.Expr, numbers: Numbers) -> expr.Expr:
        """Return an expression for certain numbers of uses, with tests of these numbers replaced by constants.

        Every hyperparameter of the expression must exist for these numbers.
        """
        if isinstance(expression, expr.BranchTest):
            known = self._lookup(numbers)(expression.address)
            if not isinstance(known, Unknown):
                return expr.Constant(known in expression.branches, expression.span)
        if isinstance(expression, expr.BranchTest | expr.Reference | expr.ActivityTest):
            return self.rename_uses(expression, numbers)
        return expr.map_children(expression, lambda part: self._with_numbers(part, numbers))

    def rename_uses(self, expression: expr.Expr, numbers: Numbers) -> expr.Expr:
        """Return an expression with the addresses of uses replaced by those in the expanded space.

        `numbers` has the number of uses of every chain that the expression names.
        """
        names = {}
        for address in expr.mentioned_addresses(expression):
            stage = space_drafts.stage_of(address)
            if stage in self._places:
                name, place = self._places[stage]
                names[address] = f"{address_of_nth_use(name, numbers[name], place)}{address[len(stage) :]}"
        return expr.rename_addresses(expression, names)
