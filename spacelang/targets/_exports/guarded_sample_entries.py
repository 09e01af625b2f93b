"""Hyperparameters with conditions in libraries that draw them in any case: names of their entries, and removal."""

from collections.abc import Mapping
from functools import cached_property
from graphlib import TopologicalSorter

from spacelang.ir.configuration import Configuration
from spacelang.ir.expr import And, BranchTest, mentioned_addresses
from spacelang.ir.space import Hyperparameter
from spacelang.ir.value import Value
from spacelang.ir.walk import assemble_configuration, structure_of
from spacelang.reductions.case_splits import GuardedParts, IndependentHyperparameter
from spacelang.reductions.space_questions import Questions
from spacelang.targets._exports import python_expression_tree as py
from spacelang.targets._exports.python_conditions import ALWAYS, NEVER, PythonConditionWriter


class GuardedSampleEntries:
    """The entries that a sample has for hyperparameters inside guards, even where the condition is false."""

    def __init__(self, questions: Questions) -> None:
        """Name the entries: by the key, or by the address if another variable has the same key."""
        self._questions = questions
        nodes = [questions.space.variables[address].hyperparameter for address in questions.guards]
        self.names: Mapping[str, str] = {node.address: self._entry_name(node) for node in nodes}
        """The name of the entry of each hyperparameter inside a guard, by its address."""

    def _entry_name(self, node: Hyperparameter) -> str:
        return node.key if self._questions.names.has_unique_key(node) else f"{node.address} (if active)"

    def active_values(self, drawn: Mapping[str, Value]) -> Configuration:
        """Return the configuration of a flat sample, without the hyperparameters whose condition is false in it."""
        if not self.names:
            return Configuration(drawn)
        structure = structure_of(self._questions.space, Configuration(drawn))
        names = self.names
        return assemble_configuration(
            self._questions.space, structure, lambda node: drawn[names.get(node.address, node.key)]
        )

    def source(self, result: str) -> str:
        """Return the source of a function `configuration(sample)`, which does the same as `active_values`.

        `result` is the expression that the function returns; it may use the dictionary `found` of the active values.
        """
        summary = "Return the configuration of a sample, without the values whose conditions do not hold."
        lines = [line for guard in self._guards_in_order for line in self._lines(guard)]
        if not lines:
            summary = "Return the configuration of a sample."
        head = ["def configuration(sample):", f'    """{summary}"""', "    found = flattened(sample)"]
        return "\n".join([*head, *lines, f"    return {result}"])

    @cached_property
    def _guards_in_order(self) -> list[GuardedParts]:
        """The guards, each after those of the hyperparameters that its condition mentions."""
        guards = self._questions.guards
        needed = {address: mentioned_addresses(guard.condition) for address, guard in guards.items()}
        inside = {address: [each for each in several if each in guards] for address, several in needed.items()}
        return [*{id(guards[each]): guards[each] for each in TopologicalSorter(inside).static_order()}.values()]

    def _lines(self, guard: GuardedParts) -> list[str]:
        """Return the lines that drop the hyperparameters inside a guard if its condition is false."""
        space, names = self._questions.space, self.names
        owners = [each for each in guard.context if len(space.variables[each[0]].choice.branches) > 1]
        tests = (BranchTest(owner, (branch,)) for owner, branch in owners)
        test = PythonConditionWriter(space, self._questions.names).condition(
            And((*tests, guard.condition)), self._known_within(guard), truth=False
        )
        nodes = [free.node for free in guard.parts if isinstance(free, IndependentHyperparameter)]
        entries = [(py.literal_source(names[node.address]), node) for node in nodes]
        # Only in the context of the guard are its hyperparameters drawn.
        dropped = [f"found.pop({name}, None)" if owners else f"del found[{name}]" for name, _ in entries]
        shared = [(name, node) for name, node in entries if names[node.address] != node.key]
        renamed = [f"found[{py.literal_source(node.key)}] = found.pop({name})" for name, node in shared]
        if test is NEVER or test is ALWAYS:
            return [f"    {line}" for line in (dropped if test is ALWAYS else renamed)]
        branches = [(f"if {py.expression_source(test, 4, 4)}", dropped), *([("else", renamed)] if renamed else [])]
        return [line for head, body in branches for line in (f"    {head}:", *(f"        {each}" for each in body))]

    def _known_within(self, guard: GuardedParts) -> frozenset[str]:
        """Return the addresses of the variables that always have a value in the context of a guard."""
        around = {*guard.context}
        variables = self._questions.space.variables.values()
        return frozenset(each.address for each in variables if each.condition is None and {*each.owners} <= around)
