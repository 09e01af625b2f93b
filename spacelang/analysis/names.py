"""Name resolution in expressions, and suggestions for unknown names."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from spacelang.analysis.drafts import Draft, FixedName, Scope, stage_of
from spacelang.analysis.symbols import DataSymbols
from spacelang.diagnostics.conditions import WrongComparison
from spacelang.diagnostics.diagnostic import Diagnostic
from spacelang.diagnostics.names import UnknownName
from spacelang.ir.domain import DATA_SIZE_NAMES, Domain, describe, is_bare_word, literal, spell_parameter_name
from spacelang.ir.expr import Constant, Reference
from spacelang.ir.space import Choice, Hyperparameter, Variable
from spacelang.suggest import nearest_name
from spacelang.syntax import ast
from spacelang.text import Span


class NameResolver:
    """The variables of a space by the names that expressions use for them."""

    def __init__(
        self, variables: Mapping[str, Variable], draft: Draft, left_out: frozenset[str], symbols: DataSymbols
    ) -> None:
        """Create the table of names.

        `left_out` are the stages that are not part of the pipeline. Only expressions inside them may name them.
        """
        self._variables = variables
        self._draft = draft
        self._left_out = left_out
        self._symbols = symbols

    def find(self, written: ast.DottedName, scope: Scope) -> Reference | Constant | Choice | Diagnostic | None:
        """Return what a name stands for, or a diagnostic if it is invalid.

        The result is None if the name is declared but its declaration could not be read.
        """
        name = written.text
        if name in scope.constants:
            self.record_fixed(written, scope, written.span)
            self._symbols.copy_mentions(scope.values[name], written.span)
            return Constant(scope.constants[name], written.span)
        if name in scope.operators:
            problem = f"`{name}` is fixed to the operator `{scope.operators[name]}`"
            return WrongComparison(primary=written.span, problem=problem, reason="nothing to compare")
        address = self._address(name, scope)
        if name in scope.dubious or self._is_dubious(address):
            return None
        if address in self._variables:
            return self._variable(address, written, scope)
        if name in DATA_SIZE_NAMES:
            return Constant(self._symbols.mention(name, written.span), written.span)
        return self._unknown_diagnostic(written, scope)

    def _address(self, name: str, scope: Scope) -> str:
        """Return the address that a name stands for.

        Alternatives may be left out of the name if only one address fits.
        """
        address = scope.addresses.get(name) or scope.names.address(name)
        found = () if address in self._variables else self._completions(address, scope)
        return found[0] if len(found) == 1 else address

    def _completions(self, address: str, scope: Scope) -> tuple[str, ...]:
        """Return the addresses that become this one if alternatives are left out of them."""
        if "." not in address:
            return ()
        inside = stage_of(scope.place) in self._left_out
        return tuple(
            each for each in self._by_abbreviation.get(address, ()) if inside or stage_of(each) not in self._left_out
        )

    @cached_property
    def _by_abbreviation(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for address, variable in self._variables.items():
            for short in self._abbreviations(address, variable):
                found[short] = (*found.get(short, ()), address)
        return found

    def _abbreviations(self, address: str, variable: Variable) -> Iterator[str]:
        """Yield the address with one or more alternatives left out.

        An alternative stays if the word after it could be read as an alternative of the same decision.
        """
        whole, shorter = address, [address]
        for decision, branch in reversed(variable.owners):
            beginning = f"{decision}.{branch}."
            choice = self._variables[decision].node
            rest = whole.removeprefix(beginning)
            assert isinstance(choice, Choice)
            if rest != whole and rest.split(".", 1)[0] not in choice.branch_indices:
                shorter += [f"{decision}.{each.removeprefix(beginning)}" for each in shorter]
        yield from shorter[1:]

    def record_fixed(self, written: ast.DottedName, scope: Scope, place: Span) -> None:
        """Record the value that a name is fixed to.

        Messages use it to explain why an expression at this place cannot change.
        """
        name = written.text
        value = literal(scope.constants[name]) if name in scope.constants else scope.operators[name]
        self._draft.fixings[place] = FixedName(name, value, scope.fixed.get(name))

    def _variable(self, address: str, written: ast.DottedName, scope: Scope) -> Reference | Choice | Diagnostic:
        stage = stage_of(address)
        if stage in self._left_out and stage_of(scope.place) not in self._left_out:
            remedy = f"add `{stage}` to the `pipeline` line"
            reason = "not part of the pipeline"
            return UnknownName(primary=written.span, name=written.text, reason=reason, remedy=remedy)
        node = self._variables[address].node
        return Reference(address, written.span) if isinstance(node, Hyperparameter) else node

    def possible_uses(self, name: str, scope: Scope) -> tuple[str, ...]:
        """Return the uses of a stage that a name may refer to if there are several, else an empty tuple."""
        if name in scope.addresses or name in scope.constants:
            return ()
        # Uses in stages outside the pipeline cannot be meant.
        several = tuple(use for use in scope.names.ambiguous_uses(name) if use not in self._left_out)
        return several if len(several) > 1 else ()

    def is_known(self, name: str, scope: Scope) -> bool:
        """Return True if a name stands for something that could be read."""
        known = name in scope.addresses or name in scope.constants or name in scope.operators
        return known or self._address(name, scope) in self._variables

    def is_nested(self, name: str, scope: Scope) -> bool:
        """Return True if a name stands for an operator, or a choice of operators, that is the value of a parameter."""
        return name in scope.operators or (
            name not in scope.constants and self._address(name, scope) in self._draft.nested
        )

    def is_incompletely_read(self, name: str, scope: Scope) -> bool:
        """Return True if a name is declared but could not be read completely.

        Statements about such a name are not checked, to avoid follow-up errors.
        """
        return name in scope.dubious or self._is_dubious(scope.addresses.get(name) or scope.names.address(name))

    def _is_dubious(self, address: str) -> bool:
        words = address.split(".")
        dubious = self._draft.dubious
        return any(".".join(words[: place + 1]) in dubious for place in range(len(words)))

    def domain(self, address: str) -> Domain:
        """Return the domain of the hyperparameter at an address."""
        node = self._variables[address].hyperparameter
        return node.domain

    def written_domain(self, address: str) -> str:
        """Return the domain of the hyperparameter at an address as its author wrote it."""
        return self._draft.domains.get(address) or describe(self.domain(address))

    def _unknown_diagnostic(self, written: ast.DottedName, scope: Scope) -> UnknownName:
        name = written.text
        several = self._completions(scope.names.address(name), scope)
        if len(several) > 1:
            reason = "several alternatives contain this name"
            remedy = f"write {' or '.join(f'`{each}`' for each in several[:12])}"
            return UnknownName(primary=written.span, name=name, reason=reason, remedy=remedy)
        near = self._near(name, scope)
        if near is not None and not all(map(is_bare_word, near.split("."))):
            near = spell_parameter_name(near) if near in scope.addresses or near in scope.constants else None
        stages = [address for address in self._next_words[""] if address not in self._left_out]
        listed = ", ".join(f"`{stage}`" for stage in stages[:12])
        remedy = f"the stages are {listed}" if len(stages) > 1 else f"the only stage is {listed}"
        says_nothing = stage_of(name) in self._next_words[""] or not 0 < len(stages) <= 12
        return UnknownName(primary=written.span, name=name, near=near, remedy=None if says_nothing else remedy)

    def _near(self, name: str, scope: Scope) -> str | None:
        words = name.split(".")
        if len(words) == 1:
            flat = self._by_key.get(name.replace("__", "."))
            near = nearest_name(name, [*scope.addresses, *scope.constants, *self._next_words[""]])
            return flat or near or self._by_name.get(name)
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
    def _by_name(self) -> dict[str, str]:
        return {address.rsplit(".", 1)[-1]: address for address in reversed([*self._variables]) if "." in address}

    @cached_property
    def _next_words(self) -> dict[str, dict[str, None]]:
        """The words that may follow each beginning of an address."""
        found: dict[str, dict[str, None]] = {"": {}}
        for address in self._variables:
            words = address.split(".")
            for place, word in enumerate(words):
                found.setdefault(".".join(words[:place]), {})[word] = None
        return found
