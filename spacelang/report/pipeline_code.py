"""Write the pipelines of a space as code: a function per decision, operators as calls with values they are given."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from spacelang.catalog.catalogue import Parameter
from spacelang.ir import space as ir
from spacelang.ir import standalone_arithmetic
from spacelang.ir.domain import Categorical, Grid, Real, parts
from spacelang.ir.expr import Reference
from spacelang.ir.tuple_parameters import length_name
from spacelang.ir.value import Value
from spacelang.report.code_writer import PIPELINE, RESAMPLING, THERE, UNKNOWN, USES, CodeWriter, definitions_used_by
from spacelang.report.computed_parameter_code import ComputedParameterCodeWriter
from spacelang.runtime.data.tables import TEXT_VALUES, is_free_text, is_mostly_different
from spacelang.runtime.pipelines import columns
from spacelang.runtime.pipelines.build import PipelineWalk
from spacelang.runtime.pipelines.catalogue_access import catalogue_entry, import_operator_class, runtime_arguments
from spacelang.runtime.pipelines.columns import DTYPES, READERS, STRINGS
from spacelang.runtime.pipelines.internal_folds import internal_splitter, with_seeded_folds
from spacelang.targets._exports.python_expression_tree import (
    CallNode,
    Code,
    DictNode,
    ListNode,
    LiteralNode,
    NameNode,
    SubscriptNode,
    call,
    expression_source,
    infix,
    literal_source,
)

GIVEN: Final = "given"
SEED: Final = "random_state"
STRINGS_CLASS: Final = columns.StringColumnSelector.__name__
TRANSFORMER_FUNCTION: Final = columns.transformer_of.__name__
"""The class that finds columns of text when it is fitted, and the function that reads them one by one."""


@dataclass(frozen=True, slots=True)
class PipelineCodeWriter(PipelineWalk):
    """A writer of expressions and of the functions of decisions, which collects their imports and helpers."""

    space: ir.Space
    writer: CodeWriter = field(default_factory=lambda: CodeWriter([]))
    functions: list[str] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    bodies: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    imports_of_computed: dict[str, set[str]] = field(default_factory=dict)

    @property
    def import_statements(self) -> str:
        """The import statements."""
        named = {"collections.abc": {"Iterable", "Mapping", "Sequence"}, "typing": {"Any"}}
        named |= {"dataclasses": {"dataclass"}} if self.detects_text_columns else {}
        named |= {"itertools": {"permutations"}} if "ordered" in self.used else {}
        for module, names in self.imports_of_computed.items():
            named[module] = named.get(module, set()) | names
        whole = [f"import {module}" for module, names in sorted(named.items()) if not names]
        parts = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(named.items()) if names]
        return "\n".join([*whole, *parts, "", self.writer.import_statements])

    @property
    def detects_text_columns(self) -> bool:
        """True if the code finds columns of text when a pipeline is fitted."""
        return bool(self.used & {STRINGS_CLASS, TRANSFORMER_FUNCTION})

    def helper_functions(self, space: ir.Space, steps: str) -> Iterator[str]:
        """Yield the helper functions that the code of decisions and of the `steps` needs."""
        operators = [each for each in ir.subtree(space.root) if isinstance(each, ir.Operator)]
        resamples = any(hasattr(import_operator_class(each), "fit_resample") for each in operators)
        self.writer.import_member("Pipeline", Pipeline)
        if "union" in self.used:
            self.writer.import_member("FeatureUnion", FeatureUnion)
        yield f"Step = tuple[str, Any]\nTAKEN = {{{', '.join(map(literal_source, sorted(columns.TAKEN)))}}}"
        before = [columns.pipeline_class, columns.flatten_for_resampling] if resamples else []
        after = [columns.expand_nested_pipelines, columns.resamples_rows] if resamples else []
        yield from map(inspect.getsource, [*before, columns.with_distinct_names, *after])
        yield from (THERE, UNKNOWN, RESAMPLING if resamples else PIPELINE)
        yield from (found for name, found in USES.items() if name in self.used)
        if with_seeded_folds.__name__ in self.used:
            yield inspect.getsource(with_seeded_folds)
        if self.detects_text_columns:
            yield from self.text_column_helpers()
        if "computed" in self.used:
            code, imports = definitions_used_by(standalone_arithmetic, "\n".join([*self.functions, steps]))
            self.imports_of_computed.update(imports)
            yield code

    def text_column_helpers(self) -> Iterator[str]:
        """Yield the source of the classes and functions that find columns of text, copied from `columns.py`."""
        self.writer.import_member("FeatureUnion", FeatureUnion)
        for each in (BaseEstimator, TransformerMixin, clone, make_column_selector):
            self.writer.import_member(each.__name__, each)
        yield f"TEXT_VALUES = {TEXT_VALUES}\nSTRINGS = {STRINGS}\nREADERS = {literal_source(READERS)}"
        tests = (is_mostly_different, is_free_text)
        readers = (
            columns.columns_with_missing_as_empty_text,
            columns.EachColumn,
            columns.reads_text_column,
            columns.transformer_of,
        )
        yield from map(source_without_type_comments, (*tests, columns.StringColumnSelector, *readers))

    def helper_call(self, helper: str, *arguments: Code) -> CallNode:
        """Return code that calls a helper function, and remember to write the helper into the module."""
        self.used.add(helper)
        return CallNode(helper, arguments)

    def _single_step(self, name: str | None, part: Code) -> list[Code]:
        return [ListNode((LiteralNode(name), part), is_tuple=True)]

    def _permutation(self, node: ir.Product, order: ir.Choice) -> list[Code]:
        """Return code for the steps of a product in the order that a configuration chooses (`order`).

        It is to be unpacked into the list around it.
        """
        _, *steps = node.children
        several = ((label, ListNode(tuple(self.steps(step)))) for label, step in zip(node.labels, steps, strict=True))
        found = self.helper_call("ordered", _configuration_item(order.key), DictNode(tuple(several)))
        return [NameNode(f"*{expression_source(found, 4)}")]

    def _uses_of_chain(self, chain: ir.Choice) -> list[Code]:
        """Return code for the steps of a chain (a stage used several times), to be unpacked into the list around it."""
        return [NameNode(f"*{expression_source(self._call_of_decision(chain), 4)}")]

    def _decision(self, decision: ir.Choice, operator: ir.Operator | None = None) -> Code:
        found = self._call_of_decision(decision, operator)
        return self.helper_call("chain", found) if decision.repeats else found

    def _call_of_decision(self, decision: ir.Choice, operator: ir.Operator | None = None) -> Code:
        return CallNode(self.decision_function_name(decision, operator), (NameNode(GIVEN), NameNode(SEED)))

    def _chain(self, node: ir.Product) -> Code:
        if node == ir.SKIPPED_STEP:
            return LiteralNode(None)
        return self.helper_call("chain", ListNode(tuple(self.steps(node))))

    def _union(self, steps: list[Code]) -> Code:
        return self.helper_call("union", ListNode(tuple(steps)))

    def _operator_list(self, steps: list[Code]) -> Code:
        return call("with_distinct_names", call("there", ListNode(tuple(steps))))

    def _constant(self, value: Any) -> Code:
        return NameNode(self.writer.one_line_expression(value))

    def _column_transformer(self, node: ir.Product) -> Code:
        """Return the `ColumnTransformer` that applies each part to the columns of its selector."""
        named: list[columns.Step] = []
        remainder: Code = LiteralNode("drop")
        for selector, child in zip(node.selectors, node.children, strict=True):
            taken = self.helper_call(
                TRANSFORMER_FUNCTION if _reads_text(child) else "passed", self.make_single_part(child)
            )
            if selector.kind == "rest":
                remainder = taken
            else:
                named.append((selector.kind, (taken, self.column_selection(selector, node.selectors))))
        distinct = columns.with_distinct_names(named)
        entries = (ListNode((LiteralNode(name), *pair), is_tuple=True) for name, pair in distinct)
        transformer = self.writer.import_member(ColumnTransformer.__name__, ColumnTransformer)
        return CallNode(transformer, (ListNode(tuple(entries)),), (("remainder", remainder),))

    def column_selection(self, selector: ir.ColumnSelector, others: tuple[ir.ColumnSelector, ...]) -> Code:
        """Return the expression that selects the columns of a selector when the pipeline is fitted.

        If one of the `others` selects free text, string columns of free text are not categorical.
        """
        if selector.kind == "all":
            return NameNode("slice(None)")
        if selector.kind == "text" or (selector.kind == "categorical" and any(each.kind == "text" for each in others)):
            self.used.add(STRINGS_CLASS)
            return call(STRINGS_CLASS, text=selector.kind == "text")
        name = self.writer.import_member("make_column_selector", make_column_selector)
        if selector.kind == "pattern":
            return call(name, pattern=selector.pattern)
        return call(name, dtype_include=ListNode(tuple(map(LiteralNode, DTYPES[selector.kind]))))

    def decision_function_name(self, decision: ir.Choice, operator: ir.Operator | None = None) -> str:
        """Return the name of the function that builds the chosen alternative of a decision; write it at first use.

        An `operator` is given if the decision is one of its parameters.
        """
        if id(decision) not in self.names:
            word = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in decision.key)
            # The uses of a chain for different numbers of uses have equal bodies.
            body = self._function_body(decision, operator)
            name, number = f"build_{word.rstrip('_')}", 1
            while self.bodies.get(name, body) != body:
                number += 1
                name = f"build_{word.rstrip('_')}_{number}"
            if name not in self.bodies:
                head = f"def {name}({GIVEN}: Mapping[str, Any], {SEED}: int | None) -> Any:"
                self.functions.append(f"{head}\n{body}")
            self.names[id(decision)], self.bodies[name] = name, body
        return self.names[id(decision)]

    def _function_body(self, decision: ir.Choice, operator: ir.Operator | None) -> str:
        lines = [f"    match {GIVEN}[{literal_source(decision.key)}]:"]
        for branch in decision.branches:
            found = (
                ListNode(tuple(self.steps(branch.node)))
                if decision.repeats
                else self.make_single_part(branch.node)
                if operator is None
                else self.alternative_value(operator, decision, branch)
            )
            lines += [
                f"        case {literal_source(branch.name)}:",
                f"            return {expression_source(found, 12, 7)}",
            ]
        raised = f"            raise unknown(other, {literal_source(decision.key)})"
        return "\n".join([*lines, "        case other:", raised])

    def _estimator(self, operator: ir.Operator) -> Code:
        """Return the call of an operator's class."""
        found = import_operator_class(operator)
        usual = runtime_arguments(operator, n_jobs=1, random_state=0)
        arguments: dict[str, Code] = {
            n: _random_state(found) if n == SEED else LiteralNode(v) for n, v in usual.items()
        }
        arguments |= {name: self.fixed_value(operator, name, value) for name, value in operator.fixed}
        conditional: list[Code] = []
        for child in operator.children:
            if isinstance(child, ir.Choice):
                arguments[child.name] = self._decision(child, operator)
            elif child.is_var:
                continue
            elif child.condition is None or _tuple_element(operator, child.name) is not None:
                arguments[child.name] = self._hyperparameter_value(operator, child)
            else:
                conditional.append(self.conditional_argument(operator, child, arguments.pop(child.name, None)))
        for computed in operator.computed:
            usual_value = arguments.pop(computed.name, None)
            part = _tuple_element(operator, computed.name)
            if part is not None:
                rest = f".get({literal_source(computed.name)}, {literal_source(part.default)})"
                arguments[computed.name] = NameNode(f"{self.computed_arguments(operator, computed)}{rest}")
            elif ComputedParameterCodeWriter.writers_by_address(self.space)[computed.address].is_always_defined(
                computed
            ):
                arguments[computed.name] = self.computed_value(operator, computed)
            else:
                found_arguments = self.computed_arguments(operator, computed)
                if usual_value is not None:
                    usual_arguments = expression_source(DictNode(((computed.name, usual_value),)))
                    found_arguments = f"({usual_arguments} | {found_arguments})"
                conditional.append(NameNode(f"**{found_arguments}"))
        for parameter in operator.tuples:
            arguments |= self._tuple_argument(operator, parameter, conditional)
        whole = _assemble_tuples(operator, arguments)
        made = CallNode(self.writer.import_member(found.__name__, found), tuple(conditional), tuple(whole.items()))
        return self._with_seeded_folds(operator, made)

    def _with_seeded_folds(self, operator: ir.Operator, made: Code) -> Code:
        """Return the code `made` of an operator with seeded folds, if the operator shuffles rows into folds."""
        splitter = internal_splitter(operator, self.space.root)
        if splitter is None:
            return made
        name = NameNode(self.writer.import_member(splitter.__name__, splitter))
        return self.helper_call(with_seeded_folds.__name__, made, name, NameNode(SEED))

    def computed_arguments(self, operator: ir.Operator, computed: ir.ComputedParameter) -> str:
        """Return code of a dictionary with the computed argument; it is empty for configurations without the value."""
        self.used.add("computed")
        value = expression_source(self.computed_value(operator, computed))
        return f"defined_arguments(lambda: {{{literal_source(computed.name)}: {value}}})"

    def computed_value(self, operator: ir.Operator, computed: ir.ComputedParameter) -> Code:
        """Return the code of a computed value, converted to what the library takes."""
        self.used.add("computed")
        known, name = catalogue_entry(operator), computed.name
        writer = ComputedParameterCodeWriter.writers_by_address(self.space)[computed.address]
        takes_only_integers = known.takes_only_integers(name)
        code = NameNode(writer.value_code(computed.expression, takes_only_integers=takes_only_integers))
        if not isinstance(computed.expression, Reference):
            return code
        node = self.space.variables[computed.expression.address].hyperparameter
        named = replace(node, name=name, named=known.parameters[name].named if name in known.parameters else ())
        return self.converted_value(operator, named, code)

    def conditional_argument(self, operator: ir.Operator, child: ir.Hyperparameter, default: Code | None) -> Code:
        """Return a keyword argument with the value of a conditional hyperparameter.

        If the configuration does not have the hyperparameter, the argument is `default`, or left out if that is None.
        """
        return _argument_if_active(child.name, self._hyperparameter_value(operator, child), child.key, default)

    def _tuple_argument(
        self, operator: ir.Operator, parameter: ir.TupleParameter, conditional: list[Code]
    ) -> dict[str, Code]:
        """Return the argument for a tuple parameter; one with a condition is added to `conditional` instead."""
        value, main = self._tuple(operator, parameter), self._node(parameter.members[0])
        if main.condition is None:
            return {parameter.name: value}
        conditional.append(_argument_if_active(parameter.name, value, main.key, None))
        return {}

    def _tuple(self, operator: ir.Operator, parameter: ir.TupleParameter) -> Code:
        """Return the code of a tuple parameter's value: the tuple of its elements, or a value chosen in its place."""
        other = None
        if parameter.choice is not None:
            node = replace(self._node(parameter.choice), name=parameter.name)
            other = self.converted_value(operator, node, _configuration_item(node.key))
            if not parameter.elements:
                return other
        kind: tuple[Code, ...] = ()
        match self._node(parameter.elements[0]).domain:
            case Real() | Grid(is_integral=False):
                kind = (NameNode("float"),)
            case Grid():
                kind = (NameNode("int"),)
            case _:
                pass
        key = self._node(parameter.length).key.removesuffix(length_name(""))
        known = catalogue_entry(operator).parameters.get(parameter.name)
        found: Code = self.helper_call("tuple_of", NameNode(GIVEN), LiteralNode(key), *kind)
        if known is not None and isinstance(known.to_python(()), list):
            found = CallNode("list", (found,))
        if other is None:
            return found
        item = expression_source(_configuration_item(key))
        is_tuple = f"{item} == {literal_source(ir.TUPLE_NAME)}"
        return NameNode(f"({expression_source(found)} if {is_tuple} else {expression_source(other)})")

    def _node(self, address: str) -> ir.Hyperparameter:
        return self.space.variables[address].hyperparameter

    def _hyperparameter_value(self, operator: ir.Operator, node: ir.Hyperparameter) -> Code:
        """Return the value of a hyperparameter in the configuration, converted to what the library takes."""
        found = _configuration_item(node.key)
        part = _tuple_element(operator, node.name)
        if part is not None and node.condition is not None:
            found = CallNode(f"{GIVEN}.get", (LiteralNode(node.key), LiteralNode(part.default)))
        match node.domain:
            case Real() | Grid(is_integral=False):
                return CallNode("float", (found,))
            case Grid():
                return CallNode("int", (found,))
            case _:
                return self.converted_value(operator, node, found)

    def converted_value(self, operator: ir.Operator, node: ir.Hyperparameter, found: Code) -> Code:
        """Return the code `found` of a hyperparameter's value with the conversion to the form that the library takes.

        The code is unchanged if the library takes all values as they are.
        """
        values = (value for part in parts(node.domain) if isinstance(part, Categorical) for value in part.values)
        others = {each: code for each in values if (code := self.replacement(operator, node, each)) is not None}
        if not others:
            return found
        items = ", ".join(
            f"{self.writer.one_line_expression(each)}: {expression_source(code)}" for each, code in others.items()
        )
        source = expression_source(found)
        return NameNode(f"{{{items}}}.get({source}, {source})")

    def replacement(self, operator: ir.Operator, node: ir.Hyperparameter, value: Value) -> Code | None:
        """Return code of the object that the library takes in place of a value; None if it takes the value itself."""
        known, found = catalogue_entry(operator).parameters.get(node.name), None
        if isinstance(value, str) and value in node.named:
            found = self.named_object(operator, node.name, value)
        elif known is not None and type(known.to_python(value)) is not type(value):
            found = self.convert_plain_value(operator, node.name, value)
        return found


def _reads_text(node: ir.Node) -> bool:
    """Return True if an operator in the node is a text vectorizer, which takes a single column instead of a table."""
    return any(catalogue_entry(each).module == READERS for each in ir.subtree(node) if isinstance(each, ir.Operator))


def source_without_type_comments(found: Any) -> str:
    """Return the source code of a function or class, without comments for type checkers."""
    return re.sub("  # type: ignore.*", "", inspect.getsource(found))


def _random_state(operator_class: type) -> Code:
    """Return code for the `random_state` argument: the seed, but the library's own default if the seed is None."""
    usual = inspect.signature(operator_class).parameters.get(SEED)
    default = None if usual is None or usual.default is usual.empty else usual.default
    return NameNode(SEED if default is None else f"{default!r} if {SEED} is None else {SEED}")


def _argument_if_active(name: str, value: Code, key: str, default: Code | None) -> Code:
    """Return code that passes a keyword argument if `key` is in the configuration, else `default` unless it is None."""
    argument = expression_source(DictNode(((name, value),)))
    other = expression_source(DictNode(() if default is None else ((name, default),)))
    return NameNode(f"**({argument} if {literal_source(key)} in {GIVEN} else {other})")


def _configuration_item(key: str) -> Code:
    return SubscriptNode(NameNode(GIVEN), LiteralNode(key))


def _tuple_element(operator: ir.Operator, parameter: str) -> Parameter | None:
    """Return the catalogue entry of a parameter that is an element of a tuple parameter; otherwise None."""
    known = catalogue_entry(operator).parameters.get(parameter)
    return known if known is not None and known.part is not None else None


def _assemble_tuples(operator: ir.Operator, arguments: dict[str, Code]) -> dict[str, Code]:
    """Return the arguments with each tuple parameter assembled from its elements, as `join_tuple_elements` does."""
    known = catalogue_entry(operator)
    for whole in known.tuple_parameters:
        several = known.tuple_element_parameters(whole)
        if not arguments.keys().isdisjoint(each.name for each in several):
            members = (_scaled_element(each, arguments.pop(each.name, LiteralNode(each.default))) for each in several)
            arguments[whole] = ListNode(tuple(members), is_tuple=True)
    return arguments


def _scaled_element(parameter: Parameter, value: Code) -> Code:
    assert parameter.part is not None
    return infix(parameter.part.factor, "*", value)
