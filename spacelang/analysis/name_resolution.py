"""Resolve the names in expressions to hyperparameters and decisions, with suggestions for unknown names."""

import re
from collections.abc import Iterator
from functools import cached_property

from spacelang.analysis.diagnostic_collector import DataSymbols
from spacelang.analysis.space_drafts import Definition, FixedValue, NameMention, Scope, SpaceDraft, stage_of
from spacelang.diagnostics.conditions import InvalidComparison
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.names import UnknownName
from spacelang.grouping import group_by_key
from spacelang.ir.data_binding import DATA_SIZE_NAMES, data_size_for_array_shape
from spacelang.ir.domain import Domain, describe, is_bare_word, literal, spell_parameter_name
from spacelang.ir.expr import Constant, Reference
from spacelang.ir.space import Choice, Hyperparameter, Space, TupleParameter, Variable
from spacelang.ir.tuple_parameters import element_name, length_name
from spacelang.spelling_suggestions import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span


class NameResolver:
    """The variables of a space by the names that expressions use for them."""

    def __init__(self, space: Space, draft: SpaceDraft, left_out: frozenset[str], symbols: DataSymbols) -> None:
        """Create the table of names; stages in `left_out` can be named only by expressions inside of them."""
        self._variables = space.variables
        self._tuples = {each.address: each for each in space.tuples.values()}
        self._draft = draft
        self._left_out = left_out
        self._symbols = symbols

    def resolve(self, written: ast.DottedName, scope: Scope) -> Reference | Constant | Choice | Diagnostic | None:
        """Return what a name stands for; None if its declaration has a (reported) mistake.

        Return a diagnostic, not yet reported, for an unknown or invalid name.
        """
        name = written.text
        if name in scope.constants:
            self.record_fixed_value(written, scope, written.span)
            self._symbols.copy_mentions(scope.values[name], written.span)
            return Constant(scope.constants[name], written.span)
        if name in scope.operators:
            problem = f"`{name}` is fixed to the operator `{scope.operators[name]}`"
            return InvalidComparison(
                written.span, problem=problem, reason="an operator cannot be compared with a value"
            )
        address = self._address(name, scope)
        if without_index(name) in scope.dubious or self._is_dubious(address):
            return None
        if address in self._variables:
            self._draft.mentions.append(NameMention(written, address))
            return self._variable(address, written, scope)
        if name in DATA_SIZE_NAMES:
            return Constant(self._symbols.record_mention(name, written.span), written.span)
        found = self._tuple_diagnostic(written, scope)
        if found is None and (_is_removed(written, scope) or self._abbreviates_dubious(name, scope)):
            return None
        return found or self._unknown_diagnostic(written, scope)

    def find_tuple_parameter(self, name: str, scope: Scope) -> TupleParameter | None:
        """Return the tuple parameter with this name, or None if there is none in the scope."""
        length = self._address(length_name(name), scope)
        found = self._tuples.get(length.removesuffix(length_name("")))
        return None if found is None or found.length != length else found

    def _tuple_diagnostic(self, written: ast.DottedName, scope: Scope) -> Diagnostic | None:
        """Return the diagnostic of the name of a whole tuple, or of an element that does not exist, or None."""
        name = written.text
        if self.find_tuple_parameter(name, scope) is not None:
            remedy = f"name its length or an element: `length({name})`, `{element_name(name, 1)}`"
            return InvalidComparison(written.span, problem=f"`{name}` is a tuple", remedy=remedy)
        indexed = re.fullmatch(r"(?P<whole>.+)\[(?P<number>\d+)\]", name, re.DOTALL)
        known = None if indexed is None else self.find_tuple_parameter(indexed["whole"], scope)
        if indexed is None or known is None:
            return None
        most = len(known.elements)
        reason = f"`{indexed['whole']}` has at most {most} element{'' if most == 1 else 's'}"
        reason = "elements are counted from 1" if indexed["number"] == "0" else reason
        return UnknownName(written.span, name=name, reason=reason)

    def find_definition(self, name: str, scope: Scope) -> Definition | None:
        """Return the definition (`let`, or computed parameter) of a name, or None if the name has none."""
        return self._draft.find_definition(name, scope)

    def _address(self, name: str, scope: Scope) -> str:
        """Return the address that a name stands for; alternatives may be left out if only one address fits.

        The first word of a path is a stage or, if the path has no meaning then, a sibling.
        """
        address = self._completed(scope.addresses.get(name) or scope.names.address_of_name(name), scope)
        first, _, rest = name.partition(".")
        if address in self._variables or not rest or first not in scope.addresses:
            return address
        below = self._completed(f"{scope.addresses[first]}.{rest}", scope)
        return below if below in self._variables else address

    def _completed(self, address: str, scope: Scope) -> str:
        found = () if address in self._variables else self._completions(address, scope)
        return found[0] if len(found) == 1 else address

    def _completions(self, address: str, scope: Scope) -> tuple[str, ...]:
        """Return the full addresses that `address` abbreviates by leaving out the names of alternatives."""
        if "." not in address:
            return ()
        inside = stage_of(scope.place) in self._left_out
        return tuple(a for a in self._by_abbreviation.get(address, ()) if inside or stage_of(a) not in self._left_out)

    @cached_property
    def _by_abbreviation(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for address, variable in self._variables.items():
            for short in self._abbreviations(address, variable):
                found[short] = (*found.get(short, ()), address)
        return found

    def _abbreviations(self, address: str, variable: Variable) -> Iterator[str]:
        """Yield the shorter forms of an address that leave out one or more names of alternatives.

        A name is not left out if the word after it is the name of another alternative of the same decision.
        """
        whole, shorter = address, [address]
        for decision, branch in reversed(variable.owners):
            beginning = f"{decision}.{branch}."
            choice = self._variables[decision].node
            rest = whole.removeprefix(beginning)
            assert isinstance(choice, Choice)
            if rest != whole and rest.split(".", 1)[0] not in choice.branch_indices.keys() - {branch}:
                shorter += [f"{decision}.{each.removeprefix(beginning)}" for each in shorter]
        yield from shorter[1:]

    def record_branches(self, written: ast.DottedName, choice: Choice, branches: tuple[str, ...]) -> None:
        """Record that a name in a test of a decision stands for some of its alternatives."""
        self._draft.mentions.append(NameMention(written, choice.address, branches))

    def record_definition(self, written: ast.DottedName, definition: Definition) -> None:
        """Record that a name stands for an expression."""
        self._draft.mentions.append(NameMention(written, definition=definition.name.span))

    def copy_mentions(self, expression: ast.Expression, place: ast.Expression) -> None:
        """Record that `place` refers to the value of `expression`, and so to the same symbols of the data."""
        self._symbols.copy_mentions(expression.span, place.span)

    def record_fixed_value(self, written: ast.DottedName, scope: Scope, place: Span) -> None:
        """Record the value that a name is fixed to, which explains why an expression at `place` cannot change."""
        name = written.text
        value = literal(scope.constants[name]) if name in scope.constants else scope.operators[name]
        self._draft.fixings[place] = FixedValue(name, value, scope.fixed.get(name))
        self._draft.mentions.append(NameMention(written, definition=scope.fixed.get(name)))

    def _variable(self, address: str, written: ast.DottedName, scope: Scope) -> Reference | Choice | Diagnostic:
        stage = stage_of(address)
        if stage in self._left_out and stage_of(scope.place) not in self._left_out:
            remedy = f"add `{stage}` to the `pipeline` line"
            reason = f"the stage `{stage}` is not part of the pipeline"
            return UnknownName(written.span, name=written.text, reason=reason, remedy=remedy)
        node = self._variables[address].node
        return Reference(address, written.span) if isinstance(node, Hyperparameter) else node

    def ambiguous_uses(self, name: str, scope: Scope) -> tuple[str, ...]:
        """Return the uses of a stage that a name may refer to if there are several, else an empty tuple."""
        if name in scope.addresses or name in scope.constants:
            return ()
        # Uses in stages outside the pipeline cannot be meant.
        several = tuple(use for use in scope.names.ambiguous_uses(name) if use not in self._left_out)
        return several if len(several) > 1 else ()

    def is_known(self, name: str, scope: Scope) -> bool:
        """Return True if a name stands for a variable, a fixed value, an operator or a definition that was read."""
        known = name in scope.addresses or name in scope.constants or name in scope.operators
        return known or self.find_definition(name, scope) is not None or self._address(name, scope) in self._variables

    def is_nested_operator(self, name: str, scope: Scope) -> bool:
        """Return True if a name stands for an operator, or a choice of operators, that is the value of a parameter."""
        return name in scope.operators or (
            name not in scope.constants and self._address(name, scope) in self._draft.nested
        )

    def is_incompletely_read(self, name: str, scope: Scope) -> bool:
        """Return True if a name is declared but was not read completely, so that it causes no more errors."""
        return without_index(name) in scope.dubious or self._is_dubious(
            scope.addresses.get(name) or scope.names.address_of_name(name)
        )

    def has_incomplete_names(self, scope: Scope) -> bool:
        """Return True if something that an expression in the scope may name could not be read because of a mistake."""
        module = scope.names.module
        return bool(scope.dubious or self._draft.dubious or (module is not None and module.words_of_unreadable_lines))

    def _is_dubious(self, address: str) -> bool:
        words = without_index(address).split(".")
        dubious = self._draft.dubious
        return any(".".join(words[: place + 1]) in dubious for place in range(len(words)))

    def _abbreviates_dubious(self, name: str, scope: Scope) -> bool:
        """Return True if a name may be that of a declaration with a mistake, with some alternatives left out."""
        first, _, rest = without_index(name).partition(".")
        around = scope.addresses.get(first)
        words = (scope.names.address_of_name(name) if around is None else f"{around}.{rest}").split(".")
        for each in self._draft.dubious:
            whole = each.split(".")
            left = iter(whole)
            if words[-1] == whole[-1] and all(word in left for word in words):
                return True
        return False

    def domain_at(self, address: str) -> Domain:
        """Return the domain of the hyperparameter at an address."""
        return self._variables[address].hyperparameter.domain

    def written_domain(self, address: str) -> str:
        """Return the domain of the hyperparameter at an address as its author wrote it."""
        return self._draft.written_domains.get(address) or describe(self.domain_at(address))

    def _unknown_diagnostic(self, written: ast.DottedName, scope: Scope) -> UnknownName:
        name = written.text
        use = self._wrong_use_diagnostic(written, scope)
        if use is not None:
            return use
        several = self._completions(scope.names.address_of_name(name), scope)
        if len(several) > 1:
            reason = f"several alternatives contain `{name}`"
            remedy = f"write {' or '.join(f'`{each}`' for each in several[:12])}"
            return UnknownName(written.span, name=name, reason=reason, remedy=remedy)
        near = data_size_for_array_shape(name) or self._near(name, scope)
        module = scope.names.module
        if module is not None and name in module.values:
            # A hyperparameter or `let` that could not be read.
            near = None
        if near is not None and not all(map(is_bare_word, near.split("."))):
            near = spell_parameter_name(near) if near in scope.addresses or near in scope.constants else None
        stages = [word for word in self._next_words[""] if word not in self._left_out and not self._is_var(word)]
        listed = ", ".join(f"`{stage}`" for stage in stages[:12])
        remedy = f"the stages are {listed}" if len(stages) > 1 else f"the only stage is {listed}"
        others = [self._other_alternative(each, scope) for each in self._by_name.get(name, ())]
        if near is None and others and others[0] is not None:
            decision, branch = others[0]
            stage_name = self._variables[decision].node.name
            reason = f"`{name}` belongs to `{branch}`, another alternative of `{stage_name}`"
            remedy = "use only hyperparameters that can be active together with this operator"
            return UnknownName(written.span, name=name, reason=reason, remedy=remedy)
        says_nothing = stage_of(name) in self._next_words[""] or not 0 < len(stages) <= 12
        return UnknownName(written.span, name=name, near=near, remedy=None if says_nothing else remedy)

    def _wrong_use_diagnostic(self, written: ast.DottedName, scope: Scope) -> UnknownName | None:
        """Return the diagnostic for a use that a chain does not have, or for a part of a chain without a use."""
        first = stage_of(scope.names.address_of_name(written.text))
        name, bracket, _ = first.partition("[")
        chain = self._draft.chains.get(name)
        if chain is None:
            reason = "only uses of a chain, `repeat(stage, least, most)`, have a number in brackets"
            is_wrong = bracket and name in self._variables
            return UnknownName(written.span, name=written.text, reason=reason) if is_wrong else None
        uses = ", ".join(f"`{use.address}`" for use in chain.uses)
        if bracket and first not in self._variables:
            return UnknownName(written.span, name=written.text, remedy=f"the uses of the chain are {uses}")
        if not bracket and len(written.words) > 1:
            rest = ".".join(word.text for word in written.words[1:])
            remedy = f"name a use of the chain, such as `{chain.uses[0].address}.{rest}`"
            return UnknownName(written.span, name=written.text, remedy=remedy)
        return None

    def _reachable(self, name: str, scope: Scope) -> str | None:
        """Return the first address that ends with `name` and can be active together with the scope's body, or None."""
        named = self._by_name.get(name, ())
        return next((each for each in named if self._other_alternative(each, scope) is None), None)

    def _other_alternative(self, address: str, scope: Scope) -> tuple[str, str] | None:
        """Return the (decision, alternative) that contains an address but excludes the body of the scope, or None."""
        if scope.branch is None or scope.branch[0] not in self._variables:
            return None
        around = dict((*self._variables[scope.branch[0]].owners, scope.branch))
        owners = self._variables[address].owners
        return next((each for each in owners if around.get(each[0], each[1]) != each[1]), None)

    def _is_var(self, address: str) -> bool:
        """Return True if the address is that of a hyperparameter."""
        return address in self._variables and isinstance(self._variables[address].node, Hyperparameter)

    def _near(self, name: str, scope: Scope) -> str | None:
        words = name.split(".")
        if len(words) == 1:
            flat = self._by_key.get(name.replace("__", "."))
            near = nearest_name(
                name,
                [
                    *scope.addresses,
                    *scope.constants,
                    *scope.definitions,
                    *self._draft.let_names(scope),
                    *self._next_words[""],
                ],
            )
            return flat or self._reachable(name, scope) or near
        if name in self._by_ending:
            return self._by_ending[name]
        if name in self._by_key:
            # The key `stage.parameter`, as configurations print it, of a parameter with the name of an alternative.
            return self._by_key[name]
        address = ""
        for word in words:
            below = self._next_words.get(address, {})
            found = word if word in below else nearest_name(word, below)
            if found is None:
                return None
            address = f"{address}.{found}" if address else found
        return address if address in self._variables else None

    @cached_property
    def _by_key(self) -> dict[str, str]:
        return {variable.key: address for address, variable in reversed([*self._variables.items()])}

    @cached_property
    def _by_ending(self) -> dict[str, str]:
        """The addresses by their last two words, an alternative and a name, as other languages write them."""
        found = reversed([*self._variables])
        return {".".join(words[-2:]): address for address in found if len(words := address.split(".")) > 2}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        return group_by_key((address.rsplit(".", 1)[-1], address) for address in self._variables if "." in address)

    @cached_property
    def _next_words(self) -> dict[str, dict[str, None]]:
        """The words that may follow each beginning of an address."""
        found: dict[str, dict[str, None]] = {"": {}}
        for address in self._variables:
            words = address.split(".")
            for place, word in enumerate(words):
                found.setdefault(".".join(words[:place]), {})[word] = None
        return found


def _is_removed(written: ast.DottedName, scope: Scope) -> bool:
    """Return True if a line that could not be parsed contains a word of a name, and so may declare the name."""
    module = scope.names.module
    return module is not None and not module.words_of_unreadable_lines.isdisjoint(word.text for word in written.words)


def without_index(name: str) -> str:
    """Return a name without the index at its end, if it has one."""
    return re.sub(r"\[\d+\]$", "", name)
